package bot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/gitops"
)

// Fenced is a transport that lets what a worker sends pass only while the
// worker's lease holds by its own clock. The store refuses late writes by
// itself; GitHub cannot, so a process that was stopped and thought dead is
// kept from writing here, right before the request leaves. Requests that are
// not made for a worker pass.
type Fenced struct {
	Next http.RoundTripper // nil for [http.DefaultTransport]
}

type guardKey struct{}

// RoundTrip implements [http.RoundTripper].
func (t Fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	held, ok := r.Context().Value(guardKey{}).(func() error)
	if ok && r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := held(); err != nil {
			if r.Body != nil {
				err = errors.Join(err, r.Body.Close())
			}
			return nil, fmt.Errorf("%s %s was not sent: %w", r.Method, r.URL.Path, err)
		}
	}
	next := t.Next
	if next == nil {
		next = http.DefaultTransport
	}
	return next.RoundTrip(r)
}

// guarded returns a context whose requests need the worker's lease.
func (w *worker) guarded(ctx context.Context) context.Context {
	return context.WithValue(ctx, guardKey{}, w.mayWrite)
}

// mayWrite says whether the lease that the worker took still holds.
func (w *worker) mayWrite() error {
	if l := w.held.Load(); l != nil && !l.holds(time.Now()) {
		return session.ErrFenced
	}
	return nil
}

// Temporary reports whether an error says nothing about the work itself, so
// that trying later can help however often it failed: GitHub or the network
// does not answer, another worker has the session, the disk is full.
func Temporary(err error) bool {
	var ge *ghapp.Error
	if errors.As(err, &ge) {
		return ge.Kind != ghapp.Permanent
	}
	var ne net.Error
	return errors.As(err, &ne) || errors.Is(err, gitops.ErrUnavailable) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, store.ErrHeld) || errors.Is(err, store.ErrFull) || errors.Is(err, session.ErrFenced) //control:outage-waits
}
