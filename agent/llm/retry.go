package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Retry configures the reaction to temporary failures of the model's server. The zero
// value means four attempts with exponential delays and jitter, from one second up to
// thirty.
type Retry struct {
	Attempts int
	Base     time.Duration
	Max      time.Duration
	// Patience is the time that a run keeps asking a server that is away, loading or full,
	// regardless of Attempts. It does not apply if Park is set.
	Patience time.Duration
	// Park ends a run while the model's server is away, so that it can be resumed later.
	// Otherwise the session fails.
	Park bool
}

// ParkAfter is the number of attempts to reach a server before the session parks.
const ParkAfter = 2

// Away reports whether a failure is due to the model's server and not to the session or
// the model: it ends when the operator fixes the server.
func Away(k Kind) bool { return k == Unreachable || k == Busy || k == Refused }

// WithDefaults fills in the zero fields.
func (r Retry) WithDefaults() Retry {
	if r.Attempts == 0 {
		r.Attempts = 4
	}
	if r.Base == 0 {
		r.Base = time.Second
	}
	if r.Max == 0 {
		r.Max = 30 * time.Second
	}
	return r
}

// wait returns the delay before attempt n, counted from 1. Half of it is random, so that
// many sessions do not return at once.
func (r Retry) wait(n int) time.Duration {
	d := min(r.Base<<min(n-1, 16), r.Max)
	return d/2 + rand.N(d/2+1)
}

// maxServerWait is the maximum wait that a server may ask for.
const maxServerWait = 2 * time.Minute

// After returns the delay before attempt n after err, or the wait that the server asked
// for if that is longer.
func (r Retry) After(n int, err error) time.Duration {
	d := r.wait(n)
	var me *Error
	if errors.As(err, &me) {
		d = max(d, min(me.RetryAfter, maxServerWait))
	}
	return d
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
