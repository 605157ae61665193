package sqlite_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/storetest"
)

// TestClockSetBack: leases and backoffs of a clock that was hours ahead keep no thread waiting
// for hours, also the lease of a process that is gone.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	s := open(t, sqlite.Config{Now: clock.Now})
	const dead, away, held = "a/b#1", "a/b#2", "a/b#3"
	acquire := func(key string) store.Lease {
		t.Helper()
		l, err := s.Leases.Acquire(t.Context(), key, "me", time.Minute)
		must(t, err)
		return l
	}
	waiting := func(want ...string) {
		t.Helper()
		list, err := s.Wakes.Waiting(t.Context(), 10)
		must(t, err)
		var got []string
		for _, w := range list {
			got = append(got, w.Thread)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("waiting: %q, want %q", got, want)
		}
	}
	for _, thread := range []string{dead, away, held} {
		_, err := s.Deliveries.Put(t.Context(), &store.Delivery{ID: thread, Event: "push", Thread: thread})
		must(t, err)
	}
	acquire(dead)
	_, err := s.Leases.Release(t.Context(), acquire(away), clock.Now().Add(5*time.Minute))
	must(t, err)
	waiting(held)

	clock.Add(-2 * time.Hour)
	acquire(held)
	waiting(dead, away)
	acquire(dead)
	acquire(away)
	clock.Add(-time.Second) // a small step takes nothing from anybody
	waiting()
	if _, err := s.Leases.Acquire(t.Context(), held, "other", time.Minute); !errors.Is(err, store.ErrHeld) {
		t.Errorf("a lease that is held: %v", err)
	}
}
