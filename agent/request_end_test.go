package agent

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// A mode's name alone is a request, also without a task of its own, as in logs of older
// versions: the end of the work before is not its end.
func TestEndOfTheNewestRequest(t *testing.T) {
	b := newBench(t, head+`
- calls: [{name: write_file, arguments: {path: a.txt, content: "2\n"}}]
- say: "It was one. [TASK_COMPLETE]"
- when: {last_contains: ["You are in review mode now"]}
  say: "Nothing is odd in it. [TASK_COMPLETE]"
- when: {last_contains: ["You are in review mode now"]}
  say: "Nor is it now. [TASK_COMPLETE]"
`, map[string]string{"a.txt": "1\n"})
	b.must(session.StatusDone)
	for _, want := range []string{"Nothing is odd in it.", "Nor is it now."} {
		b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Author: "kim", Mode: "review"}))
		if out := b.must(session.StatusReviewed); out.Summary != want {
			t.Errorf("the end is %q, want %q", out.Summary, want)
		}
	}
}

// A mode that only reads never waits for turns: it ends with what was found in them, and
// says what was read.
func TestReadingEnds(t *testing.T) {
	for mode, want := range map[string]session.Status{"review": session.StatusReviewed, "security": session.StatusReviewed, "explore": session.StatusAnswered, "ask": session.StatusAnswered} {
		b := newBench(t, head+`
- calls: [{name: read_file, arguments: {path: a.txt}}]
- calls: [{name: list_files, arguments: {path: .}}]
- when: {last_contains: ["No turns are left."]}
  say: "It holds a one. [TASK_COMPLETE]"
`, map[string]string{"a.txt": "1\n", "b.txt": "2\n"})
		b.task.Mode, b.task.Turns, b.task.Text = mode, 2, "look at it"
		out := b.must(want)
		if out.Summary != "It holds a one." || out.Reason != "All 2 turns are used, so this is not the whole of it: `a.txt` was read, and nothing else." || out.Turns != 2 {
			t.Errorf("%s: %+v", mode, out)
		}
	}
}

// Words after a reading session has used up another budget begin a new request.
func TestReadingBeginsAnew(t *testing.T) {
	b := newBench(t, head+`
- calls: [{name: list_files, arguments: {path: .}}]
  tokens: {prompt: 100, answer: 10}
- say: "It holds a one. [TASK_COMPLETE]"
  tokens: {prompt: 10, answer: 10}
`, map[string]string{"a.txt": "1\n"})
	b.task.Mode, b.cfg.Limits.Tokens = "review", 100
	if out := b.must(session.StatusOutOfBudget); !strings.Contains(out.Reason, "110 tokens are used") {
		t.Fatal(out.Reason)
	}
	b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Author: "kim", Text: "look again"}))
	b.must(session.StatusReviewed)
}

// The turns that a comment asks for are those of its request. The next request has those of
// the mode, and where the session has had several, the end names the one whose turns are
// used.
func TestTurnsOfARequest(t *testing.T) {
	list := "- calls: [{name: list_files, arguments: {path: .}}]\n"
	b := newBench(t, head+list+list+`
- calls: [{name: write_file, arguments: {path: a.txt, content: "2\n"}}]
- say: "It was one. [TASK_COMPLETE]"
`+list, map[string]string{"a.txt": "1\n"})
	b.task.Turns, b.task.Text = 2, "look"
	if out := b.must(session.StatusOutOfBudget); !strings.HasPrefix(out.Reason, "All 2 turns (`--turns 2`) are used.") {
		t.Error(out.Reason)
	}
	b.append(session.NewEvent(session.TypeEnded, 0, session.Ended{Outcome: session.Outcome{Status: session.StatusStopped}}))
	b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Author: "kim", Text: "write a two", Turns: 3}))
	b.must(session.StatusDone)
	b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Author: "kim", Text: session.CommandMark + "list them\nall", Turns: 1}))
	if out := b.must(session.StatusOutOfBudget); !strings.HasPrefix(out.Reason, "The one turn for “list them …” (`--turns 1`) is used.") {
		t.Error(out.Reason)
	}
}

// TestWithdrawnIsOfItsRequest: a call that waited for an approval, and was withdrawn by a
// further request, is no try at a change for that one.
func TestWithdrawnIsOfItsRequest(t *testing.T) {
	b := newBench(t, head+`
- calls: [{name: run_terminal_command, arguments: {command: rm -rf build}}]
- {when: {last_contains: in words}, say: "It builds a page. [TASK_COMPLETE]"}
`, map[string]string{"build/a": "a\n"})
	b.must(session.StatusAwaitingApproval)
	a := events[session.Asked](b, session.TypeAsked)[0]
	b.append(session.NewEvent(session.TypeResolved, 0, session.Resolved{ID: a.ID, Verdict: policy.Withdrawn}))
	b.append(session.NewEvent(session.TypeMessage, 0, session.Message{Text: "say in words how it works", Mode: "debug", Key: "m1"}))
	if out := b.must(session.StatusAnswered); !strings.Contains(out.Summary, "builds a page") {
		t.Errorf("the end is %+v", out)
	}
}
