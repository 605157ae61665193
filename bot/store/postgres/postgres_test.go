package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/postgres"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestMain(m *testing.M) {
	longtest.Wide(6)
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, c postgres.Config) *sqlstore.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	server := storetest.StartPostgres(t, false)
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return open(t, postgres.Config{URL: server.Database(t), Now: now}).Store
	}, 6)
}

func TestCrash(t *testing.T) {
	longtest.Leave(t)
	url := storetest.StartPostgres(t, false).Database(t)
	storetest.Crash(t, "TestCrashChild", url, func() store.Store { return open(t, postgres.Config{URL: url}).Store })
}

// TestCrashChild is the process that TestCrash kills; by itself it does
// nothing.
func TestCrashChild(t *testing.T) {
	storetest.CrashChild(t, func(url string) store.Store { return open(t, postgres.Config{URL: url}).Store })
}

// TestFollow: a machine hears of the events that another one stores.
func TestFollow(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	url := storetest.StartPostgres(t, false).Database(t)
	one, other := open(t, postgres.Config{URL: url}), open(t, postgres.Config{URL: url})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	heard, ended := make(chan string, 100), make(chan error, 1)
	go func() { ended <- one.Follow(ctx, func(id string) { heard <- id }) }()
	l, err := other.Leases.Acquire(ctx, "s1", "other", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for tick := time.NewTicker(20 * time.Millisecond); ; { // until the other one listens
		if err := other.Logs.Log(l.Fence()).Append(ctx, session.NewEvent(session.TypeNote, 0, session.Note{Text: "x"})); err != nil {
			t.Fatal(err)
		}
		select {
		case id := <-heard:
			if stop(); id != "s1" {
				t.Errorf("heard of %q", id)
			}
			if err := <-ended; err != nil {
				t.Errorf("the end: %v", err)
			}
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// TestTwoMachines opens one database at the same time from many machines:
// the tables are made once.
func TestTwoMachines(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	url := storetest.StartPostgres(t, false).Database(t)
	errs := make(chan error)
	for range 4 {
		go func() {
			s, err := postgres.Open(t.Context(), postgres.Config{URL: url, Conns: 4})
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestOrder stores deliveries of one thread on two machines while they are
// worked on: none with a smaller number turns up later.
func TestOrder(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const n = 150
	url := storetest.StartPostgres(t, false).Database(t)
	machines := []*sqlstore.Store{open(t, postgres.Config{URL: url}), open(t, postgres.Config{URL: url})}
	var senders sync.WaitGroup
	for m, s := range machines {
		for part := range 3 {
			senders.Go(func() {
				for i := range n / 3 {
					d := &store.Delivery{ID: fmt.Sprint(m, part, i), Event: "push", Thread: "a/b#1"}
					if _, err := s.Deliveries.Put(t.Context(), d); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	defer senders.Wait()
	last := int64(0)
	for got := 0; got < len(machines)*n; {
		d, err := machines[0].Deliveries.Next(t.Context(), "a/b#1")
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if d.Seq <= last {
			t.Fatalf("number %d turned up after %d", d.Seq, last)
		}
		last = d.Seq
		got++
		if err := machines[0].Deliveries.Done(t.Context(), "", d.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"no server":    "postgres://bot:hunter2@127.0.0.1:1/bot?connect_timeout=2",
		"not a URL":    "postgres://bot:hunter2@[",
		"no such host": "host=/nonexistent user=bot password=hunter2",
	} {
		_, err := postgres.Open(t.Context(), postgres.Config{URL: url})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func BenchmarkStore(b *testing.B) {
	server := storetest.StartPostgres(b, true)
	storetest.Bench(b, func() store.Store { return open(b, postgres.Config{URL: server.Database(b)}).Store })
}

// TestCut ends the context of writes at any moment: what was begun is rolled
// back, and the connections can be used again. The race detector tells whether
// somebody uses a connection that was already given up.
func TestCut(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := open(t, postgres.Config{URL: storetest.StartPostgres(t, false).Database(t), Conns: 4})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 60 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n*40)*time.Microsecond)
				l, err := s.Leases.Acquire(ctx, fmt.Sprint("octo/hello#", i), "me", time.Minute)
				if err == nil {
					_, err = s.Leases.Release(ctx, l, time.Time{})
				}
				if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrHeld) {
					t.Errorf("write %d of %d: %v", n, i, err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	for i := range 20 {
		l, err := s.Leases.Acquire(t.Context(), fmt.Sprint("octo/other#", i), "me", time.Minute)
		must(t, err)
		_, err = s.Leases.Release(t.Context(), l, time.Time{})
		must(t, err)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	server := storetest.StartPostgres(t, false)
	storetest.Delete(t, func(t *testing.T, now func() time.Time) (store.Store, store.Retired) {
		s := open(t, postgres.Config{URL: server.Database(t), Now: now})
		return s.Store, s
	})
}

func TestVectors(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	server := storetest.StartPostgres(t, false)
	storetest.Vectors(t, func(t *testing.T, now func() time.Time) store.Vectors {
		return open(t, postgres.Config{URL: server.Database(t), Now: now})
	})
}
