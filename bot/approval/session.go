// Package approval asks people on GitHub whether an action may happen, and
// judges what they answer.
//
//	session.go  the session that is asked for, and who holds it
//	approver.go who may answer, by permission, teams and CODEOWNERS
//	plan.go     plans, and who may have them carried out
//	choose.go   which requests an answer is for that names none
//	answer.go   what an answer is worth when it arrives, and again when it is used
//	review.go   the events of a small pull request that asks for one edit
//	judge.go    what people did with that pull request
//	ask.go      asking: in a comment, or as that pull request
//	anew.go     asking again what somebody deleted
//	fork.go     leave to work on a commit of a fork
//	tidy.go     how that pull request ends
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

// Session is what approvals depend on of the session that they belong to.
type Session struct {
	ID          string
	Requester   string
	RequesterID int64
	Target      string        // the branch that its work is for
	Config      policy.Config // in force
	Model       string
	Thread      thread.Ref
	IsPull      bool // the thread is a pull request
	Pull        int  // number of the session's own pull request, where people answer too; 0 for none
	Client      *ghapp.Client
	CommitURL   func(sha string) string
	Progress    string                                                       // address of the progress comment, "" for none
	Approves    func(ctx context.Context, text, request string) (Yes, error) // what a comment or review says to it
	Earlier     func(ctx context.Context) ([]*session.State, error)          // the thread's sessions before it, newest first; nil for none
	Now         func() time.Time
	Log         *slog.Logger
}

// Holder holds a session and writes for it. A write fails once the session is
// somebody else's.
type Holder interface {
	// Ensure makes a write to GitHub happen, once, and returns what it made.
	// It fails with a [ghapp.Refusal] when GitHub will never take it.
	Ensure(ctx context.Context, w ghapp.Write) (ghapp.Ref, error)
	// Append adds events to the session's log.
	Append(ctx context.Context, events ...*session.Event) error
	// Stage returns how far a request has come.
	Stage(request string) Stage
	// SetStage keeps how far it has come.
	SetStage(ctx context.Context, request string, s Stage) error
	// Wake has the session looked at again; a zero time means now.
	Wake(ctx context.Context, at time.Time) error
}

// Stage is how far a request has come.
type Stage struct {
	In    string   `json:"in,omitempty"`    // key of the comment that asks for it, with others of its turn
	Why   string   `json:"why,omitempty"`   // no pull request asks
	Shown string   `json:"shown,omitempty"` // digest of what that comment says; of the first request in it
	URL   string   `json:"url,omitempty"`   // address of the comment that asks
	Whom  []string `json:"whom,omitempty"`  // who is told of it; of the first request in it

	Pull    int  `json:"pull,omitempty"`
	Posted  bool `json:"posted,omitempty"`  // everything was said and everybody asked
	Comment bool `json:"comment,omitempty"` // it was asked for in a comment after all
	Tidy    bool `json:"tidy,omitempty"`    // closed, and its branch gone

	Again string `json:"again,omitempty"` // ends the key of the comment that asks, once one was deleted
}

func clean(s, page string) string {
	s, _ = untrusted.Clean(s, page)
	return strings.TrimSpace(s)
}
