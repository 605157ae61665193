package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
)

// folded returns what a log of these events says.
func folded(t *testing.T, list ...*session.Event) *history {
	t.Helper()
	log := &session.Memory{}
	if err := log.Append(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
	all, err := log.Events(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	h := newHistory(func(string) bool { return false })
	for _, e := range all {
		if err := h.apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func said(turn int, text string) *session.Event {
	return session.NewEvent(session.TypeAnswer, turn, session.Answer{Content: text})
}

// A summary replaces those before it, and stands between the words of people and what
// was not summarized, however often the conversation is made shorter.
func TestSummariesReplaceEachOther(t *testing.T) {
	summed := func(n int, before int64) *session.Event {
		return session.NewEvent(session.TypeNote, n, session.Note{Kind: session.NoteCompaction, Before: before, Text: fmt.Sprint("SUMMARY ", n)})
	}
	h := folded(t,
		session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s1", Text: "the task", Mode: "code", Base: "b"}}), // 1
		said(1, "one"), said(2, "two"), said(3, "three"), summed(1, 2), // 2 to 5
		said(4, "four"),
		session.NewEvent(session.TypeMessage, 4, session.Message{Text: "more"}), // 7
		said(5, "five"), summed(2, 4), // three is summarized by the second, older than the first
		said(6, "six"), summed(3, 8))
	var got []string
	for _, m := range h.talk.messages(llm.FormNative) {
		got = append(got, m.Content)
	}
	if d := cmp.Diff([]string{"the task", "more", "SUMMARY 3", "six"}, got); d != "" {
		t.Error(d)
	}
}

// After a summary the model does not see any more what it read: reading it again is no
// repetition, and no circle.
func TestReadingAgainAfterACompaction(t *testing.T) {
	registry, err := tools.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, shortened := range []bool{false, true} {
		list := []*session.Event{session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s1", Text: "the task", Mode: "code", Base: "b"}})}
		for n := 1; n <= 3; n++ {
			c := session.Call{ID: fmt.Sprint("c", n), Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)}
			list = append(list, session.NewEvent(session.TypeAnswer, n, session.Answer{Calls: []session.Call{c}}))
			if n < 3 {
				list = append(list, session.NewEvent(session.TypeResult, n, session.Result{Call: c.ID, OK: true, Content: "one"}))
			}
			if n == 2 && shortened {
				list = append(list, session.NewEvent(session.TypeNote, n, session.Note{Kind: session.NoteCompaction, Before: 3, Text: "it was read"}))
			}
		}
		j := &journal{history: folded(t, list...)}
		if _, stop := j.habits.Repeated("c3", registry.Spec("read_file").Repeats); stop == shortened {
			t.Errorf("with a summary in between %t, the call is stopped: %t", shortened, stop)
		}
	}
}

// Answers that were none are not summarized, nor is what was said to them; and a
// summary that says nothing is made without the model. Notes and list go with it.
func TestRubbishIsNotSummarized(t *testing.T) {
	b := newBench(t, head+`
- text: '<tool_call>{"name": "read_file", {{{ broken </tool_call>'
- reason: stop
- calls:
  - {name: read_file, arguments: {path: a.txt}}
  - {name: update_todo_list, arguments: {todos: "[-] mend a.txt\n[ ] test"}}
- calls: [{name: condense, arguments: {}}]
- when: {system_contains: Summarize the work so far, lacks: [broken, could not be understood, was empty]}
  say: "OK."
- when: {user_contains: ["Earlier steps, shortened:", "read_file", "Files read: a.txt", "[-] mend a.txt"]}
  calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}, {name: update_todo_list, arguments: {todos: "[x] all"}}]
- say: "Done. [TASK_COMPLETE]"
`, map[string]string{"a.txt": "one\n"})
	b.must(session.StatusDone)
}

// A grant, or a word such as retry, asks for nothing: what was done stays done, and
// nobody is accused of having changed nothing since.
func TestOnlyWordsAsk(t *testing.T) {
	b := newBench(t, head+`
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: one, new_string: two}}]
- say: "Done. [TASK_COMPLETE]"
- {say: "It is done. [TASK_COMPLETE]", optional: true, repeat: true}
`, map[string]string{"a.txt": "one\n"})
	b.must(session.StatusDone)
	for _, m := range []session.Message{{Key: "retry"}, {Budget: 5}} {
		b.append(session.NewEvent(session.TypeMessage, 0, m))
		b.must(session.StatusDone)
	}
	for _, n := range events[session.Note](b, session.TypeNote) {
		if n.Kind == session.NoteRefused {
			t.Errorf("the model was told: %s", n.Text)
		}
	}
}

// A result has the room that is left, and not more.
func TestResultsFitTheRoom(t *testing.T) {
	long := strings.Repeat("a line that says nothing of any use to anybody\n", 600)
	b := newBench(t, `
model: {name: m, tools: true, context: 16384, enforce_context: true}
select: by-conditions
turns:
- {when: {system_contains: Summarize the work}, say: "They were read.", repeat: true, optional: true}
- when: {turn: 0}
  calls: [{name: read_file, arguments: {path: a.txt}}, {name: read_file, arguments: {path: b.txt}}, {name: read_file, arguments: {path: c.txt}}]
- {say: "Nothing of use. [TASK_COMPLETE]"}
`, map[string]string{"a.txt": "1\n" + long, "b.txt": "2\n" + long, "c.txt": "3\n" + long})
	b.task.Text = "what is in the files?"
	b.must(session.StatusAnswered)
	got := b.results()
	for _, text := range got {
		if len(text) < 4000 || len(text) > 16000 || !strings.Contains(text, "are not shown; read on with") {
			t.Errorf("results of %d, %d and %d bytes", len(got[0]), len(got[1]), len(got[2]))
		}
	}
	for _, n := range events[session.Note](b, session.TypeNote) {
		t.Errorf("the conversation was made shorter: %s", n.Kind)
	}
}
