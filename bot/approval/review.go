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

// A request for a sensitive edit can be a small pull request into the session's branch.
// Actions on it (review, close, merge, push) arrive as its events, and belong to the
// session's thread. An event only triggers a look at GitHub: the current state there
// counts, so a late, lost, repeated or forged event decides nothing.

// ReviewBranch returns the branch for the review of request id in a session of thread
// ref.
func ReviewBranch(ref thread.Ref, id string) string {
	return fmt.Sprintf("handrail-review-%d-%s", ref.Number, id)
}

var reviewBranchRE = pattern.Lazy(
	`^handrail-review-([1-9][0-9]{0,9})-(?:[a-z2-7]{8}|[0-9a-f]{6})$`,
) // ids used to be shorter

// threadOf returns the thread of the session that a review branch belongs to. ok is false
// for any other branch.
func threadOf(ref thread.Ref, branch string) (thread.Ref, bool) {
	m := reviewBranchRE().FindStringSubmatch(branch)
	if m == nil {
		return thread.Ref{}, false
	}
	n, err := strconv.Atoi(m[1])
	ref.Number = n
	return ref, err == nil && ref.Validate() == nil
}

// About reports whether an event may settle a request under review, and returns the
// thread of that request.
func About(ev ghapp.Event) (thread.Ref, bool) {
	if ev.Thread.Number == 0 || ev.Pull.Fork {
		return thread.Ref{}, false
	}
	switch ev.Kind + " " + ev.Action {
	case "pull_request_review submitted", "pull_request_review edited":
		if ev.Review.State != "APPROVED" && ev.Review.State != "CHANGES_REQUESTED" {
			return thread.Ref{}, false // a plain comment decides nothing
		}
	case "pull_request_review dismissed", "pull_request closed", "pull_request synchronize", "pull_request edited":
	default:
		return thread.Ref{}, false
	}
	return threadOf(ev.Thread, ev.Pull.Head)
}

// ReviewEffect is the effect of an event on a request under review.
type ReviewEffect struct {
	Resolved *session.Resolved // answer to the request, or nil
	Reply    *ghapp.Write      // reply to a review that does not count, or nil
	Nothing  string            // reason why there is no effect
}

// JudgeReview returns the effect of an event on a request under review.
func (s Session) JudgeReview(ctx context.Context, v *session.State, ev ghapp.Event) (ReviewEffect, error) {
	asked := waiting(v, ev.Pull.Head)
	if asked == nil {
		return ReviewEffect{Nothing: "nothing waits for this review"}, nil
	}
	up := proposal{s, asked.Asked}
	p, err := up.find(ctx, ev.Thread)
	if errors.Is(err, ghapp.ErrNotFound) {
		return ReviewEffect{Nothing: "not the pull request of a request"}, nil
	}
	if err != nil {
		return ReviewEffect{}, err
	}
	f, err := up.judge(ctx, p)
	if err != nil {
		return ReviewEffect{}, err
	}
	if f.by == "" && f.verdict == denied {
		f.by, f.byID = ev.Sender.Login, ev.Sender.ID // the user that closed it
	}
	var seen ReviewEffect
	var by session.Resolved // its current answer
	if asked.Answer != nil {
		by = *asked.Answer
	}
	r, ok, err := up.toAnswer(ctx, by, f)
	if err != nil {
		return ReviewEffect{}, err
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

// waiting finds the request under review on a branch: an open one, or one with an unused
// approval, which a rejection still overrules.
func waiting(v *session.State, branch string) *session.Request {
	var granted *session.Request
	for _, r := range v.Requests {
		switch {
		case r.Review == nil || r.Review.Branch != branch:
		case r.Approval.IsPending():
			return r
		case r.Approval.IsApproved() && granted == nil:
			granted = r
		}
	}
	return granted
}

// ReviewThread returns the thread of the session that p asks for. Such a pull request is only a
// request, so no other work is done in it.
func ReviewThread(ctx context.Context, c *ghapp.Client, p ghapp.Pull) (thread.Ref, bool, error) {
	at, ok := threadOf(p.Ref, p.Head)
	if !ok || p.Fork {
		return at, false, nil
	}
	self, err := c.Self(ctx)
	return at, err == nil && strings.EqualFold(p.Author, self), err
}
