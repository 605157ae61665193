package bot

import (
	"context"
	"errors"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/pull"
	"github.com/handrail-bot/handrail/bot/store"
)

// session returns the thread's newest session, or nil. A row with an empty log is left
// from an interrupted opening: it becomes valid when its delivery is handled again. Once the
// thread is connected, a session of another repository that had the name is none of it.
func (w *worker) session(ctx context.Context) (*store.Session, error) {
	if w.pending != nil {
		return w.pending, nil
	}
	s, err := w.cfg.Store.Sessions.ByThread(ctx, w.key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err == nil && w.foreign(s) {
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

// foreign reports whether a session belongs to another repository than the connected one: its own
// was renamed or deleted, and this one has its name now.
func (w *worker) foreign(s *store.Session) bool {
	own := live.DataOf(s).Repository
	if own == 0 || w.at.Repo.ID == 0 { // of an older version, or not connected yet
		return false
	}
	return own != w.at.Repo.ID //control:session-of-its-repository
}

// sendOn hands a text in the bot's own pull request to the thread of its session.
func sendOn(ctx context.Context, w *worker, d *store.Delivery, s userMessage) (bool, error) {
	here, err := w.session(ctx)
	if err != nil || here != nil && !here.State.Over() {
		return false, err
	}
	return pull.HandOn(ctx, w.cfg.Store, w.cfg.GitHub, d, s.ev)
}

// lease takes the lease of a session.
func (w *worker) lease(ctx context.Context, row *store.Session) (*live.Session, error) {
	f, err := w.leases.Take(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	l := w.live.Session(w.outbox(f), &w.at, row)
	l.Edits, l.TurnedAway = &w.edits, w.turnedAway
	return l, nil
}

// outbox returns the outbox of the thread under a lease.
func (w *worker) outbox(f store.Fence) outbox.Outbox {
	return outbox.Outbox{
		Store:  w.cfg.Store.Intents,
		Fence:  f,
		At:     w.at.Ref,
		Client: w.at.Client,
		Settle: w.cfg.Settle,
		Now:    w.cfg.Now,
		Log:    w.cfg.Log,
	}
}
