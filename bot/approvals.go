package bot

import (
	"cmp"
	"context"
	"errors"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// Offerer puts an edit that waits for a review where people can see it, see
// [approval.Requests].
type Offerer interface {
	Offer(ctx context.Context, at Thread, o approval.Offer) (refused string, err error)
}

// approve lets a request happen.
func approve(ctx context.Context, r *request) error { return r.settle(ctx, policy.Approved) }

// deny refuses a request, or overrules its approval.
func deny(ctx context.Context, r *request) error { return r.settle(ctx, policy.Denied) }

// settle takes an answer to a request.
func (r *request) settle(ctx context.Context, verdict policy.ApprovalState) error {
	if r.sess == nil {
		r.reply(render.NothingAsked)
		return nil
	}
	v, err := r.viewWith(ctx)
	if err != nil {
		return err
	}
	res, why, err := r.w.approvals(&r.w.at, r.sess).Settle(ctx, v, approval.Answer{
		Request: r.cmd.ID, Verdict: verdict, By: r.actor, Reason: r.said(), Source: cmp.Or(approval.Source(r.msg.ev, r.msg.target), r.msg.key),
	})
	if err != nil {
		return err
	}
	if why != "" {
		r.reply(why)
		return nil
	}
	r.c.append(session.NewEvent(session.TypeResolved, v.Turns, res))
	switch res.Verdict {
	case policy.Approved:
		r.react("+1")
	case policy.Denied:
		r.react("-1")
	default:
		r.react("confused")
		r.reply(render.TooLate(res))
	}
	return nil
}

// reviewed sees what became of a request that is up for review, and records it.
func (w *worker) reviewed(ctx context.Context, d *store.Delivery, ev ghapp.Event) error {
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	if sess == nil {
		return w.cfg.Store.Deliveries.Done(ctx, "no session", d.ID)
	}
	heard, words, err := w.reviewer(ctx, ev)
	switch {
	case errors.Is(err, ghapp.ErrLookups):
		return w.postpone(d, w.cfg.Now().Add(lookAgainAtMany))
	case err != nil:
		return err
	case !heard:
		return w.cfg.Store.Deliveries.Done(ctx, "not answered: its author has no right", d.ID)
	}
	v, err := w.fold(ctx, sess)
	if err != nil {
		return err
	}
	seen, err := w.approvals(&w.at, sess).Reviewed(ctx, v, ev)
	if err != nil {
		return err
	}
	if seen.Nothing != "" {
		return w.cfg.Store.Deliveries.Done(ctx, seen.Nothing, d.ID)
	}
	c := w.change()
	c.Done = append(c.Done, d.ID)
	if seen.Resolved != nil {
		c.append(session.NewEvent(session.TypeResolved, v.Turns, *seen.Resolved))
	}
	if seen.Reply != nil && words {
		c.intend(*seen.Reply)
	}
	return w.commit(ctx, c)
}

// reviewer reports whether an event of a review is looked at, and whether its
// author gets words when it does not count. Only what somebody says is asked
// about: a push, a closing or a dismissal needed a right already.
func (w *worker) reviewer(ctx context.Context, ev ghapp.Event) (heard, words bool, err error) {
	if ev.Kind != "pull_request_review" || ev.Action == "dismissed" {
		return true, true, nil
	}
	if w.unlistedBot(ev.Sender) {
		return false, false, nil
	}
	actor, err := w.at.Client.Sender(ctx, ev.Sender.Login)
	words = policy.Insider(actor) || ev.Sender.Bot
	return words || !w.cfg.GitHub.Flooding(w.at.Ref.Repository(), ev.Sender.Login), words, err
}
