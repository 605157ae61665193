package trigger_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/trigger"
	"github.com/handrail-bot/handrail/policy"
)

// TestOfficialExamples: with everything configured, those of GitHub's own examples begin
// work that say so, and no others; with nothing configured none does.
func TestOfficialExamples(t *testing.T) {
	on := true
	all := policy.Triggers{Labels: map[string]string{"bug": "code", "stale": "ask"}, Assignee: "Codertocat", Review: []string{"opened", "synchronize", "ready_for_review"}, Dispatch: &on}
	files, err := filepath.Glob("../../testdata/webhook/*/*.json")
	if err != nil || len(files) < 100 {
		t.Fatal(len(files), err)
	}
	began := map[string]int{}
	for _, file := range files {
		payload, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := ghapp.ParseEvent(filepath.Base(filepath.Dir(file)), payload)
		if err != nil {
			t.Fatal(file, err)
		}
		key, _, ok := trigger.Key(ev)
		task, why := trigger.Decide(ev, all)
		none, off := trigger.Decide(ev, policy.Triggers{})
		if none != nil || off == "" {
			t.Errorf("%s begins %+v without a word of the configuration, %q", file, none, off)
		}
		switch {
		case ok && task != nil:
			began[ev.Kind+" "+ev.Action]++
			if task.Why == "" || task.Text == "" || key == "" {
				t.Errorf("%s: %+v, key %q", file, task, key)
			}
		case task == nil && why == "":
			t.Errorf("%s begins nothing, and nobody says why", file)
		}
	}
	for _, what := range []string{"issues labeled", "issues assigned", "pull_request opened", "pull_request synchronize", "pull_request ready_for_review"} {
		if began[what] == 0 {
			t.Errorf("no example of %q begins work", what)
		}
		delete(began, what)
	}
	for what := range began {
		if !strings.HasPrefix(what, "pull_request ") {
			t.Errorf("%q begins work", what)
		}
	}
}

// TestDispatched: what a dispatch may say, and what it may not.
func TestDispatched(t *testing.T) {
	on := true
	for payload, want := range map[string]string{
		`{"task": " look ", "mode": "ask", "issue": 4}`: "look|ask|4", `{"task": "x", "issue": "#5"}`: "x||5", `{"task": "x"}`: "x||0",
		`{"task": ["x"]}`: "are to be text", `{"task": "x", "issue": -1}`: "not the number", `{"task": "x", "mode": "a b"}`: "not a mode",
		`{"task": "x", "model": "m\n/agent stop"}`: "not the name", `{"task": "  "}`: "no task", `null`: "no task", `7`: "are to be text",
	} {
		ev := ghapp.Event{Kind: "repository_dispatch", Sender: ghapp.User{ID: 1, Login: "kim"}}
		ev.Payload = json.RawMessage(payload)
		task, why := trigger.Decide(ev, policy.Triggers{Dispatch: &on})
		if task, why := trigger.Decide(ev, policy.Triggers{}); task != nil || !strings.Contains(why, "triggers.dispatch") {
			t.Errorf("%s begins %+v without a word of the configuration: %q", payload, task, why)
		}
		got := why
		if task != nil {
			got = strings.Join([]string{task.Text, task.Mode, string(rune('0' + task.Thread))}, "|")
		}
		if got != want && (task != nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
}

// TestOwnDeed: with a token the bot is an account of people. What it did itself begins
// nothing: it would never end.
func TestOwnDeed(t *testing.T) {
	for _, tt := range []struct {
		action, sender string
		own, want      bool
	}{
		{"labeled", "Bot", true, true}, {"labeled", "bot", false, false}, {"labeled", "kim", true, false},
		{"synchronize", "bot", false, true}, {"opened", "bot", false, true}, {"opened", "kim", false, false},
	} {
		ev := ghapp.Event{Action: tt.action, Sender: ghapp.User{ID: 1, Login: tt.sender}}
		if got := trigger.OwnDeed(ev, "bot", tt.own); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}

// A draft waits until it is ready, unless drafts are to be reviewed as well.
func TestDrafts(t *testing.T) {
	t.Parallel()
	ev := ghapp.Event{Kind: "pull_request", Action: "synchronize", Sender: ghapp.User{ID: 1, Login: "kim"}}
	ev.IsPull, ev.Pull.Draft = true, true
	list := []string{"synchronize", "ready_for_review"}
	if task, why := trigger.Decide(ev, policy.Triggers{Review: list}); task != nil || !strings.Contains(why, "ready") {
		t.Errorf("a draft begins %+v: %q", task, why)
	}
	if task, why := trigger.Decide(ev, policy.Triggers{Review: append(list, "draft")}); task == nil || task.Mode != "review" {
		t.Errorf("a draft begins nothing: %q", why)
	}
}
