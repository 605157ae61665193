package session

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy"
)

// TestLater: a request behind another one begins when that has ended and nothing waits for the user,
// in its turn and once; a stop gives up all of them.
func TestLater(t *testing.T) {
	opened := NewEvent(TypeOpened, 0, Opened{Task: Task{Mode: "review"}})
	answer := NewEvent(TypeAnswer, 1, Answer{Content: "x"})
	end := func(s Status) *Event { return NewEvent(TypeEnded, 1, Ended{Outcome: Outcome{Status: s}}) }
	later := func(key string) *Event {
		return NewEvent(TypeLater, 0, Later{Message: Message{Key: key, Text: key, Mode: "ask"}})
	}
	begins := func(key string) *Event { return NewEvent(TypeMessage, 1, Message{Key: key, Text: key, Mode: "ask"}) }
	asked := NewEvent(TypeAsked, 1, Asked{ID: "p", Kind: AskPlan})
	for name, tt := range map[string]struct {
		events                []*Event
		due, waiting, unbegun string
	}{
		"at work":              {[]*Event{opened, later("a"), later("b"), answer}, "", "a b", ""},
		"done":                 {[]*Event{opened, later("a"), later("b"), answer, end(StatusReviewed)}, "a", "a b", ""},
		"failed":               {[]*Event{opened, later("a"), end(StatusFailed)}, "a", "a", ""},
		"out of budget":        {[]*Event{opened, later("a"), answer, end(StatusOutOfBudget)}, "", "a", ""},
		"waits for an answer":  {[]*Event{opened, later("a"), answer, end(StatusAwaitingAnswer)}, "", "a", ""},
		"a question at a plan": {[]*Event{opened, later("a"), answer, asked, end(StatusPlanned)}, "a", "a", ""},
		"a change at a plan": {[]*Event{opened, NewEvent(TypeLater, 0, Later{Message: Message{Key: "a", Text: "a", Mode: "code"}}),
			answer, asked, end(StatusPlanned)}, "", "a", ""},
		"a denied plan": {[]*Event{opened, later("a"), answer, asked, end(StatusPlanned),
			NewEvent(TypeResolved, 1, Resolved{ID: "p", Verdict: policy.Denied})}, "a", "a", ""},
		"begun":        {[]*Event{opened, later("a"), later("b"), answer, end(StatusReviewed), begins("a")}, "", "b", ""},
		"next":         {[]*Event{opened, later("a"), later("b"), answer, end(StatusReviewed), begins("a"), answer, end(StatusAnswered)}, "b", "b", ""},
		"another text": {[]*Event{opened, later("a"), answer, begins("z"), answer, end(StatusAnswered)}, "a", "a", ""},
		"another model": {[]*Event{opened, later("a"), answer, end(StatusReviewed),
			NewEvent(TypeMessage, 1, Message{Key: "a", Model: "m"})}, "a", "a", ""},
		"asked at the end":         {[]*Event{opened, answer, end(StatusReviewed), later("a")}, "a", "a", ""},
		"stopped":                  {[]*Event{opened, later("a"), later("b"), end(StatusStopped)}, "", "", "a b"},
		"crashed":                  {[]*Event{opened, later("a"), end(StatusCrashed)}, "", "", "a"},
		"asked again after a stop": {[]*Event{opened, later("a"), end(StatusStopped), begins("z")}, "", "", ""},
	} {
		s := NewState()
		for i, e := range tt.events {
			one := *e
			one.Seq = int64(i + 1)
			if err := s.Apply(one); err != nil {
				t.Fatal(name, err)
			}
		}
		if over := s.Phase.Over() || s.Phase == PhasePlanned; over != s.Over() {
			t.Errorf("%s: phase %q", name, s.Phase)
		}
		due := ""
		if m := s.Due(); m != nil {
			due = m.Message.Key
		}
		if due != tt.due || keys(s.Later) != tt.waiting || keys(s.Unbegun) != tt.unbegun {
			t.Errorf("%s: due %q, waiting %q, not begun %q", name, due, keys(s.Later), keys(s.Unbegun))
		}
	}
}

func keys(list []*Later) string {
	var out []string
	for _, l := range list {
		out = append(out, l.Message.Key)
	}
	return strings.Join(out, " ")
}
