package render

import (
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// The last line of a command at work is shown, as text, whatever is in it, and is gone
// when the command has ended.
func TestRunningLine(t *testing.T) {
	v := session.NewState()
	apply(t, v, session.NewEvent(session.TypeAnswer, 1, session.Answer{Calls: []session.Call{{ID: "c", Name: "run_terminal_command"}}}),
		session.NewEvent(session.TypeStarted, 1, session.Started{Call: "c", Title: "Running make"}))
	said := func(line string) string {
		text := Progress(v, Links{Now: Running{Line: line, After: 70*time.Second + 300*time.Millisecond}}).Text
		_, text, _ = strings.Cut(text, "\n\n")
		text, _, _ = strings.Cut(text, "End it with")
		return strings.TrimSpace(text)
	}
	for line, want := range map[string]string{
		"":                              "",
		"ok  example/a":                 "`ok  example/a`",
		"a` b":                          "`` a` b ``",
		"```@kim ![x](http://x.test/y)": "```` ```@kim ![x](http://x.test/y) ````",
		"`` @kim":                       "``` `` @kim ```",
		"a\n# b":                        "`a …`",
		"</details>@kim":                "`</details>@kim`",
		strings.Repeat("x", 1000):       "`" + strings.Repeat("x", 199) + "…`",
	} {
		if want != "" {
			want = "`Running make`, after 1m10s: " + want
		}
		if got := said(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	apply(t, v, session.NewEvent(session.TypeResult, 1, session.Result{Call: "c", OK: true, Title: "Ran make (exit code 0)"}))
	if got := said("ok"); got != "" {
		t.Errorf("after it has ended: %q", got)
	}
}
