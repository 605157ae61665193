package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
)

// lease is the right to write a session's log, kept alive until released.
type lease struct {
	fence store.Fence
	stop  context.CancelFunc
	ended chan struct{}

	mu    sync.Mutex
	row   store.Lease
	until time.Time // by this process's clock
}

// holds says whether the lease is certainly not taken over yet.
func (l *lease) holds(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.until)
}

// hold takes a lease: of a session, or of the thread's own words.
func (w *worker) hold(ctx context.Context, id string) (store.Fence, error) {
	if l := w.held.Load(); l != nil && l.fence.Key == id {
		return l.fence, nil
	}
	if err := w.release(ctx); err != nil {
		return store.Fence{}, err
	}
	asked := time.Now()
	row, err := w.cfg.Store.Leases.Acquire(ctx, id, w.cfg.Owner, w.cfg.TTL)
	if err != nil {
		return store.Fence{}, fmt.Errorf("take session %s: %w", id, err)
	}
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &lease{fence: row.Fence(), row: row, until: asked.Add(w.cfg.TTL), stop: stop, ended: make(chan struct{})}
	w.held.Store(l)
	go w.beat(beat, l)
	return l.fence, nil
}

// beat extends the lease until it is released or lost. Losing it ends the
// work at once.
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
		asked := time.Now()
		row, err := w.cfg.Store.Leases.Heartbeat(ctx, l.row, w.cfg.TTL)
		switch {
		case err == nil:
			l.mu.Lock()
			l.row, l.until = row, asked.Add(w.cfg.TTL)
			l.mu.Unlock()
		case ctx.Err() != nil:
			return
		case errors.Is(err, session.ErrFenced) || !l.holds(time.Now()):
			w.cfg.Log.WarnContext(ctx, "lost session", "session", l.fence.Key, "err", err)
			w.lost(session.ErrFenced)
			return
		default:
			w.cfg.Log.WarnContext(ctx, "extend lease of session", "session", l.fence.Key, "err", err)
		}
	}
}

// release gives the lease back.
func (w *worker) release(ctx context.Context) error {
	l := w.held.Load()
	if l == nil {
		return nil
	}
	l.stop()
	<-l.ended
	w.held.Store(nil)
	_, err := w.cfg.Store.Leases.Release(ctx, l.row, time.Time{})
	if errors.Is(err, session.ErrFenced) {
		return nil
	}
	return err
}

// wordsKey is the lease under which a thread is answered that has no session.
func wordsKey(thread string) string { return "words " + thread }

// commit stores a change in one transaction, then does what it intends on
// GitHub.
func (w *worker) commit(ctx context.Context, c *change) error {
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	if sess == nil {
		return w.answerOnly(ctx, c)
	}
	f, err := w.hold(ctx, sess.ID)
	if err != nil {
		return err
	}
	if w.opening != nil {
		w.intendProgress(c, sess)
	}
	for _, in := range c.Intents {
		in.Session = sess.ID
	}
	if err := w.cfg.Store.Logs.Apply(ctx, f, c.Change); err != nil {
		return fmt.Errorf("record delivery: %w", err)
	}
	w.opening = nil
	return w.effects(ctx, f, sess.ID)
}

// answerOnly does what a change intends in a thread that has no session. The
// deliveries are done after the answers: what is cut off here is done again,
// and the intents' keys keep it from happening twice.
func (w *worker) answerOnly(ctx context.Context, c *change) error {
	f, err := w.hold(ctx, wordsKey(w.key))
	if err != nil {
		return err
	}
	for _, in := range c.Intents {
		if err := w.cfg.Store.Intents.Intend(ctx, f, in); err != nil {
			return fmt.Errorf("record intent: %w", err)
		}
	}
	for _, in := range c.Intents {
		if _, err := w.effect(ctx, f, *in); ghapp.UnlessRefused(err) != nil {
			return err
		}
	}
	return w.cfg.Store.Deliveries.Done(ctx, "done", c.Done...)
}

// Reconcile wakes the threads of sessions that are not said to wait or to
// have ended, whatever became of their wakes. It is called at start.
func (b *Bot) Reconcile(ctx context.Context) error {
	q := store.Query{States: unsettled, Limit: 200}
	for {
		list, err := b.cfg.Store.Sessions.List(ctx, q)
		if err != nil {
			return fmt.Errorf("list sessions to go on with: %w", err)
		}
		for _, s := range list {
			if err := b.cfg.Store.Wakes.Wake(ctx, s.Thread, store.PriorityWork, time.Time{}); err != nil {
				return err
			}
		}
		if len(list) < q.Limit {
			return nil
		}
		q.Before = list[len(list)-1].Created
	}
}
