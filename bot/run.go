package bot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

// errStopped ends a run at a user's request.
var errStopped = errors.New("stopped by a user")

// runSession works on the thread's session if anything is due, and brings GitHub up to
// date. It reports whether there may be more to do.
func (w *worker) runSession(ctx context.Context) (again bool, err error) {
	row, err := w.session(ctx)
	if err != nil || row == nil {
		return false, err
	}
	err = w.at.Connect(ctx, w.cfg.GitHub, live.DataOf(row).Installation)
	if _, taken := w.removed.Load(strings.ToLower(w.at.Ref.Repository())); taken && err == nil {
		err = errRemoved // a public repository stays readable
	}
	if err != nil {
		return w.unreachable(ctx, row, err)
	}
	if w.foreign(row) { // it goes on if GitHub tells where its repository is
		w.cfg.Log.WarnContext(
			ctx, "session rests: another repository has the name of its own", "session", row.ID, "thread", w.key,
		)
		return false, nil
	}
	l, err := w.lease(ctx, row)
	if err != nil {
		return false, err
	}
	if w.at.Repo.Archived { //control:archived-ends
		return false, l.EndWith(ctx, session.StatusStopped, render.RepositoryArchived)
	}
	if again, err = w.advance(ctx, l); err != nil || again {
		return again, l.AwaitGitHub(ctx, err)
	}
	return false, comeBack(ctx, l)
}

// comeBack re-queues the thread when a deferred write has no other trigger.
func comeBack(ctx context.Context, l *live.Session) error {
	at, err := l.NextRetry(ctx)
	if err != nil || at.IsZero() {
		return err
	}
	return l.Wake(ctx, at) //control:left-writes-are-made
}

// errRemoved means that the App was removed from the repository.
var errRemoved = errors.New("the App was uninstalled from the repository")

// unreachable handles a session with a thread that cannot be reached: the session waits,
// goes on through another installation, or ends because its repository is gone.
func (w *worker) unreachable(ctx context.Context, row *store.Session, cause error) (again bool, err error) {
	if ghapp.KindOf(cause) != ghapp.Permanent {
		l, err := w.lease(ctx, row)
		if err != nil {
			return false, errors.Join(cause, err)
		}
		return false, l.AwaitGitHub(ctx, cause)
	}
	now, err := w.cfg.GitHub.Installed(ctx, w.at.Ref)
	if err != nil {
		return false, err
	}
	l, err := w.lease(ctx, row)
	if err != nil {
		return false, err
	}
	if now != 0 {
		w.removed.Delete(strings.ToLower(w.at.Ref.Repository()))
	}
	switch {
	case now != 0 && w.cfg.GitHub.IsApp() && now != l.Data.Installation:
		l.Data.Installation, w.at.Client = now, nil
		return true, l.Save(ctx)
	case now != 0:
		return errors.Is(cause, errRemoved), store.Unless(cause, errRemoved)
	case row.State.Over():
		return false, nil
	}
	err = l.EndWith(ctx, session.StatusFailed, render.RepositoryGone)
	l.Log.ErrorContext( // after it can be seen
		ctx, "session ends: its repository is gone, or the App was uninstalled from it", "session", row.ID, "thread",
		w.key, "err", cause,
	)
	return false, err
}

// endTransferred ends the session of an issue that moved to another repository: its branch
// and its rules stay behind. If the bot may write there, it posts a comment.
func (w *worker) endTransferred(ctx context.Context, d *store.Delivery, ev ghapp.Event) error {
	row, err := w.session(ctx)
	if err != nil {
		return err
	}
	if row == nil || row.State.Over() {
		return w.cfg.Store.Deliveries.Done(ctx, "an issue without a session that goes on was transferred", d.ID)
	}
	if w.running == row.ID {
		w.halt = true
		return errStopped
	}
	l, err := w.lease(ctx, row)
	if err != nil {
		return err
	}
	if err := l.Reload(ctx); err != nil {
		return err
	}
	if id, err := w.cfg.GitHub.Installed(ctx, ev.To); err != nil || id != 0 && w.serves(ev.To) {
		if err != nil {
			return err
		}
		there := l.Outbox
		if there.At = ev.To; !w.cfg.GitHub.IsApp() {
			id = 0
		}
		if there.Client, err = w.cfg.GitHub.For(ctx, ev.To, id); err != nil {
			return err
		}
		say := ghapp.Write{
			Key:   "transferred-" + row.ID,
			Kind:  ghapp.WriteComment,
			Body:  render.TransferredHere(w.at.Ref, l.State),
			First: true,
		}
		if err := there.Try(ctx, say); err != nil {
			return err
		}
	}
	if err := l.EndWith(ctx, session.StatusStopped, render.Transferred(ev.To)); err != nil { //control:transferred-ends
		return err
	}
	return w.cfg.Store.Deliveries.Done(ctx, "transferred to "+ev.To.Key(), d.ID)
}

// step does the next thing due in a session.
func (w *worker) step(ctx context.Context, l *live.Session) (again bool, err error) {
	if err := l.Finish(ctx); err != nil {
		return false, err
	}
	if err := l.Reload(ctx); err != nil {
		return false, err
	}
	if answered, err := denyUnattended(ctx, l); answered || err != nil {
		return answered, err
	}
	asks := l.Requests()
	if moot := asks.Moot(l.State.Open(), l.State.Turns); len(moot) > 0 {
		return true, l.Append(ctx, moot...)
	}
	if err := asks.Tidy(ctx, l.State); err != nil {
		return false, err
	}
	if err := l.SettleAskBacks(ctx); err != nil {
		return false, err
	}
	if l.Thread.Pull != nil && l.Thread.Pull.Fork {
		events, err := l.OfFork().Look(ctx, l.State)
		if err != nil {
			return false, err
		}
		if len(events) > 0 {
			return true, l.Append(ctx, events...)
		}
		if err := l.OfFork().Show(ctx, l.State); err != nil {
			return false, err
		}
	}
	if l.State.Outcome != nil || len(l.State.Open()) > 0 && l.State.Phase != session.PhaseRunning {
		if err := w.passOn(ctx, l); err != nil {
			return false, err
		}
		if l.State.Due() != nil || l.State.DuePlan() != nil { // begun also if the server ends behind the conclusion
			if err := l.Wake(ctx, time.Time{}); err != nil {
				return false, err
			}
		}
		if err := w.conclude(ctx, l); err != nil {
			return false, err
		}
		return w.beginLater(ctx, l)
	}
	if err := asks.Show(ctx, l.State); err != nil {
		return false, err
	}
	if waits, err := w.waitsOn(ctx, l); waits || err != nil {
		return false, err
	}
	return w.run(ctx, l)
}

// run runs the session until it ends or parks. It reports whether there may be
// more to do at once.
func (w *worker) run(ctx context.Context, l *live.Session) (again bool, err error) {
	if l.Begin() {
		return true, l.EndCrashing(ctx)
	}
	if no, err := l.EndIfForbidden(ctx); no || err != nil {
		return no, err
	}
	check := l.Checks().Plan(l.State)
	if err := l.SaveState(ctx); err != nil {
		return false, err
	}
	p, err := l.Follow(ctx)
	if err != nil {
		return false, err
	}
	defer p.End() // also if the work does not begin
	if err := l.Checks().Start(ctx, check); err != nil {
		return false, err
	}
	w.cfg.Log.InfoContext(ctx, "session runs", "session", l.Row.ID, "thread", w.key, "mode", l.State.ModeName(), "model", l.State.ModelName())
	w.running, w.halt = l.Row.ID, false
	run, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		_ = fault.Guarded(run, w.cfg.Log, "watch for a stop", func() error { listener{w, l.Fence}.watch(run, cancel); return nil })
	}()
	use, asks := l.BeginUse(), w.live.Approvals(l.Thread, l.Row)
	work, id := l.State.Task, l.Data.RequesterID
	var had []string
	if l.Data.Schedule != nil {
		had = l.Data.Schedule.Had
	}
	if by := approval.PlanAsker(l.State); by != nil { // the approver of a plan requests its changes
		work.Requester, id = by.By, by.ByID
	}
	var out session.Outcome
	err = fault.Guarded(ctx, w.cfg.Log, "work on session "+l.Row.ID, func() (err error) {
		out, err = w.cfg.Runner.Run(run, Work{
			Thread:      w.at,
			Task:        work,
			Log:         w.cfg.Store.Logs.Log(l.Fence),
			OnEvent:     p.Event,
			OnOutput:    p.Printed,
			OnSetup:     p.Setup,
			OnCall:      w.onCall,
			Shares:      use.Spend,
			RequesterID: id,
			Waiting: func(before int) {
				use.Waiting(before)
				p.Waiting(before)
				use.Stall(run, map[bool]string{true: "other runs are before it"}[before > 0])
			},
			Stall: func(why string) { use.Stall(run, why) },
			Unsigned: func(ctx context.Context) error {
				w.cfg.Log.WarnContext(
					ctx, "GitHub does not sign the commits that it makes, and commits.sign is api", "session", l.Row.ID,
					"thread", w.key,
				)
				return l.Try(ctx, ghapp.Write{Key: "unsigned-" + l.Row.ID, Kind: ghapp.WriteComment, Body: render.NotSigned})
			},
			Inbox:         func(ctx context.Context) error { return w.inbox(ctx, p) },
			ApprovalFacts: asks.Bound,
			Confirm:       asks.Confirm,
			Post:          l.Ensure,
			Intended:      w.intended,
			Had:           had,
			Passed:        passed(l.Data),
			SawGreen:      func(commit string, checks []string) { l.Data.Seen = live.Seen{Head: commit, Green: checks} },
		})
		return err
	})
	stopped := errors.Is(context.Cause(run), errStopped) || errors.Is(context.Cause(run), errRemoved) ||
		errors.Is(err, errStopped)
	cancel(nil)
	<-watched
	p.End()
	w.running, l.Data.Begun = "", nil
	err = errors.Join(err, use.Count(ctx))
	var away *session.Away
	switch {
	case err == nil || stopped:
		again, err = true, nil
	case errors.As(err, &away) && ctx.Err() == nil:
		err = l.Wait(ctx, away, p.Edited())
	default:
		again, err = true, l.Failed(ctx, err)
	}
	w.cfg.Log.InfoContext(
		ctx, "session stopped running", "session", l.Row.ID, "thread", w.key, "status",
		string(out.Status),
		"err",
		err,
	)
	return again, err
}

// inbox handles the deliveries that arrived while the session runs. It ends the run if a
// delivery asks for that.
func (w *worker) inbox(ctx context.Context, p *live.Progress) error {
	w.answering.Lock() // an early answer in progress must not be repeated
	n, err := w.takeAll(ctx)
	w.answering.Unlock()
	switch {
	case err != nil:
		return err
	case w.halt:
		return errStopped
	case n > 0:
		return p.Reread(ctx)
	}
	return nil
}

// intended returns the recorded write of a key; the zero value if there is none.
func (w *worker) intended(ctx context.Context, key string) (wr ghapp.Write, err error) {
	in, err := w.cfg.Store.Effects.Effect(ctx, key)
	if err != nil {
		return wr, store.Unless(err, store.ErrNotFound)
	}
	return wr, json.Unmarshal(in.Payload, &wr)
}

// onCall keeps the end of the running step.
func (w *worker) onCall(end func()) {
	w.call.Store(nil)
	if end != nil {
		w.call.Store(&end)
	}
}

// markInterrupted marks the session as waiting if the server shuts down during its run. It
// would be shown as running otherwise.
func (w *worker) markInterrupted(ctx context.Context) error {
	taken, holds := w.leases.Current()
	var down interface{ Draining() bool }
	if !holds || !errors.As(context.Cause(ctx), &down) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.TTL)
	defer cancel()
	row, err := w.cfg.Store.Sessions.ByThread(ctx, w.key)
	if err != nil || row.ID != taken.Key || row.State != session.PhaseRunning {
		return store.Unless(err, store.ErrNotFound)
	}
	l, err := w.lease(ctx, row)
	if err != nil {
		return err
	}
	if err := l.Reload(ctx); err != nil {
		return err
	}
	l.State.Phase, l.Data.Begun = session.PhaseQueued, nil
	p, err := l.Follow(ctx)
	if err != nil {
		return err
	}
	return errors.Join(p.Flush(ctx), l.SaveState(ctx))
}
