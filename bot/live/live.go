// Package live manages a session whose lease a worker holds: it keeps the row, the log
// and the session's posts on GitHub in step, from the first run to the last message.
// The interpretation of requests belongs to package bot.
//
//	live.go      configuration of sessions
//	session.go   a session: its row, its log, its requests
//	thread.go    the thread of a session
//	progress.go  the progress comment
//	end.go       messages at the end, and the pull request, see bot/pull
//	wait.go      waiting during an outage
//	fail.go      failures that end a session
//	usage.go     use of budgets that sessions share
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

// Config is the configuration of sessions.
type Config struct {
	Store  store.Store
	GitHub *ghapp.App
	Policy policy.Config // the server's policy

	// opens a pull request for a request; nil disables it
	Offer func(context.Context, Thread, approval.Offer) (refused string, err error)
	// the answer that a text gives to a request, parsed as on arrival
	Approves func(ctx context.Context, text, request string) (approval.Yes, error)
	// whether a text allows work on a commit of a fork
	Lets func(ctx context.Context, text, commit string) (bool, error)

	Report func(ctx context.Context, l *Session) error // reports the end of a scheduled session, once

	Owner string        // name of this process in leases
	Every time.Duration // pause between edits of a progress comment
	Now   func() time.Time
	Log   *slog.Logger
}
