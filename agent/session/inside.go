package session

import "encoding/json"

// sub is the payload of [TypeTask]: an event of a sub-task. Task is the id of the
// call that started it.
type sub struct {
	Task string          `json:"task"`
	Turn int             `json:"turn"`
	Type Type            `json:"type"`
	V    int             `json:"v"`
	Data json.RawMessage `json:"data"`
}

// wrap returns a session event that contains an event of a sub-task.
func wrap(task string, e Event) *Event {
	out := NewEvent(TypeTask, e.Turn, sub{Task: task, Turn: e.Turn, Type: e.Type, V: e.V, Data: e.Data})
	out.Time = e.Time
	return out
}

// Unwrap returns the sub-task event contained in e and the sub-task's id, or e itself
// and "".
func (e Event) Unwrap() (Event, string) {
	if e.Type != TypeTask {
		return e, ""
	}
	p, err := Decode[sub](e)
	if err != nil {
		return e, ""
	}
	return Event{Seq: e.Seq, Time: e.Time, Turn: p.Turn, Type: p.Type, V: p.V, Data: p.Data}, p.Task
}

// AllTurns returns the number of the model's answers in the session, including those in
// sub-tasks and those of an external agent.
func (s *State) AllTurns() int { return s.Turns + s.Inside }

// inside applies an event of a sub-task: its tokens, calls, requests to the user and
// file changes. Its conversation is not part of the session's.
func (s *State) inside(e Event) {
	inner, _ := e.Unwrap()
	payload, err := Payload(inner)
	if err != nil {
		return // written by a newer version; [Decode] has reported the event itself
	}
	switch p := payload.(type) {
	case *Answer:
		s.Inside++ //control:turns-inside-count
		s.Tokens += p.PromptTokens + p.AnswerTokens
		for _, call := range p.Calls {
			s.Calls.add(&CallState{Call: call, Turn: inner.Turn, inside: true})
		}
		return
	default:
		if !s.applyCall(e, payload) {
			return
		}
	}
	s.tell(payload)
}

// applyCall applies an event about calls, of the session or of its sub-tasks. It reports
// whether the event is of that kind.
func (s *State) applyCall(e Event, payload any) bool {
	switch p := payload.(type) {
	case *Asked:
		s.ask(e, p)
	case *Decision:
		s.call(p.Call).Decision = p
	case *Resolved:
		s.applyResolved(e.Time, p)
	case *Started:
		s.start(e.Time, p)
	case *Merged:
		s.call(p.Call).Merged = p
		s.Tokens += p.PromptTokens + p.AnswerTokens //control:merge-counts
	case *Result:
		s.fresh = s.result(p)
		s.addFinding(e, p.Finding)
		s.Tests.applyResult(e, p, s.Published, len(s.Unpushed) > 0)
		if p.LeftOut != nil {
			s.LeftOut = p.LeftOut
		}
	case *Checkpoint:
		s.checkpoint(e, p)
	default:
		return false
	}
	return true
}
