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

// userMessage is a text that may hold commands, and where it stands.
type userMessage struct {
	ev     ghapp.Event
	id     string // of the delivery
	key    string // of the text: what was said, in which version
	body   string
	target ghapp.Target
}

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
	if !ok {
		return w.cfg.Store.Deliveries.Done(ctx, "nothing for us", d.ID)
	}
	s.id, s.key = d.ID, d.Key
	if s.key == "" {
		s.key = d.ID
	}
	cmds, err := specs(w.rows).Parse(s.body)
	var use *command.Error
	if err != nil && !errors.As(err, &use) {
		return w.cfg.Store.Deliveries.Done(ctx, err.Error(), d.ID)
	}
	if len(cmds) == 0 && use == nil {
		return w.cfg.Store.Deliveries.Done(ctx, "no command", d.ID)
	}
	if err := w.at.connect(ctx, w.cfg.GitHub, ev.Installation); err != nil {
		return w.orGiveUp(ctx, d, err)
	}
	if own, err := w.at.isOwn(ctx, ev.Sender); err != nil || own {
		if own {
			err = w.cfg.Store.Deliveries.Done(ctx, "own words", d.ID)
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

// messageOf picks the text of an event that can hold a command. Edits are no new
// wishes: what was said first was acted on, and an approval whose comment was
// edited is found out when it is used.
func messageOf(ev ghapp.Event) (userMessage, bool) {
	s := userMessage{ev: ev}
	switch {
	case ev.Thread.Number == 0:
		return s, false
	case ev.Kind == "issue_comment" && ev.Action == "created",
		ev.Kind == "pull_request_review_comment" && ev.Action == "created":
		s.body, s.target = ev.Comment.Body, ghapp.Target{Comment: ev.Comment.ID, Diff: ev.Comment.Diff}
	case ev.Kind == "pull_request_review" && ev.Action == "submitted":
		s.body = ev.Review.Body
	case ev.Kind == "issues" && ev.Action == "opened", ev.Kind == "pull_request" && ev.Action == "opened":
		s.body = ev.Body
	default:
		return s, false
	}
	return s, true
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
