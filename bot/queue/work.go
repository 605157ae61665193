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

// errUnfinished is the failure of work that ends well and leaves its oldest
// delivery undone: it would be called for ever.
var errUnfinished = errors.New("work ended without finishing its delivery")

// longestOutage is how long a thread is put off when nothing is wrong with its work.
const longestOutage = time.Minute

// postponed is an error that is no failure: the work goes on at a time.
type postponed interface {
	error
	Until() time.Time
}

// loop gives slots to offers until the queue drains, and then waits for the
// workers.
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

// offer hands an offer to the loop.
func (q *Queue) offer(ctx context.Context, o *offer) {
	select {
	case q.offers <- o:
	case <-q.quit:
		o.tell(false)
	case <-ctx.Done():
		o.tell(false)
	}
}

// wake is River's worker. A wake that is not about a delivery exists nowhere
// else, so its job ends only when the thread has a lease and its holder knows.
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

// sweep looks for threads that nobody works on, at the start and then every
// few seconds; where much waits and a look takes long, less often.
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

// work claims a thread and works on it until nothing is left.
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

// claim takes the lease of a thread. It reports false when somebody else has
// it, who will look again, when there is nothing to do, or when the thread
// backs off: it is marked as wanted then, and a sweep finds it in time. An
// offer may be older than the failure, so that the lease decides.
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

// needed reports whether an offer is still one: a wake always, what a sweep found
// as long as nobody took the lease since, and all else while a delivery waits.
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

// heartbeat extends a lease until ctx ends. It ends the work when the lease
// is lost, or may be because it could not be extended in time.
func (q *Queue) heartbeat(ctx context.Context, l store.Lease, lost context.CancelCauseFunc) {
	tick := time.NewTicker(q.TTL / 3)
	defer tick.Stop()
	until := time.Now().Add(q.TTL)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		call, cancel := context.WithTimeout(ctx, q.TTL/3)
		next, err := q.Store.Leases.Heartbeat(call, l, q.TTL)
		cancel()
		switch {
		case err == nil:
			until = asked.Add(q.TTL)
			if next.Wanted {
				q.tellMore(l.Key)
			}
		case ctx.Err() != nil:
			return
		case errors.Is(err, session.ErrFenced) || time.Now().After(until.Add(-q.TTL/3)):
			q.Log.ErrorContext(ctx, "lost lease of thread", "thread", l.Key, "err", err)
			lost(session.ErrFenced)
			return
		default:
			q.Log.WarnContext(ctx, "extend lease of thread", "thread", l.Key, "err", err)
		}
	}
}

// once works once and gives the lease back. It reports true when there is
// more to do.
func (q *Queue) once(ctx context.Context, l store.Lease) bool {
	before, err := q.oldest(ctx, l.Key)
	if err == nil {
		err = q.call(ctx, l.Key)
	}
	if errors.Is(context.Cause(ctx), session.ErrFenced) {
		return false // not ours to give back
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

// failed puts a thread off after an error. It reports true when the delivery
// is given up and there is more to do.
func (q *Queue) failed(ctx context.Context, l store.Lease, err error) bool {
	attempt := l.Attempts + 1
	q.Log.ErrorContext(ctx, "work on thread", "thread", l.Key, "attempt", attempt, "err", err)
	pause, later := q.Backoff(attempt), q.Later(err)
	if later { // an outage may be over at any time
		pause = min(pause, longestOutage)
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

// release gives a lease back, or reports that there is more to do. When neither
// is known the lease expires by itself.
func (q *Queue) release(ctx context.Context, l store.Lease, backoff time.Time) (released, more bool) {
	released, err := q.Store.Leases.Release(ctx, l, backoff)
	if err != nil {
		q.Log.ErrorContext(ctx, "release lease of thread", "thread", l.Key, "err", err)
		return false, false
	}
	return released, !released
}

// oldest returns the id of the oldest delivery, or "".
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
