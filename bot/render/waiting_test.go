package render

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// apply adds events to a state as a log would.
func apply(t *testing.T, v *session.State, list ...*session.Event) {
	t.Helper()
	for _, e := range list {
		e.Seq = v.Seq + 1
		if err := v.Apply(*e); err != nil {
			t.Fatal(err)
		}
	}
}

// What waits is one line, in the order of the comment that asks for it: an edit that
// needs a yes stands with what is of high severity.
func TestOrderOfRequests(t *testing.T) {
	v := session.NewState()
	asked := []session.Asked{
		{ID: "low", Kind: session.AskApproval, Severity: "low", Tool: "run_terminal_command", Display: "a"},
		{ID: "medium", Kind: session.AskApproval, Severity: "medium", Tool: "run_terminal_command", Display: "b"},
		{ID: "flow", Kind: session.AskApproval, Severity: "none", Tool: "write_file", Paths: []string{".github/workflows/ci.yml"}, Display: "c"},
		{ID: "high", Kind: session.AskApproval, Severity: "high", Tool: "run_terminal_command", Display: "d"},
		{ID: "door", Kind: session.AskApproval, Severity: "none", Tool: session.PublishTool, Paths: []string{"tools/gen.py"}, Display: "e"},
		{ID: "leak", Kind: session.AskApproval, Severity: "critical", Tool: session.PublishTool, Paths: []string{"b"}, Display: "f"},
	}
	var list []Request
	for _, a := range asked {
		a.Call = "call-" + a.ID
		apply(t, v, session.NewEvent(session.TypeAsked, 1, a))
		list = append(list, Request{Request: &session.Request{Asked: a, Approval: policy.OpenApproval(a.ID, "", a.Deadline)}})
	}
	got := Progress(v, Links{Review: func(id string) int { return map[string]int{"door": 7}[id] }}).Text
	if want := "Waiting for your approval: `leak`, `flow`, `high`, `door` by a review of #7, `medium`, `low`\n"; !strings.Contains(got, want) || strings.Count(got, "Waiting for") != 1 {
		t.Errorf("no %q in\n%s", want, got)
	}
	text, last := Requests(list, "").Text, -1
	for _, id := range []string{"leak", "flow", "high", "door", "medium", "low"} {
		at := strings.Index(text, "### ✋ Approval `"+id+"`")
		if at <= last {
			t.Errorf("%s is out of order in\n%s", id, text)
		}
		last = at
	}
	if want := "Approval `door`: may I push a change to `tools/gen.py`?"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// After a second wish it is said which of the files are of it.
func TestWhoseFiles(t *testing.T) {
	v := story(t)
	if got := Progress(v, links()).Text; !strings.Contains(got, "**1 file changed** +3 −1") {
		t.Errorf("a first wish:\n%s", got)
	}
	apply(t, v, session.NewEvent(session.TypeMessage, 5, session.Message{Author: "kim", Text: "now the test"}))
	if got := Progress(v, links()).Text; !strings.Contains(got, "**1 file changed** by all requests in this thread +3 −1") {
		t.Errorf("a second wish:\n%s", got)
	}
	apply(t, v, session.NewEvent(session.TypeEnded, 6, session.Ended{Outcome: session.Outcome{Status: session.StatusNoChanges}}))
	got := Progress(v, links()).Text
	for _, want := range []string{"**1 file changed** by earlier requests in this thread +3 −1", "Pull request: #7, with the earlier changes"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
