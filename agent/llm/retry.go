package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Retry says how to go on when the model's server fails in a way that may
// pass. The zero value means four attempts, one second apart at first,
// doubling, with jitter, never more than thirty seconds.
type Retry struct {
	Attempts int
	Base     time.Duration
	Max      time.Duration
	// Patience is how long a run waits for a server that is away, loading or full, and
	// asks again and again, however many attempts that takes; one that parks does not.
	Patience time.Duration
	// Park has a run end when the model's server is away, so
	// that it can be run again when that is back. Otherwise the session fails.
	Park bool
}

// ParkAfter is how often a server that does not answer is asked where the session
// can wait for it.
const ParkAfter = 2

// Away reports whether a failure is none of the session, and will be over when
// somebody sees to the model's server: nothing of the model is wrong.
func Away(k Kind) bool { return k == Unreachable || k == Busy || k == Refused }

// WithDefaults fills in what is left open.
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

// wait is the pause before attempt n, counted from 1: exponential, with half
// of it random so that many sessions do not come back at once.
func (r Retry) wait(n int) time.Duration {
	d := min(r.Base<<min(n-1, 16), r.Max)
	return d/2 + rand.N(d/2+1)
}

// mostPatience bounds the wait that a server may ask for.
const mostPatience = 2 * time.Minute

// After is the pause before attempt n after err: what the server asked for,
// if that is longer.
func (r Retry) After(n int, err error) time.Duration {
	d := r.wait(n)
	var me *Error
	if errors.As(err, &me) {
		d = max(d, min(me.RetryAfter, mostPatience))
	}
	return d
}

// Pause waits.
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
