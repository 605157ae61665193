package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
)

// deliveryLog logs each delivery once, when it is done: with its outcome, and the reason
// if it has no effect. It is safe for concurrent use.
type deliveryLog struct {
	log    *slog.Logger
	waited func(time.Duration) // receives the wait of each delivery before the work on it

	mu     sync.Mutex
	known  map[string]store.Delivery // deliveries being worked on
	counts map[string]int            // by outcome
	last   time.Time
}

// Outcomes of deliveries.
const (
	outcomeDone    = "done"
	outcomeIgnored = "ignored"
	outcomeMoved   = "moved"
	outcomeFailed  = "given up"
)

func newDeliveryLog(log *slog.Logger, waited func(time.Duration)) *deliveryLog {
	return &deliveryLog{log: log, waited: waited, known: map[string]store.Delivery{}, counts: map[string]int{}}
}

// of returns a store whose deliveries are logged.
func (l *deliveryLog) of(s store.Store) store.Store {
	s.Deliveries, s.Logs = toldDeliveries{s.Deliveries, l}, toldLogs{s.Logs, l}
	return s
}

// outcomeOf returns the outcome that a note for the operator means.
func outcomeOf(note string) string {
	switch {
	case note == "" || note == "done" || note == "worked":
		return outcomeDone
	case strings.HasPrefix(note, "handed to ") || strings.HasPrefix(note, "transferred to "):
		return outcomeMoved
	case strings.HasPrefix(note, "given up "):
		return outcomeFailed
	}
	return outcomeIgnored
}

func (l *deliveryLog) done(ctx context.Context, note string, ids ...string) {
	how := outcomeOf(note)
	for _, id := range ids {
		l.mu.Lock()
		d, ok := l.known[id]
		delete(l.known, id)
		l.counts[how]++
		l.last = time.Now()
		l.mu.Unlock()
		args := []any{"delivery", id}
		if ok {
			args = append(args, "event", d.Event, "thread", d.Thread, "sender", d.Sender)
		}
		if how != outcomeDone {
			args = append(args, "why", note)
		}
		l.log.InfoContext(ctx, how, args...) //nolint:sloglint // one of four outcomes
	}
}

type toldDeliveries struct {
	store.Deliveries

	log *deliveryLog
}

// Next implements [store.Deliveries].
func (d toldDeliveries) Next(ctx context.Context, thread string) (*store.Delivery, error) {
	next, err := d.Deliveries.Next(ctx, thread)
	if err == nil {
		d.log.mu.Lock()
		_, again := d.log.known[next.ID]
		d.log.known[next.ID] = store.Delivery{Event: next.Event, Thread: next.Thread, Sender: next.Sender}
		d.log.mu.Unlock()
		if !again {
			d.log.waited(time.Since(next.Received))
		}
	}
	return next, err
}

// Done implements [store.Deliveries].
func (d toldDeliveries) Done(ctx context.Context, note string, ids ...string) error {
	err := d.Deliveries.Done(ctx, note, ids...)
	if err == nil {
		d.log.done(ctx, note, ids...)
	}
	return err
}

type toldLogs struct {
	store.Logs

	log *deliveryLog
}

// Apply implements [store.Logs].
func (l toldLogs) Apply(ctx context.Context, f store.Fence, c store.Change) error {
	err := l.Logs.Apply(ctx, f, c)
	if err == nil {
		l.log.done(ctx, "", c.Done...)
	}
	return err
}
