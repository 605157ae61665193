package outbox_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/storetest"
)

// slowLeases answers a heartbeat with the current fault.
type slowLeases struct {
	store.Leases
	fault atomic.Pointer[error]
	beats chan struct{}
}

func (s *slowLeases) Acquire(_ context.Context, key, owner string, _ time.Duration) (store.Lease, error) {
	return store.Lease{Key: key, Owner: owner, Epoch: 1}, nil
}

func (s *slowLeases) Heartbeat(_ context.Context, l store.Lease, _ time.Duration) (store.Lease, error) {
	select {
	case s.beats <- struct{}{}:
	default:
	}
	return l, *s.fault.Load()
}

func (s *slowLeases) Release(context.Context, store.Lease, time.Time) (bool, error) { return true, nil }

func (s *slowLeases) answer(err error) { s.fault.Store(&err) }

// sent counts requests.
type sent int

// RoundTrip implements [http.RoundTripper].
func (n *sent) RoundTrip(*http.Request) (*http.Response, error) {
	*n++
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// A store that is too slow for a lease's time ends no work: the lease is lost if another
// worker has it. A write to GitHub waits for that answer.
func TestSlowStoreKeepsTheLease(t *testing.T) {
	t.Parallel()
	clock, slow := storetest.NewClock(), errors.New("the database is busy")
	s := &slowLeases{beats: make(chan struct{})}
	s.answer(slow)
	ctx, lost := context.WithCancelCause(t.Context())
	l := &outbox.Leases{
		Store: s,
		Owner: "one",
		TTL:   3 * time.Millisecond,
		Now:   clock.Now,
		Log:   slog.New(slog.DiscardHandler),
		Lost:  lost,
	}
	_, err := l.Take(ctx, "s1")
	if err != nil {
		t.Fatal(err)
	}
	passed := new(sent)
	write := func() error {
		r, err := http.NewRequestWithContext(l.Guard(ctx), http.MethodPost, "http://github.example/x", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := outbox.Fenced{Next: passed}.RoundTrip(r)
		if err == nil {
			err = res.Body.Close()
		}
		return err
	}
	clock.Add(time.Hour)
	for range 5 {
		<-s.beats
	}
	if err := write(); !errors.Is(err, slow) || *passed != 0 {
		t.Errorf("with an expired lease and no answer %d writes were sent: %v", *passed, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("a slow store ended the work: %v", context.Cause(ctx))
	}
	s.answer(nil)
	clock.Add(time.Hour)
	if err := write(); err != nil || *passed != 1 {
		t.Errorf("with a lease that is still its own %d writes were sent: %v", *passed, err)
	}
	s.answer(session.ErrFenced)
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, session.ErrFenced) {
		t.Errorf("a lost lease ended the work by %v", cause)
	}
	clock.Add(time.Hour)
	r, err := http.NewRequestWithContext(l.Guard(t.Context()), http.MethodPost, "http://github.example/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (outbox.Fenced{Next: passed}).RoundTrip(r); !errors.Is(err, session.ErrFenced) || *passed != 1 {
		t.Errorf("after the loss %d writes were sent: %v", *passed, err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
