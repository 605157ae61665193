package policy

import (
	"slices"
	"time"
)

// ApprovalState is the state of a request to a person. Its words are those in a
// session's log.
type ApprovalState string

// The states of a request. Pending, approved and begun lead to other states, the
// others are final. The zero value is no state and grants nothing.
const (
	Pending   ApprovalState = "pending"
	Approved  ApprovalState = "approved"
	Answered  ApprovalState = "answered" // a question got its answer
	Denied    ApprovalState = "denied"
	Withdrawn ApprovalState = "withdrawn" // a new instruction replaced it
	Expired   ApprovalState = "expired"   // nobody answered before the deadline
	Stale     ApprovalState = "stale"     // what it depends on changed, or the answer stopped counting
	Begun     ApprovalState = "begun"     // what was approved started to run: the yes is taken
	Used      ApprovalState = "used"      // it ran, once
)

// verdicts lists the words that settle a request in each state. A denial wins over
// an approval, also when the approved action runs already or was cut off.
// Nothing turns a denial into an approval.
var verdicts = map[ApprovalState][]ApprovalState{
	Pending:  {Approved, Answered, Denied, Withdrawn, Expired, Stale},
	Approved: {Denied, Withdrawn, Stale}, //control:denial-wins
	Begun:    {Denied, Withdrawn, Stale}, //control:orders-no-return
}

// Approval is one request to a person and what became of it. It is a value: every
// step returns the request as it is afterwards, and a step that is not allowed
// changes nothing. A session's log folds into it. The digest ties it to one action.
type Approval struct {
	ID       string
	Digest   string    // of the action with all that it depends on, see [Action.Digest]
	Deadline time.Time // for the answer; zero for none
	State    ApprovalState
}

// OpenApproval returns a request that waits for its answer.
func OpenApproval(id, digest string, deadline time.Time) Approval {
	return Approval{ID: id, Digest: digest, Deadline: deadline, State: Pending}
}

// Waits reports whether the request waits for an answer.
func (a Approval) Waits() bool { return a.State == Pending }

// Stands reports whether a yes was given and not taken: the action may begin.
func (a Approval) Stands() bool { return a.State == Approved } //control:begun-once

// Late reports whether the request still waits although its deadline has come.
func (a Approval) Late(now time.Time) bool {
	return a.Waits() && !a.Deadline.IsZero() && !now.Before(a.Deadline)
}

// Takes reports whether a word would settle the request in its state.
func (a Approval) Takes(word ApprovalState) bool { return slices.Contains(verdicts[a.State], word) }

// Settle returns the request after a word that settles it.
func (a Approval) Settle(word ApprovalState) Approval {
	if a.Takes(word) {
		a.State = word
	}
	return a
}

// IsFor reports whether the request is for exactly this action. The digest is that
// of the action that is about to run.
func (a Approval) IsFor(digest string) bool { return a.Digest != "" && a.Digest == digest } //control:approval-digest

// Begin marks the yes as taken: what was approved starts to run. It does not
// begin a second time under the same yes, also where a crash or a failed save
// cut it off: nobody knows how far it came.
func (a Approval) Begin() Approval {
	if a.State == Approved {
		a.State = Begun
	}
	return a
}

// Finish returns the request after the approved action ran: the yes is used up.
func (a Approval) Finish() Approval {
	if a.State == Approved || a.State == Begun {
		a.State = Used
	}
	return a
}
