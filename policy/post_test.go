package policy

import "testing"

// TestPosts: what is written on GitHub needs a person, unless the server says otherwise,
// and modes that only read write nothing there.
func TestPosts(t *testing.T) {
	act := Action{Kind: Post, Tool: "add_issue_comment", Display: "comment in this thread:\n\nhi"}
	check := func(c Config, a Action, mode string) Verdict {
		t.Helper()
		p, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ParseMode(mode)
		if err != nil {
			t.Fatal(err)
		}
		return p.Check(m, a).Verdict
	}
	lets, repo := Config{Defaults: Defaults{Post: "allow"}}, Config{Defaults: Defaults{Post: "allow"}}
	auto := true
	for _, m := range Modes() {
		if got, want := check(lets, act, m.Name), map[bool]Verdict{true: Deny, false: Allow}[m.ReadOnly()]; got != want {
			t.Errorf("in mode %s: %s, want %s", m.Name, got, want)
		}
	}
	for name, c := range map[string]struct {
		config Config
		want   Verdict
	}{
		"nothing set":            {Config{}, Ask},
		"a repository allows it": {Merge(Config{}, repo), Ask},
		"the server allows it":   {Merge(lets, Config{}), Allow},
		"a repository denies it": {Merge(lets, Config{Defaults: Defaults{Post: "deny"}}), Deny},
		"always asked":           {Config{Defaults: lets.Defaults, AlwaysAsk: []string{"post"}}, Ask},
		"commands are let run":   {Config{AutoApproveCommands: &auto, AutoApproveSensitiveEdits: &auto}, Ask},
		"commands on a list":     {Config{Commands: Commands{Allow: []string{"gh"}}}, Ask},
	} {
		if got := check(c.config, act, "code"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := check(lets, Action{Kind: Post, Tool: "add_issue_comment"}, "code"); got != Deny {
		t.Errorf("nothing to show: %s", got)
	}
}
