package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/queue"
	"github.com/handrail-bot/handrail/bot/schedule"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/watchers"
)

// runSchedules begins the scheduled sessions that are due. The state of the schedules has a
// ref of its own; each session is stored in the ref of its result's thread.
func (a *actor) runSchedules(ctx context.Context, w *console, r *serveRunner) error {
	begun, entries, err := a.due(ctx, w, r)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if no := cmp.Or(e.Refused, schedule.CronFault(e.Schedule)); no != "" {
			action.Warning.Print(w.raw, fmt.Sprintf("The schedule %s of .github/agent.yml is not started: %s", e.Name, no))
		}
	}
	if len(begun) == 0 {
		return action.Ignored(
			"schedule: no schedule of .github/agent.yml is due now, or it has nothing to do." + next(entries),
		)
	}
	var wrong []error
	for i, d := range begun {
		if i > 0 { // deliver drained the previous queue
			if err := a.newQueue(r, queue.NoEngine); err != nil {
				return errors.Join(append(wrong, err)...)
			}
		}
		if a.at, err = thread.Parse(d.Thread); err == nil {
			a.state.Use(action.Ref(threadref.Prefix, a.at))
			err = a.deliver(ctx, w, d)
		}
		wrong = append(wrong, err)
		if left := len(begun) - i - 1; ctx.Err() != nil && left > 0 {
			action.Warning.Print(w.raw, fmt.Sprintf("%d schedules that were due are left out: %v", left, context.Cause(ctx)))
			break
		}
	}
	return errors.Join(wrong...)
}

// due returns the deliveries to begin now, each for its thread, and all schedule entries.
// Two concurrent runs begin nothing twice.
func (a *actor) due(
	ctx context.Context,
	w *console,
	r *serveRunner,
) (begun []*store.Delivery, entries []schedule.Entry, err error) {
	a.state.Use(action.Ref(threadref.Prefix, a.run.Repo))
	at, name := live.Thread{Ref: a.run.Repo, Client: a.Client}, a.run.Repo.Repository()
	place, err := action.Patient(ctx, w.raw, actionWait, func() (place bot.StartPoint, err error) {
		if at.Repo, err = a.Repo(ctx); err != nil {
			return place, err
		}
		return r.StartPoint(ctx, at)
	})
	if err != nil {
		return nil, nil, err
	}
	entries = schedule.Of(name, a.cfg.Policy, place.Config)
	if len(entries) == 0 {
		_, err := a.run.Task(func(string) string { return "" }) // its error explains how to give a task
		return nil, nil, door.UsageError{Err: err}
	}
	key := strings.ToLower(name) + "#0"
	held, err := a.redactedStore.Leases.Acquire(ctx, key, a.run.Owner(), a.opt.ttl)
	if errors.Is(err, store.ErrHeld) {
		return nil, nil, action.Ignored("schedule: another run is working on the schedules.")
	}
	if err != nil {
		return nil, nil, err
	}
	a.inbox.Scheduled = entries
	work := func(ctx context.Context) error {
		_, err := action.Patient(ctx, w.raw, actionWait, func() (bool, error) { return true, a.bot.Work(ctx, key) })
		return err
	}
	read := func(ctx context.Context) error { return watchers.Read(ctx, a.redactedStore, name) }
	hand := func(ctx context.Context) (err error) { begun, err = a.takeDeliveries(ctx); return err }
	for _, step := range []func(context.Context) error{read, work, watchers.Look(a.redactedStore), work, hand} {
		if err == nil {
			err = step(ctx)
		}
	}
	_, e := a.redactedStore.Leases.Release(ctx, held, time.Time{})
	return begun, entries, errors.Join(err, e, a.state.Flush(ctx))
}

// takeDeliveries removes the deliveries of other threads from the ref of the schedules.
func (a *actor) takeDeliveries(ctx context.Context) (out []*store.Delivery, err error) {
	waiting, err := a.redactedStore.Wakes.Waiting(ctx, 100)
	for _, t := range waiting {
		for {
			d, err := a.redactedStore.Deliveries.Next(ctx, t.Thread)
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			if err == nil {
				err = a.redactedStore.Deliveries.Done(ctx, "", d.ID)
			}
			if err != nil {
				return nil, err
			}
			out = append(out, d)
		}
	}
	return out, err
}

// next names the entry that is due next. It is empty if there is none.
func next(entries []schedule.Entry) string {
	var first time.Time
	said := ""
	for _, e := range entries {
		if at := e.Next(time.Now()); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first, said = at, fmt.Sprintf(" Next is %s, at %s.", e.Name, at.UTC().Format("2006-01-02 15:04 UTC"))
		}
	}
	return said
}
