package store

import (
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// Live reports whether the lease has a holder at a time.
func (l Lease) Live(now time.Time) bool { return l.Owner != "" && l.Until.After(now) }

// Check returns [session.ErrFenced] unless f is the fence of the lease and the lease was
// not released.
func (l Lease) Check(f Fence) error {
	if f.Epoch == 0 || l.Epoch != f.Epoch || l.Owner == "" {
		return session.ErrFenced
	}
	return nil
}

// Take gives the lease to owner, as [Leases.Acquire] says.
func (l *Lease) Take(owner string, now time.Time, ttl time.Duration) error {
	switch {
	case l.Live(now):
		return ErrHeld
	case l.Owner == "" && l.NotBefore.After(now):
		return ErrPutOff
	}
	l.Owner, l.Epoch, l.Until, l.Wanted = owner, l.Epoch+1, now.Add(ttl), false
	return nil
}

// GiveBack releases the lease, as [Leases.Release] says. Pending reports whether the
// thread has undone deliveries.
func (l *Lease) GiveBack(now, backoff time.Time, pending bool) (released bool) {
	switch {
	case !backoff.IsZero():
		l.Wanted = true
		if backoff.After(now) {
			l.Attempts++
		}
	case pending || l.Wanted: //control:release-with-an-empty-inbox
		l.Wanted = false
		return false
	default:
		l.Attempts = 0
	}
	l.Owner, l.NotBefore = "", backoff
	return true
}

// Attempt records an attempt, as [Intents.Attempted] says.
func (in *Intent) Attempt(notBefore time.Time) error {
	if in.State == Done || in.State == Failed {
		return ErrConflict
	}
	in.State, in.NotBefore = Attempted, notBefore.UTC()
	in.Attempts++
	return nil
}

// Finish records that the write happened, as [Intents.Done] says.
func (in *Intent) Finish(ref string) error {
	if in.State == Done && in.Ref != ref || in.State == Failed {
		return ErrConflict
	}
	in.State, in.Ref = Done, ref
	return nil
}

// GiveUp records that the write was given up.
func (in *Intent) GiveUp(reason string) error {
	if in.State == Done {
		return ErrConflict
	}
	in.State, in.Reason = Failed, reason
	return nil
}
