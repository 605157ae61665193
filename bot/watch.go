package bot

import (
	"context"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// watch ends a run at once when a person says stop, whatever waits before it;
// then deliveries are worked on in their order. Other words wait until the
// inbox is read.
func (w *worker) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	var more <-chan struct{}
	if w.cfg.More != nil {
		more = w.cfg.More(w.key)
	}
	tick := time.NewTicker(w.cfg.Every) // another server may have taken the delivery in
	defer tick.Stop()
	for refused := int64(0); ; {
		var stop bool
		if stop, refused = w.stopWaits(ctx, refused); stop {
			cancel(errStopped)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-more:
		case <-tick.C:
		}
	}
}

// stopWaits reports whether a stop that counts is among the deliveries after a
// number, and up to which number there is none for certain.
func (w *worker) stopWaits(ctx context.Context, after int64) (stop bool, refused int64) {
	list, err := w.cfg.Store.Wakes.Urgent(ctx, w.key, store.PriorityStop, after)
	if err != nil {
		return false, after
	}
	for _, d := range list {
		stop, err := w.isStop(ctx, d)
		if err != nil {
			return false, after
		}
		if stop {
			return true, after
		}
		after = d.Seq
	}
	return false, after
}

// isStop reports whether a delivery is a stop by somebody who may say so. An
// error means that this is not known.
func (w *worker) isStop(ctx context.Context, d *store.Delivery) (bool, error) {
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	if err != nil {
		return false, nil //nolint:nilerr // it is told when its turn comes
	}
	s, ok := messageOf(ev)
	if !ok {
		return false, nil
	}
	right, ok := w.stopIn(s.body)
	if !ok {
		return false, nil
	}
	sess, err := w.cfg.Store.Sessions.ByThread(ctx, w.key)
	if err != nil {
		return false, err
	}
	if why, err := w.notTheirs(ctx, s); err != nil || why != "" || w.unlistedBot(s.author) {
		return false, err
	}
	actor, err := w.at.Client.Sender(ctx, s.author.Login)
	if err != nil || actor.ID != s.author.ID {
		return false, err
	}
	v, _ := w.mayAsk(actor, right, sess)
	return v == policy.Allow, nil
}

// stopIn finds a command in a text that ends a run at once, and returns the
// right that it needs.
func (w *worker) stopIn(body string) (right policy.Request, ok bool) {
	cmds, err := specs(w.rows).Parse(body)
	if err != nil {
		return policy.NoRequest, false
	}
	for _, c := range cmds[:min(len(cmds), mostCommands)] {
		if row, err := rowOf(w.rows, c); err == nil && row.priority == store.PriorityStop {
			return row.needs(c), true
		}
	}
	return policy.NoRequest, false
}
