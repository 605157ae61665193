package agent

import (
	"encoding/base64"
	"encoding/hex"
	"log/slog"
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

// The whole output of a command is kept without secrets and escapes, as what the model
// is told of it at once.
func TestWholeOutputIsRedacted(t *testing.T) {
	const canary = "hunter2-canary-5f3a9c1e7b"
	log := &session.Memory{}
	j := &journal{history: newHistory(func(string) bool { return false }), log: log, redactor: secret.NewRedactor(secret.Value(canary)), logger: slog.New(slog.DiscardHandler)}
	out := strings.Repeat("line\n", 500) + "a " + canary[:12] + "\n" + canary[12:] + "\x1b[2K\u200b z\n" + strings.Repeat("line\n", 500)
	for _, e := range []*session.Event{
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Mode: "code"}}),
		session.NewEvent(session.TypeResult, 1, session.Result{Call: "c1", OK: true, Handle: "o1", Output: out, Dir: canary}),
	} {
		if err := j.record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	got, ok, err := session.OutputOf(t.Context(), log, "o1")
	if err != nil || !ok || strings.Contains(got, canary[:12]) || strings.Contains(got, canary[12:]) || strings.ContainsAny(got, "\x1b\u200b") || strings.Count(got, "line\n") != 1000 {
		t.Errorf("kept is %.3000q (%v)", got, err)
	}
	if want := (session.Shell{Dir: canary, Handles: 1, Kept: len(got)}); j.Shell != want {
		t.Errorf("the state has %+v", j.Shell)
	}
}
