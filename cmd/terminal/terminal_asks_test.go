package terminal

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// A request at the terminal says what is wanted, and of how much harm only where
// that was judged. Where nobody is there, no person said no.
func TestTerminalAsks(t *testing.T) {
	for name, tt := range map[string]struct {
		asked session.Asked
		want  string
	}{
		"a command":    {session.Asked{ID: "a1", Tool: "run_terminal_command", Severity: "high", Display: "rm -rf x"}, "approval a1, severity high: the agent wants to run a command\n"},
		"files":        {session.Asked{ID: "a1", Tool: "write_file", Severity: "none", Paths: []string{"CODEOWNERS", ".env"}}, "approval a1: the agent wants to change CODEOWNERS, .env\n"},
		"a push":       {session.Asked{ID: "a1", Tool: session.PublishTool, Paths: []string{".env"}}, "approval a1: the agent wants to put on the branch a change to .env\n"},
		"with a token": {session.Asked{ID: "a1", Tool: session.PublishTool, Severity: "critical", Paths: []string{"a\x1b"}}, "approval a1, severity critical: the agent wants to put on the branch a change to a\\u001b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			term := New(Config{Out: &out, In: Lines(strings.NewReader(""), &out)})
			got, err := term.ask(t.Context(), tt.asked)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), tt.want) || strings.Contains(out.String(), "none") {
				t.Errorf("no %q in\n%s", tt.want, out.String())
			}
			if got.Verdict != policy.Denied || got.By != "" || got.Reason != "the terminal gave no answer" {
				t.Errorf("answered %+v", got)
			}
		})
	}
}

// A prompt ends when the run does, though nobody has typed anything.
func TestPromptEndsWithTheRun(t *testing.T) {
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	term := New(Config{Out: io.Discard, In: Lines(r, io.Discard)})
	got := make(chan error, 1)
	go func() {
		_, err := term.Approve(ctx, []session.Asked{{ID: "abcd2345", Display: "rm -rf x"}})
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("Approve = %v, want the end of the run", err)
	}
}
