package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/pull"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// handle works on one delivery, as the table of kinds says. Its effects are recorded before
// anything is written to GitHub. A delivery that can never be handled is given up; an error
// means that a retry can help.
func (w *worker) handle(ctx context.Context, d *store.Delivery) error {
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	if err != nil {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	e := classify(ev).in(w.at.Ref)
	if e.kind != reviewed { // its words do not count
		if e.names, err = w.names(ctx, textsIn(ev)); err != nil {
			return w.orGiveUp(ctx, d, err)
		}
		if ev.Kind != "" && !w.serves(ev.Thread) {
			return w.cfg.Store.Deliveries.Done(ctx, "nothing for us", d.ID)
		}
	}
	return w.orGiveUp(ctx, d, kinds()[e.kind].handle(ctx, w, d, e))
}

// handlePost handles the first post of a thread. Without a command it is for the watchers.
func handlePost(ctx context.Context, w *worker, d *store.Delivery, e event) error {
	cmds, use, err := w.commandsIn(ctx, e.text.body)
	if err != nil {
		return err
	}
	if len(cmds) == 0 && use == nil {
		return handleSilent(ctx, w, d, e)
	}
	return handleText(ctx, w, d, e)
}

// handleSilent has the watchers handle an event without a text. A task in their answer is
// handled as a text.
func handleSilent(ctx context.Context, w *worker, d *store.Delivery, e event) error {
	a, err := askWatchers(ctx, w, d, e.ev)
	if err != nil {
		return err
	}
	if a.Task == nil {
		return carryOutAnswer(ctx, w, d, a)
	}
	ev, err := ghapp.ParseEvent("workflow_dispatch", a.Task)
	if err != nil {
		return err
	}
	e.text, _ = textOf(ev)
	return handleText(ctx, w, d, e)
}

// handleText carries out a text if its author is admitted.
func handleText(ctx context.Context, w *worker, d *store.Delivery, e event) error {
	s := e.text.broughtBy(d, w.at.Ref)
	if s.names = e.names; w.unlistedBot(s.author) {
		return w.cfg.Store.Deliveries.Done(ctx, "a bot that is not let in", d.ID)
	}
	if sent, err := sendOn(ctx, w, d, s); sent || err != nil {
		return err
	}
	m, err := w.read(ctx, s)
	if err != nil {
		return err
	}
	if m.bare() && !m.aside.matters() {
		return w.cfg.Store.Deliveries.Done(ctx, "not for us", d.ID)
	}
	if err := w.at.Reach(ctx, w.cfg.GitHub, s.ev.Installation); err != nil {
		return err
	}
	why, err := w.notFromUser(ctx, s)
	if err != nil {
		return err
	}
	if why != "" {
		w.cfg.Log.InfoContext(
			ctx, "text is no request of a user", "delivery", d.ID, "thread", w.key, "author", s.author.Login, "why",
			why,
		)
		w.settleNotice(ctx, s.key)
		return w.cfg.Store.Deliveries.Done(ctx, why, d.ID)
	}
	err = w.answer(ctx, d, s, m)
	if fault.OfGitHub(err) && ctx.Err() == nil {
		tellAway(ctx, w, d, s, err)
		err = w.stopOwn(ctx, s, err)
	}
	return err
}

// stopOwn ends the session if its own requester asks for that while GitHub cannot be
// asked. For any other text it returns cause.
func (w *worker) stopOwn(ctx context.Context, s userMessage, cause error) error {
	cmds, wrong, err := w.commandsIn(ctx, s.body)
	if err != nil || wrong != nil || len(cmds) != 1 || s.away != 0 {
		return cause
	}
	row, err := rowOf(w.rows, cmds[0])
	if err != nil || row.right != policy.Stop {
		return cause
	}
	r := &request{w: w, at: &w.at, msg: s, cmd: cmds[0], actor: s.unverified()}
	if r.sess, err = w.session(ctx); err != nil || r.sess == nil || r.sess.State.Over() {
		return cause
	}
	if may, _ := w.mayAsk(r.actor, row.right, r.sess); may != policy.Allow {
		return cause
	}
	if r.c, err = w.changeFor(ctx, s.key); err != nil {
		r.c = w.change() // a stop does not wait for a notice
	}
	w.cfg.Log.WarnContext(ctx, "stopped by its requester, unchecked", "session", r.sess.ID, "err", cause)
	r.c.urgent = true
	if err := row.handle(ctx, r); err != nil {
		return err
	}
	r.c.Done = append(r.c.Done, s.id)
	return w.commit(ctx, r.c)
}

// broughtBy returns the text as a delivery brings it to a thread.
func (s userMessage) broughtBy(d *store.Delivery, home thread.Ref) userMessage {
	s.id, s.key, s.away = d.ID, textKey(d), pull.OtherNumber(s.ev.Thread, home)
	return s
}

// textKey returns the key of a delivery's text.
func textKey(d *store.Delivery) string { return cmp.Or(pull.KeyOf(d), d.ID) }

// said is the meaning of a text: its commands or, without one, an aside.
type said struct {
	cmds  []command.Command
	wrong *command.Error // in the commands
	aside aside
}

// bare reports whether the text has no command.
func (m said) bare() bool { return len(m.cmds) == 0 && m.wrong == nil }

// read returns the meaning of a text. It does not call GitHub, unless the text mentions an
// account.
func (w *worker) read(ctx context.Context, s userMessage) (m said, err error) {
	if m.cmds, m.wrong, err = w.commandsIn(ctx, s.body); err != nil || !m.bare() {
		return m, err
	}
	m.aside, err = readAside(ctx, w, s)
	return m, err
}

// answer carries out a text if its author is admitted.
func (w *worker) answer(ctx context.Context, d *store.Delivery, s userMessage, m said) error {
	by, why, err := w.admit(ctx, s)
	if errors.Is(err, ghapp.ErrLookups) {
		return w.waits.postpone(d, w.cfg.Now().Add(lookAgainAtMany))
	}
	if err != nil {
		return err
	}
	if m.bare() && (why != "" || by.quiet) {
		w.settleNotice(ctx, s.key)
		return w.cfg.Store.Deliveries.Done(ctx, "not for us: its author may not answer", d.ID)
	}
	if why != "" {
		return w.turnAway(ctx, s, why)
	}
	w.getsReplies = !by.quiet
	a := Asker{
		Sender:       s.author.Login,
		Thread:       w.key,
		Repository:   w.at.Ref.Repository(),
		Installation: s.ev.Installation,
		Urgent:       d.Priority <= store.PriorityAnswer,
	}
	if !w.answeredEarly[d.ID] {
		if err := w.overQuota(ctx, d, s, a); err != nil {
			return err
		}
	}
	if err := w.at.Connect(ctx, w.cfg.GitHub, s.ev.Installation); err != nil {
		return err
	}
	if s.page, err = w.pageOf(ctx, s); err != nil {
		return err
	}
	c, err := w.changeFor(ctx, s.key)
	if err != nil {
		return err
	}
	c.by, c.urgent = by, a.Urgent
	if m.bare() {
		err = takeAside(ctx, w, c, s, m.aside)
	} else {
		err = w.carryOut(ctx, c, s, m.cmds, m.wrong)
	}
	if err != nil {
		return err
	}
	if w.cfg.Quotas != nil && !w.answeredEarly[d.ID] {
		w.cfg.Quotas.Take(w.cfg.Now(), a)
	}
	return nil
}

// orGiveUp ends a delivery if its failure is permanent.
func (w *worker) orGiveUp(ctx context.Context, d *store.Delivery, err error) error {
	var ge *ghapp.Error
	if err == nil || !errors.As(err, &ge) || ge.Kind != ghapp.Permanent {
		return err
	}
	if away := w.cfg.GitHub.Check(ctx); away != nil {
		return fmt.Errorf("%w (before that: %s)", away, err.Error())
	}
	w.cfg.Log.ErrorContext(ctx, "delivery given up", "delivery", d.ID, "thread", w.key, "err", err)
	if w.getsReplies && w.at.Client != nil { //control:given-up-is-told
		text := render.GivenUp(fault.InWords(err))
		wr := ghapp.Write{Key: "given-up-" + ghapp.Digest(d.ID), Kind: ghapp.WriteComment, Body: text}
		if notice, err := w.noticeOf(ctx, textKey(d)); err == nil {
			wr.Notice = notice
		}
		tell(ctx, w, wr)
	}
	return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
}

// maxCommands is the maximum number of commands carried out per text.
const maxCommands = 50

// carryOut carries out commands in order.
func (w *worker) carryOut(
	ctx context.Context,
	c *change,
	s userMessage,
	cmds []command.Command,
	wrong *command.Error,
) error {
	if wrong == nil {
		if wrong = command.AsShown(s.body, s.page, s.names...); wrong != nil {
			cmds = nil
		}
	}
	if wrong != nil || !onlyAnswers(w.rows, cmds) {
		c.tellDashboard(s)
	}
	if err := w.tellWrong(ctx, c, s, wrong); err != nil {
		return err
	}
	if n := len(cmds) - maxCommands; n > 0 { //control:commands-of-a-comment
		c.reply(s, render.LeftOut(maxCommands, n))
		cmds = cmds[:maxCommands]
	}
	first := firstTask(cmds)
	for i, cmd := range cmds {
		one := s
		one.first = i == first
		if i > 0 {
			one.key = fmt.Sprintf("%s.%d", s.key, i)
		}
		if err := w.do(ctx, c, one, cmd); err != nil {
			return err
		}
	}
	if c.by.quiet && len(c.Events) == 0 {
		return w.turnAway(ctx, s, strings.Join(c.replies, " "))
	}
	c.Done = append(c.Done, s.id)
	return w.commit(ctx, c)
}

// tellWrong reports an error in the commands of a text. Text beside an approval is
// reported once for the open requests; later there is only a reaction.
func (w *worker) tellWrong(ctx context.Context, c *change, s userMessage, wrong *command.Error) error {
	if wrong == nil {
		return nil
	}
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	if wrong.Beside && sess != nil {
		v, err := w.live.Fold(ctx, sess)
		if err != nil {
			return err
		}
		c.react(s, "confused")
		if about := approval.Newest(v, approval.Open(v)); about != "" {
			c.askBack(s, approval.AskedGranted, about, wrong.Public)
			return nil
		}
	}
	c.reply(s, wrong.Public)
	return nil
}

// firstTask returns the index of the first task, -1 if there is none.
func firstTask(cmds []command.Command) int {
	return slices.IndexFunc(cmds, func(c command.Command) bool { return c.Name == command.Task })
}
