package queue_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/handrail-bot/handrail/bot/queue"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
)

// failures lets work fail, and panic, until the delivery is given up; the
// next one is worked on.
func failures(w *world) {
	s := w.open()
	calls := make(chan string, 100)
	n := 0
	q := w.start(s, queue.Config{
		Limits:  queue.Limits{Attempts: 3},
		Backoff: func(attempt int) time.Duration { return time.Duration(attempt) * time.Minute },
		Work: func(ctx context.Context, thread string) error {
			d, err := s.Deliveries.Next(ctx, thread)
			if err != nil {
				return err
			}
			calls <- d.ID
			if d.ID == "good" {
				return s.Deliveries.Done(ctx, "", d.ID)
			}
			if n++; n == 2 {
				panic("ouch")
			}
			return errors.New("no luck")
		},
	})
	defer w.drain(q)
	w.put(s, "bad", "octo/hello#1")
	w.put(s, "good", "octo/hello#1")
	for attempt := 1; attempt <= 3; attempt++ {
		if got := await(w.T, "an attempt", calls); got != "bad" {
			w.Fatalf("attempt %d is for %s", attempt, got)
		}
		if attempt < 3 {
			w.backsOff(s, "octo/hello#1", attempt)
			w.clock.Add(time.Duration(attempt) * time.Minute)
		}
	}
	if got := await(w.T, "the next delivery", calls); got != "good" {
		w.Errorf("after giving up worked on %s", got)
	}
}

// attempts waits until the lease counts an attempt, and fails when it counts
// more.
func (w *world) attempts(s *sqlstore.Store, thread string, attempt int) {
	w.Helper()
	for late := time.After(10 * time.Minute); ; {
		l, err := s.Leases.Lease(w.Context(), thread)
		must(w.T, err)
		if l.Attempts == attempt && l.Owner == "" {
			return
		}
		if l.Attempts > attempt {
			w.Fatalf("attempt %d came before its time", l.Attempts)
		}
		select {
		case <-late:
			w.Fatalf("attempt %d did not end", attempt)
		case <-time.After(time.Millisecond):
		}
	}
}

// backsOff waits until the lease counts an attempt, and checks that the
// thread does not wait for work.
func (w *world) backsOff(s *sqlstore.Store, thread string, attempt int) {
	w.Helper()
	w.attempts(s, thread, attempt)
	all, err := s.Wakes.Waiting(w.Context(), 10)
	must(w.T, err)
	if len(all) != 0 {
		w.Errorf("waiting during the backoff: %+v", all)
	}
}

func unfinished(w *world) {
	s := w.open()
	calls := make(chan struct{}, 100)
	q := w.start(s, queue.Config{Sweep: 10 * time.Millisecond, Work: func(context.Context, string) error {
		calls <- struct{}{}
		return nil
	}})
	defer w.drain(q)
	w.put(s, "a", "octo/hello#1")
	await(w.T, "work", calls)
	w.backsOff(s, "octo/hello#1", 1)
	if len(calls) != 0 {
		w.Errorf("work was called %d times more", len(calls))
	}
}

// stale is the look of a sweep that began before the thread failed.
type stale struct {
	store.Wakes

	thread string
	looked chan struct{}
}

func (s stale) Waiting(context.Context, int) ([]store.Waiting, error) {
	s.looked <- struct{}{}
	return []store.Waiting{{Thread: s.thread, Priority: store.PriorityWork}}, nil
}

// drop lets sweeps go on until the end.
func drop(looked <-chan struct{}) {
	for _, ok := <-looked; ok; {
		_, ok = <-looked
	}
}

// oldOffers has every sweep bring a thread that failed meanwhile: it is not
// worked on before its time.
func oldOffers(w *world) {
	s := w.open()
	const thread = "octo/hello#1"
	calls, looked := make(chan struct{}, 100), make(chan struct{})
	kept := s.Store
	kept.Wakes = stale{s.Wakes, thread, looked}
	q := w.start(s, queue.Config{
		Store: kept, Sweep: 5 * time.Millisecond, Backoff: func(int) time.Duration { return time.Minute },
		Work: func(context.Context, string) error {
			calls <- struct{}{}
			return errors.New("no luck")
		},
	})
	defer func() {
		go drop(looked)
		w.drain(q)
		close(looked)
	}()
	w.put(s, "a", thread)
	for attempt := 1; attempt <= 3; attempt++ {
		for len(calls) == 0 {
			await(w.T, "a sweep", looked)
		}
		<-calls
		w.attempts(s, thread, attempt)
		for range 5 {
			await(w.T, "a sweep", looked)
		}
		if len(calls) != 0 {
			w.Errorf("after attempt %d work was called %d times more", attempt, len(calls))
		}
		w.clock.Add(time.Minute)
	}
}

// wakeBackoff wakes a thread that backs off: the wake is not lost, and the
// thread keeps its time.
func wakeBackoff(w *world) {
	s := w.open()
	const thread = "octo/hello#1"
	calls := make(chan struct{}, 100)
	var fine atomic.Bool
	q := w.start(s, queue.Config{
		Sweep: 10 * time.Millisecond, Backoff: func(int) time.Duration { return time.Minute },
		Work: func(context.Context, string) error {
			calls <- struct{}{}
			if fine.Load() {
				return nil
			}
			return errors.New("no luck")
		},
	})
	defer w.drain(q)
	w.wake(s, thread)
	await(w.T, "work", calls)
	w.backsOff(s, thread, 1)
	fine.Store(true)
	w.wake(s, thread)
	w.wake(s, "octo/other#2") // shows that the queue goes on
	await(w.T, "work on the other thread", calls)
	w.backsOff(s, thread, 1)
	if len(calls) != 0 {
		w.Error("a wake made the thread be worked on before its time")
	}
	w.clock.Add(time.Minute)
	await(w.T, "work after the backoff", calls)
}

// sweptOnce has a sweep bring a thread that was worked on since it looked,
// and nothing more to do: it is left alone.
func sweptOnce(w *world) {
	s := w.open()
	const thread = "octo/hello#1"
	calls, looked := make(chan struct{}, 100), make(chan struct{})
	kept := s.Store
	kept.Wakes = stale{s.Wakes, thread, looked}
	q := w.start(s, queue.Config{Store: kept, Sweep: 5 * time.Millisecond, Work: func(context.Context, string) error {
		calls <- struct{}{}
		return nil
	}})
	await(w.T, "a sweep", looked)
	await(w.T, "work", calls)
	for range 5 {
		await(w.T, "a sweep", looked)
	}
	go drop(looked)
	w.drain(q)
	close(looked)
	if len(calls) != 0 {
		w.Errorf("work was called %d times more", len(calls))
	}
}
