package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/queue"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// errStopped ends a run because a person said so.
var errStopped = errors.New("stopped by a person")

// unsettled are the states in which somebody works on a session, or should.
var unsettled = []session.Phase{session.PhaseQueued, session.PhaseRunning}

// runSession works on the thread's session if there is something to do, and
// makes GitHub say what is true. It reports whether to look again.
func (w *worker) runSession(ctx context.Context) (again bool, err error) {
	sess, err := w.session(ctx)
	if err != nil || sess == nil {
		return false, err
	}
	f, err := w.hold(ctx, sess.ID)
	if err != nil {
		return false, err
	}
	if err := w.effects(ctx, f, sess.ID); err != nil {
		return false, err
	}
	v, err := w.view(ctx, sess)
	if err != nil {
		return false, err
	}
	asks := w.requests(f, sess)
	if moot := asks.Moot(v.Open(), v.Turns); len(moot) > 0 {
		return true, w.cfg.Store.Logs.Log(f).Append(ctx, moot...)
	}
	if err := asks.Tidy(ctx, v); err != nil {
		return false, err
	}
	if v.Outcome != nil || len(v.Open()) > 0 && v.Phase != session.PhaseRunning {
		return false, w.conclude(ctx, f, sess, v)
	}
	return true, w.work(ctx, f, sess, v)
}

// work runs the session until it ends or parks.
func (w *worker) work(ctx context.Context, f store.Fence, sess *store.Session, v *session.State) error {
	v.Phase = session.PhaseRunning
	check, err := w.planCheck(sess, v)
	if err != nil {
		return err
	}
	if err := w.save(ctx, f, sess, v); err != nil {
		return err
	}
	p, err := w.followProgress(ctx, f, sess, v)
	if err != nil {
		return err
	}
	defer p.end() // also where the work does not begin
	if err := w.startCheck(ctx, f, check); err != nil {
		return err
	}
	shares, err := w.shares(ctx, sess)
	if err != nil {
		return err
	}
	w.running, w.halt = sess.ID, false
	run, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.watch(run, cancel)
	}()
	a := w.approvals(sess)
	began := w.cfg.Now()
	out, err := w.cfg.Runner.Run(run, Work{
		Thread: w.at, Task: v.Task, Log: w.cfg.Store.Logs.Log(f), OnEvent: p.event, Shares: shares,
		Inbox: func(ctx context.Context) error { return w.inbox(ctx, p) },
		Bound: a.Bound, Confirm: a.Confirm,
	})
	stopped := errors.Is(context.Cause(run), errStopped) || errors.Is(err, errStopped)
	cancel(nil)
	<-watched
	p.end()
	w.running = ""
	err = errors.Join(err, w.count(ctx, f, sess, w.cfg.Now().Sub(began)))
	if err != nil && !stopped {
		err = w.failed(ctx, f, sess, err)
	} else {
		err = nil
	}
	w.cfg.Log.InfoContext(ctx, "session ran", "session", sess.ID, "thread", w.key, "status", string(out.Status), "err", err)
	return err
}

// inbox takes what people wrote while the session runs into its log. It ends
// the run when they want it to end.
func (w *worker) inbox(ctx context.Context, p *progress) error {
	n, err := w.takeAll(ctx)
	switch {
	case err != nil:
		return err
	case w.halt:
		return errStopped
	case n > 0:
		return p.reread(ctx)
	}
	return nil
}

// interrupted says of a session that the end of the server cut off that it
// waits: nothing is left to say that it runs while nobody works on it.
func (w *worker) interrupted(ctx context.Context) error {
	l := w.held.Load()
	if l == nil || !errors.Is(context.Cause(ctx), queue.ErrDraining) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.TTL)
	defer cancel()
	sess, err := w.cfg.Store.Sessions.ByThread(ctx, w.key)
	if err != nil || sess.ID != l.fence.Key || sess.State != session.PhaseRunning {
		return ignoreNotFound(err)
	}
	v, err := w.view(ctx, sess)
	if err != nil {
		return err
	}
	v.Phase = session.PhaseQueued
	p, err := w.followProgress(ctx, l.fence, sess, v)
	if err != nil {
		return err
	}
	return errors.Join(p.flush(ctx), w.save(ctx, l.fence, sess, v))
}

func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// mostTries is how often a session is run again after a failure that may
// pass, with no new answer of the model in between.
const mostTries = 5

// final is what an error is that running again cannot mend.
type final interface{ Final() bool }

// failed records that a session cannot be worked on, unless trying later can
// help or another worker has it now.
func (w *worker) failed(ctx context.Context, f store.Fence, sess *store.Session, cause error) error {
	if ctx.Err() != nil || Temporary(cause) {
		return cause
	}
	v, err := w.view(ctx, sess)
	if err != nil {
		return errors.Join(cause, err)
	}
	var end final
	if !errors.As(cause, &end) || !end.Final() {
		again, err := w.tryAgain(ctx, f, sess, v)
		if err != nil || again {
			return errors.Join(cause, err)
		}
	}
	w.cfg.Log.ErrorContext(ctx, "session failed", "session", f.Key, "err", cause)
	out := session.Outcome{Status: session.StatusFailed, Turns: v.Turns, Files: v.Files, Reason: "The session could not go on: " + cause.Error()}
	return w.cfg.Store.Logs.Log(f).Append(ctx, session.NewEvent(session.TypeEnded, v.Turns, session.Ended{Outcome: out}))
}

// tryAgain counts failures in a row, across restarts, and says whether there
// is one more try.
func (w *worker) tryAgain(ctx context.Context, f store.Fence, sess *store.Session, v *session.State) (bool, error) {
	r := recordOf(sess)
	//control:begun-is-no-progress
	if int64(v.Turns) > r.TriesAt { // a call that is begun anew is no progress
		r.Tries = 0
	}
	r.Tries, r.TriesAt = r.Tries+1, int64(v.Turns)
	again := r.Tries < mostTries
	if !again {
		r.Tries = 0 // a person who says retry has all of them
	}
	if err := r.put(sess); err != nil {
		return false, err
	}
	return again, w.save(ctx, f, sess, v)
}

// watch ends a run at once when a person says stop, whatever waits before it;
// then deliveries are worked on in their order. Other words wait for the next
// look into the inbox.
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

// stopWaits says whether a stop that counts is among the deliveries after a
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

// isStop says whether a delivery is a stop by somebody who may say so. An
// error means that this is not known.
func (w *worker) isStop(ctx context.Context, d *store.Delivery) (bool, error) {
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	if err != nil {
		return false, nil //nolint:nilerr // it is told when its turn comes
	}
	s, ok := heard(ev)
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
	actor, err := w.at.Client.Actor(ctx, ev.Sender.Login)
	if err != nil || actor.ID != ev.Sender.ID {
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
	for _, c := range cmds {
		if row, err := rowOf(w.rows, c); err == nil && row.priority == store.PriorityStop {
			return row.needs(c), true
		}
	}
	return policy.NoRequest, false
}

// conclude makes GitHub say how the session stands: requests for approval,
// the pull request, the progress comment, the row.
func (w *worker) conclude(ctx context.Context, f store.Fence, sess *store.Session, v *session.State) error {
	asks := w.requests(f, sess)
	for _, a := range v.Open() {
		if err := asks.Ask(ctx, a); err != nil {
			return err
		}
	}
	note, err := w.offer(ctx, f, sess, v)
	if err != nil {
		return err
	}
	if err := w.announce(ctx, f, sess, announcement{v, note}); err != nil {
		return err
	}
	if err := w.handOver(ctx, f, sess, v); err != nil {
		return err
	}
	p, err := w.followProgress(ctx, f, sess, v)
	if err != nil {
		return err
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	if err := w.endCheck(ctx, f, sess, v); err != nil {
		return err
	}
	return w.save(ctx, f, sess, v)
}

// announcement is what is said of an end.
type announcement struct {
	view *session.State
	note string
}

// announce tells people of an end that an edited comment would not: GitHub
// notifies nobody of edits.
func (w *worker) announce(ctx context.Context, f store.Fence, sess *store.Session, a announcement) error {
	v := a.view
	if v.Outcome == nil || sess.Pull != 0 && !render.Elsewhere(v.Sent) || len(v.Open()) > 0 || v.Outcome.Status == session.StatusStopped {
		return nil
	}
	body := render.Final(v)
	if sess.Pull != 0 {
		a.note = fmt.Sprintf("Pull request: #%d", sess.Pull)
	}
	if a.note != "" {
		body += "\n" + a.note + "\n"
	}
	if body == "" {
		return nil
	}
	key := fmt.Sprintf("final-%s-%d", sess.ID, v.Seq)
	_, err := w.ensure(ctx, f, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: body})
	return ghapp.UnlessRefused(err)
}

// keep saves what a row holds besides where the session stands: that is saved
// when all of it is said, so that a row that says "done" has nothing open.
func (w *worker) keep(ctx context.Context, f store.Fence, sess *store.Session) error {
	return w.save(ctx, f, sess, &session.State{Phase: sess.State})
}

// save keeps the row of the session in step. The row has one writer at a
// time, by its lease; a conflict means that this copy is old.
func (w *worker) save(ctx context.Context, f store.Fence, sess *store.Session, v *session.State) error {
	for {
		sess.State = v.Phase
		if v.Outcome != nil {
			sess.Status = v.Outcome.Status
		}
		err := w.cfg.Store.Sessions.Update(ctx, f, sess)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		now, err := w.cfg.Store.Sessions.Session(ctx, sess.ID)
		if err != nil {
			return err
		}
		sess.Version = now.Version
	}
}
