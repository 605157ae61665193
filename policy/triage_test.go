package policy

import (
	"strings"
	"testing"
)

// TestTriage: a triage labels unasked, with labels that the configuration allows and that
// start nothing; no other mode does, and no session gives itself that right.
func TestTriage(t *testing.T) {
	act := Action{Kind: Post, Tool: "triage_issue", Display: "triage this issue:\n\nLabels: `bug`.", Triage: true, Labels: []string{"Bug"}}
	check := func(c Config, m Mode, a Action) Verdict {
		t.Helper()
		p, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		return p.Check(m, a).Verdict
	}
	mode := func(name string) Mode {
		m, err := ParseMode(name)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	lists := func(names ...string) Config { return Config{Watch: Watch{Triage: Triage{Labels: names}}} }
	starts := Config{Watch: Watch{Triggers: Triggers{Labels: map[string]string{"BUG": "code"}}}}
	for name, c := range map[string]struct {
		config Config
		want   Verdict
	}{
		"nothing set":                         {Config{}, Allow},
		"on the list":                         {lists("bug", "docs"), Allow},
		"not on the list":                     {lists("docs"), Deny},
		"on the repository's list alone":      {Merge(lists("docs"), lists("bug")), Deny},
		"on the server's list alone":          {Merge(lists("bug"), lists("docs")), Deny},
		"on both":                             {Merge(lists("bug"), lists("bug")), Allow},
		"it starts a session":                 {starts, Deny},
		"it starts a session of the server's": {Merge(starts, Config{}), Deny},
		"posts are asked for":                 {Config{Defaults: Defaults{Post: "ask"}}, Ask},
		"posts are denied":                    {Config{Defaults: Defaults{Post: "deny"}}, Deny},
		"posts always ask":                    {Config{AlwaysAsk: []string{"post"}}, Ask},
	} {
		if got := check(c.config, mode("triage"), act); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := check(Merge(Config{Defaults: Defaults{Post: "ask"}}, lists("docs")), mode("triage"), act); got != Deny {
		t.Errorf("not on the list, and asked for: %s", got)
	}
	for _, m := range Modes() {
		if got := check(Config{}, m, act); (got == Allow) != (m.Name == "triage") {
			t.Errorf("in mode %s: %s", m.Name, got)
		}
		switched := narrower(m, mode("triage"))
		if got := check(Config{}, switched, act); m.Name != "triage" && got != Deny {
			t.Errorf("%s mode switched to triage: %s", m.Name, got)
		}
	}
	comment := Action{Kind: Post, Tool: "add_issue_comment", Display: "comment in this thread:\n\nhi"}
	if got := check(Config{Defaults: Defaults{Post: "allow"}}, mode("triage"), comment); got != Deny {
		t.Errorf("another post of a triage: %s", got)
	}
	other := act
	other.Labels = []string{"docs"}
	if act.Digest() == other.Digest() {
		t.Error("an approval is for any labels")
	}
}

// TestTriageConfig: keys with invalid values are named.
func TestTriageConfig(t *testing.T) {
	for want, c := range map[string]Config{
		"triage.on":        {Watch: Watch{Triage: Triage{On: "edited"}}},
		"triage.labels[1]": {Watch: Watch{Triage: Triage{Labels: []string{"bug", " "}}}},
		"triage.labels[0]": {Watch: Watch{Triage: Triage{Labels: []string{"agent"}}, Triggers: Triggers{Labels: map[string]string{"Agent": "code"}}}},
		"triage.hourly":    {Watch: Watch{Triage: Triage{Hourly: -1}}},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := (Config{Watch: Watch{Triage: Triage{On: "opened", Labels: []string{"bug"}, Hourly: 5}}}).Validate(); err != nil {
		t.Error(err)
	}
}
