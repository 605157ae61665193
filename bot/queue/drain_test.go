package queue_test

import (
	"context"
	"errors"
	"time"

	"github.com/handrail-bot/handrail/bot/queue"
	"github.com/handrail-bot/handrail/bot/store"
)

func drain(w *world) {
	s := w.open()
	started := make(chan struct{}, 1)
	q := w.start(s, queue.Config{Work: func(ctx context.Context, _ string) error {
		started <- struct{}{}
		<-ctx.Done()
		var down interface{ Draining() bool }
		if !errors.As(context.Cause(ctx), &down) {
			w.Errorf("work ended by %v", context.Cause(ctx))
		}
		return ctx.Err()
	}})
	w.put(s, "a", "octo/hello#1")
	await(w.T, "start", started)
	w.drain(q)
	all, err := s.Wakes.Waiting(w.Context(), 10)
	must(w.T, err)
	if len(all) != 1 || all[0].Thread != "octo/hello#1" {
		w.Errorf("after the drain waiting are %+v, want the thread at once", all)
	}
	seen := make(chan string, 1)
	next := w.start(w.open(), queue.Config{Work: func(ctx context.Context, thread string) error {
		return each(ctx, s.Store, thread, func(d *store.Delivery) { seen <- d.ID })
	}})
	defer w.drain(next)
	if got := await(w.T, "work after the restart", seen); got != "a" {
		w.Errorf("worked on %s", got)
	}
}

func drainGrace(w *world) {
	s := w.open()
	started, finish := make(chan struct{}), make(chan struct{})
	q := w.start(s, queue.Config{Grace: time.Hour, Work: func(ctx context.Context, thread string) error {
		close(started)
		<-finish
		if ctx.Err() != nil {
			w.Error("the context ended within the time of grace")
		}
		return each(ctx, s.Store, thread, func(*store.Delivery) {})
	}})
	w.put(s, "a", "octo/hello#1")
	await(w.T, "start", started)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		w.drain(q)
	}()
	close(finish)
	await(w.T, "drain", drained)
	_, err := s.Deliveries.Next(w.Context(), "octo/hello#1")
	if !errors.Is(err, store.ErrNotFound) {
		w.Errorf("the work was not done: %v", err)
	}
}

func drainLate(w *world) {
	s := w.open()
	started, finish := make(chan struct{}), make(chan struct{})
	q := w.start(s, queue.Config{Work: func(context.Context, string) error {
		close(started)
		<-finish
		return nil
	}})
	w.wake(s, "octo/hello#1")
	await(w.T, "start", started)
	ctx, cancel := context.WithTimeout(w.Context(), 200*time.Millisecond)
	defer cancel()
	if err := q.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
		w.Errorf("drain of work that does not end: %v", err)
	}
	close(finish)
	w.drain(q)
}
