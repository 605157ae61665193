package policy

import (
	"errors"
	"fmt"
	"time"
)

// ApprovalState is where an approval stands.
type ApprovalState string

// The states of an approval. Only pending and approved lead anywhere; the
// zero value is no state and grants nothing.
const (
	Pending   ApprovalState = "pending"
	Approved  ApprovalState = "approved"
	Denied    ApprovalState = "denied"
	Withdrawn ApprovalState = "withdrawn" // the request was taken back
	Expired   ApprovalState = "expired"   // the deadline passed
	Stale     ApprovalState = "stale"     // what it was bound to changed
	Used      ApprovalState = "used"      // it ran, once
)

// ErrNotApproved is wrapped by every error of [Approval.Use].
var ErrNotApproved = errors.New("not approved")

// Approval is one request to a person and what became of it. It is a value:
// every step returns a new one, which the caller stores before it acts on it.
// It is bound to one action by digest, and to session, head and base.
type Approval struct {
	ID          string        `json:"id"`
	Session     string        `json:"session"`
	Digest      string        `json:"digest"` // of the action, see [Action.Digest]
	Head        string        `json:"head"`   // commit at the tip when it was asked
	Base        string        `json:"base"`   // commit the change is compared with
	RequesterID int64         `json:"requester_id"`
	Asked       time.Time     `json:"asked"`
	Deadline    time.Time     `json:"deadline,omitzero"` // zero for none
	State       ApprovalState `json:"state"`
	By          int64         `json:"by,omitempty"`      // who settled it
	Comment     int64         `json:"comment,omitempty"` // comment or review that settled it, 0 for the dashboard
	Reason      string        `json:"reason,omitempty"`
	Settled     time.Time     `json:"settled,omitzero"`
}

// Answer is a person's word on an approval, with the facts as they are when
// it arrives. Permission is [MayApprove]'s verdict on the person.
type Answer struct {
	ID         string
	Session    string
	Digest     string // what the person was shown
	Head       string // tip of the branch now
	Base       string
	Approve    bool
	By         int64
	Comment    int64
	Edited     bool // the comment is not as it was first written
	Permission Verdict
	Reason     string
	At         time.Time
}

// Settle applies an answer. A denial wins over an approval that was not used
// yet; nothing wins over a denial. An answer that does not count leaves the
// approval as it is and is an error that says why; an approval that arrives
// too late or for something that has changed expires it or makes it stale.
func (a Approval) Settle(ans Answer) (Approval, error) {
	switch {
	case ans.ID != a.ID || ans.Session != a.Session:
		return a, fmt.Errorf("settle approval %s: the answer is for approval %s of session %s", a.ID, ans.ID, ans.Session)
	case ans.Edited:
		return a, fmt.Errorf("settle approval %s: an edited comment does not count, write a new one", a.ID)
	case ans.Permission != Allow || ans.By <= 0:
		return a, fmt.Errorf("settle approval %s: this account may not approve or deny it", a.ID)
	case a.State == Denied && !ans.Approve, a.State == Approved && ans.Approve && ans.Digest == a.Digest:
		return a, nil
	case a.State != Pending && a.State != Approved:
		return a, fmt.Errorf("settle approval %s: it is %s", a.ID, a.stateWord())
	}
	if !ans.Approve {
		return a.settled(Denied, ans), nil
	}
	if ans.Digest != a.Digest {
		return a, fmt.Errorf("settle approval %s: the answer is for another action (digest %.12s, not %.12s)", a.ID, ans.Digest, a.Digest)
	}
	if next := a.Moved(ans.Head, ans.Base); next.State == Stale {
		return next, fmt.Errorf("settle approval %s: %s, ask again", a.ID, next.Reason)
	}
	if next := a.Expire(ans.At); next.State == Expired {
		return next, fmt.Errorf("settle approval %s: its deadline has passed", a.ID)
	}
	return a.settled(Approved, ans), nil
}

func (a Approval) settled(s ApprovalState, ans Answer) Approval {
	a.State, a.By, a.Comment, a.Reason, a.Settled = s, ans.By, ans.Comment, ans.Reason, ans.At
	return a
}

func (a Approval) open() bool { return a.State == Pending || a.State == Approved }

func (a Approval) stateWord() string {
	if a.State == "" {
		return "not open"
	}
	return string(a.State)
}

// Moved makes an open approval stale when head or base is not what it was
// bound to.
func (a Approval) Moved(head, base string) Approval {
	switch {
	case !a.open():
	case head != a.Head:
		a.State, a.Reason = Stale, fmt.Sprintf("the branch moved from %.12s to %.12s", a.Head, head)
	case base != a.Base:
		a.State, a.Reason = Stale, fmt.Sprintf("the base moved from %.12s to %.12s", a.Base, base)
	}
	return a
}

// Expire ends an open approval whose deadline is not after now.
func (a Approval) Expire(now time.Time) Approval {
	if a.open() && !a.Deadline.IsZero() && !now.Before(a.Deadline) {
		a.State, a.Reason = Expired, "the deadline passed without an answer"
	}
	return a
}

// Withdraw takes an open request back, for example because the person wrote
// something else.
func (a Approval) Withdraw(reason string) Approval {
	if a.open() {
		a.State, a.Reason = Withdrawn, reason
	}
	return a
}

// CommentChanged makes an approval stale when the comment that gave it was
// edited or deleted. A denial stays a denial.
func (a Approval) CommentChanged(comment int64) Approval {
	if a.State == Approved && comment != 0 && a.Comment == comment {
		a.State, a.Reason = Stale, "the comment that approved it was changed"
	}
	return a
}

// Execution is what is about to run, with the facts of that moment.
// Permission is [MayApprove]'s verdict on the approver, asked again.
type Execution struct {
	Session    string
	Digest     string // of the action about to run, computed from its own bytes
	Head       string
	Base       string
	Permission Verdict
	At         time.Time
}

// Use spends the approval on what is about to run. Without an error the
// result is used and must be stored before the action starts: a second use,
// also after a crash, is refused. With an error nothing may run; the result
// is then the approval as the facts leave it.
func (a Approval) Use(e Execution) (Approval, error) {
	if a.State != Approved {
		return a, fmt.Errorf("use approval %s: it is %s: %w", a.ID, a.stateWord(), ErrNotApproved)
	}
	if e.Session != a.Session {
		return a, fmt.Errorf("use approval %s: it belongs to another session: %w", a.ID, ErrNotApproved)
	}
	if a.Digest == "" || e.Digest != a.Digest {
		return a, fmt.Errorf("use approval %s: another action was approved (digest %.12s, not %.12s): %w", a.ID, a.Digest, e.Digest, ErrNotApproved)
	}
	if next := a.Moved(e.Head, e.Base); next.State != Approved {
		return next, fmt.Errorf("use approval %s: %s: %w", a.ID, next.Reason, ErrNotApproved)
	}
	if next := a.Expire(e.At); next.State != Approved {
		return next, fmt.Errorf("use approval %s: %s: %w", a.ID, next.Reason, ErrNotApproved)
	}
	if e.Permission != Allow {
		a.State, a.Reason = Stale, "the approver may no longer approve"
		return a, fmt.Errorf("use approval %s: %s: %w", a.ID, a.Reason, ErrNotApproved)
	}
	a.State = Used
	return a, nil
}
