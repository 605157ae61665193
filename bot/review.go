package bot

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// A sensitive edit can be asked for as a small pull request into the
// session's branch. What people do there (review, close, merge, push) comes
// in as events of that pull request, and belongs to the session's thread. An
// event says only that something happened: what counts is what GitHub says
// then, so a late, lost, repeated or forged event decides nothing.

// ReviewBranch names the branch on which the edit of request id, asked for in
// a session of thread ref, is put up for review.
func ReviewBranch(ref thread.Ref, id string) string {
	return fmt.Sprintf("handrail-review-%d-%s", ref.Number, id)
}

var reviewBranchRE = regexp.MustCompile(`^handrail-review-([1-9][0-9]{0,9})-[0-9a-f]{6}$`)

// reviewThread is the thread of the session that a pull request from this
// branch would belong to; ok is false for any other branch.
func reviewThread(ref thread.Ref, branch string) (thread.Ref, bool) {
	m := reviewBranchRE.FindStringSubmatch(branch)
	if m == nil {
		return thread.Ref{}, false
	}
	n, err := strconv.Atoi(m[1])
	ref.Number = n
	return ref, err == nil && ref.Validate() == nil
}

// aboutReview says whether an event may settle a request that is up for
// review, and in which thread that was made.
func aboutReview(ev ghapp.Event) (thread.Ref, bool) {
	if ev.Thread.Number == 0 || ev.Pull.Fork {
		return thread.Ref{}, false
	}
	switch ev.Kind + " " + ev.Action {
	case "pull_request_review submitted", "pull_request_review edited":
		if ev.Review.State != "APPROVED" && ev.Review.State != "CHANGES_REQUESTED" {
			return thread.Ref{}, false // a plain comment is neither
		}
	case "pull_request_review dismissed", "pull_request closed", "pull_request synchronize", "pull_request edited":
	default:
		return thread.Ref{}, false
	}
	return reviewThread(ev.Thread, ev.Pull.Head)
}

// look sees what became of a request that is up for review, and records it.
func (w *worker) look(ctx context.Context, d *store.Delivery, ev ghapp.Event) error {
	drop := func(why string) error { return w.cfg.Store.Deliveries.Done(ctx, why, d.ID) }
	sess, err := w.session(ctx)
	if err != nil {
		return err
	}
	if sess == nil {
		return drop("no session")
	}
	events, err := w.cfg.Store.Logs.Log(store.Fence{Key: sess.ID}).Events(ctx, 0)
	if err != nil {
		return fmt.Errorf("read log of %s: %w", sess.ID, err)
	}
	v, err := render.Fold(events)
	if err != nil {
		return err
	}
	g, ok := waiting(events, v, ev.Pull.Head)
	if !ok {
		return drop("nothing waits for this review")
	}
	p, err := w.small(ctx, ev.Thread, g.asked)
	if errors.Is(err, ghapp.ErrNotFound) {
		return drop("not the pull request of a request")
	}
	if err != nil {
		return err
	}
	f, err := w.judge(ctx, sess, g.asked, p)
	if err != nil {
		return err
	}
	if f.by == "" && f.verdict == denied {
		f.by, f.byID = ev.Sender.Login, ev.Sender.ID // who closed it
	}
	c := &change{}
	c.Done = append(c.Done, d.ID)
	r, ok, err := w.settles(ctx, sess, g, f)
	if err != nil {
		return err
	}
	if ok {
		c.Events = append(c.Events, session.NewEvent(session.TypeResolved, v.Turns, r))
	}
	if why := f.refused[ev.Review.ID]; why != "" && ev.Action == "submitted" {
		w.intend(c, ghapp.Write{
			Key: fmt.Sprintf("reviewed-%d", ev.Review.ID), Kind: ghapp.WriteComment, Thread: p.Ref, Body: "This review does not count: " + why + ".",
		})
	}
	return w.commit(ctx, c)
}

// given is a request with the answer that it got, if it got one.
type given struct {
	asked session.Asked
	by    session.Resolved
}

// waiting finds the request that is up on a branch: one that is open, or one
// whose approval was not used yet, which a rejection still overrules.
func waiting(events []session.Event, v *render.View, branch string) (given, bool) {
	up := func(a session.Asked) bool { return a.Review != nil && a.Review.Branch == branch }
	if i := slices.IndexFunc(v.Open, up); i >= 0 {
		return given{asked: v.Open[i]}, true
	}
	i := slices.IndexFunc(v.Granted, up)
	if i < 0 {
		return given{}, false
	}
	g := given{asked: v.Granted[i]}
	for _, e := range events {
		if e.Type != session.TypeResolved {
			continue
		}
		if r, err := session.Decode[session.Resolved](e); err == nil && r.ID == g.asked.ID && r.Verdict == approved {
			g.by = r
		}
	}
	return g, true
}

// small reads the pull request of a request. One that is not the bot's own is
// not found: anybody may open one from any branch.
func (w *worker) small(ctx context.Context, ref thread.Ref, asked session.Asked) (ghapp.Pull, error) {
	p, err := w.at.Client.GetPull(ctx, ref)
	if err != nil {
		return p, err
	}
	self, err := w.at.Client.Self(ctx)
	if err != nil {
		return p, err
	}
	if p.Fork || p.Head != asked.Review.Branch || !strings.EqualFold(p.Author, self) {
		return p, ghapp.ErrNotFound
	}
	return p, nil
}

// elsewhere says in which thread the session is, where this one is but the
// pull request of one of its requests: there is nothing to be done in it.
func (w *worker) elsewhere(ctx context.Context) (thread.Ref, bool, error) {
	p := w.at.Pull
	if p == nil || p.Fork {
		return thread.Ref{}, false, nil
	}
	at, ok := reviewThread(w.ref, p.Head)
	if !ok {
		return at, false, nil
	}
	self, err := w.at.Client.Self(ctx)
	return at, err == nil && strings.EqualFold(p.Author, self), err
}

const (
	approved = string(policy.Approved)
	denied   = string(policy.Denied)
	stale    = string(policy.Stale)
)

// finding is what people did with a pull request that is up for review.
type finding struct {
	verdict string // approved, denied, stale, or "" while it is open
	by      string
	byID    int64
	reason  string
	keys    []string         // of the approvals that count; the first one is taken
	refused map[int64]string // reviews that do not count, and why
}

// settles turns a finding into an answer to a request. An approval that was
// recorded changes only when it does not hold any more.
func (w *worker) settles(ctx context.Context, sess *store.Session, g given, f finding) (session.Resolved, bool, error) {
	r := session.Resolved{ID: g.asked.ID, Verdict: f.verdict, By: f.by, ByID: f.byID, Reason: f.reason}
	if len(f.keys) > 0 {
		r.Key = f.keys[0]
	}
	open := g.by.ID == ""
	switch {
	case f.verdict == approved && open:
		r, err := w.approval(ctx, sess, g.asked, r)
		return r, err == nil, err
	case f.verdict == "" && !open && byReview(g.by.Key):
		r.Verdict, r.Reason = stale, takenBack
	case f.verdict == "", f.verdict == approved:
		return r, false, nil
	}
	return r, true, nil
}

const takenBack = "the review that approved it was taken back"

// byReview says whether an answer came from a pull request of ours. Its key
// names the pull request, and the review or the merge.
func byReview(key string) bool {
	return strings.HasPrefix(key, "pull:")
}

// judge says what people did with the pull request of a request. One
// rejection wins over any number of approvals; both count only from people
// who may approve, now, and an approval only for the commit that was asked
// about. What GitHub cannot tell is an error, so nothing is granted.
func (w *worker) judge(ctx context.Context, sess *store.Session, asked session.Asked, p ghapp.Pull) (finding, error) {
	moved := ""
	switch {
	case p.HeadSHA != asked.Review.Commit:
		moved = "somebody pushed to the branch of the pull request, so it is no longer the edit that was asked for"
	case p.Base != asked.Review.Base:
		moved = "somebody changed the branch that the pull request goes to"
	}
	switch {
	case p.Merged:
		return w.merged(ctx, sess, asked, p, moved)
	case p.State == "closed":
		return finding{verdict: denied, reason: "the pull request was closed without being merged"}, nil
	case moved != "":
		return finding{verdict: stale, reason: moved}, nil
	}
	return w.reviews(ctx, sess, asked, p)
}

// merged judges a merge by hand. It is that person's own act; here it counts
// as their approval, or, where it was not theirs to give or not this edit, as
// an edit of theirs in place of the one that was asked for.
func (w *worker) merged(ctx context.Context, sess *store.Session, asked session.Asked, p ghapp.Pull, moved string) (finding, error) {
	f := finding{verdict: denied, by: p.MergedBy}
	if moved != "" || p.MergedBy == "" {
		f.reason = "it was merged by hand, but " + first(moved, "GitHub does not say by whom")
		return f, nil
	}
	actor, err := w.actor(ctx, p.MergedBy)
	if err != nil {
		return f, err
	}
	v, why, err := w.mayApprove(ctx, sess, actor, asked)
	if err != nil {
		return f, err
	}
	if f.byID = actor.ID; v != policy.Allow {
		f.reason = "it was merged by hand by somebody who cannot approve it: " + why
		return f, nil
	}
	f.verdict, f.keys = approved, []string{fmt.Sprintf("pull:%d:merge", p.Ref.Number)}
	return f, nil
}

// reviews weighs the reviews of an open pull request: of each person the
// newest one that decides.
func (w *worker) reviews(ctx context.Context, sess *store.Session, asked session.Asked, p ghapp.Pull) (finding, error) {
	list, err := w.at.Client.ListReviews(ctx, p.Ref)
	if err != nil {
		return finding{}, err
	}
	f := finding{refused: map[int64]string{}}
	for _, r := range decisive(list) {
		if r.State == "DISMISSED" {
			continue
		}
		why, err := w.counts(ctx, sess, asked, r)
		switch {
		case err != nil:
			return f, err
		case why != "":
			f.refused[r.ID] = why
		case r.State == "CHANGES_REQUESTED":
			f.verdict, f.by, f.byID, f.keys = denied, r.Author, r.AuthorID, []string{reviewKey(p, r)}
			f.reason, err = w.wordsOf(ctx, p.Ref, r)
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

// decisive returns the newest review of each person that decides something.
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

// counts says why a review does not count, or "".
func (w *worker) counts(ctx context.Context, sess *store.Session, asked session.Asked, r ghapp.Review) (string, error) {
	if r.State == "APPROVED" && r.Commit != asked.Review.Commit {
		return fmt.Sprintf("it is of %.7s, and what was asked for is %.7s", r.Commit, asked.Review.Commit), nil
	}
	actor, err := w.actor(ctx, r.Author)
	if err != nil {
		return "", err
	}
	if actor.Lookup == policy.Found && actor.ID != r.AuthorID {
		return "the account that wrote it is another one now", nil
	}
	v, why, err := w.mayApprove(ctx, sess, actor, asked)
	if err != nil || v == policy.Allow {
		return "", err
	}
	return why, nil
}

// mostWords bounds what a reviewer's words take of a log, in characters.
const mostWords = 8000

// wordsOf is what a review says, its comments on the diff included, cleaned
// of what a reader would not see.
func (w *worker) wordsOf(ctx context.Context, ref thread.Ref, r ghapp.Review) (string, error) {
	list, err := w.at.Client.ListDiffComments(ctx, ref)
	if err != nil {
		return "", err
	}
	parts := []string{clean(r.Body)}
	for _, c := range list {
		if c.ReviewID == r.ID {
			parts = append(parts, fmt.Sprintf("On %s line %d: %s", strings.ReplaceAll(untrusted.EscapeVisible(c.Path), "\n", `\n`), c.Line, clean(c.Body)))
		}
	}
	text := []rune(strings.TrimSpace(strings.Join(parts, "\n\n")))
	if len(text) > mostWords {
		text = append(text[:mostWords], []rune(" … (cut)")...)
	}
	return string(text), nil
}

// doubtReview says why an approval of something that is up for review does
// not count any more, or "": what is up must still be what was approved, and
// an approval by review must still stand.
func (w *worker) doubtReview(ctx context.Context, sess *store.Session, asked session.Asked, yes session.Resolved) (string, error) {
	if asked.Review == nil {
		return "", nil
	}
	p, ok, err := w.at.Client.FindPull(ctx, asked.Review.Branch)
	if err != nil {
		return "", err
	}
	if ok {
		p, err = w.small(ctx, p.Ref, asked)
	}
	switch {
	case !ok || errors.Is(err, ghapp.ErrNotFound):
		if byReview(yes.Key) {
			return "its pull request is gone", nil
		}
		return "", nil // it never was one: it was asked for in a comment
	case err != nil:
		return "", err
	}
	f, err := w.judge(ctx, sess, asked, p)
	switch {
	case err != nil:
		return "", err
	case f.verdict == denied || f.verdict == stale:
		return first(f.reason, "a reviewer asked for changes"), nil
	case byReview(yes.Key) && !slices.Contains(f.keys, yes.Key):
		return takenBack, nil
	}
	return "", nil
}
