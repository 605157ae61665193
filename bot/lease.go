package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// lease is the right to write a session's log, kept alive until released.
type lease struct {
	fence store.Fence
	stop  context.CancelFunc
	ended chan struct{}

	mu    sync.Mutex
	row   store.Lease
	until time.Time // by this process's clock
}

// holds reports whether nobody can have taken the lease over yet.
func (l *lease) holds(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.until)
}

// leases takes and extends the lease of what a worker works on, one at a time.
type leases struct {
	store store.Leases
	owner string
	ttl   time.Duration
	log   *slog.Logger
	lost  context.CancelCauseFunc // ends the work
	taken atomic.Pointer[lease]
}

// take takes the lease of a session, or of the words in a thread without one.
func (s *leases) take(ctx context.Context, id string) (store.Fence, error) {
	if l := s.taken.Load(); l != nil && l.fence.Key == id {
		return l.fence, nil
	}
	if err := s.release(ctx); err != nil {
		return store.Fence{}, err
	}
	asked := time.Now()
	row, err := s.store.Acquire(ctx, id, s.owner, s.ttl)
	if err != nil {
		return store.Fence{}, fmt.Errorf("take session %s: %w", id, err)
	}
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &lease{fence: row.Fence(), row: row, until: asked.Add(s.ttl), stop: stop, ended: make(chan struct{})}
	s.taken.Store(l)
	go s.extend(beat, l)
	return l.fence, nil
}

// extend extends the lease until it is released or lost. Losing it ends the
// work at once.
func (s *leases) extend(ctx context.Context, l *lease) {
	defer close(l.ended)
	tick := time.NewTicker(s.ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		row, err := s.store.Heartbeat(ctx, l.row, s.ttl)
		switch {
		case err == nil:
			l.mu.Lock()
			l.row, l.until = row, asked.Add(s.ttl)
			l.mu.Unlock()
		case ctx.Err() != nil:
			return
		case errors.Is(err, session.ErrFenced) || !l.holds(time.Now()):
			s.log.WarnContext(ctx, "lost session", "session", l.fence.Key, "err", err)
			s.lost(session.ErrFenced)
			return
		default:
			s.log.WarnContext(ctx, "extend lease of session", "session", l.fence.Key, "err", err)
		}
	}
}

// release gives the lease back.
func (s *leases) release(ctx context.Context) error {
	l := s.taken.Load()
	if l == nil {
		return nil
	}
	l.stop()
	<-l.ended
	s.taken.Store(nil)
	_, err := s.store.Release(ctx, l.row, time.Time{})
	if errors.Is(err, session.ErrFenced) {
		return nil
	}
	return err
}

// mayWrite returns an error when the lease that was taken may be lost.
func (s *leases) mayWrite() error {
	if l := s.taken.Load(); l != nil && !l.holds(time.Now()) {
		return session.ErrFenced
	}
	return nil
}

type guardKey struct{}

// guard returns a context whose requests need the lease.
func (s *leases) guard(ctx context.Context) context.Context {
	return context.WithValue(ctx, guardKey{}, s.mayWrite)
}

// Fenced is a transport that lets what a worker sends pass only while the
// worker's lease holds by its own clock. The store refuses late writes by
// itself; GitHub cannot, so a process that was stopped and thought dead is
// kept from writing here, right before the request leaves. Requests that are
// not made for a worker pass.
type Fenced struct {
	Next http.RoundTripper // nil for [http.DefaultTransport]
}

// RoundTrip implements [http.RoundTripper].
func (t Fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	mayWrite, ok := r.Context().Value(guardKey{}).(func() error)
	if ok && r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := mayWrite(); err != nil {
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
