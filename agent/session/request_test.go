package session

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy"
)

func TestEarlyEnds(t *testing.T) {
	opened, answer := NewEvent(TypeOpened, 0, Opened{}), NewEvent(TypeAnswer, 1, Answer{Content: "x"})
	end := func(s Status) *Event { return NewEvent(TypeEnded, 1, Ended{Outcome: Outcome{Status: s}}) }
	message := func(m Message) *Event { return NewEvent(TypeMessage, 1, m) }
	for name, tt := range map[string]struct {
		events []*Event
		want   string
	}{
		"answered":               {[]*Event{opened, answer, end(StatusDone)}, ""},
		"not answered":           {[]*Event{opened, end(StatusAnswered)}, "event 2"},
		"failed":                 {[]*Event{opened, end(StatusFailed)}, ""},
		"out of budget":          {[]*Event{opened, end(StatusOutOfBudget)}, ""},
		"a verb":                 {[]*Event{opened, answer, end(StatusDone), message(Message{Mode: "review"}), end(StatusReviewed)}, "event 5"},
		"words":                  {[]*Event{opened, answer, end(StatusDone), message(Message{Text: "more"}), end(StatusNoChanges)}, "event 5"},
		"words, answered":        {[]*Event{opened, answer, end(StatusDone), message(Message{Text: "more"}), answer, end(StatusNoChanges)}, ""},
		"words during an answer": {[]*Event{opened, answer, message(Message{Text: "more"}), end(StatusDone)}, "event 4"},
		"words before an answer that did not know them": {
			[]*Event{opened, message(Message{Text: "more"}), NewEvent(TypeAnswer, 1, Answer{Content: "x", Seen: 1}), end(StatusDone)}, "event 4",
		},
		"words before an end that did not know them": {
			[]*Event{opened, answer, message(Message{Text: "more"}), NewEvent(TypeEnded, 1, Ended{Outcome: Outcome{Status: StatusDone}, Seen: 2})}, "",
		},
		"a plan carried out":      {[]*Event{opened, answer, end(StatusPlanned), NewEvent(TypeState, 1, Update{Plan: "a1"}), end(StatusDone)}, "event 5"},
		"an answer to a question": {[]*Event{opened, answer, NewEvent(TypeResolved, 1, Resolved{ID: "q", Verdict: policy.Answered}), end(StatusDone)}, "event 4"},
		"undone":                  {[]*Event{opened, answer, end(StatusDone), message(Message{TakeBack: &TakeBack{Do: Undo}}), end(StatusNoChanges)}, ""},
		"a grant":                 {[]*Event{opened, answer, end(StatusOutOfBudget), message(Message{Budget: 10}), end(StatusDone)}, ""},
		"another model":           {[]*Event{opened, answer, end(StatusDone), message(Message{Model: "m"}), end(StatusDone)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var list []Event
			s := NewState()
			for i, e := range tt.events {
				one := *e
				one.Seq = int64(i + 1)
				list = append(list, one)
				if i < len(tt.events)-1 {
					if err := s.Apply(one); err != nil {
						t.Fatal(err)
					}
				}
			}
			found, err := EarlyEnds(list)
			if err != nil || (tt.want == "") != (len(found) == 0) || !strings.Contains(strings.Join(found, ""), tt.want) {
				t.Errorf("found %q, %v; want %q", found, err, tt.want)
			}
			if tt.want != "" && !s.Unanswered() {
				t.Error("the state does not know of it")
			}
		})
	}
}
