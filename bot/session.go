package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// session returns the thread's newest session, or nil. A row whose log is
// empty is left from an opening that was cut off: it comes to life when its
// delivery is handled again.
func (w *worker) session(ctx context.Context) (*store.Session, error) {
	if w.opening != nil {
		return w.opening, nil
	}
	s, err := w.cfg.Store.Sessions.ByThread(ctx, w.key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil || s.State != session.PhaseQueued {
		return s, err
	}
	events, err := w.cfg.Store.Logs.Log(store.Fence{Key: s.ID}).Events(ctx, 0)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	return s, nil
}

// fold reads what the session's log says.
func (b *Bot) fold(ctx context.Context, s *store.Session) (*session.State, error) {
	events, err := b.cfg.Store.Logs.Log(store.Fence{Key: s.ID}).Events(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("read log of %s: %w", s.ID, err)
	}
	return session.Fold(events)
}
