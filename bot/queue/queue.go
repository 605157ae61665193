// Package queue distributes threads with work to workers: at least once, one worker per
// thread at a time, on one machine or on many.
//
// A wake says that a thread has work. It is inserted in the transaction that stores the
// delivery, and runs as a short River job. The first worker to process a wake acquires
// the thread's lease and works until nothing is left. A wake that finds the lease taken
// ends, because the holder checks for new work before it releases the lease. The lease
// of a dead worker expires, and a sweep wakes the thread again. For speed, wakes of
// this process are also passed in memory; the jobs ensure that none is lost.
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

// draining is the cancellation cause of a worker's context at shutdown. Another process
// continues the work, or this one after its restart.
type draining struct{}

// Error implements error.
func (draining) Error() string { return "the server is going down" }

// Draining marks the error as a shutdown.
func (draining) Draining() bool { return true }

// Engine creates the job client for a database.
type Engine func(*river.Config) (store.Jobs, error)

// NoEngine is for a short-lived process that looks at its threads itself and needs no
// persistent jobs.
func NoEngine(*river.Config) (store.Jobs, error) { return noJobs{}, nil }

type noJobs struct{}

// Start implements [store.Jobs].
func (noJobs) Start(context.Context) error { return nil }

// Stop implements [store.Jobs].
func (noJobs) Stop(context.Context) error { return nil }

// StopAndCancel implements [store.Jobs].
func (noJobs) StopAndCancel(context.Context) error { return nil }

// Config is the configuration of a queue. A number's zero value means its default.
type Config struct {
	Store store.Store
	River Engine // see the SQL adapters, and [NoEngine]
	// Work processes all work of a thread: it takes deliveries by Next and marks them by
	// Done until there is none. Its context is canceled with cause [session.ErrFenced] if
	// the lease is lost, and at shutdown with an error that has a method Draining. After an
	// error it is called again later.
	Work func(ctx context.Context, thread string) error
	// Later reports whether an error is unrelated to the work, such as an outage. The
	// thread is then postponed and no delivery is given up. nil means never.
	Later   func(error) bool
	Limits  Limits
	Owner   string                          // unique name of this worker; default random
	TTL     time.Duration                   // duration of leases; default 15 s
	Sweep   time.Duration                   // pause between sweeps; default 2 s
	Grace   time.Duration                   // time for running work to finish in Drain; default 5 s
	Backoff func(attempt int) time.Duration // pause after failed attempt 1, 2, …; default 1 s, doubling to 5 min
	Now     func() time.Time                // nil means time.Now
	Log     *slog.Logger                    // nil disables logging
}

// Limits are limits on concurrent work. Threads above a limit wait.
type Limits struct {
	Total    int // concurrent threads; default 8
	Reserve  int // additional threads for answers and stops; default 2, -1 means none
	Repo     int // threads per repository; default Total
	User     int // threads per sender; default Total
	Attempts int // consecutive failures until the oldest delivery is given up; default 10
}

// Queue distributes threads to workers. Start and Drain must be called at most once.
type Queue struct {
	Config

	jobs     store.Jobs
	offers   chan *offer
	finished chan *offer
	quit     chan struct{} // closed to begin the shutdown
	end      sync.Once
	done     chan struct{} // closed when the loops and all workers have ended
	cancel   context.CancelCauseFunc
	running  atomic.Int64

	mu   sync.Mutex
	more map[string]chan struct{} // by thread in work in this process
}

// New returns a queue. It does nothing before Start.
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
		Config:   c,
		offers:   make(chan *offer),
		finished: make(chan *offer),
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
		more:     map[string]chan struct{}{},
	}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, river.WorkFunc(q.wake)); err != nil {
		return nil, fmt.Errorf("make queue: %w", err)
	}
	jobs, err := c.River(&river.Config{
		Workers:                     workers,
		Queues:                      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 32}},
		JobTimeout:                  10 * time.Second, // a wake only tries to acquire a lease
		RescueStuckJobsAfter:        30 * time.Second,
		FetchCooldown:               20 * time.Millisecond,
		FetchPollInterval:           time.Second,
		CompletedJobRetentionPeriod: 10 * time.Minute,
		Logger:                      slog.New(riverLog{c.Log.Handler()}),
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

// Start starts the queue, including work left by an earlier run. The queue runs until
// Drain, even if ctx ends.
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

// Drain stops taking new work, waits for running work during the grace period, then
// cancels its context and waits for it. If ctx ends first, it returns an error, and the
// leases of the remaining work expire.
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

// More returns a channel that signals new work in a thread that this process works on.
// It returns nil for other threads.
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
