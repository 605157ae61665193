package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// lease is the right to write a session's log, kept alive until released.
type lease struct {
	mu    sync.Mutex
	row   store.Lease
	stop  context.CancelFunc
	ended chan struct{}
}

// hold takes the session's lease.
func (w *worker) hold(ctx context.Context, id string) (store.Fence, error) {
	if w.held != nil && w.held.row.Key == id {
		return w.held.row.Fence(), nil
	}
	if err := w.release(ctx); err != nil {
		return store.Fence{}, err
	}
	row, err := w.cfg.Store.Leases.Acquire(ctx, id, w.cfg.Owner, w.cfg.TTL)
	if err != nil {
		return store.Fence{}, fmt.Errorf("take session %s: %w", id, err)
	}
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &lease{row: row, stop: stop, ended: make(chan struct{})}
	w.held = l
	go w.beat(beat, l)
	return row.Fence(), nil
}

// beat extends the lease until it is released or lost.
func (w *worker) beat(ctx context.Context, l *lease) {
	defer close(l.ended)
	tick := time.NewTicker(w.cfg.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.mu.Lock()
		row, err := w.cfg.Store.Leases.Heartbeat(ctx, l.row, w.cfg.TTL)
		if err == nil {
			l.row = row
		}
		l.mu.Unlock()
		if errors.Is(err, session.ErrFenced) {
			return // the next write fails and ends the work
		}
	}
}

// release gives the session's lease back.
func (w *worker) release(ctx context.Context) error {
	l := w.held
	if l == nil {
		return nil
	}
	w.held = nil
	l.stop()
	<-l.ended
	_, err := w.cfg.Store.Leases.Release(ctx, l.row, time.Time{})
	if errors.Is(err, session.ErrFenced) {
		return nil
	}
	return err
}

// commit stores a change in one transaction, then does what it intends on
// GitHub.
func (w *worker) commit(ctx context.Context, c *change) error {
	sess := c.opened
	if sess == nil {
		var err error
		if sess, err = w.session(ctx); err != nil {
			return err
		}
	}
	if sess == nil {
		for _, in := range c.Intents {
			if err := w.cfg.Store.Intents.Intend(ctx, store.Fence{}, in); err != nil {
				return err
			}
		}
		if err := w.effects(ctx, store.Fence{}, ""); err != nil {
			return err
		}
		return w.cfg.Store.Deliveries.Done(ctx, "done", c.Done...)
	}
	f, err := w.hold(ctx, sess.ID)
	if err != nil {
		return err
	}
	if c.opened != nil {
		if c.Events, err = w.unopened(ctx, f, c.Events); err != nil {
			return err
		}
		w.intendProgress(c, sess)
	}
	for _, in := range c.Intents {
		in.Session = sess.ID
	}
	if err := w.cfg.Store.Logs.Apply(ctx, f, c.Change); err != nil {
		return fmt.Errorf("record delivery: %w", err)
	}
	return w.effects(ctx, f, sess.ID)
}

// unopened drops the opening event when an earlier try of the same delivery
// recorded it.
func (w *worker) unopened(ctx context.Context, f store.Fence, events []*session.Event) ([]*session.Event, error) {
	have, err := w.cfg.Store.Logs.Log(f).Events(ctx, 0)
	if err != nil || len(have) == 0 {
		return events, err
	}
	return events[1:], nil
}
