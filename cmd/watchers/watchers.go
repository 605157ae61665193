// Package watchers is the table of watchers: handlers of events without a command, see
// bot/watch.
//
// A server passes [All] to its bot, calls [Read] at start, and [Look] periodically.
//
// A workflow run has no clock of its own, and its store holds the content of one ref. It
// uses the same functions:
//
//   - Checks: its bot has [All]. For an event of a finished check, Bot.Source returns the
//     thread to work on, as for a comment, if the store has the session with the check's
//     pull request or branch; nothing else has to be called.
//   - Schedules: on the event "schedule", use a store in a ref of the repository that
//     persists between runs. Call Read with the name of the repository, let the bot work
//     on its thread owner/name#0, call Look, and let it work on that thread again.
//     Wakes.Waiting then names the threads to begin. Store their deliveries in the stores
//     of those threads, work there, and mark them as done in the first store: if a run
//     dies in between, the next run finds the same ones.
package watchers

import (
	"context"
	"time"

	"github.com/handrail-bot/handrail/bot/ci"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/trigger"
	"github.com/handrail-bot/handrail/bot/watch"
)

// All returns the table. An event goes to the first watcher that handles it.
func All() []watch.Watcher { return table(schedule.Watcher()) }

// OfRun returns the table for a workflow run. It does not sort issues when they are opened:
// each issue would leave a ref with its state, wanted or not.
func OfRun() []watch.Watcher { return table(schedule.WatcherOfRun()) }

func table(clock watch.Watcher) []watch.Watcher {
	return []watch.Watcher{ci.Watcher(), clock, trigger.Watcher()}
}

// Read makes the bot read the schedules of repositories. Names are owner/name; owner/* is
// skipped.
func Read(ctx context.Context, kept store.Store, names ...string) error {
	_, err := kept.Deliveries.Put(ctx, schedule.Reads(names, time.Now())...)
	return err
}

// Look returns a function that stores a delivery for each schedule that is due.
func Look(kept store.Store) func(context.Context) error {
	return schedule.Clock{Book: schedule.Book{Meta: kept.Meta}, Deliveries: kept.Deliveries, Now: time.Now}.Look
}
