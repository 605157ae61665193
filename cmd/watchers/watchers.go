// Package watchers fills the table of what hears events without words, see bot/watch.
//
// A server gives [All] to its bot, calls [Read] at start, and [Look] now and then.
//
// A workflow run has no clock of its own, and its store holds what is in one ref. It goes
// by the same functions:
//
//   - Checks: [All] is in its bot. For an event of a check that ended, Bot.Source returns the
//     thread to work on, as for a comment, when the store holds the session whose pull
//     request or branch the check is of; there is nothing else to call.
//   - Schedules: on the event "schedule", with a store in a ref of the repository's own that
//     is kept from one run to the next, call Read with the name of the repository, let the
//     bot work on its thread owner/name#0, call Look, and let it work on that once more. Then
//     Wakes.Waiting names the threads in which something begins. Store their deliveries
//     where those threads are kept, work there, and mark them as done in the first store: a
//     run that dies in between leaves the same ones to the next.
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

// All is the table. The first that an event means something to has it.
func All() []watch.Watcher {
	return []watch.Watcher{ci.Watcher(), schedule.Watcher(), trigger.Watcher()}
}

// Read has whoever works on repositories read what they have scheduled. Names are
// owner/name; owner/* says of none that it is there.
func Read(ctx context.Context, kept store.Store, names ...string) error {
	_, err := kept.Deliveries.Put(ctx, schedule.Reads(names, time.Now())...)
	return err
}

// Look returns what stores a delivery for each schedule that is due.
func Look(kept store.Store) func(context.Context) error {
	return schedule.Clock{Book: schedule.Book{Meta: kept.Meta}, Deliveries: kept.Deliveries, Now: time.Now}.Look
}
