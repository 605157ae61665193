package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// approve lets a request happen.
func approve(ctx context.Context, r *request) error {
	return r.settle(ctx, policy.Approved)
}

// deny refuses a request, or overrules its approval.
func deny(ctx context.Context, r *request) error {
	return r.settle(ctx, policy.Denied)
}

// settle takes an answer to a request.
func (r *request) settle(ctx context.Context, answer policy.ApprovalState) error {
	w, c, s, cmd, actor := r.worker, r.c, r.said, r.cmd, r.actor
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	if sess == nil {
		r.reply("Nothing waits for approval in this thread.")
		return nil
	}
	v, err := w.viewWith(ctx, sess, c)
	if err != nil {
		return err
	}
	asked, ok := answerable(v, cmd.ID, answer)
	if !ok {
		r.reply(fmt.Sprintf("No request with the id `%s` is open here.%s", cmd.ID, openIDs(v.Open)))
		return nil
	}
	if verdict, why, err := w.mayApprove(ctx, sess, actor, asked); err != nil {
		return err
	} else if verdict != policy.Allow {
		r.reply("This answer does not count: " + why + ".")
		return nil
	}
	res := session.Resolved{ID: asked.ID, Verdict: string(policy.Denied), By: actor.Login, ByID: actor.ID, Reason: clean(cmd.Text), Key: s.source()}
	if answer == policy.Approved {
		if res, err = w.approval(ctx, sess, asked, res); err != nil {
			return err
		}
	}
	c.Events = append(c.Events, session.NewEvent(session.TypeResolved, v.Turns, res))
	switch policy.ApprovalState(res.Verdict) {
	case policy.Approved:
		r.react("+1")
	case policy.Denied:
		r.react("-1")
	default:
		r.react("confused")
		r.reply(fmt.Sprintf("Approval `%s` does not count: %s. Nothing was run.", asked.ID, res.Reason))
	}
	return nil
}

// approval is what a yes comes to at this moment: it may be too late, or for
// something that has changed since it was asked.
func (w *worker) approval(ctx context.Context, sess *store.Session, asked session.Asked, yes session.Resolved) (session.Resolved, error) {
	yes.Verdict, yes.Reason = string(policy.Approved), ""
	if policy.OpenApproval(asked.ID, asked.Digest, asked.Deadline).Late(w.cfg.Now()) {
		return session.Resolved{ID: asked.ID, Verdict: string(policy.Expired), Reason: "the time to answer is over"}, nil
	}
	now, err := w.bound(ctx, sess)
	if err != nil {
		return yes, err
	}
	if why := session.Moved(asked.Bound, now); why != "" {
		return session.Resolved{ID: asked.ID, Verdict: string(policy.Stale), Reason: why}, nil
	}
	return yes, nil
}

// bound is what GitHub says at this moment of what a session's approvals are
// bound to. A comment does not say which commit its author saw, so it is read
// when a request is made, when it is answered, and when the answer is used.
func (w *worker) bound(ctx context.Context, sess *store.Session) ([]session.Fact, error) {
	base := recordOf(sess).Target
	if w.at.Pull != nil {
		p, err := w.at.Client.GetPull(ctx, w.ref)
		if err != nil {
			return nil, err
		}
		base = p.Base
	}
	tip, err := w.at.Client.Head(ctx, base)
	if err != nil && !errors.Is(err, ghapp.ErrNotFound) {
		return nil, err
	}
	return []session.Fact{{Name: "base branch", Value: base}, {Name: "base commit", Value: tip}}, nil
}

// answerable finds the request that a command answers: one that is open, or,
// for a denial, one that was approved and has not run. One denial wins.
func answerable(v *render.View, id string, answer policy.ApprovalState) (session.Asked, bool) {
	list := v.Open
	if answer == policy.Denied {
		list = slices.Concat(v.Open, v.Granted)
	}
	for _, a := range list {
		if a.ID == id && a.Kind != "question" {
			return a, true
		}
	}
	return session.Asked{}, false
}

func openIDs(open []session.Asked) string {
	var ids []string
	for _, a := range open {
		ids = append(ids, "`"+a.ID+"`")
	}
	if len(ids) == 0 {
		return " Nothing waits for approval."
	}
	return " Open: " + strings.Join(ids, ", ") + "."
}

// source names where an answer came from, so that it can be looked at again.
func (s said) source() string {
	switch {
	case s.target.Comment != 0:
		return sourceOf(s.target, s.ev.Comment.Updated, s.ev.Comment.Body)
	case s.ev.Review.ID != 0:
		return sourceOfReview(s.ev.Review.ID, s.ev.Review.Body)
	}
	return s.key
}

func sourceOfReview(id int64, body string) string {
	return fmt.Sprintf("review:%d#%s", id, digest(body))
}

// sourceOf names one version of a comment. GitHub's times are of seconds, so
// the text goes in as well.
func sourceOf(t ghapp.Target, updated time.Time, body string) string {
	kind := "comment"
	if t.Diff {
		kind = "diff"
	}
	return fmt.Sprintf("%s:%d:%s#%s", kind, t.Comment, updated.UTC().Format(time.RFC3339), digest(body))
}

// confirm looks again at an answer that is about to be used: does the person
// still have the right, does the comment still say what it said? It says why
// not, or "". GitHub not answering stops everything.
func (w *worker) confirm(ctx context.Context, sess *store.Session, asked session.Asked, yes session.Resolved) (string, error) {
	actor, err := w.actor(ctx, yes.By)
	if err != nil {
		return "", err
	}
	if actor.Lookup == policy.Found && actor.ID != yes.ByID {
		return "the account that approved is another one now", nil
	}
	if actor.ID == 0 {
		actor.ID = yes.ByID
	}
	verdict, why, err := w.mayApprove(ctx, sess, actor, asked)
	if err != nil {
		return "", err
	}
	if verdict != policy.Allow {
		return "the approval does not count any more: " + why, nil
	}
	if why, err := w.doubtReview(ctx, sess, asked, yes); why != "" || err != nil || byReview(yes.Key) {
		return why, err
	}
	return w.edited(ctx, yes.Key)
}

// edited says why what gave an answer is not as it was, or "".
func (w *worker) edited(ctx context.Context, source string) (string, error) {
	switch kind, _, _ := strings.Cut(source, ":"); kind {
	case "comment", "diff":
		return w.editedComment(ctx, source, kind == "diff")
	case "review":
		return w.editedReview(ctx, source)
	}
	return "it cannot be found any more where the approval came from", nil
}

func (w *worker) editedReview(ctx context.Context, source string) (string, error) {
	list, err := w.at.Client.ListReviews(ctx, w.ref)
	if err != nil {
		return "", err
	}
	for _, r := range list {
		if sourceOfReview(r.ID, r.Body) == source && r.State != "DISMISSED" {
			return "", nil
		}
	}
	return "the review that approved was edited, dismissed or deleted", nil
}

func (w *worker) editedComment(ctx context.Context, source string, diff bool) (string, error) {
	target := ghapp.Target{Diff: diff}
	if fields := strings.SplitN(source, ":", 3); len(fields) == 3 {
		target.Comment, _ = strconv.ParseInt(fields[1], 10, 64) // no comment has the number 0
	}
	got, err := w.at.Client.GetComment(ctx, target)
	if errors.Is(err, ghapp.ErrNotFound) {
		return "the comment that approved was deleted", nil
	}
	if err != nil {
		return "", err
	}
	if sourceOf(target, got.Updated, got.Body) != source {
		return "the comment that approved was edited", nil
	}
	return "", nil
}

// expire ends requests whose deadline passed.
func expire(open []session.Asked, turn int, now time.Time) []*session.Event {
	var out []*session.Event
	for _, a := range open {
		if policy.OpenApproval(a.ID, a.Digest, a.Deadline).Late(now) {
			out = append(out, session.NewEvent(session.TypeResolved, turn, session.Resolved{ID: a.ID, Verdict: string(policy.Expired)}))
		}
	}
	return out
}
