package session

import (
	"fmt"

	"github.com/handrail-bot/handrail/policy"
)

// isRequest reports whether a payload is a request of the user: words, a mode by its name
// alone, an approved plan, or the answer to a question. Requests about checkpoints, the
// model or the conversation need no answer of the model, nor does a grant.
func isRequest(payload any) bool {
	switch p := payload.(type) {
	case *Opened:
		return true
	case *Message:
		asks := p.Text != "" || p.Mode != "" || len(p.Images)+len(p.Context) > 0
		return asks && p.TakeBack == nil && p.Model == "" && !p.Clear
	case *Update:
		return p.Plan != ""
	case *Resolved:
		return p.Verdict == policy.Answered
	}
	return false
}

// seen returns the Seq of the last event that the model knew of. Words that arrive while
// it answers come before the answer in the log, and are not answered by it.
func (a *Answer) seen(e Event) int64 {
	if a.Seen > 0 {
		return a.Seen
	}
	return e.Seq
}

// Unanswered reports whether the model has not answered since the newest request. Such a
// session cannot finish.
func (s *State) Unanswered() bool { return s.requested > s.answered }

// Behind reports whether a request followed a plan: its approval takes effect behind the end
// of that.
func (s *State) Behind(plan *Request) bool { return plan.Seq < s.requested }

// DuePlan returns the approved plan that begins now, because the requests that followed it have
// ended, or nil. A [Message] with its id begins it.
func (s *State) DuePlan() *Request {
	if r := s.Plan(); r != nil && r.Approval.IsApproved() && s.Behind(r) && s.Over() {
		return r
	}
	return nil
}

// Standing returns the phase of the session among others: planned while a plan waits, although a
// question was answered since.
func (s *State) Standing() Phase {
	if s.Finished() && s.WaitingPlan() != nil {
		return PhasePlanned
	}
	return s.Phase
}

// LeavesPlan reports whether a request in a mode leaves a waiting plan open: it changes
// nothing, and makes no other plan.
func LeavesPlan(mode string) bool {
	m, err := policy.ParseMode(mode)
	return err == nil && m.ReadOnly() && m.Name != policy.PlanMode
}

// EarlyEnds returns the violations in a log of the rule that an end belongs to the newest
// request: ends of finished work that no answer of the model precedes since then. An end that
// a late request made void is none. It does not rely on [State].
func EarlyEnds(events []Event) (found []string, err error) {
	var request, answer int64
	for _, e := range events {
		if e.Type == TypeTask { // the answer in a sub-task is for the model
			continue
		}
		payload, err := Payload(e)
		if err != nil {
			return nil, err
		}
		if isRequest(payload) {
			request = e.Seq
		}
		switch p := payload.(type) {
		case *Answer:
			answer = p.seen(e)
		case *Ended:
			if p.Outcome.Status.finished() && answer < request && !p.void(request) {
				found = append(found, fmt.Sprintf("event %d: %q ends the request in event %d, which the model has not answered",
					e.Seq, p.Outcome.Status, request))
			}
		}
	}
	return found, nil
}
