package bot

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// Offerer puts an edit up for review, see [approval.Requests].
type Offerer interface {
	Offer(ctx context.Context, at live.Thread, o approval.Offer) (refused string, err error)
}

// approve approves one request or several.
func approve(ctx context.Context, r *request) error { return r.settle(ctx, policy.Approved) }

// deny denies requests, or overrules their approval.
func deny(ctx context.Context, r *request) error { return r.settle(ctx, policy.Denied) }

// settle applies an answer to one request or several.
func (r *request) settle(ctx context.Context, verdict policy.ApprovalState) error {
	if r.sess == nil {
		r.reply(render.NothingAsked)
		return nil
	}
	v, err := r.viewWith(ctx)
	if err != nil {
		return err
	}
	if of := approval.WaitingCommit(v); of != nil && len(r.cmd.IDs)+len(approval.Open(v)) == 0 {
		return r.nameCommit(ctx, of, verdict)
	}
	answer := approval.Answer{
		Verdict: verdict,
		By:      r.actor,
		Reason:  r.commandText(),
		Source:  cmp.Or(approval.Source(r.msg.ev, r.msg.target), r.msg.key),
	}
	asks := r.w.live.Approvals(&r.w.at, r.sess)
	ids := r.cmd.IDs
	if len(ids) == 0 {
		meant, gone, err := asks.Unnamed(ctx, v, approval.PlaceOfAnswer(r.msg.ev, r.msg.target))
		if err != nil {
			return err
		}
		kept := live.DataOf(r.sess).Reviews
		gone = slices.DeleteFunc(gone, func(a session.Asked) bool { return kept[a.ID].URL == "" }) // these have no comment so far
		if len(gone) > 0 {                                                                         //control:gone-is-asked-anew
			r.c.askBack(r.msg, approval.AskedAgain, approval.Newest(v, gone), render.AskedAnew(gone))
			all := func(approval.Requests, *session.State) []session.Asked { return gone }
			if err := askAnew(ctx, r.w, r.sess, all); err != nil || !r.cmd.All {
				return err
			}
		}
		var why string
		if ids, why = approval.Choose(approval.Open(v), meant, approval.Pick{Verb: r.cmd.Name, All: r.cmd.All, Yes: verdict == policy.Approved}); why != "" {
			if err := r.replyWhich(ctx, v, why, verdict); err != nil {
				return err
			}
		}
	}
	told := make([]string, 0, len(ids))
	for _, id := range ids {
		answer.Request = id
		res, why, err := asks.Settle(ctx, v, answer)
		if err != nil {
			return err
		}
		if open := approval.Open(v); len(ids) == 1 && len(open) > 0 && why == render.NotOpen(r.cmd.Name, id, open) {
			return r.replyOnce(ctx, approval.AskedUnknown, approval.Newest(v, open), why)
		}
		if why != "" {
			told = append(told, why)
			continue
		}
		r.c.append(session.NewEvent(session.TypeResolved, v.Turns, res))
		told = append(told, r.reactToResult(res, answer.Where(), len(ids) > 1))
	}
	if text := render.Settled(told); text != "" {
		r.reply(text)
	}
	return nil
}

// replyWhich tells why an answer without ids is for no request, or not for all.
func (r *request) replyWhich(ctx context.Context, v *session.State, why string, verdict policy.ApprovalState) error {
	if why != render.NothingAsked {
		return r.replyOnce(ctx, approval.AskedWhich, approval.Newest(v, approval.Open(v)), why)
	}
	if last := approval.NewestSettled(v); last != nil {
		why = render.NothingLeft(approval.SettledText(v, last, verdict))
	}
	r.reply(why)
	return nil
}

// reactToResult reacts to the effect of an answer. It returns a reply if neither the reaction
// nor the comment that asks tells which request was meant.
func (r *request) reactToResult(res session.Resolved, where string, several bool) string {
	signs := map[policy.ApprovalState]string{policy.Approved: "+1", policy.Denied: "-1"}
	sign, counts := signs[res.Verdict]
	if !counts {
		r.react("confused")
		return render.TooLate(res)
	}
	r.react(sign)
	switch {
	case where == approval.InDashboard && res.Verdict == policy.Denied: // the thread shows no answer
		return render.DeniedIn(res.ID, res.By, where)
	case where == approval.InDashboard:
		return render.AnswerTaken(res.ID, res.By, where)
	case live.DataOf(r.sess).Reviews[res.ID].In != "": // the comment that asks says the rest
		return ""
	case res.Verdict == policy.Approved && len(r.cmd.IDs) == 0:
		return render.AnswerTaken(res.ID, res.By, where)
	case len(r.cmd.IDs) == 0, several:
		return render.SettledAs(res)
	}
	return ""
}

// askAnew posts requests again after their comments were deleted.
func askAnew(
	ctx context.Context,
	w *worker,
	row *store.Session,
	gone func(approval.Requests, *session.State) []session.Asked,
) error {
	l, err := w.lease(ctx, row)
	if err != nil {
		return err
	}
	if err := l.Reload(ctx); err != nil {
		return err
	}
	asks := l.Requests()
	return asks.Anew(ctx, l.State, gone(asks, l.State))
}

// okCommit handles the approval of a fork's commit.
func okCommit(ctx context.Context, r *request) error {
	var v *session.State
	if r.sess != nil {
		var err error
		if v, err = r.viewWith(ctx); err != nil {
			return err
		}
	}
	if len(r.cmd.IDs) > 0 {
		return r.okFor(ctx, v, r.cmd.IDs[0])
	}
	if v != nil && approval.WaitingCommit(v) != nil {
		return r.nameCommit(ctx, approval.WaitingCommit(v), policy.Approved)
	}
	if v != nil && len(approval.Open(v)) > 0 && len(approval.Open(v)) == len(v.Open()) {
		open := approval.Open(v)
		return r.replyOnce(ctx, approval.AskedNear, approval.Newest(v, open), render.DidYouMean("approve", open))
	}
	r.cmd.Name, r.cmd.Text = command.Task, okWord
	if asked, err := r.askBack(ctx); asked || err != nil {
		return err
	}
	if v != nil && len(v.Open()) > 0 { // a question
		return r.follow(ctx)
	}
	r.reply(render.NothingAsked)
	return nil
}

// nameCommit answers an approval or a denial that names no commit, while a fork waits for one.
func (r *request) nameCommit(ctx context.Context, of *session.Request, verdict policy.ApprovalState) error {
	kind, text := approval.AskedNear, render.ForkNamesNone(of.Head)
	if verdict == policy.Denied {
		kind, text = approval.AskedTalk, render.ForkRefused
	}
	return r.replyOnce(ctx, kind, of.ID, text)
}

// okFor approves one commit of a fork.
func (r *request) okFor(ctx context.Context, v *session.State, commit string) error {
	if v == nil {
		r.reply(render.NoForkWaits(commit))
		return nil
	}
	yes := session.Resolved{
		By:   r.actor.Login,
		ByID: r.actor.ID,
		Key:  cmp.Or(approval.Source(r.msg.ev, r.msg.target), r.msg.key),
	}
	res, told, err := r.w.live.Fork(&r.w.at, r.sess, nil).Answer(ctx, v, commit, yes)
	switch {
	case err != nil:
		return err
	case res == nil && approval.WaitingCommit(v) != nil:
		return r.replyOnce(ctx, approval.AskedCommit, approval.WaitingCommit(v).ID, told)
	case res == nil:
		r.reply(told)
	default:
		r.c.append(session.NewEvent(session.TypeResolved, v.Turns, *res))
		r.react("+1")
	}
	return nil
}

// handleReviewed looks at GitHub for the effect of an event on a request that is up for
// review, and records it.
func handleReviewed(ctx context.Context, w *worker, d *store.Delivery, e event) error {
	if err := w.at.Connect(ctx, w.cfg.GitHub, e.ev.Installation); err != nil {
		return err
	}
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	if sess == nil {
		return w.cfg.Store.Deliveries.Done(ctx, "no session", d.ID)
	}
	heard, words, err := w.admitReview(ctx, e.ev)
	switch {
	case errors.Is(err, ghapp.ErrLookups):
		return w.waits.postpone(d, w.cfg.Now().Add(lookAgainAtMany))
	case err != nil:
		return err
	case !heard:
		return w.cfg.Store.Deliveries.Done(ctx, "not answered: its author has no right", d.ID)
	}
	v, err := w.live.Fold(ctx, sess)
	if err != nil {
		return err
	}
	seen, err := w.live.Approvals(&w.at, sess).JudgeReview(ctx, v, e.ev)
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

// admitReview reports whether a review event is handled, and whether its author gets a reply
// if it does not count. Only reviews themselves are checked: a push, a close or a
// dismissal already needed a right.
func (w *worker) admitReview(ctx context.Context, ev ghapp.Event) (heard, words bool, err error) {
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

// approves returns the approval that a text gives to a request, parsed as on arrival.
func (b *Bot) approves(ctx context.Context, text, request string) (approval.Yes, error) {
	cmds, _, err := b.commandsIn(ctx, text)
	if err != nil {
		return approval.YesNot, err
	}
	says := approval.YesNot
	for _, c := range cmds {
		switch {
		case c.Name != "approve":
		case slices.Contains(c.IDs, request):
			return approval.YesNamed, nil
		case len(c.IDs) == 0:
			says = approval.YesUnnamed
		}
	}
	return says, nil
}

// lets reports whether a text allows work on a commit of a fork.
func (b *Bot) lets(ctx context.Context, text, commit string) (bool, error) {
	cmds, _, err := b.commandsIn(ctx, text)
	return slices.ContainsFunc(cmds, func(c command.Command) bool {
		return c.Name == okWord && len(c.IDs) == 1 && strings.HasPrefix(commit, strings.ToLower(c.IDs[0]))
	}), err
}
