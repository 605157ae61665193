package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// errStopped ends a run because a person said so.
var errStopped = errors.New("stopped by a person")

// unsettled are the states in which somebody works on a session, or should.
var unsettled = []string{render.Queued, render.Running}

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
	if moot := append(expire(v.Open, v.Turns, w.cfg.Now()), tooLong(v)...); len(moot) > 0 {
		return true, w.cfg.Store.Logs.Log(f).Append(ctx, moot...)
	}
	if v.Outcome != nil || len(v.Open) > 0 && v.State != render.Running {
		return false, w.conclude(ctx, f, sess, v)
	}
	return true, w.work(ctx, f, sess, v)
}

// tooLong denies requests that no comment can show.
func tooLong(v *render.View) []*session.Event {
	var out []*session.Event
	for _, a := range v.Open {
		if render.TooLongToShow(a) {
			out = append(out, session.NewEvent(session.TypeResolved, v.Turns, session.Resolved{
				ID: a.ID, Verdict: "denied", By: "handrail",
				Reason: "it is too long to be shown to a person in one comment, so nobody can approve it; do it in smaller pieces",
			}))
		}
	}
	return out
}

// work runs the session until it ends or parks.
func (w *worker) work(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) error {
	if err := w.recheck(ctx, sess, f); err != nil {
		return err
	}
	v.State = render.Running
	if err := w.save(ctx, f, sess, v); err != nil {
		return err
	}
	p, err := w.followProgress(ctx, f, sess, v)
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
	out, err := w.cfg.Runner.Run(run, Work{
		Thread: w.at, Task: v.Task, Log: w.cfg.Store.Logs.Log(f), OnEvent: p.event,
		Inbox: func(ctx context.Context) error { return w.inbox(ctx, p) },
	})
	stopped := errors.Is(context.Cause(run), errStopped) || errors.Is(err, errStopped)
	cancel(nil)
	<-watched
	p.end()
	w.running = ""
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

// mostTries is how often a session is run again after a failure that may
// pass, with nothing new in its log.
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
func (w *worker) tryAgain(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) (bool, error) {
	r := recordOf(sess)
	if v.Seq > r.TriesAt {
		r.Tries = 0
	}
	r.Tries, r.TriesAt = r.Tries+1, v.Seq
	data, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	sess.Data = data
	return r.Tries < mostTries, w.save(ctx, f, sess, v)
}

// watch ends a run at once when a person says stop; other words wait for the
// next look into the inbox.
func (w *worker) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	if w.cfg.More == nil {
		return
	}
	more := w.cfg.More(w.key)
	tick := time.NewTicker(w.cfg.Every) // another server may have taken the delivery in
	defer tick.Stop()
	for {
		if w.stopWaits(ctx) {
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
	note, err := w.offer(ctx, f, sess, v)
	if err != nil {
		return err
	}
	if err := w.announce(ctx, f, sess, announcement{v, note}); err != nil {
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
	_, err := w.ensure(ctx, f, ghapp.Write{Key: "ask-" + sess.ID + "-" + a.ID, Kind: ghapp.WriteComment, Body: render.Approval(a, sess.Requester)})
	if unlessRefused(err) != nil {
		return err
	}
	if a.Deadline.IsZero() {
		return nil
	}
	return w.cfg.Store.Wakes.Wake(ctx, w.key, store.PriorityIdle, a.Deadline)
}

// offer opens the pull request of a session that put something on its branch.
// When GitHub will not have it, the note says so.
func (w *worker) offer(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) (note string, err error) {
	if sess.Pull != 0 || len(v.Checkpoints) == 0 || !settled(v) || v.Outcome.Status == session.StatusStopped || w.at.Pull != nil {
		return "", nil
	}
	r := recordOf(sess)
	cfg := policy.Merge(w.cfg.Policy, r.Config).WithDefaults()
	issue, err := w.at.Client.Issue(ctx, w.ref)
	if err != nil {
		return "", err
	}
	wr := ghapp.Write{Key: "pull-" + sess.ID, Kind: ghapp.WritePull, Pull: &ghapp.PullSpec{
		Base: r.Target, Head: v.Branch, Title: render.PullTitle(clean(issue.Title)),
		Body:  render.PullBody(v, sess.Requester, w.ref.Number),
		Draft: cfg.PullRequest.Draft == nil || *cfg.PullRequest.Draft,
	}}
	ref, err := w.ensure(ctx, f, wr)
	var no *refusal
	if errors.As(err, &no) { // what stood in its way earlier may be gone
		wr.Key = fmt.Sprintf("pull-%s-%d", sess.ID, v.Seq)
		ref, err = w.ensure(ctx, f, wr)
	}
	if errors.As(err, &no) {
		return fmt.Sprintf("The work is on the branch `%s`. I could not open a pull request for it: %s", v.Branch, render.Clean(no.reason)), nil
	}
	sess.Pull = ref.Number
	return "", err
}

// announcement is what is said of an end.
type announcement struct {
	view *render.View
	note string
}

// announce tells people of an end that an edited comment would not: GitHub
// notifies nobody of edits.
func (w *worker) announce(ctx context.Context, f store.Fence, sess *store.Session, a announcement) error {
	v := a.view
	if v.Outcome == nil || sess.Pull != 0 || len(v.Open) > 0 || v.Outcome.Status == session.StatusStopped {
		return nil
	}
	body := render.Final(v)
	if a.note != "" {
		body += "\n" + a.note + "\n"
	}
	if body == "" {
		return nil
	}
	key := fmt.Sprintf("final-%s-%d", sess.ID, v.Seq)
	_, err := w.ensure(ctx, f, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: body})
	return unlessRefused(err)
}

// save keeps the row of the session in step. The row has one writer at a
// time, by its lease; a conflict means that this copy is old.
func (w *worker) save(ctx context.Context, f store.Fence, sess *store.Session, v *render.View) error {
	for {
		sess.State = v.State
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
