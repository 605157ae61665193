package bot

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
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// Offerer puts an edit that waits for a review where people can see it: its
// commit on a branch of its own, and the branch that it would go to, if that
// is not there yet. Doing it again changes nothing. Words mean that the
// remote will never take it; [ErrGone] that nobody has the commit any more;
// another error that trying later can help.
type Offerer interface {
	Offer(ctx context.Context, at Thread, o Offer) (refused string, err error)
}

// Offer is what to put up: Commit on Branch, for Base, which is or becomes a
// branch at Parent.
type Offer struct {
	Commit, Branch string
	Parent, Base   string
}

// ErrGone says that an edit that was to be reviewed is not there any more.
var ErrGone = errors.New("the commit to be reviewed is not here")

// reviewed is what the bot keeps of a request that is up for review. All of
// it can be found out again; it saves looking.
type reviewed struct {
	Pull    int  `json:"pull,omitempty"`
	Posted  bool `json:"posted,omitempty"`  // everything was said and everybody asked
	Comment bool `json:"comment,omitempty"` // it was asked for in a comment after all
	Tidy    bool `json:"tidy,omitempty"`    // closed, and its branch gone
}

// remember keeps what is known of a request in the session's row.
func (w *worker) remember(ctx context.Context, f store.Fence, sess *store.Session, change reviewedAs) error {
	r := recordOf(sess)
	if r.Reviews == nil {
		r.Reviews = map[string]reviewed{}
	}
	r.Reviews[change.id] = change.is
	if err := r.put(sess); err != nil {
		return err
	}
	return w.keep(ctx, f, sess)
}

// reviewedAs is what a request is up as.
type reviewedAs struct {
	id string
	is reviewed
}

// offerReview puts a request up as a small pull request. It reports false
// when that cannot be, and a comment has to ask.
func (w *worker) offerReview(ctx context.Context, f store.Fence, a session.Asked, sess *store.Session) (bool, string, error) {
	is := recordOf(sess).Reviews[a.ID]
	if a.Review == nil || w.cfg.Offers == nil || is.Comment || is.Posted {
		return a.Review != nil && is.Posted && !is.Comment, "", nil
	}
	why, err := w.cfg.Offers.Offer(ctx, w.at, Offer{Commit: a.Review.Commit, Branch: a.Review.Branch, Parent: a.Head, Base: a.Review.Base})
	if errors.Is(err, ErrGone) {
		return true, "", w.resolveNow(ctx, f, session.Resolved{ID: a.ID, Verdict: stale, Reason: "the edit was made on another machine and is not here"})
	}
	if err != nil {
		return false, "", fmt.Errorf("put %s up for review: %w", a.ID, err)
	}
	var ref ghapp.Ref
	if why == "" {
		ref, err = w.ensure(ctx, f, w.reviewPull(a, sess))
		var no *refusal
		if errors.As(err, &no) {
			why, err = "GitHub does not take the pull request ("+no.reason+")", nil
		}
		if err != nil {
			return false, "", err
		}
	}
	if why != "" {
		return false, why, w.remember(ctx, f, sess, reviewedAs{a.ID, reviewed{Comment: true}})
	}
	return true, "", w.announceReview(ctx, f, sess, offered{a, ref.Number})
}

// offered is a request with the number of its pull request.
type offered struct {
	asked session.Asked
	pull  int
}

// reviewPull is the small pull request. Its text depends on what is recorded
// alone, so that it is the same after a crash.
func (w *worker) reviewPull(a session.Asked, sess *store.Session) ghapp.Write {
	return ghapp.Write{Key: "review-" + sess.ID + "-" + a.ID, Kind: ghapp.WritePull, Pull: &ghapp.PullSpec{
		Base: a.Review.Base, Head: a.Review.Branch, Title: render.ReviewTitle(a), Body: render.ReviewBody(a, sess.Requester, w.ref.Number),
	}}
}

// announceReview asks people to review, and says in the thread where.
func (w *worker) announceReview(ctx context.Context, f store.Fence, sess *store.Session, o offered) error {
	at := w.ref
	at.Number = o.pull
	people, teams, err := w.reviewers(ctx, sess, o.asked)
	if err != nil {
		return err
	}
	key := "ask-" + sess.ID + "-" + o.asked.ID
	var list []ghapp.Write
	for _, who := range people { // one each: GitHub refuses all for one that it will not have
		list = append(list, ghapp.Write{Key: key + "-r-" + who, Kind: ghapp.WriteReviewers, Thread: at, Reviewers: []string{who}})
	}
	for _, team := range teams {
		list = append(list, ghapp.Write{Key: key + "-t-" + team, Kind: ghapp.WriteReviewers, Thread: at, Teams: []string{team}})
	}
	list = append(list, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: render.ReviewNotice(o.asked, o.pull, sess.Requester)})
	for _, wr := range list {
		if checked := strings.Trim(wr.Key, "-"); checked != wr.Key || strings.Contains(checked, "--") {
			wr.Key = key + "-" + digest(wr.Key) // names may hold what a key cannot
		}
		if _, err := w.ensure(ctx, f, wr); unlessRefused(err) != nil {
			return err
		}
	}
	return w.remember(ctx, f, sess, reviewedAs{o.asked.ID, reviewed{Pull: o.pull, Posted: true}})
}

// resolveNow settles a request and has the session gone on with.
func (w *worker) resolveNow(ctx context.Context, f store.Fence, r session.Resolved) error {
	if err := w.cfg.Store.Logs.Log(f).Append(ctx, session.NewEvent(session.TypeResolved, 0, r)); err != nil {
		return err
	}
	return w.cfg.Store.Wakes.Wake(ctx, w.key, store.PriorityWork, time.Time{})
}

// mostReviewers bounds who is asked to review, people and teams each.
const mostReviewers = 10

// reviewers says who is asked to review: the owners of the paths where there
// are any, else the teams that approve here, else who asked for the session.
// Nobody is asked who could not approve, and no bot.
func (w *worker) reviewers(ctx context.Context, sess *store.Session, asked session.Asked) (people, teams []string, err error) {
	rules, err := w.rules(ctx, sess)
	if err != nil {
		return nil, nil, err
	}
	owners, err := w.codeOwners(ctx, recordOf(sess).Target)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, p := range asked.Paths {
		names = append(names, owners.Of(p)...)
	}
	people, teams, err = w.whoMay(ctx, sess, asked, names)
	if err != nil || len(people)+len(teams) > 0 {
		return people, teams, err
	}
	for _, entry := range slices.Concat(rules.ApprovalFacts(requesterID(sess)).Groups...) {
		if team, ok := strings.CutPrefix(entry, "team:"); ok {
			names = append(names, "@"+team)
		}
	}
	if people, teams, err = w.whoMay(ctx, sess, asked, names); err != nil || len(teams) > 0 {
		return people, teams, err
	}
	return w.whoMay(ctx, sess, asked, []string{"@" + sess.Requester})
}

// whoMay sorts names ("@login", "@org/team") into people who may approve a
// request and teams of the repository's organization.
func (w *worker) whoMay(ctx context.Context, sess *store.Session, asked session.Asked, names []string) (people, teams []string, err error) {
	for _, n := range names {
		name, ok := strings.CutPrefix(strings.ToLower(n), "@")
		if !ok {
			continue
		}
		if org, slug, ok := strings.Cut(name, "/"); ok {
			if strings.EqualFold(org, w.ref.Owner) && !slices.Contains(teams, slug) && len(teams) < mostReviewers {
				teams = append(teams, slug)
			}
			continue
		}
		if slices.Contains(people, name) || len(people) == mostReviewers || policy.ValidateLogin(name) != nil {
			continue
		}
		actor, err := w.actor(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if v, _, err := w.mayApprove(ctx, sess, actor, asked); err != nil {
			return nil, nil, err
		} else if v == policy.Allow && !actor.Bot {
			people = append(people, name)
		}
	}
	return people, teams, nil
}
