// Package live is a session whose lease a worker holds: it keeps the row, the log and
// what people see of the session in step, from its first run to what is said at its
// end. What people ask for, and what that means, is package bot's.
//
//	live.go      what sessions are given
//	session.go   a session: its row, its log, its requests
//	thread.go    where it belongs to
//	progress.go  the one comment that follows it
//	end.go       what is said at the end, and the pull request, see bot/pull
//	wait.go      waiting for what is away
//	fail.go      the end of what cannot go on
//	usage.go     what it used of the budgets that sessions share
package live

import (
	"context"
	"log/slog"
	"time"

	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// Config is what sessions are given.
type Config struct {
	Store  store.Store
	GitHub *ghapp.App
	Policy policy.Config // the server's

	Offer    func(context.Context, Thread, approval.Offer) (refused string, err error) // nil: no request is a pull request
	Approves func(ctx context.Context, text, request string) (approval.Yes, error)     // what a text says to a request, read as when it arrives
	Lets     func(ctx context.Context, text, commit string) (bool, error)              // whether a text lets the bot work on a commit of a fork

	Report func(ctx context.Context, l *Session) (url string, err error) // tells the end of a scheduled session, once

	Every time.Duration // between edits of a progress comment
	Now   func() time.Time
	Log   *slog.Logger
}
