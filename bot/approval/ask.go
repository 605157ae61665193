package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// Requests posts the requests of a session for its holder.
type Requests struct {
	Session
	Holder Holder
	// Offer puts an edit up for review: its commit on a branch of its own, and its target
	// branch if that is missing. It is idempotent. refused is the reason why the remote will
	// never take it. [ErrGone] means that the commit no longer exists; other errors are
	// temporary. nil disables review by pull request.
	Offer func(ctx context.Context, o Offer) (refused string, err error)
}

// Offer is an edit for review: Commit on Branch, to be merged into Base, which is created
// at Parent if it is missing.
type Offer struct {
	Commit, Branch string
	Parent, Base   string
}

// ErrGone means that an edit for review no longer exists.
var ErrGone = errors.New("the commit to be reviewed is not here")

// Ask posts the open requests, new ones together in one comment, and schedules a wake for
// each deadline.
func (r Requests) Ask(ctx context.Context, v *session.State) error {
	var fresh []session.Asked
	whys := map[string]string{}
	for _, a := range v.Open() {
		if a.Kind == session.AskCommit { // it has a comment of its own
			continue
		}
		up, why, err := r.offer(ctx, a)
		if err != nil {
			return err
		}
		if !up && a.Review != nil && render.TooLongToShow(a) { // no pull request shows it now
			if err := r.Holder.Wake(ctx, time.Time{}); err != nil {
				return err
			}
			continue
		}
		if !up && r.Holder.Stage(a.ID).In == "" {
			fresh, whys[a.ID] = append(fresh, a), why
		}
		if a.Deadline.IsZero() {
			continue
		}
		if err := r.Holder.Wake(ctx, a.Deadline); err != nil {
			return err
		}
	}
	for _, group := range render.Split(fresh, r.Requester) { //control:one-request-comment
		for _, a := range group { // stored before posting: a crash must not change the groups
			is := r.Holder.Stage(a.ID)
			is.In, is.Why = r.key(group[0]), whys[a.ID]
			if err := r.Holder.SetStage(ctx, a.ID, is); err != nil {
				return err
			}
		}
	}
	return r.Show(ctx, v)
}

// Show brings the comments that ask up to date with the state of each request.
func (r Requests) Show(ctx context.Context, v *session.State) error {
	var keys []string
	groups := map[string][]render.Request{}
	for _, q := range v.Requests {
		is := r.Holder.Stage(q.ID)
		if is.In == "" {
			continue
		}
		if groups[is.In] == nil {
			keys = append(keys, is.In)
		}
		one := render.Request{Request: q, NotReviewed: is.Why, Brief: len(keys) > 1}
		if q.Answer != nil && q.Answer.Verdict == policy.Approved {
			one.From = where(q.Answer.Key)
		}
		groups[is.In] = append(groups[is.In], one)
	}
	for _, key := range keys {
		if err := r.show(ctx, v, key, groups[key]); err != nil {
			return err
		}
	}
	return nil
}

// show posts one comment, or edits it if its text has changed. An edit is recorded like
// every write, so that a late one cannot undo a later one.
func (r Requests) show(ctx context.Context, v *session.State, key string, group []render.Request) error {
	post := render.Requests(group, r.Requester)
	is, says := r.Holder.Stage(group[0].ID), ghapp.Digest(fmt.Sprint(post.Text, post.Folds))
	if is.Shown == says {
		return nil
	}
	waits := func(q render.Request) bool { return q.Approval.IsPending() }
	mentions := r.Config.Comments.Approval != policy.Quiet //control:quiet-approval
	if is.Shown == "" && slices.ContainsFunc(group, waits) && mentions {
		whom, err := r.whom(ctx, v, group)
		if err != nil {
			return err
		}
		is.Whom = whom
	}
	if !slices.ContainsFunc(group, waits) {
		is.Whom = nil
	}
	for _, q := range group {
		if err := r.before(ctx, line(v), q); err != nil {
			return err
		}
	}
	wr := InPlace(
		r.Thread,
		line(v),
		ghapp.Write{
			Key:      key + is.Again,
			Kind:     ghapp.WriteComment,
			Mentions: is.Whom,
			Body:     post.Text,
			Folds:    post.Folds,
			First:    true,
		},
	)
	ref, err := r.Holder.Ensure(ctx, wr)
	if err == nil && (is.Shown != "" || !slices.ContainsFunc(group, waits)) { //control:settled-is-said
		wr.Key, wr.Kind, wr.Target = wr.Key+"-"+says, ghapp.WriteEditComment, ghapp.Target{
			Comment: ref.ID,
			Diff:    OnDiff(ref.URL),
		}
		_, err = r.Holder.Ensure(ctx, wr)
	}
	if ghapp.UnlessRefused(err) != nil {
		return err
	}
	if err != nil && slices.ContainsFunc(group, waits) { //control:missing-is-asked-anew
		if err := r.Anew(ctx, v, []session.Asked{group[0].Asked}); err != nil {
			return err
		}
		if r.Holder.Stage(group[0].ID).Again != is.Again {
			return r.show(ctx, v, key, group)
		}
	}
	is.Shown = says
	if err := r.Holder.SetStage(ctx, group[0].ID, is); err != nil || is.URL != "" {
		return err
	}
	for _, q := range group {
		is := r.Holder.Stage(q.ID)
		is.URL = ref.URL
		if err := r.Holder.SetStage(ctx, q.ID, is); err != nil {
			return err
		}
	}
	return nil
}

// line returns the thread on a diff that the session works for, or the zero place for the
// session's own thread.
func line(v *session.State) session.Place {
	if v.Place.DiffThread == 0 { //control:asked-in-the-line
		return session.Place{}
	}
	return v.Place
}

// InPlace moves a comment to the place of a request: into its thread, and below its
// comment on a diff if there is one.
func InPlace(at thread.Ref, p session.Place, wr ghapp.Write) ghapp.Write {
	if p.Thread != 0 {
		wr.Thread, wr.Thread.Number = at, p.Thread
	}
	if p.DiffThread != 0 { //control:answer-in-place
		wr.Kind, wr.Target = ghapp.WriteReply, ghapp.Target{Comment: p.DiffThread, Diff: true}
	}
	return wr
}

// OnDiff reports whether a URL is that of a comment on a diff.
func OnDiff(url string) bool { return strings.Contains(url, "#discussion_r") }

// before posts the parts of a request that are too long for the comment that asks.
func (r Requests) before(ctx context.Context, at session.Place, q render.Request) error {
	for i, post := range render.Before(q) { //control:told-before-asked
		wr := InPlace(
			r.Thread,
			at,
			ghapp.Write{
				Key:   fmt.Sprintf("part-%s-%s-%d", r.ID, q.ID, i),
				Kind:  ghapp.WriteComment,
				Body:  post.Text,
				Folds: post.Folds,
				First: true,
			},
		)
		ref, err := r.Holder.Ensure(ctx, wr)
		if err == nil && !q.Approval.IsPending() {
			wr.Key, wr.Kind, wr.Target = wr.Key+"-over", ghapp.WriteEditComment, ghapp.Target{
				Comment: ref.ID,
				Diff:    OnDiff(ref.URL),
			}
			_, err = r.Holder.Ensure(ctx, wr)
		}
		if ghapp.UnlessRefused(err) != nil {
			return err
		}
	}
	return nil
}

func (r Requests) key(a session.Asked) string { return requestKey(r.ID, a.ID) }

// requestKey returns the key of the comment that asks for a request.
func requestKey(session, request string) string { return "ask-" + session + "-" + request }

// Moot returns events that end requests without a possible answer: those past their
// deadline, and those too long for a comment, unless a pull request shows them.
func (r Requests) Moot(open []session.Asked, turn int) []*session.Event {
	var out []*session.Event
	end := func(res session.Resolved) { out = append(out, session.NewEvent(session.TypeResolved, turn, res)) }
	for _, a := range open {
		if policy.OpenApproval(a.ID, a.Digest, a.Deadline).IsOverdue(r.Now()) {
			end(session.Resolved{ID: a.ID, Verdict: expired})
		}
	}
	for _, a := range open {
		if render.TooLongToShow(a) && (a.Review == nil || r.Holder.Stage(a.ID).Comment) {
			end(session.Resolved{
				ID: a.ID, Verdict: denied, By: "handrail", Reason: render.WhyTooLong, Hint: "Do it in smaller steps, each short enough to be read.",
			})
		}
	}
	return out
}

// offer puts a request up as a small pull request. It reports false if that is
// impossible, so that a comment has to ask.
func (r Requests) offer(ctx context.Context, a session.Asked) (up bool, why string, err error) {
	is := r.Holder.Stage(a.ID)
	if a.Review == nil || r.Offer == nil || is.Comment || is.Posted {
		return a.Review != nil && is.Posted && !is.Comment, "", nil
	}
	why, err = r.Offer(ctx, Offer{Commit: a.Review.Commit, Branch: a.Review.Branch, Parent: a.Head, Base: a.Review.Base})
	if errors.Is(err, ErrGone) {
		return true, "", r.resolveNow(ctx, session.Resolved{ID: a.ID, Verdict: stale, Reason: render.WhyElsewhere})
	}
	if err != nil {
		return false, "", fmt.Errorf("put %s up for review: %w", a.ID, err)
	}
	var ref ghapp.Ref
	if why == "" {
		ref, err = r.Holder.Ensure(ctx, r.reviewPull(a))
		var no *ghapp.Refusal
		if errors.As(err, &no) {
			why, err = render.WhyNoPull(no.Reason), nil
		}
		if err != nil {
			return false, "", err
		}
	}
	if why != "" {
		return false, why, r.Holder.SetStage(ctx, a.ID, Stage{Comment: true})
	}
	return true, "", r.announce(ctx, a, ref.Number)
}

// reviewPull returns the write of the small pull request. Its text depends only on
// recorded data, so that it is the same after a crash.
func (r Requests) reviewPull(a session.Asked) ghapp.Write {
	return ghapp.Write{Key: "review-" + r.ID + "-" + a.ID, Kind: ghapp.WritePull, First: true, Pull: &ghapp.PullSpec{
		Base:  a.Review.Base,
		Head:  a.Review.Branch,
		Title: render.ReviewTitle(a),
		Body:  render.ReviewBody(a, r.Requester, r.Thread.Number),
	}}
}

// announce requests reviews, and posts a notice in the thread.
func (r Requests) announce(ctx context.Context, a session.Asked, pull int) error {
	at := r.Thread
	at.Number = pull
	people, teams, err := r.reviewers(ctx, a)
	if err != nil {
		return err
	}
	anew := r.Holder.Stage(a.ID).Again
	key, told := r.key(a), render.ReviewNotice(a, pull, r.Requester)
	var tell []string // GitHub notifies reviewers by itself
	if len(people)+len(teams) == 0 {
		if tell, err = Person(ctx, r.Client, r.Requester); err != nil {
			return err
		}
	}
	var list []ghapp.Write
	for _, who := range people { // one each: GitHub rejects all for a single invalid name
		list = append(
			list,
			ghapp.Write{Key: key + "-r-" + who, Kind: ghapp.WriteReviewers, Thread: at, Reviewers: []string{who}},
		)
	}
	for _, team := range teams {
		list = append(
			list,
			ghapp.Write{Key: key + "-t-" + team, Kind: ghapp.WriteReviewers, Thread: at, Teams: []string{team}},
		)
	}
	list = append(
		list,
		ghapp.Write{
			Key:      key + anew,
			Kind:     ghapp.WriteComment,
			Mentions: tell,
			Body:     told.Text,
			Folds:    told.Folds,
			First:    true,
		},
	)
	var ref ghapp.Ref
	for _, wr := range list {
		if checked := strings.Trim(wr.Key, "-"); checked != wr.Key || strings.Contains(checked, "--") {
			wr.Key = key + "-" + ghapp.Digest(wr.Key) // names may be invalid in a key
		}
		if ref, err = r.Holder.Ensure(ctx, wr); ghapp.UnlessRefused(err) != nil {
			return err
		}
	}
	return r.Holder.SetStage(ctx, a.ID, Stage{Pull: pull, Posted: true, URL: ref.URL, Again: anew})
}

// resolveNow settles a request and wakes the session.
func (r Requests) resolveNow(ctx context.Context, res session.Resolved) error {
	if err := r.Holder.Append(ctx, session.NewEvent(session.TypeResolved, 0, res)); err != nil {
		return err
	}
	return r.Holder.Wake(ctx, time.Time{})
}
