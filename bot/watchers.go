package bot

import (
	"context"
	"errors"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/bot/watch"
	"github.com/handrail-bot/handrail/policy"
)

// watcherDelivery returns the delivery for an event that concerns a watcher.
func (b *Bot) watcherDelivery(ctx context.Context, ev ghapp.Event) (d store.Delivery, ok bool, err error) {
	for _, one := range b.cfg.Watchers {
		if one.Where == nil {
			continue
		}
		if d, ok, err = one.Where(ctx, b.live, ev); ok || err != nil {
			return d, ok, err
		}
	}
	return store.Delivery{}, false, nil
}

// askWatchers returns the answer of the watchers to a delivery, never nil without an error.
func askWatchers(ctx context.Context, w *worker, d *store.Delivery, ev ghapp.Event) (*watch.Answer, error) {
	h := &watch.Heard{Config: w.live, Delivery: d, Event: ev, At: &w.at}
	if w.at.Ref.Number != 0 {
		row, err := w.session(ctx)
		if err != nil {
			return nil, err
		}
		h.Session = row
	}
	h.Desk = desk{w, h.Session}
	for _, one := range w.cfg.Watchers {
		if one.Hear == nil {
			continue
		}
		if a, err := one.Hear(ctx, h); a != nil || err != nil {
			return a, err
		}
	}
	return &watch.Answer{Note: "nothing for us"}, nil
}

// carryOutAnswer carries out the answer of a watcher.
func carryOutAnswer(ctx context.Context, w *worker, d *store.Delivery, a *watch.Answer) error {
	c := w.change()
	c.Done = append(c.Done, d.ID)
	switch {
	case a.Job != nil:
		if err := beginJob(ctx, w, c, d, a.Job); err != nil {
			return err
		}
	case a.More != nil:
		may, err := goOnFor(ctx, w, c, *a.More)
		if err != nil {
			return err
		}
		if !may {
			return w.cfg.Store.Deliveries.Done(ctx, "no mode that changes files is allowed here", d.ID)
		}
	case a.Tell.Text != "":
		c.reply(userMessage{key: a.Tell.Key}, a.Tell.Text)
	default:
		w.cfg.Log.InfoContext(ctx, "event begins nothing", "delivery", d.ID, "thread", w.key, "event", d.Event, "why", a.Note)
		return w.cfg.Store.Deliveries.Done(ctx, a.Note, d.ID)
	}
	return w.commit(ctx, c)
}

// goOnFor continues the thread's session with a watcher's message, in a mode that changes
// files. It reports false if no such mode is allowed.
func goOnFor(ctx context.Context, w *worker, c *change, m session.Message) (bool, error) {
	row, err := w.session(ctx)
	if err != nil {
		return false, err
	}
	v, err := w.live.Fold(ctx, row)
	if err != nil {
		return false, err
	}
	if mode, err := policy.ParseMode(v.ModeName()); err != nil || mode.ReadOnly() {
		by := &request{w: w, sess: row}
		if m.Mode = by.changingMode(v); m.Mode == "" {
			return false, nil
		}
	}
	c.append(session.NewEvent(session.TypeMessage, v.Turns, m))
	return true, nil
}

// beginJob opens an unattended session.
func beginJob(ctx context.Context, w *worker, c *change, d *store.Delivery, j *watch.Job) error {
	ev := ghapp.Event{Installation: j.Installation, Thread: w.at.Ref} // not the post that brought it
	r := &request{
		w:   w,
		at:  &w.at,
		c:   c,
		own: j.Text,
		cmd: command.Command{Name: command.Task, Mode: j.Mode, Text: j.Text},
		job: &j.Scheduled,
	}
	r.msg = userMessage{ev: ev, id: d.ID, key: d.Key, why: j.Why}
	return r.open(ctx, nil)
}

// desk implements [watch.Desk].
type desk struct {
	w    *worker
	sess *store.Session
}

// Start implements [watch.Desk].
func (k desk) Start(ctx context.Context, installation int64) (p watch.Place, err error) {
	w := k.w
	if w.at.Ref.Number != 0 {
		err = w.at.Connect(ctx, w.cfg.GitHub, installation)
	} else if err = w.at.Reach(ctx, w.cfg.GitHub, installation); err == nil {
		w.at.Repo, err = w.at.Client.Repo(ctx)
	}
	if err != nil {
		return p, err
	}
	at, err := w.cfg.Runner.StartPoint(ctx, w.at)
	return watch.Place{
		Base:   at.Base,
		Target: at.Target,
		Own:    at.Config,
		Config: policy.Merge(w.cfg.Policy, at.Config),
	}, err
}

// MayBegin implements [watch.Desk].
func (k desk) MayBegin(ctx context.Context, ev ghapp.Event) (why string, err error) {
	if k.w.unlistedBot(ev.Sender) {
		return "a bot that is not let in", nil
	}
	if err := k.w.at.Reach(ctx, k.w.cfg.GitHub, ev.Installation); err != nil {
		return "", err
	}
	by, why, err := k.w.admit(ctx, userMessage{ev: ev, author: ev.Sender})
	if err == nil && (why != "" || by.quiet) {
		why = ev.Sender.Login + " may not start anything here"
	}
	return why, err
}

// MayGoOn implements [watch.Desk].
func (k desk) MayGoOn(ctx context.Context) (why string, err error) {
	asker, err := k.w.at.Client.Actor(ctx, k.sess.Requester)
	if err != nil {
		return "", err
	}
	switch may, why := k.w.mayAsk(asker, policy.AskChange, k.sess); {
	case may != policy.Allow:
		return why, nil
	case asker.ID != live.DataOf(k.sess).RequesterID:
		return "another account has that name now", nil
	}
	return "", nil
}

// Ensure implements [watch.Desk].
func (k desk) Ensure(ctx context.Context, wr ghapp.Write) (ghapp.Ref, error) {
	return k.w.outbox(store.Fence{}).Ensure(ctx, wr)
}

// Keep implements [watch.Desk].
func (k desk) Keep(ctx context.Context, change func(*live.Data)) error {
	l, err := k.w.lease(ctx, k.sess)
	if err != nil {
		return err
	}
	change(&l.Data)
	l.Data.Shown = ""
	return l.Save(ctx)
}

// workOnRepository has watchers handle deliveries that belong to no thread.
func (b *Bot) workOnRepository(ctx context.Context, at thread.Ref) error {
	for {
		d, err := b.cfg.Store.Deliveries.Next(ctx, at.Key())
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		w := b.worker(at)
		note, err := onRepository(ctx, w, d)
		if err == nil {
			err = b.cfg.Store.Deliveries.Done(ctx, note, d.ID)
		}
		if err = w.orGiveUp(ctx, d, err); err != nil {
			return errors.Join(err, w.leases.Release(context.WithoutCancel(ctx)))
		}
	}
}

// onRepository has watchers handle one delivery that belongs to no thread.
func onRepository(ctx context.Context, w *worker, d *store.Delivery) (note string, err error) {
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // it never gets better
	}
	a, err := askWatchers(ctx, w, d, ev)
	if err != nil {
		return "", err
	}
	return a.Note, nil
}

// denyUnattended answers the requests of a scheduled session that must not ask.
func denyUnattended(ctx context.Context, l *live.Session) (answered bool, err error) {
	if l.Data.Schedule == nil || l.Data.Schedule.Asks {
		return false, nil
	}
	var events []*session.Event
	for _, a := range l.State.Open() {
		res := session.Resolved{ID: a.ID, Verdict: policy.Denied, Reason: render.NoApprover, Key: "unattended-" + a.ID}
		if a.Kind == session.AskQuestion {
			res.Verdict = policy.Answered
		}
		events = append(events, session.NewEvent(session.TypeResolved, l.State.Turns, res))
	}
	if len(events) == 0 {
		return false, nil
	}
	return true, l.Append(ctx, events...) //control:unattended-is-denied
}

// waitsOn reports whether a watcher keeps the session waiting.
func (b *Bot) waitsOn(ctx context.Context, l *live.Session) (bool, error) {
	for _, one := range b.cfg.Watchers {
		if one.Waits == nil {
			continue
		}
		if waits, err := one.Waits(ctx, b.live, l); waits || err != nil {
			return waits, err
		}
	}
	return false, nil
}

// conclude updates GitHub to the session's state, then has the watchers look at its end.
func (b *Bot) conclude(ctx context.Context, l *live.Session) error {
	err := l.Conclude(ctx)
	for _, one := range b.cfg.Watchers {
		if err == nil && one.Over != nil && l.State.Over() {
			err = one.Over(ctx, b.live, l)
		}
	}
	return err
}

// report has a watcher report the end of an unattended session.
func (b *Bot) report(ctx context.Context, l *live.Session) error {
	for _, one := range b.cfg.Watchers {
		if one.Report != nil {
			return one.Report(ctx, b.live, l)
		}
	}
	return nil
}
