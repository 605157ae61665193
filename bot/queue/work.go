package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// errUnfinished is the failure of work that succeeds without finishing its oldest
// delivery. Without it, the work would be repeated forever.
var errUnfinished = errors.New("work ended without finishing its delivery")

// maxOutagePause is the maximum pause of a thread after a failure unrelated to its work.
const maxOutagePause = time.Minute

// postponed is an error that only delays the work until a time.
type postponed interface {
	error
	Until() time.Time
}

// loop assigns slots to offers until the queue drains, and then waits for the workers.
func (q *Queue) loop(ctx context.Context) {
	s := newSlots(q.Limits)
	var workers sync.WaitGroup
	for open := true; open; {
		select {
		case w := <-q.Store.Wakes.Nudges():
			q.add(s, &offer{Waiting: w})
		case o := <-q.offers:
			q.add(s, o)
		case o := <-q.finished:
			s.done(o)
		case <-q.quit:
			open = false
			continue
		}
		for o := s.next(); o != nil; o = s.next() {
			q.running.Store(int64(len(s.running)))
			q.setMore(o.Thread)
			workers.Go(func() {
				q.work(ctx, o)
				q.finished <- o
			})
		}
		q.running.Store(int64(len(s.running)))
	}
	ended := make(chan struct{})
	go func() {
		workers.Wait()
		close(ended)
	}()
	for {
		select {
		case o := <-q.finished:
			s.done(o)
			q.running.Store(int64(len(s.running)))
		case <-ended:
			return
		}
	}
}

func (q *Queue) add(s *slots, o *offer) {
	if s.add(o) {
		q.tellMore(o.Thread)
	}
}

// offer passes an offer to the loop.
func (q *Queue) offer(ctx context.Context, o *offer) {
	select {
	case q.offers <- o:
	case <-q.quit:
		o.tell(false)
	case <-ctx.Done():
		o.tell(false)
	}
}

// wake is River's worker. A wake without a delivery is recorded only in its job, so the
// job ends only after a lease holder has been informed.
func (q *Queue) wake(ctx context.Context, job *river.Job[store.Wake]) error {
	w := store.Waiting{Thread: job.Args.Thread, Sender: job.Args.Sender, Priority: job.Priority, Since: job.CreatedAt}
	if !job.Args.Due {
		q.offer(ctx, &offer{Waiting: w})
		return nil
	}
	held, err := q.Store.Leases.Want(ctx, w.Thread)
	if err != nil {
		return err
	}
	if held {
		q.tellMore(w.Thread)
		return nil
	}
	claimed := make(chan bool, 1)
	q.offer(ctx, &offer{Waiting: w, due: true, claimed: claimed})
	wait := time.NewTimer(time.Second)
	defer wait.Stop()
	select {
	case ok := <-claimed:
		if ok {
			return nil
		}
	case <-wait.C:
	case <-q.quit:
	}
	return river.JobSnooze(2 * time.Second)
}

// sweep looks for abandoned threads, at the start and then every few seconds. Slow
// sweeps are rarer.
func (q *Queue) sweep(ctx context.Context) {
	tick := time.NewTimer(q.Sweep)
	defer tick.Stop()
	for {
		began := time.Now()
		all, err := q.Store.Wakes.Waiting(ctx, maxWaiting)
		if err != nil {
			q.Log.ErrorContext(ctx, "sweep for waiting threads", "err", err)
		}
		tick.Reset(max(q.Sweep, 20*time.Since(began)))
		for _, w := range all {
			q.offer(ctx, &offer{Waiting: w, swept: true})
		}
		select {
		case <-tick.C:
		case <-q.quit:
			return
		}
	}
}

// work claims a thread and processes it until nothing is left.
func (q *Queue) work(ctx context.Context, o *offer) {
	defer q.endMore(o.Thread)
	lease, claimed, err := q.claim(ctx, o)
	o.tell(err == nil)
	if err != nil && ctx.Err() == nil {
		q.Log.ErrorContext(ctx, "claim thread", "thread", o.Thread, "err", err)
	}
	if err != nil || !claimed {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var beat sync.WaitGroup
	beat.Go(func() { q.heartbeat(ctx, lease, cancel) })
	again := lease
	again.Attempts = 0
	for more := q.once(ctx, lease); more; {
		more = q.once(ctx, again)
	}
	cancel(nil)
	beat.Wait()
}

// claim acquires the lease of a thread. It returns false if there is nothing to do, if
// another holder has the lease and will look again, or if the thread backs off: the
// thread is then marked as wanted, and a sweep finds it in time. An offer may be older
// than the failure, so the lease decides.
func (q *Queue) claim(ctx context.Context, o *offer) (store.Lease, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, q.TTL)
	defer cancel()
	if needed, err := q.needed(ctx, o); err != nil || !needed {
		return store.Lease{}, false, err
	}
	for range 5 {
		l, err := q.Store.Leases.Acquire(ctx, o.Thread, q.Owner, q.TTL)
		switch {
		case err == nil:
			return l, true, nil
		case errors.Is(err, store.ErrPutOff):
			return l, false, nil
		case !errors.Is(err, store.ErrHeld) || !o.due:
			return l, false, store.Unless(err, store.ErrHeld)
		}
		held, err := q.Store.Leases.Want(ctx, o.Thread)
		if err != nil || held {
			return l, false, err
		}
	}
	return store.Lease{}, false, errors.New("its lease comes and goes")
}

// needed reports whether an offer is still valid: a wake always, an offer of a sweep
// while the lease is unchanged, and any other while the thread has a delivery.
func (q *Queue) needed(ctx context.Context, o *offer) (bool, error) {
	if o.due {
		return true, nil
	}
	if o.swept {
		row, err := q.Store.Leases.Lease(ctx, o.Thread)
		if store.Unless(err, store.ErrNotFound) != nil {
			return false, err
		}
		if row.Epoch == o.Epoch {
			return true, nil
		}
	}
	_, err := q.Store.Deliveries.Next(ctx, o.Thread)
	return err == nil, store.Unless(err, store.ErrNotFound)
}

// heartbeat extends a lease until ctx ends. It cancels the work if the lease is lost. A
// database that does not answer in time takes no lease away: the next heartbeat tells,
// and writes are fenced meanwhile.
func (q *Queue) heartbeat(ctx context.Context, l store.Lease, lost context.CancelCauseFunc) {
	tick := time.NewTicker(q.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		call, cancel := context.WithTimeout(ctx, q.TTL/3)
		next, err := q.Store.Leases.Heartbeat(call, l, q.TTL)
		cancel()
		switch {
		case err == nil:
			if next.Wanted {
				q.tellMore(l.Key)
			}
		case ctx.Err() != nil:
			return
		case errors.Is(err, session.ErrFenced): //control:slow-store-keeps-the-thread
			q.Log.ErrorContext(ctx, "lost lease of thread", "thread", l.Key, "err", err)
			lost(session.ErrFenced)
			return
		default:
			q.Log.WarnContext(ctx, "extend lease of thread", "thread", l.Key, "err", err)
		}
	}
}

// once runs the work once and releases the lease. It returns true if there is more to
// do.
func (q *Queue) once(ctx context.Context, l store.Lease) bool {
	before, err := q.oldest(ctx, l.Key)
	if err == nil {
		err = q.call(ctx, l.Key)
	}
	if errors.Is(context.Cause(ctx), session.ErrFenced) {
		return false // the lease belongs to another holder
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.TTL)
	defer cancel()
	drains := errors.Is(context.Cause(ctx), draining{})
	if err == nil {
		released, more := q.release(end, l, time.Time{})
		if released || !more {
			return false
		}
		if !drains {
			after, lookErr := q.oldest(end, l.Key)
			if lookErr == nil && (after == "" || after != before) {
				return true
			}
			err = errors.Join(errUnfinished, lookErr)
		}
	}
	if drains {
		q.release(end, l, q.Now())
		return false
	}
	var later postponed
	if errors.As(err, &later) {
		q.release(end, l, later.Until())
		return false
	}
	return q.failed(end, l, err)
}

// failed postpones a thread after an error. It returns true if the delivery is given up
// and there is more to do.
func (q *Queue) failed(ctx context.Context, l store.Lease, err error) bool {
	attempt := l.Attempts + 1
	q.Log.ErrorContext(ctx, "work on thread", "thread", l.Key, "attempt", attempt, "err", err)
	pause, later := q.Backoff(attempt), q.Later(err)
	if later { // an outage may end at any time
		pause = min(pause, maxOutagePause)
	}
	if attempt < q.Limits.Attempts || later {
		q.release(ctx, l, q.Now().Add(pause))
		return false
	}
	id, lookErr := q.oldest(ctx, l.Key)
	if lookErr == nil && id != "" {
		lookErr = q.Store.Deliveries.Done(ctx, fmt.Sprintf("given up after %d attempts: %v", attempt, err), id)
		q.Log.ErrorContext(ctx, "gave up delivery", "thread", l.Key, "delivery", id, "err", errors.Join(err, lookErr))
	}
	released, more := q.release(ctx, l, time.Time{})
	return !released && more
}

// release releases a lease, or reports that there is more to do. If both are false, the
// lease expires by itself.
func (q *Queue) release(ctx context.Context, l store.Lease, backoff time.Time) (released, more bool) {
	released, err := q.Store.Leases.Release(ctx, l, backoff)
	if err != nil {
		q.Log.ErrorContext(ctx, "release lease of thread", "thread", l.Key, "err", err)
		return false, false
	}
	return released, !released
}

// oldest returns the id of the oldest delivery, or "" if there is none.
func (q *Queue) oldest(ctx context.Context, thread string) (string, error) {
	d, err := q.Store.Deliveries.Next(ctx, thread)
	if err != nil {
		return "", store.Unless(err, store.ErrNotFound)
	}
	return d.ID, nil
}

// call runs the work and turns a panic into an error.
func (q *Queue) call(ctx context.Context, thread string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("work panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return q.Work(ctx, thread)
}
