package bot

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

// handleOnce handles a delivery. One that panics is given up at once, and who
// wrote it is told, if they may ask for something.
func (w *worker) handleOnce(ctx context.Context, d *store.Delivery) error {
	w.heard = false
	err := fault.Guarded(ctx, w.cfg.Log, "delivery "+d.ID, func() error { return w.handle(ctx, d) })
	if !fault.Is(err) {
		return err
	}
	if w.opening = nil; !w.heard {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	c := w.change()
	c.reply(userMessage{key: d.ID}, render.Fault(err))
	c.Done = append(c.Done, d.ID)
	told := fault.Guarded(ctx, w.cfg.Log, "answer to delivery "+d.ID, func() error { return w.commit(ctx, c) })
	if fault.Is(told) {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	return told
}

// advance does what is due in a session. Where that panics the thread gets a
// plain comment, and the session is over.
func (w *worker) advance(ctx context.Context, l *leased) (again bool, err error) {
	err = fault.Guarded(ctx, w.cfg.Log, "session "+l.row.ID, func() (err error) {
		again, err = w.step(ctx, l)
		return err
	})
	if fault.Is(err) {
		return false, l.faulted(ctx, err)
	}
	return again, err
}

// faulted ends a session of which nothing more can be done or shown than that.
// It does not read the log, which may be what cannot be read.
func (l *leased) faulted(ctx context.Context, cause error) error {
	phase, status, turns, seq := session.PhaseCrashed, session.StatusCrashed, 0, int64(0)
	if l.state != nil {
		turns, seq = l.state.Turns, l.state.Seq
	}
	switch {
	case l.state != nil && l.state.Over():
		phase, status = l.state.Phase, l.state.Outcome.Status
	case l.row.State != phase:
		out := session.Outcome{Status: status, Turns: turns, Reason: render.CouldNotGoOn(cause)}
		if err := l.Append(ctx, session.NewEvent(session.TypeEnded, turns, session.Ended{Outcome: out})); err != nil {
			return err
		}
		seq++
	}
	var whom []string // nothing that can fail is asked here
	if l.data.Person {
		whom = []string{l.row.Requester}
	}
	key := fmt.Sprintf("fault-%s-%d", l.row.ID, seq)
	if err := l.Try(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Mentions: whom, Body: render.Ended(phase, cause)}); err != nil {
		return err
	}
	l.row.State, l.row.Status = phase, status
	return l.save(ctx)
}
