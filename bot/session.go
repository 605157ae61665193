package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/pull"
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

// mostEarlier is how many earlier sessions of a thread are looked through.
const mostEarlier = 20

// earlier returns what the logs of the thread's sessions before one say, newest first.
func (b *Bot) earlier(ctx context.Context, s *store.Session) (out []*session.State, err error) {
	list, err := b.cfg.Store.Sessions.List(ctx, store.Query{Repo: s.Repo, Before: s.Created, Limit: mostSessions})
	for _, e := range list {
		if e.Thread != s.Thread || len(out) == mostEarlier {
			continue
		}
		v, err := b.fold(ctx, e)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, err
}

// sendOn hands a text in the bot's own pull request to the thread of its session. Who
// asks for another mode or model there asks for a session of its own, unless the pull
// request is closed: then there is nothing to work on but the thread that it came from.
func sendOn(ctx context.Context, w *worker, d *store.Delivery, s userMessage) (bool, error) {
	cmds, _, err := w.commandsIn(ctx, s.body)
	if err != nil || s.ev.State != "closed" && slices.ContainsFunc(cmds, func(c command.Command) bool { return c.Mode != "" || c.Model != "" }) {
		return false, err
	}
	here, err := w.session(ctx)
	if err != nil || here != nil && !isOver(here.State) {
		return false, err
	}
	return pull.HandOn(ctx, w.cfg.Store, w.cfg.GitHub, d, s.ev)
}

// fold reads what the session's log says.
func (b *Bot) fold(ctx context.Context, s *store.Session) (*session.State, error) {
	events, err := b.cfg.Store.Logs.Log(store.Fence{Key: s.ID}).Events(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("read log of %s: %w", s.ID, err)
	}
	return session.Fold(events)
}
