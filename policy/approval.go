package policy

import (
	"slices"
	"time"
)

// ApprovalState is the state of an approval request. The values are used in session logs.
type ApprovalState string

// The states of a request. Pending, Approved and Begun lead to other states, the others
// are final. The zero value is not a state and grants nothing.
const (
	Pending   ApprovalState = "pending"
	Approved  ApprovalState = "approved"
	Answered  ApprovalState = "answered" // a question was answered
	Denied    ApprovalState = "denied"
	Withdrawn ApprovalState = "withdrawn" // a new instruction replaced it
	Expired   ApprovalState = "expired"   // not answered before the deadline
	Stale     ApprovalState = "stale"     // a dependency changed, or the answer no longer counts
	Begun     ApprovalState = "begun"     // the approved action started: the approval is consumed
	Used      ApprovalState = "used"      // the approved action ran, once
)

// verdicts lists the transitions from each state. A denial overrides an approval, even
// if the approved action is running or was interrupted. Nothing turns a denial into an
// approval.
var verdicts = map[ApprovalState][]ApprovalState{
	Pending:  {Approved, Answered, Denied, Withdrawn, Expired, Stale},
	Approved: {Denied, Withdrawn, Stale}, //control:denial-wins
	Begun:    {Denied, Withdrawn, Stale}, //control:orders-no-return
}

// Approval is a request for approval and its state. It is an immutable value: methods
// return the updated request, and a transition that is not allowed changes nothing. It
// is rebuilt from a session's log. The digest binds it to one action.
type Approval struct {
	ID       string
	Digest   string    // of the action and everything it depends on, see [Action.Digest]
	Deadline time.Time // for the answer; the zero value means no deadline
	State    ApprovalState
}

// OpenApproval returns a pending request.
func OpenApproval(id, digest string, deadline time.Time) Approval {
	return Approval{ID: id, Digest: digest, Deadline: deadline, State: Pending}
}

// IsPending reports whether the request is pending.
func (a Approval) IsPending() bool { return a.State == Pending }

// IsApproved reports whether the request is approved and the action may begin.
func (a Approval) IsApproved() bool { return a.State == Approved } //control:begun-once

// IsOverdue reports whether the request is pending although its deadline has passed.
func (a Approval) IsOverdue(now time.Time) bool {
	return a.IsPending() && !a.Deadline.IsZero() && !now.Before(a.Deadline)
}

// CanSettle reports whether the transition to word is allowed.
func (a Approval) CanSettle(word ApprovalState) bool { return slices.Contains(verdicts[a.State], word) }

// Settle returns the request after the transition to word.
func (a Approval) Settle(word ApprovalState) Approval {
	if a.CanSettle(word) {
		a.State = word
	}
	return a
}

// IsFor reports whether the request is for exactly this action. digest is that of the
// action about to run.
func (a Approval) IsFor(digest string) bool { return a.Digest != "" && a.Digest == digest } //control:approval-digest

// Begin consumes the approval as the action starts. The action never starts twice under
// one approval, even after a crash or a failed save: its progress is unknown then.
func (a Approval) Begin() Approval {
	if a.State == Approved {
		a.State = Begun
	}
	return a
}

// Finish returns the request after the approved action ran: the approval is used.
func (a Approval) Finish() Approval {
	if a.State == Approved || a.State == Begun {
		a.State = Used
	}
	return a
}
