package bot

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// errStopped ends a run because a person said so.
var errStopped = errors.New("stopped by a person")

// unsettled are the states in which somebody works on a session, or should.
var unsettled = append([]session.Phase{session.PhaseQueued, session.PhaseRunning}, waitingFor...)

// unfinished are the states of a session that has not ended for good.
var unfinished = append([]session.Phase{session.PhaseAwaitingApproval, session.PhaseAwaitingAnswer, session.PhaseOutOfBudget}, unsettled...)

// isOver reports whether a session ended: nobody works on it, and it waits for nobody.
func isOver(p session.Phase) bool { return !slices.Contains(unsettled, p) && !p.Waits() }

// runSession works on the thread's session if there is something to do, and
// makes GitHub say what is true. It reports whether there may be more to do.
func (w *worker) runSession(ctx context.Context) (again bool, err error) {
	row, err := w.session(ctx)
	if err != nil || row == nil {
		return false, err
	}
	err = w.at.connect(ctx, w.cfg.GitHub, dataOf(row).Installation)
	if _, taken := w.taken.Load(strings.ToLower(w.at.Ref.Repository())); taken && err == nil {
		err = errTaken // anybody may read a public one
	}
	if err != nil {
		return w.unreachable(ctx, row, err)
	}
	l, err := w.lease(ctx, row)
	if err != nil {
		return false, err
	}
	if w.at.Repo.Archived { //control:archived-ends
		return false, l.endWith(ctx, session.StatusStopped, render.RepositoryArchived)
	}
	again, err = w.advance(ctx, l)
	return again, l.awaitGitHub(ctx, err)
}

// awaitGitHub notes in the row that a session waits for GitHub, where that is why it
// could not go on. The thread cannot be told of it now; the queue tries again.
func (l *leased) awaitGitHub(ctx context.Context, cause error) error {
	if !fault.OfGitHub(cause) || ctx.Err() != nil || l.row.State == session.PhaseWaitingGitHub || !slices.Contains(unsettled, l.row.State) {
		return cause
	}
	l.Log.WarnContext(ctx, "session waits", "session", l.row.ID, "thread", l.row.Thread, "for", string(session.PhaseWaitingGitHub), "err", cause)
	l.row.State = session.PhaseWaitingGitHub //control:waits-for-github
	return errors.Join(cause, l.save(ctx))
}

// errTaken means that GitHub said that the bot was taken off a repository.
var errTaken = errors.New("the App was taken off the repository")

// unreachable decides what it means for a session that its thread cannot be reached: it
// waits, or goes on through another installation, or ends, because its repository is
// gone.
func (w *worker) unreachable(ctx context.Context, row *store.Session, cause error) (again bool, err error) {
	if ghapp.KindOf(cause) != ghapp.Permanent {
		l, err := w.lease(ctx, row)
		if err != nil {
			return false, errors.Join(cause, err)
		}
		return false, l.awaitGitHub(ctx, cause)
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
		w.taken.Delete(strings.ToLower(w.at.Ref.Repository()))
	}
	switch {
	case now != 0 && w.cfg.GitHub.IsApp() && now != l.data.Installation:
		l.data.Installation, w.at.Client = now, nil
		return true, l.save(ctx)
	case now != 0:
		return errors.Is(cause, errTaken), store.Unless(cause, errTaken)
	case isOver(row.State):
		return false, nil
	}
	l.Log.ErrorContext(ctx, "session ends: its repository is gone, or the App was taken off it", "session", row.ID, "thread", w.key, "err", cause)
	return false, l.endWith(ctx, session.StatusFailed, render.RepositoryGone)
}

// endWith ends a session whose thread cannot be written to, if it is not over: its log
// says why.
func (l *leased) endWith(ctx context.Context, status session.Status, why string) error {
	if err := l.reload(ctx); err != nil || isOver(l.row.State) {
		return err
	}
	var events []*session.Event
	for _, a := range l.state.Open() {
		events = append(events, session.NewEvent(session.TypeResolved, l.state.Turns, session.Resolved{ID: a.ID, Verdict: policy.Withdrawn, Reason: why}))
	}
	out := session.Outcome{Status: status, Turns: l.state.Turns, Files: l.state.Files, Reason: why}
	events = append(events, session.NewEvent(session.TypeEnded, l.state.Turns, session.Ended{Outcome: out}))
	if err := l.Append(ctx, events...); err != nil {
		return err
	}
	if err := l.reload(ctx); err != nil {
		return err
	}
	l.Log.InfoContext(ctx, "session ended", "session", l.row.ID, "thread", l.row.Thread, "why", why)
	return l.saveState(ctx)
}

// transferred ends the session of an issue that is in another repository now: its branch
// and the rules that it works under stay where they are. Where the bot may write there,
// people are told.
func (w *worker) transferred(ctx context.Context, d *store.Delivery, ev ghapp.Event) error {
	row, err := w.session(ctx)
	if err != nil {
		return err
	}
	if row == nil || isOver(row.State) {
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
	if err := l.reload(ctx); err != nil {
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
		say := ghapp.Write{Key: "transferred-" + row.ID, Kind: ghapp.WriteComment, Body: render.TransferredHere(w.at.Ref, l.state), First: true}
		if err := there.Try(ctx, say); err != nil {
			return err
		}
	}
	if err := l.endWith(ctx, session.StatusStopped, render.Transferred(ev.To)); err != nil { //control:transferred-ends
		return err
	}
	return w.cfg.Store.Deliveries.Done(ctx, "transferred to "+ev.To.Key(), d.ID)
}

// step does the next thing that is due in a session.
func (w *worker) step(ctx context.Context, l *leased) (again bool, err error) {
	if err := l.Finish(ctx); err != nil {
		return false, err
	}
	if err := l.reload(ctx); err != nil {
		return false, err
	}
	asks := l.requests()
	if moot := asks.Moot(l.state.Open(), l.state.Turns); len(moot) > 0 {
		return true, l.Append(ctx, moot...)
	}
	if err := asks.Tidy(ctx, l.state); err != nil {
		return false, err
	}
	if l.at.Pull != nil && l.at.Pull.Fork {
		events, err := l.ofFork().Look(ctx, l.state)
		if err != nil {
			return false, err
		}
		if len(events) > 0 {
			return true, l.Append(ctx, events...)
		}
		if err := l.ofFork().Show(ctx, l.state); err != nil {
			return false, err
		}
	}
	if l.state.Outcome != nil || len(l.state.Open()) > 0 && l.state.Phase != session.PhaseRunning {
		return false, l.conclude(ctx)
	}
	if err := asks.Show(ctx, l.state); err != nil {
		return false, err
	}
	return w.run(ctx, l)
}

// conclude makes GitHub say how the session stands: requests for approval,
// the pull request, the progress comment, the row.
func (l *leased) conclude(ctx context.Context) error {
	p, err := l.follow(ctx)
	if err != nil {
		return err
	}
	defer p.end()
	asks := l.requests()
	if err := asks.Ask(ctx, l.state); err != nil {
		return err
	}
	note, err := l.offer(ctx)
	if err != nil {
		return err
	}
	if err := l.answer(ctx); err != nil {
		return err
	}
	if err := l.announce(ctx, note); err != nil {
		return err
	}
	if err := l.handOver(ctx); err != nil {
		return err
	}
	if err := l.Sign(ctx, l.state); err != nil {
		return err
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	if err := l.checks().End(ctx, l.state, l.turnedAway); err != nil {
		return err
	}
	return l.saveState(ctx)
}

// run runs the session until it ends or parks. It reports whether there may be
// more to do at once.
func (w *worker) run(ctx context.Context, l *leased) (again bool, err error) {
	if l.begin() {
		return true, l.died(ctx)
	}
	if no, err := l.forbidden(ctx); no || err != nil {
		return no, err
	}
	check := l.checks().Plan(l.state)
	if err := l.saveState(ctx); err != nil {
		return false, err
	}
	p, err := l.follow(ctx)
	if err != nil {
		return false, err
	}
	defer p.end() // also where the work does not begin
	if err := l.checks().Start(ctx, check); err != nil {
		return false, err
	}
	w.running, w.halt = l.row.ID, false
	run, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		_ = fault.Guarded(run, w.cfg.Log, "watch for a stop", func() error { w.watch(run, l.Fence, cancel); return nil })
	}()
	use, asks := l.beginUse(), l.approvals(l.at, l.row)
	work, id := l.state.Task, l.data.RequesterID
	if by := approval.PlanAsker(l.state); by != nil { // who asked for the change that the plan is
		work.Requester, id = by.By, by.ByID
	}
	var out session.Outcome
	err = fault.Guarded(ctx, w.cfg.Log, "work on session "+l.row.ID, func() (err error) {
		out, err = w.cfg.Runner.Run(run, Work{
			Thread: w.at, Task: work, Log: w.cfg.Store.Logs.Log(l.Fence), OnEvent: p.event, Shares: use.spend,
			RequesterID:   id,
			Inbox:         func(ctx context.Context) error { return w.inbox(ctx, p) },
			ApprovalFacts: asks.Bound, Confirm: asks.Confirm,
		})
		return err
	})
	stopped := errors.Is(context.Cause(run), errStopped) || errors.Is(err, errStopped)
	cancel(nil)
	<-watched
	p.end()
	w.running, l.data.Deaths = "", 0
	err = errors.Join(err, use.count(ctx))
	var away *session.Away
	switch {
	case err == nil || stopped:
		again, err = true, nil
	case errors.As(err, &away) && ctx.Err() == nil:
		err = l.wait(ctx, away, p.said())
	default:
		again, err = true, l.failed(ctx, err)
	}
	w.cfg.Log.InfoContext(ctx, "session ran", "session", l.row.ID, "thread", w.key, "status", string(out.Status), "err", err)
	return again, err
}

// inbox takes what people wrote while the session runs into its log. It ends
// the run when they want it to end.
func (w *worker) inbox(ctx context.Context, p *progress) error {
	w.hearing.Lock() // what is being said at once is not said again
	n, err := w.takeAll(ctx)
	w.hearing.Unlock()
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
	taken, holds := w.leases.Taken()
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
	if err := l.reload(ctx); err != nil {
		return err
	}
	l.state.Phase, l.data.Deaths = session.PhaseQueued, 0
	p, err := l.follow(ctx)
	if err != nil {
		return err
	}
	return errors.Join(p.flush(ctx), l.saveState(ctx))
}

// mostTries is how often a session is run again after a failure that may
// pass, with no new answer of the model in between.
const mostTries = 5

// final is what an error is that running again cannot mend.
type final interface{ Final() bool }

// failed records that a session cannot be worked on, unless trying later can
// help or another worker has it now.
func (l *leased) failed(ctx context.Context, cause error) error {
	if ctx.Err() != nil || fault.Temporary(cause) {
		return cause
	}
	if err := l.reload(ctx); err != nil {
		return errors.Join(cause, err)
	}
	v := l.state
	if v.Outcome != nil { // that was recorded, and something after it failed
		return nil
	}
	var end final
	if !errors.As(cause, &end) || !end.Final() {
		again, err := l.tryAgain(ctx)
		if err != nil || again {
			return errors.Join(cause, err)
		}
	}
	l.Log.ErrorContext(ctx, "session failed", "session", l.row.ID, "err", cause)
	status := session.StatusFailed
	if fault.Is(cause) {
		status = session.StatusCrashed
	}
	out := session.Outcome{Status: status, Turns: v.Turns, Files: v.Files, Reason: render.CouldNotGoOn(fault.InWords(cause))}
	return l.Append(ctx, session.NewEvent(session.TypeEnded, v.Turns, session.Ended{Outcome: out}))
}

// tryAgain counts failures in a row, across restarts, and reports whether
// there is one more try.
func (l *leased) tryAgain(ctx context.Context) (bool, error) {
	r, turns := &l.data, int64(l.state.Turns)
	//control:begun-is-no-progress
	if turns > r.TriesAt { // a call that is begun anew is no progress
		r.Tries = 0
	}
	r.Tries, r.TriesAt = r.Tries+1, turns
	again := r.Tries < mostTries
	if !again {
		r.Tries = 0 // a person who says retry has all of them
	}
	return again, l.saveState(ctx)
}
