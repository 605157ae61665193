package approval

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/pattern"
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

var reviewBranchRE = pattern.Lazy(`^handrail-review-([1-9][0-9]{0,9})-(?:[a-z2-7]{8}|[0-9a-f]{6})$`) // ids were shorter once

// threadOf is the thread of the session that a pull request from this
// branch would belong to; ok is false for any other branch.
func threadOf(ref thread.Ref, branch string) (thread.Ref, bool) {
	m := reviewBranchRE().FindStringSubmatch(branch)
	if m == nil {
		return thread.Ref{}, false
	}
	n, err := strconv.Atoi(m[1])
	ref.Number = n
	return ref, err == nil && ref.Validate() == nil
}

// About reports whether an event may settle a request that is up for
// review, and in which thread that was made.
func About(ev ghapp.Event) (thread.Ref, bool) {
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
	return threadOf(ev.Thread, ev.Pull.Head)
}

// Seen is what an event of a review comes to.
type Seen struct {
	Resolved *session.Resolved // the answer to a request, if there is one
	Reply    *ghapp.Write      // to a review that does not count
	Nothing  string            // why it comes to nothing
}

// Reviewed sees what became of a request that is up for review.
func (s Session) Reviewed(ctx context.Context, v *session.State, ev ghapp.Event) (Seen, error) {
	asked := waiting(v, ev.Pull.Head)
	if asked == nil {
		return Seen{Nothing: "nothing waits for this review"}, nil
	}
	up := proposal{s, asked.Asked}
	p, err := up.find(ctx, ev.Thread)
	if errors.Is(err, ghapp.ErrNotFound) {
		return Seen{Nothing: "not the pull request of a request"}, nil
	}
	if err != nil {
		return Seen{}, err
	}
	f, err := up.judge(ctx, p)
	if err != nil {
		return Seen{}, err
	}
	if f.by == "" && f.verdict == denied {
		f.by, f.byID = ev.Sender.Login, ev.Sender.ID // who closed it
	}
	var seen Seen
	var by session.Resolved // the answer that it has already
	if asked.Answer != nil {
		by = *asked.Answer
	}
	r, ok, err := up.settles(ctx, by, f)
	if err != nil {
		return Seen{}, err
	}
	if ok {
		seen.Resolved = &r
	}
	if why := f.refused[ev.Review.ID]; why != "" && ev.Action == "submitted" {
		seen.Reply = &ghapp.Write{
			Key: fmt.Sprintf("reviewed-%d", ev.Review.ID), Kind: ghapp.WriteComment, Thread: p.Ref, Body: render.NotCounted("review", why),
		}
	}
	return seen, nil
}

// waiting finds the request that is up on a branch: one that is open, or one
// whose approval was not used yet, which a rejection still overrules.
func waiting(v *session.State, branch string) *session.Request {
	var granted *session.Request
	for _, r := range v.Requests {
		switch {
		case r.Review == nil || r.Review.Branch != branch:
		case r.Approval.Waits():
			return r
		case r.Approval.Stands() && granted == nil:
			granted = r
		}
	}
	return granted
}

// Of returns the thread of the session that p only asks for: p is the pull
// request of one of its requests, so there is nothing else to be done in it.
func Of(ctx context.Context, c *ghapp.Client, p ghapp.Pull) (thread.Ref, bool, error) {
	at, ok := threadOf(p.Ref, p.Head)
	if !ok || p.Fork {
		return at, false, nil
	}
	self, err := c.Self(ctx)
	return at, err == nil && strings.EqualFold(p.Author, self), err
}
