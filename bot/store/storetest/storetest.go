// Package storetest specifies a store, as tests that every adapter passes.
package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// Open opens an empty store with the clock now. It is closed by t.Cleanup.
type Open func(t *testing.T, now func() time.Time) store.Store

// Run runs the whole suite. It tries all orders of up to orders deliveries.
func Run(t *testing.T, open Open, orders int) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *env){
		"deliveries are stored once":                 deliveriesOnce,
		"deliveries of a thread keep their order":    deliveriesOrder,
		"deliveries gather in groups":                deliveriesGroup,
		"a bad delivery is refused alone":            deliveriesBad,
		"deliveries are forgotten when told":         deliveriesPrune,
		"urgent deliveries are seen behind others":   deliveriesUrgent,
		"waiting threads":                            waitingThreads,
		"waiting threads by priority":                waitingPriority,
		"a lease has one holder":                     leaseOne,
		"a lease under contention":                   leaseContention,
		"a paused holder writes nothing":             leasePaused,
		"what was done meanwhile is not done again":  leaseBehind,
		"a release waits for work":                   leaseRelease,
		"a release with a backoff":                   leaseBackoff,
		"sessions are kept":                          sessionsKept,
		"sessions are listed":                        sessionsListed,
		"sessions are counted":                       sessionsCounted,
		"sessions are paged whatever the clock says": sessionsPaged,
		"session updates do not overwrite":           sessionsUpdate,
		"a log is a chain":                           logChain,
		"a log has pages":                            logPages,
		"a log under contention":                     logContention,
		"a log holds a long output":                  logOutput,
		"a log refuses without a lease":              logFenced,
		"a log is imported whole":                    logImport,
		"golden logs are read":                       logGolden,
		"a change is made whole or not at all":       changeAtomic,
		"intents":                                    intentLife,
		"intents of a session are fenced":            intentFenced,
		"values":                                     metaValues,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewClock()
			test(t, &env{Store: open(t, c.Now), clock: c, orders: orders})
		})
	}
}

// env is the environment of a test of the suite.
type env struct {
	store.Store

	clock  *Clock
	orders int
}

// Clock is a clock that moves only on [Clock.Add].
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that begins at a fixed time.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)}
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves the clock forward.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// hold acquires a lease or fails the test.
func (e *env) hold(t *testing.T, key, owner string) store.Lease {
	t.Helper()
	l, err := e.Leases.Acquire(t.Context(), key, owner, time.Minute)
	must(t, err)
	return l
}

// must stops the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want checks the identity of an error.
func want(t *testing.T, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: got error %v, want %v", what, err, target)
	}
}

// delivery returns a delivery with an id, for a thread.
func delivery(id, thread string) *store.Delivery {
	return &store.Delivery{
		ID:      id,
		Event:   "issue_comment",
		Thread:  thread,
		Sender:  "octocat",
		Payload: []byte(`{"id":"` + id + `"}`),
	}
}

// note returns an event with a text.
func note(turn int, text string) *session.Event {
	return session.NewEvent(session.TypeNote, turn, session.Note{Kind: "reminder", Text: text})
}

// texts returns the texts of notes.
func texts(t *testing.T, events []session.Event) []string {
	t.Helper()
	var out []string
	for _, e := range events {
		n, err := session.Decode[session.Note](e)
		must(t, err)
		out = append(out, n.Text)
	}
	return out
}

// parallel runs fn n times at once and returns the errors.
func parallel(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errs
}

func count(errs []error, target error) int {
	n := 0
	for _, err := range errs {
		if target == nil && err == nil || target != nil && errors.Is(err, target) {
			n++
		}
	}
	return n
}
