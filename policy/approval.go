package policy

import (
	"slices"
	"time"
)

// ApprovalState is where a request to a person stands. The words are those
// that a session's log records.
type ApprovalState string

// The states of a request. Pending, approved and begun lead somewhere, the
// others are final; the zero value is no state and grants nothing.
const (
	Pending   ApprovalState = "pending"
	Approved  ApprovalState = "approved"
	Answered  ApprovalState = "answered" // a question got its answer
	Denied    ApprovalState = "denied"
	Withdrawn ApprovalState = "withdrawn" // a new instruction took its place
	Expired   ApprovalState = "expired"   // nobody answered before the deadline
	Stale     ApprovalState = "stale"     // what it was bound to changed, or the answer stopped counting
	Begun     ApprovalState = "begun"     // what was approved started to run
	Used      ApprovalState = "used"      // it ran, once
)

// verdicts says which words settle a request in each state. One denial wins
// over an approval, also when what was approved was cut off and would run
// again; nothing turns a denial into an approval.
var verdicts = map[ApprovalState][]ApprovalState{
	Pending:  {Approved, Answered, Denied, Withdrawn, Expired, Stale},
	Approved: {Denied, Withdrawn, Stale}, //control:denial-wins
	Begun:    {Denied, Withdrawn, Stale}, //control:orders-no-return
}

// Approval is one request to a person and what became of it. It is a value
// that is folded from a session's log, by the engine and by whoever shows the
// session: every step returns what the request is afterwards, and a step that
// is not allowed changes nothing. It is bound to one action by digest.
type Approval struct {
	ID       string
	Digest   string    // of the action with all that it is bound to, see [Action.Digest]
	Deadline time.Time // for the answer; zero for none
	State    ApprovalState
}

// OpenApproval returns a request that waits for its answer.
func OpenApproval(id, digest string, deadline time.Time) Approval {
	return Approval{ID: id, Digest: digest, Deadline: deadline, State: Pending}
}

// Waits says whether the request waits for an answer.
func (a Approval) Waits() bool { return a.State == Pending }

// Stands says whether a yes was given and not used up.
func (a Approval) Stands() bool { return a.State == Approved || a.State == Begun }

// Late says whether the request still waits when its deadline has come.
func (a Approval) Late(now time.Time) bool {
	return a.Waits() && !a.Deadline.IsZero() && !now.Before(a.Deadline)
}

// Takes says whether a word would settle the request as it stands.
func (a Approval) Takes(word ApprovalState) bool { return slices.Contains(verdicts[a.State], word) }

// Settle applies a word.
func (a Approval) Settle(word ApprovalState) Approval {
	if a.Takes(word) {
		a.State = word
	}
	return a
}

// IsFor says whether the request is for exactly this action. The digest is
// computed anew from what is about to run.
func (a Approval) IsFor(digest string) bool { return a.Digest != "" && a.Digest == digest } //control:approval-digest

// Begin marks the yes as taken: what was approved starts to run. What a crash
// cuts off begins again under the same yes, in a workspace that is as it was
// before.
func (a Approval) Begin() Approval {
	if a.State == Approved {
		a.State = Begun
	}
	return a
}

// Finish uses the yes up: what was approved ran.
func (a Approval) Finish() Approval {
	if a.Stands() {
		a.State = Used
	}
	return a
}
