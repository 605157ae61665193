package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// errStopped ends a run because a person said so.
var errStopped = errors.New("stopped by a person")

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
	if late := expire(v.Open, v.Turns, w.cfg.Now()); len(late) > 0 {
		if err := w.cfg.Store.Logs.Log(f).Append(ctx, late...); err != nil {
			return false, err
		}
		return true, nil
	}
	if v.Task.Session == "" {
		return false, nil // opened and never recorded: the delivery comes again
	}
	if v.Outcome != nil || len(v.Open) > 0 && v.State != render.Running {
		return false, w.conclude(ctx, f, sess, v)
	}
	return true, w.work(ctx, f, sess, v)
}

// work runs the session until it ends or parks.
func (w *worker) work(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) error {
	if err := w.recheck(ctx, sess, f); err != nil {
		return err
	}
	v.State = render.Running
	p, err := w.followProgress(ctx, f, sess, v)
	if err != nil {
		return err
	}
	run, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.watch(run, cancel)
	}()
	out, err := w.cfg.Runner.Run(run, Work{
		Thread: w.at, Task: v.Task, Log: w.cfg.Store.Logs.Log(f), OnEvent: p.event,
		Inbox: w.inbox,
	})
	stopped := errors.Is(context.Cause(run), errStopped)
	cancel(nil)
	<-watched
	if err != nil && !stopped {
		err = w.failed(ctx, f, v.Turns, err)
	} else {
		err = nil
	}
	w.cfg.Log.InfoContext(ctx, "session ran", "session", sess.ID, "thread", w.key, "status", string(out.Status), "err", err)
	return errors.Join(err, p.flush(context.WithoutCancel(ctx)))
}

// inbox takes what people wrote while the session runs into its log.
func (w *worker) inbox(ctx context.Context) error { return w.takeAll(ctx) }

// failed records that a session cannot be worked on, unless trying later can
// help or another worker has it now.
func (w *worker) failed(ctx context.Context, f store.Fence, turn int, cause error) error {
	if ctx.Err() != nil || errors.Is(cause, session.ErrFenced) || temporary(cause) {
		return cause
	}
	w.cfg.Log.ErrorContext(ctx, "session failed", "session", f.Key, "err", cause)
	out := session.Outcome{Status: session.StatusFailed, Turns: turn, Reason: "The session could not go on: " + cause.Error()}
	return w.cfg.Store.Logs.Log(f).Append(ctx, session.NewEvent(session.TypeEnded, turn, session.Ended{Outcome: out}))
}

// watch ends a run at once when a person says stop; other words wait for the
// next look into the inbox.
func (w *worker) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	if w.cfg.More == nil {
		return
	}
	more := w.cfg.More(w.key)
	for {
		if w.stopWaits(ctx) {
			cancel(errStopped)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-more:
		}
	}
}

// stopWaits says whether the oldest delivery is a stop.
func (w *worker) stopWaits(ctx context.Context) bool {
	d, err := w.cfg.Store.Deliveries.Next(ctx, w.key)
	if err != nil || d.Priority != store.PriorityStop {
		return false
	}
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	if err != nil {
		return false
	}
	s, ok := heard(ev)
	if !ok {
		return false
	}
	cmds, err := command.Parse(s.body)
	if err != nil || len(cmds) == 0 || cmds[0].Name != "stop" {
		return false
	}
	sess, err := w.session(ctx)
	if err != nil || sess == nil {
		return false
	}
	actor, err := w.actor(ctx, ev.Sender.Login)
	if err != nil || actor.ID != ev.Sender.ID {
		return false
	}
	v, _ := policy.MayAsk(actor, policy.AskFacts{Request: policy.Steer, RequesterID: requesterID(sess), Bots: w.cfg.Policy.Approvals.Bots})
	return v == policy.Allow
}

// conclude makes GitHub say how the session stands: requests for approval,
// the pull request, the progress comment, the row.
func (w *worker) conclude(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) error {
	for _, a := range v.Open {
		if err := w.post(ctx, f, a, sess); err != nil {
			return err
		}
	}
	if err := w.offer(ctx, f, sess, v); err != nil {
		return err
	}
	if err := w.announce(ctx, f, sess, v); err != nil {
		return err
	}
	p, err := w.followProgress(ctx, f, sess, v)
	if err != nil {
		return err
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	return w.save(ctx, f, sess, v)
}

// post puts a request before people, and sees to it that its deadline is
// looked at when it comes.
func (w *worker) post(ctx context.Context, f store.Fence, a session.Asked, sess *store.Session) error {
	if render.TooLongToShow(a) {
		return w.cfg.Store.Logs.Log(f).Append(ctx, session.NewEvent(session.TypeResolved, 0, session.Resolved{
			ID: a.ID, Verdict: "denied", By: "handrail",
			Reason: "it is too long to be shown to a person in one comment, so nobody can approve it; do it in smaller pieces",
		}))
	}
	_, err := w.ensure(ctx, f, ghapp.Write{Key: "ask-" + sess.ID + "-" + a.ID, Kind: ghapp.WriteComment, Body: render.Approval(a, sess.Requester)})
	if err != nil {
		return err
	}
	if a.Deadline.IsZero() {
		return nil
	}
	return w.cfg.Store.Wakes.Wake(ctx, w.key, store.PriorityIdle, a.Deadline)
}

// offer opens the pull request of a session that put something on its branch.
func (w *worker) offer(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) error {
	if sess.Pull != 0 || len(v.Checkpoints) == 0 || v.Outcome == nil || v.Outcome.Status.Parked() || w.at.Pull != nil {
		return nil
	}
	r := recordOf(sess)
	cfg := policy.Merge(w.cfg.Policy, r.Config)
	issue, err := w.at.Client.Issue(ctx, w.ref)
	if err != nil {
		return err
	}
	ref, err := w.ensure(ctx, f, ghapp.Write{Key: "pull-" + sess.ID, Kind: ghapp.WritePull, Pull: &ghapp.PullSpec{
		Base: r.Target, Head: v.Branch, Title: render.PullTitle(clean(issue.Title)),
		Body:  render.PullBody(v, sess.Requester, w.ref.Number),
		Draft: cfg.PullRequest.Draft == nil || *cfg.PullRequest.Draft,
	}})
	sess.Pull = ref.Number
	return err
}

// announce tells people of an end that an edited comment would not: GitHub
// notifies nobody of edits.
func (w *worker) announce(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) error {
	if v.Outcome == nil || sess.Pull != 0 || len(v.Open) > 0 || v.Outcome.Status == session.StatusStopped {
		return nil
	}
	body := render.Final(v)
	if body == "" {
		return nil
	}
	key := fmt.Sprintf("final-%s-%d", sess.ID, v.Seq)
	_, err := w.ensure(ctx, f, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: body})
	return err
}

// save keeps the row of the session in step.
func (w *worker) save(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) error {
	sess.State = v.State
	if v.Outcome != nil {
		sess.Status = v.Outcome.Status
	}
	err := w.cfg.Store.Sessions.Update(ctx, f, sess)
	if errors.Is(err, store.ErrConflict) {
		return nil // it was saved by the delivery that came in between; the next conclusion saves again
	}
	return err
}
