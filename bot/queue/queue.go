// Package queue gives threads that have work to workers: at least once, one
// worker per thread at a time, on one machine or on many.
//
// A wake says that a thread has work. It is inserted in the transaction that
// stores the delivery and runs as a short job of River. Whoever finds a wake
// first takes the lease of the thread and works until nothing is left; a wake
// that finds the lease taken ends, because the holder looks again before it
// lets go. A worker that dies stops extending its lease, and a sweep wakes
// the thread again. For speed, wakes inserted by this process are also handed
// over in memory; the jobs make sure that none is lost.
package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"github.com/handrail-bot/handrail/bot/store"
)

// draining is the cause of the end of a worker's context when the server goes
// down. The work goes on elsewhere, or after the start.
type draining struct{}

// Error implements error.
func (draining) Error() string { return "the server is going down" }

// Draining tells it from other causes.
func (draining) Draining() bool { return true }

// Engine makes what keeps jobs in a database.
type Engine func(*river.Config) (store.Jobs, error)

// NoEngine is for a process that ends when nothing is left to do, and looks at its
// threads itself: no job outlives it.
func NoEngine(*river.Config) (store.Jobs, error) { return noJobs{}, nil }

type noJobs struct{}

// Start implements [store.Jobs].
func (noJobs) Start(context.Context) error { return nil }

// Stop implements [store.Jobs].
func (noJobs) Stop(context.Context) error { return nil }

// StopAndCancel implements [store.Jobs].
func (noJobs) StopAndCancel(context.Context) error { return nil }

// Config is what a queue needs. Zero values of the numbers mean defaults.
type Config struct {
	Store store.Store
	River Engine // see the SQL adapters, and [NoEngine]
	// Work works on everything that waits in a thread: it takes deliveries by
	// Next and marks them by Done until there is none. Its context ends with
	// [session.ErrFenced] as its cause when the lease was lost and with
	// an error that has a method Draining when the server goes down. After an error it is called
	// again later.
	Work func(ctx context.Context, thread string) error
	// Later reports whether an error tells nothing about the work: such a
	// failure puts a thread off and never gives a delivery up. Nil for none.
	Later   func(error) bool
	Limits  Limits
	Owner   string                          // name of this worker, unique among all; default random
	TTL     time.Duration                   // of leases, default 15 s
	Sweep   time.Duration                   // between looks for threads that nobody works on, default 2 s
	Grace   time.Duration                   // for work to end by itself in Drain, default 5 s
	Backoff func(attempt int) time.Duration // wait after the failed attempt 1, 2, …; default 1 s doubling to 5 min
	Now     func() time.Time                // nil for time.Now
	Log     *slog.Logger                    // nil for none
}

// Limits says how much is worked on at once. Threads above a limit wait.
type Limits struct {
	Total    int // threads at once, default 8
	Reserve  int // further threads for answers and stops, default 2, -1 for none
	Repo     int // of one repository, default Total
	User     int // of one sender, default Total
	Attempts int // after so many failures in a row the oldest delivery is given up, default 10
}

// Queue hands threads to workers. Start and Drain are called once.
type Queue struct {
	Config

	jobs     store.Jobs
	offers   chan *offer
	finished chan *offer
	quit     chan struct{} // closed by end to begin the end
	end      sync.Once
	done     chan struct{} // closed when the loop and all workers ended
	cancel   context.CancelCauseFunc
	running  atomic.Int64

	mu   sync.Mutex
	more map[string]chan struct{} // by thread that this process works on
}

// New makes a queue that does nothing before Start.
func New(c Config) (*Queue, error) {
	switch {
	case c.Store.Deliveries == nil || c.Store.Wakes == nil || c.Store.Leases == nil:
		return nil, errors.New("make queue: no store given")
	case c.River == nil:
		return nil, errors.New("make queue: no engine for jobs given")
	case c.Work == nil:
		return nil, errors.New("make queue: no work given")
	}
	c.defaults()
	q := &Queue{
		Config: c, offers: make(chan *offer), finished: make(chan *offer), quit: make(chan struct{}), done: make(chan struct{}),
		more: map[string]chan struct{}{},
	}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, river.WorkFunc(q.wake)); err != nil {
		return nil, fmt.Errorf("make queue: %w", err)
	}
	jobs, err := c.River(&river.Config{
		Workers:                     workers,
		Queues:                      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 32}},
		JobTimeout:                  10 * time.Second, // a wake is short: it takes a lease or does not
		RescueStuckJobsAfter:        30 * time.Second,
		FetchCooldown:               20 * time.Millisecond,
		FetchPollInterval:           time.Second,
		CompletedJobRetentionPeriod: 10 * time.Minute,
		Logger:                      c.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("make queue: %w", err)
	}
	q.jobs = jobs
	return q, nil
}

func (c *Config) defaults() {
	c.Limits.Total = cmp.Or(c.Limits.Total, 8)
	c.Limits.Reserve = max(0, cmp.Or(c.Limits.Reserve, 2))
	c.Limits.Repo = cmp.Or(c.Limits.Repo, c.Limits.Total)
	c.Limits.User = cmp.Or(c.Limits.User, c.Limits.Total)
	c.Limits.Attempts = cmp.Or(c.Limits.Attempts, 10)
	c.Owner = cmp.Or(c.Owner, "worker-"+strings.ToLower(rand.Text()))
	c.TTL = cmp.Or(c.TTL, 15*time.Second)
	c.Sweep = cmp.Or(c.Sweep, 2*time.Second)
	c.Grace = cmp.Or(c.Grace, 5*time.Second)
	if c.Backoff == nil {
		c.Backoff = backoff
	}
	if c.Later == nil {
		c.Later = func(error) bool { return false }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// backoff doubles from a second to five minutes.
func backoff(attempt int) time.Duration {
	return min(5*time.Minute, time.Second<<min(max(attempt-1, 0), 10))
}

// Start begins to work, also on what was left by an earlier run. The end of
// ctx does not end the queue; Drain does.
func (q *Queue) Start(ctx context.Context) error {
	ctx, q.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	var parts sync.WaitGroup
	parts.Go(func() { q.loop(ctx) })
	parts.Go(func() { q.sweep(ctx) })
	go func() {
		parts.Wait()
		close(q.done)
	}()
	if err := q.jobs.Start(ctx); err != nil {
		q.cancel(err)
		q.end.Do(func() { close(q.quit) })
		<-q.done
		return fmt.Errorf("start queue: %w", err)
	}
	return nil
}

// Drain takes no new work, lets what runs end by itself for the time of
// grace, then ends its context, and waits for it. When ctx ends first it
// returns an error and the work is left to the leases.
func (q *Queue) Drain(ctx context.Context) error {
	q.end.Do(func() { close(q.quit) })
	err := q.jobs.Stop(ctx)
	grace := time.NewTimer(q.Grace)
	defer grace.Stop()
	select {
	case <-q.done:
	case <-grace.C:
	case <-ctx.Done():
	}
	q.cancel(draining{})
	select {
	case <-q.done:
	case <-ctx.Done():
		err = errors.Join(err, fmt.Errorf("%d threads are still worked on: %w", q.running.Load(), context.Cause(ctx)))
	}
	if err != nil {
		return fmt.Errorf("drain queue: %w", err)
	}
	return nil
}

// More returns a channel that receives when something new arrived in a
// thread that this process works on: look for deliveries. It returns nil for
// other threads.
func (q *Queue) More(thread string) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.more[thread]
}

func (q *Queue) setMore(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.more[thread] = make(chan struct{}, 1)
}

func (q *Queue) endMore(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.more, thread)
}

func (q *Queue) tellMore(thread string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.more[thread] <- struct{}{}: // never ready for a nil channel
	default:
	}
}
