package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

// panicked is a panic as an error. What panicked once does so again, so that
// nobody tries again by themselves.
type panicked struct{ value any }

// Error implements error.
func (p *panicked) Error() string {
	return fmt.Sprintf("a fault in Handrail itself (%v); the server's log has the details", p.value)
}

// Final reports that running again cannot mend it.
func (*panicked) Final() bool { return true }

// guarded calls fn and returns its panic as an error, after the stack went to
// the log.
func guarded(ctx context.Context, log *slog.Logger, what string, fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil { //control:fault-is-an-end
			log.ErrorContext(ctx, "panic", "what", what, "value", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = &panicked{v}
		}
	}()
	return fn()
}

// isFault reports whether an error is a panic.
func isFault(err error) bool {
	var p *panicked
	return errors.As(err, &p)
}

// handleOnce handles a delivery. One that panics is given up at once, and who
// wrote it is told, if they may ask for something.
func (w *worker) handleOnce(ctx context.Context, d *store.Delivery) error {
	w.heard = false
	err := guarded(ctx, w.cfg.Log, "delivery "+d.ID, func() error { return w.handle(ctx, d) })
	if !isFault(err) {
		return err
	}
	if w.opening = nil; !w.heard {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	c := w.change()
	c.reply(userMessage{key: d.ID}, render.Fault(err))
	c.Done = append(c.Done, d.ID)
	told := guarded(ctx, w.cfg.Log, "answer to delivery "+d.ID, func() error { return w.commit(ctx, c) })
	if isFault(told) {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	return told
}

// advance does what is due in a session. Where that panics the thread gets a
// plain comment, and the session is over.
func (w *worker) advance(ctx context.Context, l *leased) (again bool, err error) {
	err = guarded(ctx, w.cfg.Log, "session "+l.row.ID, func() (err error) {
		again, err = w.step(ctx, l)
		return err
	})
	if isFault(err) {
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
	key := fmt.Sprintf("fault-%s-%d", l.row.ID, seq)
	_, err := l.Ensure(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: render.Ended(phase, cause)})
	if ghapp.UnlessRefused(err) != nil {
		return err
	}
	l.row.State, l.row.Status = phase, status
	return l.save(ctx)
}
