package bot

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
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
	s, ok := messageOf(ev)
	if !ok || !w.serves(ev.Thread) {
		return w.cfg.Store.Deliveries.Done(ctx, "nothing for us", d.ID)
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
	if err := w.at.connect(ctx, w.cfg.GitHub, ev.Installation); err != nil {
		return w.orGiveUp(ctx, d, err)
	}
	if why, err := w.notTheirs(ctx, s); err != nil || why != "" {
		if why != "" {
			w.cfg.Log.InfoContext(ctx, "text is not a person's wish", "delivery", d.ID, "thread", w.key, "author", s.author.Login, "why", why)
			err = w.cfg.Store.Deliveries.Done(ctx, why, d.ID)
		}
		return w.orGiveUp(ctx, d, err)
	}
	return w.orGiveUp(ctx, d, w.carryOut(ctx, s, cmds, use))
}

// orGiveUp ends a delivery whose failure no second try can mend.
func (w *worker) orGiveUp(ctx context.Context, d *store.Delivery, err error) error {
	var ge *ghapp.Error
	if err == nil || !errors.As(err, &ge) || ge.Kind != ghapp.Permanent {
		return err
	}
	w.cfg.Log.ErrorContext(ctx, "delivery given up", "delivery", d.ID, "thread", w.key, "err", err)
	return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
}

// carryOut carries out commands in order.
func (w *worker) carryOut(ctx context.Context, s userMessage, cmds []command.Command, wrong *command.Error) error {
	c := w.change()
	if wrong != nil {
		bad := s
		bad.key += ".use"
		c.reply(bad, wrong.Public)
	}
	for i, cmd := range cmds {
		one := s
		if i > 0 {
			one.key = fmt.Sprintf("%s.%d", s.key, i)
		}
		if err := w.do(ctx, c, one, cmd); err != nil {
			return err
		}
	}
	c.Done = append(c.Done, s.id)
	return w.commit(ctx, c)
}
