package session

import "github.com/handrail-bot/handrail/policy"

// withdraw returns the events that withdraw all open requests. by identifies the
// author of that decision and its source.
func (s *State) withdraw(by Message) []*Event {
	var out []*Event
	for _, a := range s.Open() {
		out = append(
			out,
			NewEvent(TypeResolved, s.Turns, Resolved{ID: a.ID, Verdict: policy.Withdrawn, By: by.Author, Key: by.Key}),
		)
	}
	return out
}

// Stop returns the events that end the session on the user's command.
func (s *State) Stop(by Message, reason string) []*Event {
	out := Outcome{Status: StatusStopped, Turns: s.Turns, Files: s.Files, Reason: reason}
	return append(s.withdraw(by), NewEvent(TypeEnded, s.Turns, Ended{Outcome: out}))
}

// Withdraw returns the events that end the session because its requester took the request
// back.
func (s *State) Withdraw(by Message, reason string) []*Event {
	out := Outcome{Status: StatusStopped, Turns: s.Turns, Files: s.Files, Reason: reason, Withdrawn: true}
	return append(s.withdraw(by), NewEvent(TypeEnded, s.Turns, Ended{Outcome: out}))
}

// Forget returns the events that forget the conversation. Work in progress is
// stopped, since its purpose is forgotten too.
func (s *State) Forget(by Message, reason string) (out []*Event) {
	if !s.Over() {
		out = s.Stop(by, reason)
	}
	by.Clear = true
	return append(out, NewEvent(TypeMessage, s.Turns, by))
}

// WithTakeBack returns the events of a request about the checkpoints. Unless it is
// [Keep], open requests are withdrawn, since the state that they refer to will
// change. at is the place for the reply.
func (s *State) WithTakeBack(by Message, at Place, wish TakeBack) (out []*Event) {
	if wish.Do != Keep {
		out = s.withdraw(by)
	}
	by.TakeBack, by.Place = &wish, at
	return append(out, NewEvent(TypeMessage, s.Turns, by))
}
