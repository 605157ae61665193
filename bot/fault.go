package bot

import (
	"context"

	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

// handleOnce handles a delivery. If that panics, the delivery is given up, and its author
// is told if w.heard is set.
func (w *worker) handleOnce(ctx context.Context, d *store.Delivery) error {
	w.getsReplies, w.recorded = false, false
	err := fault.Guarded(ctx, w.cfg.Log, "delivery "+d.ID, func() error { return w.handle(ctx, d) })
	if !fault.Is(err) {
		return err
	}
	if w.pending = nil; !w.getsReplies {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	c, lost := w.changeFor(ctx, textKey(d))
	if lost != nil {
		c = w.change()
	}
	c.reply(userMessage{key: d.ID}, render.Fault(err))
	c.Done = append(c.Done, d.ID)
	told := fault.Guarded(ctx, w.cfg.Log, "answer to delivery "+d.ID, func() error { return w.commit(ctx, c) })
	if fault.Is(told) {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	return told
}

// advance does the next step of a session. If that panics, the thread gets a plain
// comment, and the session is over.
func (w *worker) advance(ctx context.Context, l *live.Session) (again bool, err error) {
	err = fault.Guarded(ctx, w.cfg.Log, "session "+l.Row.ID, func() (err error) {
		again, err = w.step(ctx, l)
		return err
	})
	if fault.Is(err) {
		return false, l.EndFaulty(ctx, err)
	}
	return again, err
}
