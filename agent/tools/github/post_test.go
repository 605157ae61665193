package github_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/github"
	"github.com/handrail-bot/handrail/policy"
)

// board notes what is put on it.
type board struct {
	no   error
	puts []string
}

func (b *board) May(context.Context, github.Post) error { return b.no }

func (b *board) Put(_ context.Context, call string, p github.Post) error {
	put := call + ": " + p.Comment + strings.Join(p.Labels, "+")
	if len(p.Off) > 0 {
		put += " without " + strings.Join(p.Off, "+")
	}
	b.puts = append(b.puts, put)
	return nil
}

// TestPosts: what a call would post is what a person is shown and what is put up; what
// may not be posted, or is none, is not.
func TestPosts(t *testing.T) {
	on := &board{}
	r, err := tools.NewRegistry(github.Posts(on)...)
	if err != nil {
		t.Fatal(err)
	}
	send := func(name, args string) (policy.Action, error) {
		tool, ok := r.Find(name)
		if !ok {
			t.Fatalf("no tool %s", name)
		}
		one := session.Call{ID: "7.1", Name: name, Arguments: json.RawMessage(args)}
		act, err := tool.Intent(t.Context(), one)
		if err == nil {
			_, err = tool.Run(t.Context(), one, nil)
		}
		return act, err
	}
	for _, c := range []struct{ name, args, shown, put string }{
		{"add_issue_comment", `{"body":" It needs a *database*.\n"}`, "comment in this thread:\n\nIt needs a *database*.", "7.1: It needs a *database*."},
		{"comment", `{"text":"hi"}`, "comment in this thread:\n\nhi", "7.1: hi"},
		{"add_labels", `{"labels":["bug","good first issue"]}`, "label this thread: bug, good first issue", "7.1: bug+good first issue"},
		{"add_labels", `{"labels":["bug","area: ui, web"]}`, "label this thread: bug, area: ui, web", "7.1: bug+area: ui, web"},
		{"label", `{"name":"bug, ui"}`, "label this thread: bug, ui", "7.1: bug+ui"},
		{"add_labels", `{"remove":["needs triage"]}`, "take labels off this thread: needs triage", "7.1:  without needs triage"},
		{"set_labels", `{"labels":["bug"],"remove_labels":["triage","new"]}`, "label this thread: bug; take labels off this thread: triage, new", "7.1: bug without triage+new"},
	} {
		on.puts = nil
		act, err := send(c.name, c.args)
		if err != nil || act.Kind != policy.Post || act.Display != c.shown || !slices.Equal(on.puts, []string{c.put}) {
			t.Errorf("%s %s: %+v, %q, %v", c.name, c.args, act, on.puts, err)
		}
	}
	on.puts = nil
	for name, args := range map[string]string{
		"add_issue_comment": `{"body":"` + strings.Repeat("x", 4001) + `"}`, "create_comment": `{"body":"  "}`, "comment": `{"body":"x","repo":"other/one"}`,
		"add_labels": `{"labels":[]}`, "label_issue": `{"labels":["a"],"remove":["b","A"]}`, "set_labels": `{"labels":["a","b","c"],"remove":["d","e","f"]}`, "label": `{"labels":["a","b","c","d","e","f"]}`, "add_label": `{"labels":["a"],"number":12}`,
	} {
		if _, err := send(name, args); err == nil || !strings.Contains(err.Error(), "A correct call") {
			t.Errorf("%s %s: %v, want words that teach", name, args, err)
		}
	}
	on.no = errors.New("this session has written enough")
	if _, err := send("comment", `{"body":"more"}`); !errors.Is(err, on.no) {
		t.Errorf("beyond what it may: %v", err)
	}
	if len(on.puts) != 0 {
		t.Errorf("%q was posted", on.puts)
	}
}
