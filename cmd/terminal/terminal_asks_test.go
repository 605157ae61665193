package terminal

import (
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
			term := New(strings.NewReader(""), &out, false)
			got := term.ask(tt.asked)
			if !strings.Contains(out.String(), tt.want) || strings.Contains(out.String(), "none") {
				t.Errorf("no %q in\n%s", tt.want, out.String())
			}
			if got.Verdict != policy.Denied || got.By != "" || got.Reason != "nobody is at the terminal" {
				t.Errorf("answered %+v", got)
			}
		})
	}
}
