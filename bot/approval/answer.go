package approval

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
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// Answer is a user's answer to a request. Source is its place, as [Source] returns it.
type Answer struct {
	Request string
	Verdict policy.ApprovalState // policy.Approved or policy.Denied
	By      policy.Actor
	Reason  string
	Source  string
}

// Settle returns the effect of an answer at this moment. why tells the user the reason if
// it does not count.
func (s Session) Settle(
	ctx context.Context,
	v *session.State,
	answer Answer,
) (res session.Resolved, why string, err error) {
	asked, ok := answerable(v, answer)
	if !ok {
		why, err := s.notOpen(ctx, v, answer)
		return res, why, err
	}
	verdict, why, err := s.may(ctx, answer.By, asked)
	if err != nil {
		return res, "", err
	}
	if verdict != policy.Allow {
		return res, render.NotCounted("answer", why), nil
	}
	res = session.Resolved{
		ID:      asked.ID,
		Verdict: denied,
		By:      answer.By.Login,
		ByID:    answer.By.ID,
		Reason:  answer.Reason,
		Key:     answer.Source,
	}
	if answer.Verdict == policy.Approved {
		res, err = s.approval(ctx, asked, res)
	}
	return res, "", err
}

// approval returns the effect of an approval at this moment: it may be too late, or the
// facts it is bound to may have changed.
func (s Session) approval(ctx context.Context, asked session.Asked, yes session.Resolved) (session.Resolved, error) {
	yes.Verdict, yes.Reason = approved, ""
	if policy.OpenApproval(asked.ID, asked.Digest, asked.Deadline).IsOverdue(s.Now()) {
		return session.Resolved{ID: asked.ID, Verdict: expired, Reason: render.WhyLate}, nil
	}
	if asked.Kind == session.AskPlan { // bound to its text and the session; its steps are checked one by one
		return yes, nil
	}
	if asked.OfRepository() { // bound to its digest alone, which identifies it
		return yes, nil
	}
	now, err := s.Bound(ctx)
	if err != nil {
		return yes, err
	}
	if why := session.Moved(asked.Bound, now); why != "" {
		return session.Resolved{ID: asked.ID, Verdict: stale, Reason: why}, nil
	}
	return yes, nil
}

// Bound returns the facts that a session's approvals are bound to, as GitHub has them
// now: the name of the target branch. The head of that branch does not count: code runs
// from the session's own commits, and a base that the session takes in becomes one of
// them.
func (s Session) Bound(ctx context.Context) ([]session.Fact, error) {
	base := s.Target
	if s.IsPull {
		p, err := s.Client.GetPull(ctx, s.Thread)
		if err != nil {
			return nil, err
		}
		base = p.Base
	}
	return []session.Fact{{Name: "base branch", Value: base}}, nil
}

// answerable finds the request of an answer: an open one or, for a denial, an approved
// one that has not run. A single denial wins.
func answerable(v *session.State, answer Answer) (session.Asked, bool) {
	list := v.Open()
	if answer.Verdict == policy.Denied {
		list = slices.Concat(v.Open(), v.Granted()) //control:denial-after-approval
	}
	for _, a := range list {
		if a.ID == answer.Request && a.Kind.ByID() {
			return a, true
		}
	}
	return session.Asked{}, false
}

// Source identifies the version of the comment or review with an answer, so that it can
// be checked again. It is empty for other events.
func Source(ev ghapp.Event, t ghapp.Target) string {
	switch {
	case t.Comment != 0:
		return commentSource(t, ev.Comment.Updated, ev.Comment.Body)
	case ev.Review.ID != 0:
		return reviewSource(ev.Review.ID, ev.Review.Body)
	}
	return ""
}

func reviewSource(id int64, body string) string {
	return fmt.Sprintf("review:%d#%s", id, ghapp.Digest(body))
}

// commentSource identifies one version of a comment. GitHub's times have a resolution of
// one second, so the text is included.
func commentSource(t ghapp.Target, updated time.Time, body string) string {
	kind := "comment"
	if t.Diff {
		kind = "diff"
	}
	return fmt.Sprintf("%s:%d:%s#%s", kind, t.Comment, updated.UTC().Format(time.RFC3339), ghapp.Digest(body))
}

// Confirm checks an answer again before it is used: its author must still have the right,
// and its text must be unchanged. It returns the reason why not, or "". If GitHub does
// not answer, it fails.
func (s Session) Confirm(ctx context.Context, asked session.Asked, yes session.Resolved) (string, error) {
	actor, why, err := s.speaker(ctx, yes)
	if why != "" || err != nil {
		return why, err
	}
	verdict, why, err := s.may(ctx, actor, asked)
	if err != nil {
		return "", err
	}
	if verdict != policy.Allow { //control:checked-again
		return render.WhyNoRight(why), nil
	}
	if why, err := (proposal{s, asked}).doubt(ctx, yes); why != "" || err != nil || byReview(yes.Key) { //control:review-checked-again
		return why, err
	}
	if shown, err := s.hasPosted(ctx, requestKey(s.ID, ""), asked.Digest); !shown || err != nil { //control:request-was-shown
		return render.WhyNotShown, err
	}
	return s.verifySource(ctx, asked.ID, yes) //control:bot-orders-edited
}

// speaker returns the current account of an answer's author, or the reason why it is not
// the account that gave the answer.
func (s Session) speaker(ctx context.Context, yes session.Resolved) (actor policy.Actor, why string, err error) {
	if actor, err = s.Client.Actor(ctx, yes.By); err != nil {
		return actor, "", err
	}
	if actor.Lookup == policy.Found && actor.ID != yes.ByID {
		return actor, render.WhyAnotherAccount, nil
	}
	if actor.ID == 0 {
		actor.ID = yes.ByID
	}
	return actor, "", nil
}

// verifySource returns the reason why the source of an answer is no approval of a request by the
// recorded author, or "". The log may be forged: only GitHub counts.
func (s Session) verifySource(ctx context.Context, request string, yes session.Resolved) (string, error) {
	var author int64
	var text, why string
	var err error
	switch kind, _, _ := strings.Cut(yes.Key, ":"); kind {
	case "comment", "diff":
		author, text, why, err = s.comment(ctx, yes.Key, kind == "diff")
	case "review":
		author, text, why, err = s.review(ctx, yes.Key)
	case dashboardSource:
		return s.verifyDashboard(ctx, request, yes)
	default:
		why = render.WhyNowhere
	}
	switch {
	case why != "" || err != nil:
		return why, err
	case author != yes.ByID: //control:said-by
		return render.WhyAnotherAuthor, nil
	}
	says, err := s.Approves(ctx, text, request)
	if err == nil && says == YesUnnamed { // only the bot's own words tell the request that it was for
		words := render.AnswerTaken(request, yes.By, where(yes.Key))
		taken, err := s.hasPosted(ctx, requestKey(s.ID, ""), words)
		if !taken && err == nil {
			taken, err = s.hasPosted(ctx, replyKey, words)
		}
		if !taken || err != nil { //control:taken-for-it
			return render.WhyOtherWords, err
		}
		return "", nil
	}
	if err != nil || says != YesNamed { //control:said-what
		return render.WhyOtherWords, err
	}
	return "", nil
}

// verifyDashboard is [Session.verifySource] for an answer of the dashboard, which is not on
// GitHub: there must be the line in which the bot told the thread of it. Texts of users
// are quoted, so they make no such line.
func (s Session) verifyDashboard(ctx context.Context, request string, yes session.Resolved) (string, error) {
	told := render.AnswerTaken(request, yes.By, InDashboard)
	list, err := s.posts(ctx, replyKey)
	if err != nil || slices.ContainsFunc(list, func(cm ghapp.Comment) bool {
		return slices.Contains(strings.Split(cm.Body, "\n"), told)
	}) {
		return "", err
	}
	return render.WhyOtherWords, nil //control:dashboard-answer-was-told
}

// hasPosted reports whether an unchanged comment of the bot with a key prefix contains
// words.
func (s Session) hasPosted(ctx context.Context, prefix, words string) (bool, error) {
	list, err := s.posts(ctx, prefix)
	return slices.ContainsFunc(list, func(cm ghapp.Comment) bool { return strings.Contains(cm.Body, words) }), err
}

// posts returns the unchanged comments of the bot with a key prefix, including those on a
// diff.
func (s Session) posts(ctx context.Context, prefix string) (out []ghapp.Comment, err error) {
	for _, at := range s.threads() {
		list, err := s.Client.OwnComments(ctx, at, prefix, s.IsPull || at.Number == s.Pull)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// threads returns the threads that may hold answers: the session's, and its pull request.
func (s Session) threads() []thread.Ref {
	out := []thread.Ref{s.Thread}
	if s.Pull != 0 && s.Pull != s.Thread.Number {
		at := s.Thread
		at.Number = s.Pull
		out = append(out, at)
	}
	return out
}

// review reads the review with an answer. why is set if it has changed.
func (s Session) review(ctx context.Context, source string) (author int64, text, why string, err error) {
	for _, at := range s.threads() {
		list, err := s.Client.ListReviews(ctx, at)
		if err != nil && !errors.Is(err, ghapp.ErrNotFound) { // the thread may not be a pull request
			return 0, "", "", err
		}
		for _, r := range list {
			if reviewSource(r.ID, r.Body) == source && r.State != "DISMISSED" {
				return r.AuthorID, r.Body, "", nil
			}
		}
	}
	return 0, "", render.WhyReviewEdited, nil
}

// comment reads the comment with an answer. why is set if it has changed. Users with
// write access can edit comments of others, so an edited comment is no approval, even if
// the log names the edited version. A comment on the diff may be older than its review,
// so its times say nothing.
func (s Session) comment(ctx context.Context, source string, diff bool) (author int64, text, why string, err error) {
	target := ghapp.Target{Diff: diff}
	if fields := strings.SplitN(source, ":", 3); len(fields) == 3 {
		target.Comment, _ = strconv.ParseInt(fields[1], 10, 64) // 0 on error, which is no comment
	}
	got, err := s.Client.GetComment(ctx, target)
	if errors.Is(err, ghapp.ErrNotFound) {
		return 0, "", render.WhyCommentDeleted, nil
	}
	if err != nil {
		return 0, "", "", err
	}
	if commentSource(target, got.Updated, got.Body) != source { //control:edited-comment
		return 0, "", render.WhyCommentEdited, nil
	}
	if !diff && !got.Updated.Equal(got.Created) { //control:ever-edited
		return 0, "", render.WhyCommentEdited, nil
	}
	return got.AuthorID, got.Body, "", nil
}
