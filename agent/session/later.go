package session

import "slices"

// Later is the payload of [TypeLater]: a request in another mode than the one before it in the
// same text. It begins when that one has ended. Message.Model is its model.
type Later struct {
	Message Message `json:"message"`
	ByID    int64   `json:"by_id,omitempty"` // account number of its author
}

// Due returns the request that begins now, or nil. There is none before the present one has
// ended and all that waits for the user is settled, except for a plan that it leaves open.
func (s *State) Due() *Later {
	if len(s.Later) == 0 || !s.Over() {
		return nil
	}
	l := *s.Later[0]
	for _, a := range s.Open() {
		if a.Kind != AskPlan || !LeavesPlan(l.Message.Mode) {
			return nil
		}
	}
	return &l
}

// begun removes a request from those that wait, if it is the first of them.
func (s *State) begun(p *Message) {
	s.Unbegun = nil
	if len(s.Later) > 0 && s.Later[0].Message.Key == p.Key {
		s.Later = slices.Clone(s.Later[1:])
	}
}

// drop gives up the waiting requests at an end that is none of the work: a stop, a crash.
func (s *State) drop() {
	status := s.Outcome.Status
	if !status.finished() && status != StatusFailed { //control:stop-ends-what-waits
		s.Unbegun, s.Later = s.Later, nil
	}
}
