package github_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/github"
	"github.com/handrail-bot/handrail/policy"
)

// desk is that of issue 5 in a repository with three other issues.
type desk struct {
	puts []string
	no   error
}

func (d *desk) Labels(context.Context, string) ([]string, error) {
	return []string{"bug", "needs info", "area: ui, web", "Docs"}, d.no
}

func (d *desk) Exists(_ context.Context, n int64) (bool, error) { return n >= 1 && n <= 4, nil }

func (d *desk) Label(_ context.Context, call string, labels []string) error {
	d.puts = append(d.puts, call+": "+strings.Join(labels, "+"))
	return nil
}

// triage makes one call of the tool.
func triage(t *testing.T, on *desk, alone bool, args string) (policy.Action, tools.Result, error) {
	t.Helper()
	r, err := tools.NewRegistry(github.Triage(on, alone))
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := r.Find("triage_issue")
	one := session.Call{ID: "7.1", Name: "triage_issue", Arguments: json.RawMessage(args)}
	act, err := tool.Intent(t.Context(), one)
	if err != nil {
		return act, tools.Result{}, err
	}
	res, err := tool.Run(t.Context(), one, nil)
	return act, res, err
}

// TestTriage: a verdict is read as it is meant, what does not exist is left out, and the
// action that is judged is the one that is carried out.
func TestTriage(t *testing.T) {
	for _, c := range []struct {
		args, said string
		labels     []string
	}{
		{`{"labels":["bug"],"duplicates":[1],"question":"Which version is it?"}`, "Labels: `bug`.\n\nThis looks like the same as #1.\n\nWhich version is it?", []string{"bug"}},
		{`{"labels":"BUG, docs"}`, "Labels: `bug`, `Docs`.", []string{"bug", "Docs"}},
		{`{"labels":["needs-info","area: ui, web","urgent","wontfix"]}`, "Labels: `needs info`, `area: ui, web`.", []string{"needs info", "area: ui, web"}},
		{`{"label":"bug"}`, "Labels: `bug`.", []string{"bug"}},
		{`{"labels":[{"name":"bug"},7],"duplicates":[{"number":2,"title":"9"}]}`, "Labels: `bug`.\n\nThis looks like the same as #2.", []string{"bug"}},
		{`{"duplicates":"#3, 4"}`, "This looks like the same as #3 and #4.", nil},
		{`{"duplicates":"Same as #2 since version 3.4"}`, "This looks like the same as #2.", nil},
		{`{"duplicates":[5,99,0,1,2,3,4]}`, "This looks like the same as #1 and #2 and #3.", nil},
		{`{"question":"Which version?\n\n See https://evil.example/login or www.evil.example "}`, "Which version? See or", nil},
		{`{"question":"Thank you for the report!"}`, "", nil},
		{`{"labels":["urgent"],"duplicates":[99],"question":""}`, "", nil},
		{`{}`, "", nil},
	} {
		on := &desk{}
		act, res, err := triage(t, on, false, c.args)
		if err != nil || !res.Complete {
			t.Errorf("%s: %+v, %v", c.args, res, err)
			continue
		}
		if c.said == "" {
			if act.Kind != policy.Converse || len(on.puts) > 0 || !strings.Contains(res.Content, "nothing to add") {
				t.Errorf("%s: %+v, %q, %q", c.args, act, on.puts, res.Content)
			}
			continue
		}
		want := policy.Action{Kind: policy.Post, Tool: "triage_issue", Triage: true, Labels: c.labels, Display: "triage this issue:\n\n" + c.said}
		if diff := cmp.Diff(want, act); diff != "" || res.Content != c.said {
			t.Errorf("%s: said %q\n%s", c.args, res.Content, diff)
		}
		if puts := strings.Join(on.puts, " "); puts != map[bool]string{true: "7.1: " + strings.Join(c.labels, "+")}[len(c.labels) > 0] {
			t.Errorf("%s: %q", c.args, puts)
		}
	}
}

// TestTriageAlone: where no requester reads the result, labels need no words, and there is
// nothing to say without a finding.
func TestTriageAlone(t *testing.T) {
	for args, want := range map[string]string{
		`{"labels":["bug"]}`:                               "nothing to report",
		`{"labels":["bug"],"question":"How so?"}`:          "How so?",
		`{"labels":["nothing of the kind"]}`:               "nothing to report",
		`{"question":"` + strings.Repeat("a", 900) + `?"}`: "nothing to report",
	} {
		_, res, err := triage(t, &desk{}, true, args)
		if err != nil || res.Content != want {
			t.Errorf("%s: %q, %v", args, res.Content, err)
		}
	}
	long := strings.Repeat("é", 500) + "? " + strings.Repeat("é", 500)
	_, res, err := triage(t, &desk{}, true, `{"question":"`+long+`"}`)
	if n := len([]rune(res.Content)); err != nil || n == 0 || n > 600 {
		t.Errorf("a question of %d characters, %v", n, err)
	}
	gone := errors.New("GitHub is away")
	if _, _, err := triage(t, &desk{no: gone}, true, `{"labels":["bug"]}`); !errors.Is(err, gone) {
		t.Errorf("without GitHub: %v", err)
	}
}

// TestTriageOffered: only a triage has the tool, and it has no other to write with.
func TestTriageOffered(t *testing.T) {
	all := append(github.Posts(&board{}), github.Triage(&desk{}, false))
	for _, m := range policy.Modes() {
		var got []string
		for _, tool := range all {
			if s := tool.Spec(); s.In(m.Name) && m.Allows(s.Kind) {
				got = append(got, s.Name)
			}
		}
		want := map[bool][]string{true: {"triage_issue"}, false: {"add_issue_comment", "add_labels"}}[m.Name == "triage"]
		if m.ReadOnly() && m.Name != "triage" {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s mode is offered %q, want %q", m.Name, got, want)
		}
	}
}
