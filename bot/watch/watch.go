// Package watch joins the bot with what hears events that hold no words: a label, a check
// that failed, the clock. A watcher is told of a delivery and of the thread that it is
// about, and returns a task, words for the session there, an answer, or nothing. What it
// returns the bot stores together with the delivery; whatever needs a right the bot asks.
//
// Watchers are rows of the table [bot.Config.Watchers], filled in cmd/watchers: the bot
// knows none of them. They are bot/trigger, bot/ci and bot/schedule.
package watch

import (
	"context"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// Watcher hears events. Each of its functions may be nil.
type Watcher struct {
	// Where returns where an event belongs that the watcher may want. It is asked about
	// every delivery before that is stored: it must cost next to nothing.
	Where func(ctx context.Context, c *live.Config, ev ghapp.Event) (d store.Delivery, ok bool, err error)
	// Hear returns what a delivery comes to, nil for one that is not the watcher's.
	Hear func(ctx context.Context, h *Heard) (*Answer, error)
	// Waits reports whether a session that waits for something is to wait on. It is asked
	// before a workspace is opened, and puts the next look off where it says so.
	Waits func(ctx context.Context, c *live.Config, l *live.Session) (bool, error)
	// Report tells the end of a session that nobody asked for.
	Report func(ctx context.Context, c *live.Config, l *live.Session) (url string, err error)
}

// Heard is a delivery, and where it belongs.
type Heard struct {
	*live.Config
	Desk
	Delivery *store.Delivery
	Event    ghapp.Event    // zero for one that did not come from GitHub
	At       *live.Thread   // number 0 for the repository
	Session  *store.Session // the newest there, nil for none
}

// Desk is what the bot does for a watcher.
type Desk interface {
	// Start reaches the thread and returns where work there starts.
	Start(ctx context.Context, installation int64) (Place, error)
	// MayBegin returns why who caused an event may begin nothing in the thread, or "".
	MayBegin(ctx context.Context, ev ghapp.Event) (why string, err error)
	// MayGoOn returns why the session does not act for its requester any more, or "".
	MayGoOn(ctx context.Context) (why string, err error)
	// Ensure makes a write happen, once.
	Ensure(ctx context.Context, w ghapp.Write) (ghapp.Ref, error)
	// Keep changes what is kept of the session. Its comment is made anew.
	Keep(ctx context.Context, change func(*live.Data)) error
}

// Place is where work starts: the commit, the branch that a pull request goes to, and the
// configuration, as the repository has it and as it is in force.
type Place struct {
	Base, Target string
	Own, Config  policy.Config
}

// Answer is what a delivery comes to. The first of Task, Job, More and Tell that is set
// counts; none of them is nothing, and then Note says why.
type Answer struct {
	Note string           // for the operator
	Task []byte           // the payload of a workflow_dispatch that is about the thread: somebody's wish, with their rights
	Job  *Job             // a session that nobody asks for
	More *session.Message // with which the session goes on, for its requester, in a mode that changes files
	Tell Words            // in the thread
}

// Job begins a session that acts for nobody.
type Job struct {
	live.Scheduled

	Installation    int64
	Mode, Text, Why string
}

// Words are said in a thread, once for a key.
type Words struct{ Key, Text string }
