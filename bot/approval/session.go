// Package approval asks users on GitHub whether an action may happen, and judges their
// answers.
//
//	session.go  the session of a request, and its holder
//	approver.go the right to answer, by permission, teams and CODEOWNERS
//	plan.go     plans, and the right to have them carried out
//	choose.go   the requests that an answer without ids is for
//	answer.go   the effect of an answer on arrival, and again on use
//	review.go   the events of a small pull request that asks for one edit
//	judge.go    the outcome of that pull request
//	ask.go      asking: in a comment, or with that pull request
//	anew.go     asking again after a deletion
//	fork.go     permission to work on a commit of a fork
//	tidy.go     the end of that pull request
//	notice.go   notices of the end of a session
//	whom.go     recipients of a request
package approval

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Session is the part of a session that its approvals depend on.
type Session struct {
	ID          string
	Requester   string
	RequesterID int64
	Target      string        // target branch of its work
	Config      policy.Config // configuration in force
	Model       string
	Thread      thread.Ref
	IsPull      bool // the thread is a pull request
	Pull        int  // the session's own pull request, which may hold answers; 0 if none
	Client      *ghapp.Client
	CommitURL   func(sha string) string
	// returns the approval that a text gives to a request
	Approves func(ctx context.Context, text, request string) (Yes, error)
	// previous sessions of the thread, newest first; may be nil
	Earlier func(ctx context.Context) ([]*session.State, error)
	Now     func() time.Time
	Log     *slog.Logger
}

// Holder holds a session and writes for it. Writes fail once the lease is lost.
type Holder interface {
	// Ensure makes a write to GitHub once, and returns its result. It fails with a
	// [ghapp.Refusal] if GitHub will never take it.
	Ensure(ctx context.Context, w ghapp.Write) (ghapp.Ref, error)
	// Append adds events to the session's log.
	Append(ctx context.Context, events ...*session.Event) error
	// Stage returns the stage of a request.
	Stage(request string) Stage
	// SetStage stores the stage of a request.
	SetStage(ctx context.Context, request string, s Stage) error
	// Wake schedules the next look at the session. The zero time means now.
	Wake(ctx context.Context, at time.Time) error
}

// Stage is the progress of posting a request.
type Stage struct {
	In    string   `json:"in,omitempty"`    // key of the comment that asks, shared by requests of one turn
	Why   string   `json:"why,omitempty"`   // reason why no pull request asks
	Shown string   `json:"shown,omitempty"` // digest of that comment's text; kept by its first request
	URL   string   `json:"url,omitempty"`   // URL of the comment that asks
	Whom  []string `json:"whom,omitempty"`  // notified users; kept by the first request of the comment

	Pull    int  `json:"pull,omitempty"`
	Posted  bool `json:"posted,omitempty"`  // all reviewers were asked and the notice was posted
	Comment bool `json:"comment,omitempty"` // a comment asks instead of a pull request
	Tidy    bool `json:"tidy,omitempty"`    // closed, and its branch deleted

	Over bool `json:"over,omitempty"` // settled, and the replies that asked back about it say so

	Again string `json:"again,omitempty"` // suffix of the comment's key after deletions
}

func clean(s, page string) string {
	s, _ = untrusted.Clean(s, page)
	return strings.TrimSpace(s)
}
