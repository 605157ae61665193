package session

import "github.com/handrail-bot/handrail/policy"

// withdraw returns the events that give up what people were asked. By says who
// wants that, and where they said so.
func (s *State) withdraw(by Message) []*Event {
	var out []*Event
	for _, a := range s.Open() {
		out = append(out, NewEvent(TypeResolved, s.Turns, Resolved{ID: a.ID, Verdict: policy.Withdrawn, By: by.Author, Key: by.Key}))
	}
	return out
}

// Stop returns the events that end the session because a person said so.
func (s *State) Stop(by Message, reason string) []*Event {
	out := Outcome{Status: StatusStopped, Turns: s.Turns, Files: s.Files, Reason: reason}
	return append(s.withdraw(by), NewEvent(TypeEnded, s.Turns, Ended{Outcome: out}))
}

// Forget returns the events that forget what was said. What is under way ends with it,
// because nobody knows any more what it was for.
func (s *State) Forget(by Message, reason string) (out []*Event) {
	if !s.Over() {
		out = s.Stop(by, reason)
	}
	by.Clear = true
	return append(out, NewEvent(TypeMessage, s.Turns, by))
}

// WithTakeBack returns the events of a wish about the checkpoints. What waits for an
// answer is withdrawn where it is about a state that will not be there. What comes of
// it is said at the place.
func (s *State) WithTakeBack(by Message, at Place, wish TakeBack) (out []*Event) {
	if wish.Do != Keep {
		out = s.withdraw(by)
	}
	by.TakeBack, by.Place = &wish, at
	return append(out, NewEvent(TypeMessage, s.Turns, by))
}
