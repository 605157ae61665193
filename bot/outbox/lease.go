package outbox

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

// lease is the right to write a session's log. It is extended until it is released.
type lease struct {
	fence store.Fence
	stop  context.CancelFunc
	ended chan struct{}

	mu    sync.Mutex
	row   store.Lease
	until time.Time // expiry by this process's clock
}

// holds reports whether the lease is still exclusive.
func (l *lease) holds(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.until)
}

// Leases acquires and extends the lease of a worker's current session, one at a time.
// Its fields must be set before first use.
type Leases struct {
	Store store.Leases
	Owner string
	TTL   time.Duration
	Log   *slog.Logger
	Lost  context.CancelCauseFunc // cancels the work

	taken atomic.Pointer[lease]
}

// Current returns the fence of the current lease, and false if there is none.
func (s *Leases) Current() (store.Fence, bool) {
	if l := s.taken.Load(); l != nil {
		return l.fence, true
	}
	return store.Fence{}, false
}

// Take acquires the lease of a session, or of a thread's messages without a session. It
// releases the previous lease.
func (s *Leases) Take(ctx context.Context, id string) (store.Fence, error) {
	if l := s.taken.Load(); l != nil && l.fence.Key == id {
		return l.fence, nil
	}
	if err := s.Release(ctx); err != nil {
		return store.Fence{}, err
	}
	asked := time.Now()
	row, err := s.Store.Acquire(ctx, id, s.Owner, s.TTL)
	if err != nil {
		return store.Fence{}, fmt.Errorf("take session %s: %w", id, err)
	}
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &lease{fence: row.Fence(), row: row, until: asked.Add(s.TTL), stop: stop, ended: make(chan struct{})}
	s.taken.Store(l)
	go s.extend(beat, l)
	return l.fence, nil
}

// extend extends the lease until it is released or lost. A loss cancels the work at
// once.
func (s *Leases) extend(ctx context.Context, l *lease) {
	defer close(l.ended)
	tick := time.NewTicker(s.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		row, err := s.Store.Heartbeat(ctx, l.row, s.TTL)
		switch {
		case err == nil:
			l.mu.Lock()
			l.row, l.until = row, asked.Add(s.TTL)
			l.mu.Unlock()
		case ctx.Err() != nil:
			return
		case errors.Is(err, session.ErrFenced) || !l.holds(time.Now()):
			s.Log.WarnContext(ctx, "lost session", "session", l.fence.Key, "err", err)
			s.Lost(session.ErrFenced)
			return
		default:
			s.Log.WarnContext(ctx, "extend lease of session", "session", l.fence.Key, "err", err)
		}
	}
}

// Release releases the lease.
func (s *Leases) Release(ctx context.Context) error {
	l := s.taken.Load()
	if l == nil {
		return nil
	}
	l.stop()
	<-l.ended
	s.taken.Store(nil)
	_, err := s.Store.Release(ctx, l.row, time.Time{})
	if errors.Is(err, session.ErrFenced) {
		return nil
	}
	return err
}

// mayWrite returns an error if the current lease may be lost.
func (s *Leases) mayWrite() error {
	if l := s.taken.Load(); l != nil && !l.holds(time.Now()) {
		return session.ErrFenced
	}
	return nil
}

type guardKey struct{}

// Guard returns a context whose write requests require the lease, see [Fenced].
func (s *Leases) Guard(ctx context.Context) context.Context {
	return context.WithValue(ctx, guardKey{}, s.mayWrite)
}

// Fenced is a transport that passes a worker's writes only while its lease is valid by
// its own clock. The store rejects late writes itself, but GitHub cannot: a process
// that was suspended and presumed dead is stopped here, right before sending. Requests
// without a guarded context pass.
type Fenced struct {
	Next http.RoundTripper // nil means [http.DefaultTransport]
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
