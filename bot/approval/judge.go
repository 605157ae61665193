package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const (
	approved = policy.Approved
	denied   = policy.Denied
	stale    = policy.Stale
	expired  = policy.Expired
)

// proposal is a request under review as a small pull request.
type proposal struct {
	Session
	asked session.Asked
}

// find reads the pull request of a request. A pull request by another author counts as
// not found: any user may open one from any branch.
func (s proposal) find(ctx context.Context, ref thread.Ref) (ghapp.Pull, error) {
	p, err := s.Client.GetPull(ctx, ref)
	if err != nil {
		return p, err
	}
	self, err := s.Client.Self(ctx)
	if err != nil {
		return p, err
	}
	if p.Fork || p.Head != s.asked.Review.Branch || !strings.EqualFold(p.Author, self) { //control:review-owner
		return p, ghapp.ErrNotFound
	}
	return p, nil
}

// finding is the outcome of a pull request under review.
type finding struct {
	verdict policy.ApprovalState // approved, denied, stale; "" while it is open
	by      string
	byID    int64
	reason  string
	keys    []string         // keys of the approvals that count; the first one is used
	refused map[int64]string // by review: why it does not count
}

// judge returns the outcome of a request's pull request. One rejection wins over any
// number of approvals. Both count only from users with the right to approve now, and an
// approval only for the requested commit. If GitHub cannot tell, judge fails, so that
// nothing is granted.
func (s proposal) judge(ctx context.Context, p ghapp.Pull) (finding, error) {
	moved := ""
	switch {
	case p.HeadSHA != s.asked.Review.Commit: //control:review-head
		moved = render.WhyPushed
	case p.Base != s.asked.Review.Base: //control:review-target
		moved = render.WhyRetargeted
	}
	switch {
	case p.Merged:
		return s.judgeMerge(ctx, p, moved)
	case p.State == "closed":
		return finding{verdict: denied, reason: render.WhyClosed}, nil
	case moved != "":
		return finding{verdict: stale, reason: moved}, nil
	}
	return s.reviews(ctx, p)
}

// judgeMerge judges a manual merge. It counts as an approval if the user may give it and the
// edit is unchanged. Otherwise it is an edit of their own, and the request is denied.
func (s proposal) judgeMerge(ctx context.Context, p ghapp.Pull, moved string) (finding, error) {
	f := finding{verdict: denied, by: p.MergedBy}
	if moved != "" || p.MergedBy == "" {
		f.reason = render.WhyMergedAlone(cmp.Or(moved, render.WhyMergedUnknown))
		return f, nil
	}
	actor, err := s.Client.Actor(ctx, p.MergedBy)
	if err != nil {
		return f, err
	}
	v, why, err := s.may(ctx, actor, s.asked)
	if err != nil {
		return f, err
	}
	if f.byID = actor.ID; v != policy.Allow { //control:review-merger
		f.reason = render.WhyMergedBy(why)
		return f, nil
	}
	f.verdict, f.keys = approved, []string{fmt.Sprintf("pull:%d:merge", p.Ref.Number)}
	return f, nil
}

// reviews weighs the reviews of an open pull request: the newest decisive one per user.
func (s proposal) reviews(ctx context.Context, p ghapp.Pull) (finding, error) {
	list, err := s.Client.ListReviews(ctx, p.Ref)
	if err != nil {
		return finding{}, err
	}
	f := finding{refused: map[int64]string{}}
	for _, r := range decisive(list) {
		if r.State == "DISMISSED" {
			continue
		}
		why, err := s.counts(ctx, r)
		switch {
		case err != nil:
			return f, err
		case why != "":
			f.refused[r.ID] = why
		case r.State == "CHANGES_REQUESTED": //control:review-rejection
			f.verdict, f.by, f.byID, f.keys = denied, r.Author, r.AuthorID, []string{reviewKey(p, r)}
			f.reason, err = s.wordsOf(ctx, p.Ref, r)
			return f, err
		default:
			if f.verdict == "" {
				f.verdict, f.by, f.byID = approved, r.Author, r.AuthorID
			}
			f.keys = append(f.keys, reviewKey(p, r))
		}
	}
	return f, nil
}

func reviewKey(p ghapp.Pull, r ghapp.Review) string {
	return fmt.Sprintf("pull:%d:review:%d", p.Ref.Number, r.ID)
}

// decisive returns the newest review per user that approves, rejects or was dismissed.
func decisive(list []ghapp.Review) []ghapp.Review {
	var out []ghapp.Review
	for _, r := range list {
		if r.State != "APPROVED" && r.State != "CHANGES_REQUESTED" && r.State != "DISMISSED" {
			continue
		}
		i := slices.IndexFunc(out, func(o ghapp.Review) bool { return o.AuthorID == r.AuthorID })
		if i >= 0 {
			out = slices.Delete(out, i, i+1)
		}
		out = append(out, r)
	}
	return out
}

// counts returns the reason why a review does not count, or "".
func (s proposal) counts(ctx context.Context, r ghapp.Review) (string, error) {
	if r.State == "APPROVED" && r.Commit != s.asked.Review.Commit { //control:review-commit
		return render.WhyOtherCommit(r.Commit, s.asked.Review.Commit), nil
	}
	actor, err := s.Client.Actor(ctx, r.Author)
	if err != nil {
		return "", err
	}
	if actor.Lookup == policy.Found && actor.ID != r.AuthorID {
		return render.WhyAnotherAuthor, nil
	}
	v, why, err := s.may(ctx, actor, s.asked)
	if err != nil || v == policy.Allow { //control:review-permission
		return "", err
	}
	return why, nil
}

// maxReviewText is the maximum length of a reviewer's text in a log, in characters.
const maxReviewText = 8000

// wordsOf returns the text of a review and of its comments on the diff, without parts
// that a reader would not see.
func (s proposal) wordsOf(ctx context.Context, ref thread.Ref, r ghapp.Review) (string, error) {
	list, err := s.Client.ListDiffComments(ctx, ref)
	if err != nil {
		return "", err
	}
	parts := []string{clean(r.Body, r.HTML)}
	for _, c := range list {
		if c.ReviewID == r.ID {
			parts = append(parts, fmt.Sprintf("On %s line %d: %s", untrusted.EscapeLine(c.Path), c.Line, clean(c.Body, c.HTML)))
		}
	}
	text := []rune(strings.TrimSpace(strings.Join(parts, "\n\n")))
	if len(text) > maxReviewText {
		text = append(text[:maxReviewText], []rune(" … (cut)")...)
	}
	return string(text), nil
}

// doubt returns the reason why the approval of a request under review no longer counts,
// or "": the pull request must be unchanged, and an approving review must still be in
// force.
func (s proposal) doubt(ctx context.Context, yes session.Resolved) (string, error) {
	if s.asked.Review == nil {
		if byReview(yes.Key) { //control:review-of-nothing
			return render.WhyNowhere, nil
		}
		return "", nil
	}
	p, ok, err := s.Client.FindPull(ctx, s.asked.Review.Branch)
	if err != nil {
		return "", err
	}
	if ok {
		p, err = s.find(ctx, p.Ref)
	}
	switch {
	case !ok || errors.Is(err, ghapp.ErrNotFound):
		if byReview(yes.Key) {
			return render.WhyPullGone, nil
		}
		return "", nil // it was asked for in a comment
	case err != nil:
		return "", err
	}
	f, err := s.judge(ctx, p)
	switch {
	case err != nil:
		return "", err
	case f.verdict == denied || f.verdict == stale:
		return cmp.Or(f.reason, render.WhyRejected), nil
	case byReview(yes.Key) && !slices.Contains(f.keys, yes.Key): //control:review-dismissed
		return render.WhyTakenBack, nil
	}
	return "", nil
}

// toAnswer turns a finding into an answer to the request. by is its current answer, if
// any. A recorded approval changes only if it is no longer valid.
func (s proposal) toAnswer(ctx context.Context, by session.Resolved, f finding) (session.Resolved, bool, error) {
	r := session.Resolved{ID: s.asked.ID, Verdict: f.verdict, By: f.by, ByID: f.byID, Reason: f.reason}
	if len(f.keys) > 0 {
		r.Key = f.keys[0]
	}
	open := by.ID == ""
	switch {
	case f.verdict == approved && open:
		r, err := s.approval(ctx, s.asked, r)
		return r, err == nil, err
	case f.verdict == "" && !open && byReview(by.Key):
		r.Verdict, r.Reason = stale, render.WhyTakenBack
	case f.verdict == "", f.verdict == approved:
		return r, false, nil
	}
	return r, true, nil
}

// byReview reports whether an answer came from a pull request of the bot. Its key names
// the pull request, and the review or the merge.
func byReview(key string) bool { return strings.HasPrefix(key, "pull:") }
