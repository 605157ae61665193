package policy

import (
	"testing"
	"time"
)

func TestInForce(t *testing.T) {
	yes, no := true, false
	server := Config{
		Models: []string{"a", "b"}, AutoApproveCommands: &yes, AlwaysAsk: []string{"network"}, Turns: 50,
		Approvals: Approvals{Deadline: Duration(24 * time.Hour)}, Commands: Commands{Deny: []string{"git push *"}},
	}.WithDefaults()
	repo := Config{
		Model: "b", Models: []string{"b", "c"}, AutoApproveCommands: &no, AlwaysAsk: []string{"delete"}, Turns: 90,
		Commands: Commands{Allow: []string{"rm *"}}, Delivery: Delivery{Undo: "reset"}, Workspace: Workspace{Memory: 1 << 30},
		SensitiveFiles: []SensitiveFile{{Pattern: "db/**", Approve: "required"}},
	}
	got := map[string]SettingInForce{}
	for _, s := range SettingsInForce(server, repo, "a") {
		if got[s.Key].Key != "" {
			t.Errorf("%s is there twice", s.Key)
		}
		got[s.Key] = s
	}
	for _, want := range []SettingInForce{
		{"model", "b", FromRepository},
		{"models", "[b]", Both},
		{"mode", "code", Default},
		{"turns", "50", FromServer},
		{"auto_approve_commands", "false", FromRepository},
		{"always_ask", "[network, delete]", Both},
		{"commands.deny", "[git push *]", FromServer},
		{"commands.allow", "none", FromServer},
		{"approvals.deadline", "24h", FromServer},
		{"workspace.memory", "1g", FromRepository},
		{"workspace.disk", "5g", Default},
		{"undo", "reset", FromRepository},
		{"sensitive_files", "[{pattern: db/**, approve: required}]", FromRepository},
	} {
		if got[want.Key] != want {
			t.Errorf("%v, want %v", got[want.Key], want)
		}
	}
	if s, ok := got["pull_request.draft"]; ok {
		t.Errorf("a key that nobody set: %v", s)
	}
}
