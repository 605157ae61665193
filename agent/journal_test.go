package agent

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/secret"
)

// What a command prints reaches neither the log nor the model as it is: known
// secrets in any spelling, tokens, terminal codes.
func TestResultsAreCleaned(t *testing.T) {
	const canary = "hunter2-canary-5f3a9c1e7b"
	forms := map[string]string{
		"as it is":  canary,
		"base64":    base64.StdEncoding.EncodeToString([]byte("x=" + canary)),
		"hex":       hex.EncodeToString([]byte(canary)),
		"two lines": canary[:12] + "\n" + canary[12:],
		"token":     "ghp_" + strings.Repeat("aB3dE6", 6),
		"escape":    "\x1b[2Kshown\u202e\u200b",
	}
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			script := head + `
- {calls: [{name: read_file, arguments: {path: a.txt}}]}
- {say: "It says: nothing. [TASK_COMPLETE]", repeat: true}
`
			b := newBench(t, script, map[string]string{"a.txt": "before " + text + " after\n"})
			b.task.Text = "explain a.txt"
			b.cfg.Redactor = secret.NewRedactor(secret.Value(canary))
			b.must(session.StatusAnswered)
			got := b.results()[0]
			for _, r := range b.model.Requests() {
				got += string(r.Body)
			}
			for _, bad := range []string{text, canary[:12], canary[12:], "\x1b", "\\u001b", "\u202e", "\u200b"} {
				if strings.Contains(got, bad) {
					t.Errorf("%q is still in what the model sees", bad)
				}
			}
			if !strings.Contains(got, "before") || !strings.Contains(got, "after") {
				t.Errorf("the rest of the file is gone: %q", b.results()[0])
			}
		})
	}
}

// The model cannot write a known secret anywhere, and other tokens stay as
// they are in what will run: they are for the door to the branch.
func TestArgumentsLoseKnownSecrets(t *testing.T) {
	const canary = "hunter2-canary-5f3a9c1e7b"
	token := "ghp_" + strings.Repeat("aB3dE6", 6)
	script := head + `
- {calls: [{name: write_file, arguments: {path: a.txt, content: "` + canary + " " + token + `\n"}}]}
- {say: "Wrote ` + canary + `. [TASK_COMPLETE]", repeat: true}
`
	b := newBench(t, script, map[string]string{"a.txt": "old\n"})
	b.cfg.Redactor = secret.NewRedactor(secret.Value(canary))
	out := b.must(session.StatusDone)
	if got, want := b.states.published()["a.txt"], secret.Redacted+" "+token+"\n"; got != want {
		t.Errorf("a.txt = %q, want %q", got, want)
	}
	if strings.Contains(out.Summary, canary) {
		t.Errorf("summary %q", out.Summary)
	}
	all, err := b.log.Events(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if strings.Contains(string(e.Data), canary) {
			t.Errorf("event %d (%s) holds the secret: %s", e.Seq, e.Type, e.Data)
		}
	}
}
