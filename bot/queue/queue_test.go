package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/queue"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/postgres"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestMain(m *testing.M) {
	longtest.Wide(6)
	goleak.VerifyTestMain(m)
}

// world is one database and the machines that work on it.
type world struct {
	*testing.T

	clock *storetest.Clock
	open  func() *sqlstore.Store
}

func TestQueue(t *testing.T) {
	tests := map[string]func(*world){
		"in order, one at a time, on two machines":   inOrder,
		"a delivery is picked up at once":            latency,
		"limits hold":                                limits,
		"failures are tried again and given up":      failures,
		"a delivery left undone is a failure":        unfinished,
		"an old offer waits for the backoff":         oldOffers,
		"a wake waits for the backoff":               wakeBackoff,
		"an old offer of what is done is left alone": sweptOnce,
		"a wake during work is heard":                wakeDuring,
		"a delivery during work is told":             moreDuring,
		"a dead worker's thread is taken over":       takeOver,
		"a lost lease ends the work":                 lostLease,
		"a slow database ends no work":               slowLease,
		"drain parks what runs":                      drain,
		"drain waits for what ends by itself":        drainGrace,
		"drain gives up in the end":                  drainLate,
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				clock, path := storetest.NewClock(), filepath.Join(t.TempDir(), "bot.db")
				test(&world{t, clock, func() *sqlstore.Store {
					return closing(t)(sqlite.Open(t.Context(), sqlite.Config{Path: path, Now: clock.Now}))
				}})
			})
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := storetest.StartPostgres(t, false)
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				clock, url := storetest.NewClock(), server.Database(t)
				test(&world{t, clock, func() *sqlstore.Store {
					return closing(t)(postgres.Open(t.Context(), postgres.Config{URL: url, Now: clock.Now}))
				}})
			})
		}
	})
}

func closing(t *testing.T) func(*sqlstore.Store, error) *sqlstore.Store {
	return func(s *sqlstore.Store, err error) *sqlstore.Store {
		t.Helper()
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a queue; the configuration may leave out what tests share.
func (w *world) start(s *sqlstore.Store, c queue.Config) *queue.Queue {
	w.Helper()
	if c.Store.Deliveries == nil {
		c.Store = s.Store
	}
	c.River, c.Now = s.River, w.clock.Now
	c.Log = slog.New(slog.NewTextHandler(w.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	if c.Sweep == 0 {
		c.Sweep = 50 * time.Millisecond
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Millisecond
	}
	q, err := queue.New(c)
	must(w.T, err)
	must(w.T, q.Start(w.Context()))
	return q
}

func (w *world) drain(q *queue.Queue) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.Context()), 10*time.Minute)
	defer cancel()
	must(w.T, q.Drain(ctx))
}

// put stores a delivery.
// wake says that a thread has work that is not a delivery.
func (w *world) wake(s *sqlstore.Store, thread string) {
	w.Helper()
	must(w.T, s.Wakes.Wake(w.Context(), thread, store.PriorityWork, time.Time{}))
}

func (w *world) put(s *sqlstore.Store, id, thread string) {
	w.Helper()
	_, err := s.Deliveries.Put(w.Context(), &store.Delivery{ID: id, Event: "issue_comment", Thread: thread, Sender: "octocat"})
	must(w.T, err)
}

// await waits for a value.
func await[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Minute):
		t.Fatalf("%s did not happen", what)
		panic("unreachable")
	}
}

// each calls fn for every delivery that waits, in order.
func each(ctx context.Context, s store.Store, thread string, fn func(*store.Delivery)) error {
	for {
		d, err := s.Deliveries.Next(ctx, thread)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		fn(d)
		if err := s.Deliveries.Done(ctx, "", d.ID); err != nil {
			return err
		}
	}
}

// inOrder has two machines work on what two machines take in.
func inOrder(w *world) {
	const threads, each1 = 12, 15
	var mu sync.Mutex
	got, busy := map[string][]string{}, map[string]bool{}
	all := make(chan struct{}, threads*each1)
	stores := []*sqlstore.Store{w.open(), w.open()}
	work := func(s *sqlstore.Store) func(context.Context, string) error {
		return func(ctx context.Context, thread string) error {
			mu.Lock()
			if busy[thread] {
				w.Errorf("%s is worked on twice at once", thread)
			}
			busy[thread] = true
			mu.Unlock()
			defer func() {
				mu.Lock()
				busy[thread] = false
				mu.Unlock()
			}()
			return each(ctx, s.Store, thread, func(d *store.Delivery) {
				mu.Lock()
				got[thread] = append(got[thread], d.ID)
				mu.Unlock()
				all <- struct{}{}
			})
		}
	}
	for _, s := range stores {
		defer w.drain(w.start(s, queue.Config{Work: work(s)}))
	}
	want := map[string][]string{}
	var senders sync.WaitGroup
	for i := range threads {
		thread := fmt.Sprint("octo/hello#", i)
		for j := range each1 {
			want[thread] = append(want[thread], fmt.Sprint(i, "-", j))
		}
		senders.Go(func() {
			for j := range each1 {
				w.put(stores[(i+j)%2], fmt.Sprint(i, "-", j), thread)
			}
		})
	}
	senders.Wait()
	for range threads * each1 {
		await(w.T, "work on a delivery", all)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("worked on (-want +got):\n%s", diff)
	}
}

// latency has no sweep to help, and logs how long it took.
func latency(w *world) {
	s := w.open()
	seen := make(chan string, 1)
	q := w.start(s, queue.Config{Sweep: time.Hour, Work: func(ctx context.Context, thread string) error {
		return each(ctx, s.Store, thread, func(d *store.Delivery) { seen <- d.ID })
	}})
	defer w.drain(q)
	var sum time.Duration
	for i := range 20 {
		id := fmt.Sprint(i)
		began := time.Now()
		w.put(s, id, "octo/hello#1")
		if got := await(w.T, "work", seen); got != id {
			w.Errorf("worked on %s, want %s", got, id)
		}
		sum += time.Since(began)
	}
	w.Logf("from before the storing to the work: %v on average", sum/20)
}

func limits(w *world) {
	s := w.open()
	var mu sync.Mutex
	total, repos, most := 0, map[string]int{}, 0
	started, finish := make(chan string), map[string]chan struct{}{}
	waiting := map[string]int{"octo/a": 6, "octo/b": 4}
	for repo, n := range waiting {
		for i := range n {
			finish[fmt.Sprint(repo, "#", i)] = make(chan struct{})
		}
	}
	q := w.start(s, queue.Config{Limits: queue.Limits{Total: 3, Repo: 2}, Work: func(ctx context.Context, thread string) error {
		repo := thread[:6]
		mu.Lock()
		total++
		repos[repo]++
		most = max(most, total)
		if total > 3 || repos[repo] > 2 {
			w.Errorf("%d threads run, %v by repository", total, repos)
		}
		mu.Unlock()
		started <- thread
		<-finish[thread]
		mu.Lock()
		total--
		repos[repo]--
		mu.Unlock()
		return each(ctx, s.Store, thread, func(*store.Delivery) {})
	}})
	defer w.drain(q)
	for i := range 6 {
		w.put(s, fmt.Sprint("a", i), fmt.Sprint("octo/a#", i))
	}
	for i := range 4 {
		w.put(s, fmt.Sprint("b", i), fmt.Sprint("octo/b#", i))
	}
	var running []string
	start := func() {
		thread := await(w.T, "start of work", started)
		running = append(running, thread)
		waiting[thread[:6]]--
	}
	for range 3 {
		start()
	}
	mu.Lock()
	if total != 3 {
		w.Errorf("%d threads run, want 3", total)
	}
	mu.Unlock()
	for range 7 { // one of a repository that waits ends, so that another can begin
		at := max(0, slices.IndexFunc(running, func(thread string) bool { return waiting[thread[:6]] > 0 }))
		finish[running[at]] <- struct{}{}
		running = slices.Delete(running, at, at+1)
		start()
	}
	for _, thread := range running {
		finish[thread] <- struct{}{}
	}
	mu.Lock()
	defer mu.Unlock()
	if most != 3 {
		w.Errorf("at most %d threads ran, want 3", most)
	}
}

func wakeDuring(w *world) {
	s, other := w.open(), w.open()
	calls, finish := make(chan string), make(chan struct{})
	work := func(_ context.Context, thread string) error {
		calls <- thread
		<-finish
		return nil
	}
	q := w.start(s, queue.Config{Work: work, Sweep: time.Hour})
	defer w.drain(q)
	w.wake(s, "octo/hello#1")
	await(w.T, "work after a wake", calls)
	must(w.T, other.Wakes.Wake(w.Context(), "octo/hello#1", store.PriorityWork, time.Time{}))
	await(w.T, "word of the wake of another process", q.More("octo/hello#1"))
	finish <- struct{}{}
	await(w.T, "work after the second wake", calls)
	finish <- struct{}{}
}

func moreDuring(w *world) {
	s := w.open()
	ready, seen := make(chan struct{}), make(chan string, 10)
	var q *queue.Queue
	q = w.start(s, queue.Config{Work: func(ctx context.Context, thread string) error {
		n := 0
		record := func(d *store.Delivery) {
			n++
			seen <- d.ID
		}
		if err := each(ctx, s.Store, thread, record); err != nil {
			return err
		}
		close(ready)
		for n < 2 { // it may tell more often than there is something
			<-q.More(thread)
			if err := each(ctx, s.Store, thread, record); err != nil {
				return err
			}
		}
		return nil
	}})
	defer w.drain(q)
	w.put(s, "first", "octo/hello#1")
	await(w.T, "end of the first part", ready)
	w.put(s, "stop", "octo/hello#1")
	if a, b := await(w.T, "first", seen), await(w.T, "second", seen); a != "first" || b != "stop" {
		w.Errorf("saw %s, %s", a, b)
	}
	if q.More("octo/other#1") != nil {
		w.Error("a channel for a thread nobody works on")
	}
}

func takeOver(w *world) {
	s := w.open()
	must(w.T, s.Sessions.Create(w.Context(), &store.Session{ID: "s1", Thread: "octo/hello#2"}))
	for _, key := range []string{"octo/hello#1", "s1"} {
		_, err := s.Leases.Acquire(w.Context(), key, "dead", time.Minute)
		must(w.T, err)
	}
	seen := make(chan string, 100)
	q := w.start(s, queue.Config{Work: func(ctx context.Context, thread string) error {
		seen <- thread
		if thread != "octo/hello#2" {
			return nil
		}
		l, err := s.Leases.Acquire(ctx, "s1", "alive", time.Minute)
		if err != nil {
			return err
		}
		_, err = s.Leases.Release(ctx, l, time.Time{})
		return err
	}})
	defer w.drain(q)
	w.wake(s, "octo/hello#3") // shows that the queue runs
	if got := await(w.T, "work", seen); got != "octo/hello#3" {
		w.Errorf("%s was taken from a live worker", got)
	}
	w.clock.Add(2 * time.Minute)
	want := map[string]bool{"octo/hello#1": true, "octo/hello#2": true}
	for len(want) > 0 {
		got := await(w.T, "take-over", seen)
		if !want[got] && got != "octo/hello#3" { // a slow machine hears a wake twice
			w.Errorf("%s was taken over", got)
		}
		delete(want, got)
	}
}

// lostLease stops the clock of the holder: another takes the lease.
func lostLease(w *world) {
	s := w.open()
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	q := w.start(s, queue.Config{TTL: 6 * time.Second, Sweep: time.Hour, Work: func(ctx context.Context, _ string) error {
		started <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	}})
	defer w.drain(q)
	w.wake(s, "octo/hello#1")
	await(w.T, "start", started)
	var l store.Lease
	for {
		w.clock.Add(time.Hour)
		var err error
		if l, err = s.Leases.Acquire(w.Context(), "octo/hello#1", "thief", time.Hour); err == nil {
			break
		}
	}
	if err := await(w.T, "end of the work", ended); !errors.Is(err, session.ErrFenced) {
		w.Errorf("work ended by %v", err)
	}
	now, err := s.Leases.Lease(w.Context(), "octo/hello#1")
	must(w.T, err)
	if now.Owner != "thief" || now.Epoch != l.Epoch {
		w.Errorf("the lease of the new holder was touched: %+v", now)
	}
}

// slowLeases lets heartbeats fail while it is slow.
type slowLeases struct {
	store.Leases
	slow  atomic.Bool
	beats chan struct{}
}

func (s *slowLeases) Heartbeat(ctx context.Context, l store.Lease, ttl time.Duration) (store.Lease, error) {
	if !s.slow.Load() {
		return s.Leases.Heartbeat(ctx, l, ttl)
	}
	select {
	case s.beats <- struct{}{}:
	case <-ctx.Done():
	}
	return l, context.DeadlineExceeded
}

// slowLease has the database answer no heartbeat for longer than the lease: the work goes
// on, and releases its lease.
func slowLease(w *world) {
	s := w.open()
	leases := &slowLeases{Leases: s.Leases, beats: make(chan struct{})}
	leases.slow.Store(true)
	kept := s.Store
	kept.Leases = leases
	calls, goOn, ended := make(chan struct{}, 10), make(chan struct{}), make(chan error, 10)
	q := w.start(s, queue.Config{
		Store: kept, TTL: 300 * time.Millisecond,
		Work: func(ctx context.Context, _ string) error {
			calls <- struct{}{}
			<-goOn
			ended <- context.Cause(ctx)
			return nil
		},
	})
	defer w.drain(q)
	w.wake(s, "octo/hello#1")
	await(w.T, "start", calls)
	for range 6 {
		await(w.T, "a heartbeat", leases.beats)
	}
	w.clock.Add(time.Hour)
	leases.slow.Store(false)
	close(goOn)
	if err := await(w.T, "end of the work", ended); err != nil {
		w.Errorf("a slow database ended the work: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := queue.New(queue.Config{}); err == nil {
		t.Error("made a queue of nothing")
	}
}
