package inforce

import (
	"testing"
	"time"

	"github.com/handrail-bot/handrail/policy"
)

func TestInForce(t *testing.T) {
	yes, no := true, false
	server := policy.Config{
		Models: []string{"a", "b"}, AutoApproveCommands: &yes, AlwaysAsk: []string{"network"}, Turns: 50,
		Approvals: policy.Approvals{Deadline: policy.Duration(24 * time.Hour)}, Commands: policy.Commands{Deny: []string{"git push *"}},
	}.WithDefaults()
	repo := policy.Config{
		Model: "b", Models: []string{"b", "c"}, AutoApproveCommands: &no, AlwaysAsk: []string{"delete"}, Turns: 90,
		Commands: policy.Commands{Allow: []string{"rm *"}}, Delivery: policy.Delivery{Undo: "reset"}, Workspace: policy.Workspace{Memory: 1 << 30},
		SensitiveFiles: []policy.SensitiveFile{{Pattern: "db/**", Approve: "required"}},
	}
	got := map[string]Setting{}
	for _, s := range Of(server, repo, "a") {
		if got[s.Key].Key != "" {
			t.Errorf("%s is there twice", s.Key)
		}
		got[s.Key] = s
	}
	for _, want := range []Setting{
		{"model", "b", Repository},
		{"models", "[b]", Both},
		{"mode", "code", Default},
		{"turns", "50", Server},
		{"auto_approve_commands", "false", Repository},
		{"always_ask", "[network, delete]", Both},
		{"commands.deny", "[git push *]", Server},
		{"commands.allow", "none", Server},
		{"approvals.deadline", "24h", Server},
		{"workspace.memory", "1g", Repository},
		{"workspace.disk", "5g", Default},
		{"undo", "reset", Repository},
		{"sensitive_files", "[{pattern: db/**, approve: required}]", Repository},
	} {
		if got[want.Key] != want {
			t.Errorf("%v, want %v", got[want.Key], want)
		}
	}
	if s, ok := got["pull_request.draft"]; ok {
		t.Errorf("a key that nobody set: %v", s)
	}
}
