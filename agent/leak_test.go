package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// wordScanner takes one word for a credential.
type wordScanner struct {
	states *states
	word   string
}

func (w wordScanner) Scan(_ context.Context, _, to string, paths []string) ([]Leak, error) {
	var out []Leak
	for _, p := range paths {
		before, _, found := strings.Cut(w.states.trees[to][p], w.word)
		if found {
			out = append(out, Leak{p, secret.Finding{Rule: "word", Text: "a word", Line: 1 + strings.Count(before, "\n")}})
		}
	}
	return out, nil
}

func (w wordScanner) Hide(text string) string {
	return strings.ReplaceAll(text, w.word, secret.Redacted)
}

// A commit that adds a credential waits for a person, by whatever route it
// came and whatever the settings allow, and the credential is not shown.
func TestSecretHoldsTheCommit(t *testing.T) {
	for route, call := range map[string]string{
		"tool":  `{name: write_file, arguments: {path: a.txt, content: "ok\nkey = xyzzy42\n"}}`,
		"shell": `{name: run_terminal_command, arguments: {command: "printf 'ok\\nkey = xyzzy%d\\n' 42 > a.txt"}}`,
	} {
		for verdict, want := range map[policy.ApprovalState]string{"approved": "ok\nkey = xyzzy42\n", "denied": "old\n"} {
			t.Run(route+" "+string(verdict), func(t *testing.T) {
				b := newBench(t, head+"\n- calls: ["+call+"]\n- {say: \"Done. [TASK_COMPLETE]\", repeat: true}\n", map[string]string{"a.txt": "old\n"})
				cfg := policy.DefaultConfig()
				yes := true
				cfg.AutoApproveSensitiveEdits, cfg.AutoApproveCommands = &yes, &yes
				rules, err := policy.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				b.cfg.Policy, b.cfg.Secrets = rules, wordScanner{b.states, "xyzzy42"}
				b.must(session.StatusAwaitingApproval)
				if len(b.states.out) > 0 {
					t.Fatal("it was published before anybody answered")
				}
				a := events[session.Asked](b, session.TypeAsked)[0]
				if a.Severity != "critical" || !strings.Contains(strings.Join(a.Reasons, "\n"), "a.txt line 2 looks like a secret (word)") {
					t.Errorf("asked with severity %s because %q", a.Severity, a.Reasons)
				}
				if strings.Contains(a.Display, "xyzzy42") || !strings.Contains(a.Display, secret.Redacted) {
					t.Errorf("shown: %q", a.Display)
				}
				b.answer(verdict, "not here")
				if _, err := b.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := b.states.published()["a.txt"]; got != want {
					t.Errorf("a.txt = %q, want %q", got, want)
				}
			})
		}
	}
}
