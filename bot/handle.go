package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
)

// handle works on one delivery. What it leads to is recorded before anything
// is said on GitHub. A delivery that cannot be worked on ever is given up;
// an error means that it may work later.
func (w *worker) handle(ctx context.Context, d *store.Delivery) error {
	ev, err := ghapp.ParseEvent(d.Event, d.Payload)
	if err != nil {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	if at, ok := approval.About(ev); ok && at.Same(w.at.Ref) {
		if err := w.at.connect(ctx, w.cfg.GitHub, ev.Installation); err != nil {
			return w.orGiveUp(ctx, d, err)
		}
		return w.orGiveUp(ctx, d, w.reviewed(ctx, d, ev))
	}
	if _, ok := touches(ev); ok && w.serves(ev.Thread) {
		return w.orGiveUp(ctx, d, w.touched(ctx, d, ev))
	}
	s, ok := messageOf(ev)
	if !ok || !w.serves(ev.Thread) {
		return w.cfg.Store.Deliveries.Done(ctx, "nothing for us", d.ID)
	}
	if w.unlistedBot(s.author) {
		return w.cfg.Store.Deliveries.Done(ctx, "a bot that is not let in", d.ID)
	}
	s.id, s.key = d.ID, d.Key
	if s.key == "" {
		s.key = d.ID
	}
	cmds, use, err := w.commandsIn(s.body)
	if err != nil {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	if len(cmds) == 0 && use == nil {
		return w.cfg.Store.Deliveries.Done(ctx, "no command", d.ID)
	}
	if err := w.at.reach(ctx, w.cfg.GitHub, ev.Installation); err != nil {
		return w.orGiveUp(ctx, d, err)
	}
	if why, err := w.notTheirs(ctx, s); err != nil || why != "" {
		if why != "" {
			w.cfg.Log.InfoContext(ctx, "text is not a person's wish", "delivery", d.ID, "thread", w.key, "author", s.author.Login, "why", why)
			err = w.cfg.Store.Deliveries.Done(ctx, why, d.ID)
		}
		return w.orGiveUp(ctx, d, err)
	}
	return w.orGiveUp(ctx, d, w.answer(ctx, d, s, cmds, use))
}

// touched is told that a text was changed or deleted. The one that the session began
// with was read when it was new: people are told that this changes nothing, once. A
// progress comment is made again.
func (w *worker) touched(ctx context.Context, d *store.Delivery, ev ghapp.Event) error {
	row, err := w.session(ctx)
	if err != nil {
		return err
	}
	if ours, key := w.cfg.GitHub.Written(ev.Comment.Body); ours && row != nil && strings.HasPrefix(key, progressKey(row.ID)) {
		l, err := w.lease(ctx, row)
		if err != nil {
			return err
		}
		l.data.Shown = ""
		if err := l.save(ctx); err != nil {
			return err
		}
		return w.cfg.Store.Deliveries.Done(ctx, "the progress comment was deleted", d.ID)
	}
	if row == nil || row.ID != sessionID(w.key, begunBy(ev)) || !slices.Contains(unsettled, row.State) && !row.State.Waits() {
		return w.cfg.Store.Deliveries.Done(ctx, "no text that a session works by", d.ID)
	}
	if err := w.at.connect(ctx, w.cfg.GitHub, ev.Installation); err != nil {
		return err
	}
	c := w.change()
	c.reply(userMessage{key: "touched-" + row.ID + ev.Action}, render.Touched(ev.Action == "deleted")) //control:touched-is-told
	c.Done = append(c.Done, d.ID)
	return w.commit(ctx, c)
}

// answer does what somebody wants who may want something.
func (w *worker) answer(ctx context.Context, d *store.Delivery, s userMessage, cmds []command.Command, wrong *command.Error) error {
	by, why, err := w.admit(ctx, s)
	if errors.Is(err, ghapp.ErrLookups) {
		return w.postpone(d, w.cfg.Now().Add(lookAgainAtMany))
	}
	if err != nil {
		return err
	}
	if why != "" {
		return w.turnAway(ctx, s, why)
	}
	w.heard = !by.quiet
	a := Asker{
		Sender: s.author.Login, Thread: w.key, Repository: w.at.Ref.Repository(), Installation: s.ev.Installation, Urgent: d.Priority <= store.PriorityAnswer,
	}
	if !w.early[d.ID] {
		if err := w.overQuota(ctx, d, a); err != nil {
			return err
		}
	}
	if err := w.at.connect(ctx, w.cfg.GitHub, s.ev.Installation); err != nil {
		return err
	}
	c := w.change()
	c.by, c.urgent = by, a.Urgent
	if err := w.carryOut(ctx, c, s, cmds, wrong); err != nil {
		return err
	}
	if w.cfg.Quotas != nil && !w.early[d.ID] {
		w.cfg.Quotas.Take(w.cfg.Now(), a)
	}
	return nil
}

// orGiveUp ends a delivery whose failure no second try can mend.
func (w *worker) orGiveUp(ctx context.Context, d *store.Delivery, err error) error {
	var ge *ghapp.Error
	if err == nil || !errors.As(err, &ge) || ge.Kind != ghapp.Permanent {
		return err
	}
	if away := w.cfg.GitHub.Check(ctx); away != nil {
		return fmt.Errorf("%w (before that: %s)", away, err.Error())
	}
	w.cfg.Log.ErrorContext(ctx, "delivery given up", "delivery", d.ID, "thread", w.key, "err", err)
	return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
}

// mostCommands is how many commands of one text are carried out.
const mostCommands = 50

// carryOut carries out commands in order.
func (w *worker) carryOut(ctx context.Context, c *change, s userMessage, cmds []command.Command, wrong *command.Error) error {
	if wrong != nil {
		c.reply(s, wrong.Public)
	}
	if n := len(cmds) - mostCommands; n > 0 { //control:commands-of-a-comment
		c.reply(s, render.LeftOut(mostCommands, n))
		cmds = cmds[:mostCommands]
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

// firstTask is which of the commands of a text is its first task, -1 for none.
func firstTask(cmds []command.Command) int {
	return slices.IndexFunc(cmds, func(c command.Command) bool { return c.Name == command.Task })
}
