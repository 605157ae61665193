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

// lease is the right to write a session's log. It is extended until it is released or
// another worker takes it.
type lease struct {
	fence store.Fence
	stop  context.CancelFunc
	ended chan struct{}

	row store.Lease

	mu    sync.Mutex
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
	Now   func() time.Time // nil means time.Now
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
	asked := s.now()
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
// once. A lease that could not be extended in time is not lost: the store decides, and a
// write to GitHub asks it first.
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
		switch err := s.renew(ctx, l); {
		case err == nil:
		case ctx.Err() != nil:
			return
		case errors.Is(err, session.ErrFenced): //control:late-is-not-lost
			s.Log.WarnContext(ctx, "lost session", "session", l.fence.Key, "err", err)
			s.Lost(session.ErrFenced)
			return
		default:
			s.Log.WarnContext(ctx, "extend lease of session", "session", l.fence.Key, "err", err)
		}
	}
}

// renew extends the lease once.
func (s *Leases) renew(ctx context.Context, l *lease) error {
	asked := s.now()
	_, err := s.Store.Heartbeat(ctx, l.row, s.TTL)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := asked.Add(s.TTL); until.After(l.until) {
		l.until = until
	}
	return nil
}

func (s *Leases) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
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

// mayWrite returns an error if the current lease is lost, or if that cannot be told. An
// expired lease is extended first.
func (s *Leases) mayWrite(ctx context.Context) error {
	if l := s.taken.Load(); l != nil && !l.holds(s.now()) {
		return s.renew(ctx, l) //control:expired-is-asked-for
	}
	return nil
}

type guardKey struct{}

// Guard returns a context whose write requests require the lease, see [Fenced].
func (s *Leases) Guard(ctx context.Context) context.Context {
	return context.WithValue(ctx, guardKey{}, s.mayWrite)
}

// Fenced is a transport that passes a worker's writes only while its lease is valid by
// its own clock, or was extended right before. The store rejects late writes itself, but
// GitHub cannot: a process that was suspended and presumed dead is stopped here. Requests
// without a guarded context pass.
type Fenced struct {
	Next http.RoundTripper // nil means [http.DefaultTransport]
}

// RoundTrip implements [http.RoundTripper].
func (t Fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	mayWrite, ok := r.Context().Value(guardKey{}).(func(context.Context) error)
	if ok && r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := mayWrite(r.Context()); err != nil {
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
