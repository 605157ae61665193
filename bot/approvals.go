package bot

import (
	"cmp"
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// Offerer puts an edit that waits for a review where people can see it, see
// [approval.Requests].
type Offerer interface {
	Offer(ctx context.Context, at Thread, o approval.Offer) (refused string, err error)
}

// approvals is what approvals in a session depend on.
func (w *worker) approvals(sess *store.Session) approval.Session {
	r := recordOf(sess)
	return approval.Session{
		ID: sess.ID, Requester: sess.Requester, RequesterID: r.RequesterID, Target: r.Target, Config: w.config(r),
		Thread: w.ref, IsPull: w.at.Pull != nil, Client: w.at.Client, CommitURL: w.commitURL, Now: w.cfg.Now, Log: w.cfg.Log,
	}
}

// requests asks people in a session that is held.
func (w *worker) requests(f store.Fence, sess *store.Session) approval.Requests {
	r := approval.Requests{Session: w.approvals(sess), Holder: leased{w, f, sess}}
	if w.cfg.Offers != nil {
		r.Offer = func(ctx context.Context, o approval.Offer) (string, error) { return w.cfg.Offers.Offer(ctx, w.at, o) }
	}
	return r
}

func (w *worker) commitURL(sha string) string { return w.at.Repo.URL + "/commit/" + sha }

// approve lets a request happen.
func approve(ctx context.Context, r *request) error { return r.settle(ctx, policy.Approved) }

// deny refuses a request, or overrules its approval.
func deny(ctx context.Context, r *request) error { return r.settle(ctx, policy.Denied) }

// settle takes an answer to a request.
func (r *request) settle(ctx context.Context, verdict policy.ApprovalState) error {
	sess, err := r.session(ctx)
	if err != nil {
		return err
	}
	if sess == nil {
		r.reply("Nothing waits for approval in this thread.")
		return nil
	}
	v, err := r.viewWith(ctx, sess, r.c)
	if err != nil {
		return err
	}
	res, why, err := r.approvals(sess).Settle(ctx, v, approval.Answer{
		Request: r.cmd.ID, Verdict: verdict, By: r.actor, Reason: r.cmd.Text, Source: cmp.Or(approval.Source(r.said.ev, r.said.target), r.said.key),
	})
	if err != nil {
		return err
	}
	if why != "" {
		r.reply(why)
		return nil
	}
	r.c.Events = append(r.c.Events, session.NewEvent(session.TypeResolved, v.Turns, res))
	switch res.Verdict {
	case policy.Approved:
		r.react("+1")
	case policy.Denied:
		r.react("-1")
	default:
		r.react("confused")
		r.reply(fmt.Sprintf("Approval `%s` does not count: %s. Nothing was run.", res.ID, res.Reason))
	}
	return nil
}

// look sees what became of a request that is up for review, and records it.
func (w *worker) look(ctx context.Context, d *store.Delivery, ev ghapp.Event) error {
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	if sess == nil {
		return w.cfg.Store.Deliveries.Done(ctx, "no session", d.ID)
	}
	v, err := w.view(ctx, sess)
	if err != nil {
		return err
	}
	seen, err := w.approvals(sess).Look(ctx, v, ev)
	if err != nil {
		return err
	}
	if seen.Nothing != "" {
		return w.cfg.Store.Deliveries.Done(ctx, seen.Nothing, d.ID)
	}
	c := &change{}
	c.Done = append(c.Done, d.ID)
	if seen.Resolved != nil {
		c.Events = append(c.Events, session.NewEvent(session.TypeResolved, v.Turns, *seen.Resolved))
	}
	if seen.Reply != nil {
		w.intend(c, *seen.Reply)
	}
	return w.commit(ctx, c)
}

// elsewhere says in which thread the session is, where this one is but the
// pull request of one of its requests: there is nothing to be done in it.
func (w *worker) elsewhere(ctx context.Context) (thread.Ref, bool, error) {
	if w.at.Pull == nil {
		return thread.Ref{}, false, nil
	}
	return approval.Of(ctx, w.at.Client, *w.at.Pull)
}
