// Package watch connects the bot with watchers of events that hold no command: a label, a
// failed check, the clock. A watcher receives a delivery and its thread, and returns a
// task, a message for the session, a comment, or nothing. The bot stores the result
// together with the delivery. Watchers ask the bot for everything that needs a
// permission.
//
// Watchers are rows of the table [bot.Config.Watchers], filled in cmd/watchers; the bot
// depends on none of them. They are bot/trigger, bot/ci and bot/schedule.
package watch

import (
	"context"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// Watcher handles events. Each of its functions may be nil.
type Watcher struct {
	// Where returns the thread of an event that the watcher may want. It is called for
	// every delivery before that is stored, so it must be cheap.
	Where func(ctx context.Context, c *live.Config, ev ghapp.Event) (d store.Delivery, ok bool, err error)
	// Hear returns the result of a delivery, nil if the delivery is not the watcher's.
	Hear func(ctx context.Context, h *Heard) (*Answer, error)
	// Waits reports whether a waiting session must keep waiting. It is called before a
	// workspace is opened, and delays the next check itself.
	Waits func(ctx context.Context, c *live.Config, l *live.Session) (bool, error)
	// Over looks at a session with an end, at each of its wakes after GitHub shows that.
	Over func(ctx context.Context, c *live.Config, l *live.Session) error
	// Report posts the result of an unattended session.
	Report func(ctx context.Context, c *live.Config, l *live.Session) error
}

// Heard is a delivery with its thread.
type Heard struct {
	*live.Config
	Desk
	Delivery *store.Delivery
	Event    ghapp.Event    // zero if the delivery is not from GitHub
	At       *live.Thread   // number 0 means the repository
	Session  *store.Session // newest of the thread, nil if there is none
}

// Desk is the bot's interface for watchers.
type Desk interface {
	// Start connects to the thread and returns the starting point of work there.
	Start(ctx context.Context, installation int64) (Place, error)
	// MayBegin returns why the sender of an event may not start work in the thread, or "".
	MayBegin(ctx context.Context, ev ghapp.Event) (why string, err error)
	// MayGoOn returns why the session may no longer act for its requester, or "".
	MayGoOn(ctx context.Context) (why string, err error)
	// Ensure performs a write exactly once.
	Ensure(ctx context.Context, w ghapp.Write) (ghapp.Ref, error)
	// Keep changes the stored data of the session and renders its comment again.
	Keep(ctx context.Context, change func(*live.Data)) error
}

// Place is the starting point of work: the base commit, the target branch of a pull
// request, and the configuration, the repository's own and the one in force.
type Place struct {
	Base, Target string
	Own, Config  policy.Config
}

// Answer is the result of a delivery. The first of Task, Job, More and Tell that is set
// counts; if none is set, nothing is done and Note says why.
type Answer struct {
	Note string           // for the operator
	Task []byte           // payload of a workflow_dispatch for the thread; it acts with the sender's rights
	Job  *Job             // an unattended session
	More *session.Message // continues the session, for its requester, in a mode that changes files
	Tell Words            // posted in the thread
}

// Job describes an unattended session.
type Job struct {
	live.Scheduled

	Installation    int64
	Mode, Text, Why string
}

// Words are posted in a thread, once for each key.
type Words struct{ Key, Text string }
