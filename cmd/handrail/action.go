package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ci"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/queue"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/bot/trigger"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/gitops"
)

type actionCmd struct{}

// actionLease is the duration of a lease without renewal; actionPoll is the interval
// between reads of other runs' writes to the ref.
const (
	actionLease = 10 * time.Minute
	actionPoll  = 3 * time.Second
	actionWait  = 5 * time.Minute // for an unavailable service; work due later waits for another run
)

// Run handles the event of a workflow run: it is serve for one delivery.
func (c *actionCmd) Run(ctx context.Context, w *console) error {
	run, err := action.Read(os.Getenv)
	for _, s := range []string{run.Token.Reveal(), run.Inputs.APIKey.Reveal(), run.Inputs.StateKey.Reveal()} { //control:masks-come-first
		action.Mask(w.raw, s)
	}
	if err != nil {
		err = door.UsageError{Err: err}
	} else {
		err = act(ctx, w, run)
	}
	var nothing action.Ignored
	var untold error
	if errors.As(err, &nothing) {
		action.Notice.Print(w.raw, nothing.Error())
		err, untold = nil, errors.Join(
			run.Write(action.Outputs{State: "none"}),
			run.Summarize("Nothing was done. "+nothing.Error()),
		)
	} else {
		untold = run.Ended(err)
	}
	if untold != nil &&
		(err == nil || !strings.Contains(err.Error(), untold.Error())) { // both may have failed for the same reason
		err = errors.Join(err, untold)
	}
	if err == nil {
		return nil
	}
	if os.Getenv("GITHUB_ACTIONS") != "true" { // outside of GitHub Actions annotations are noise
		return err
	}
	if untold != nil || !errors.Is(err, door.ErrFailed) {
		action.Fault.Print(w.raw, err.Error())
	}
	return printedError(err)
}

// printedError returns the exit-code error for an error that was already printed.
func printedError(err error) error {
	if errors.As(err, new(door.UsageError)) {
		return door.UsageError{Err: door.ErrFailed}
	}
	return door.ErrFailed
}

// actor is the bot in a workflow run.
type actor struct {
	*server

	*ghapp.Client

	run   action.Run
	at    thread.Ref
	state *threadref.Store
	inbox *action.Inbox
	turns *action.Log
	fault error // in the repository's configuration
}

func act(ctx context.Context, w *console, run action.Run) (err error) {
	event, err := run.Webhook(ctx, os.Getenv)
	if err == nil && !w.options.unlimited {
		err = run.CheckIsolation()
	}
	ends, wrong := run.Ends(os.Getenv)
	if err = errors.Join(err, wrong); err != nil {
		return door.UsageError{Err: err}
	}
	ctx, stop := context.WithDeadlineCause(ctx, ends, action.ErrTime)
	defer stop()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	cfg, err := config.ReadAction(run, os.Getenv)
	if err != nil {
		return door.UsageError{Err: err}
	}
	opt := w.options
	opt.unlimited = opt.unlimited || run.Inputs.Workspace == "local" // it was asked for by name
	opt.owner, opt.login = run.Owner(), cmp.Or(run.Inputs.Login, action.Login)
	opt.machine = action.Machine(os.Environ())
	opt.ttl = cmp.Or(opt.ttl, actionLease)
	opt.sweep, opt.grace = cmp.Or(opt.sweep, time.Second), cmp.Or(opt.grace, 100*time.Millisecond)
	a := &actor{run: run, turns: action.NewLog(w.raw, w.out)}
	waits := &action.ModelWait{For: run.ModelWait, GiveUp: giveUp}
	opt.shown = func(e session.Event) {
		waits.Event(e)
		a.turns.Event(e)
	}
	opt.inRun = true
	opt.away, opt.fault = waits.Failed, func(err error) { a.fault = err }
	if a.server, w, err = newParts(w, cfg, opt); err != nil { //nolint:contextcheck // traces last until closed
		return err
	}
	defer func() { err = errors.Join(err, a.closeParts()) }() //nolint:contextcheck // closed after the context has ended
	if a.state, err = run.State(func(ctx context.Context, owner string) (bool, error) {
		return action.Away(ctx, a.Client, owner)
	}); err != nil {
		return err
	}
	kept := a.state.Store()
	a.inbox = action.NewInbox(&kept, run.Repo, w.log)
	r, err := a.build(ctx, w, kept)
	if err != nil {
		return err
	}
	m, err := a.git.Bare(ctx, run.CloneURL())
	if err != nil {
		return err
	}
	a.state.Repo = m
	if a.Client, err = a.app.For(ctx, run.Repo, 0); err != nil {
		return err
	}
	a.inbox.Client = a.Client
	r.clients[run.Server+"/"+run.Repo.Repository()] = a.Client
	if err := a.newQueue(r, queue.NoEngine); err != nil {
		return err
	}
	if event == "schedule" && run.Inputs.Task == "" {
		return a.runSchedules(ctx, w, r)
	}
	found, err := action.Patient(ctx, w.raw, actionWait, func() (*store.Delivery, error) { return a.take(ctx, event) })
	if err != nil {
		return err
	}
	a.state.Use(action.Ref(threadref.Prefix, a.at))
	return a.deliver(ctx, w, found)
}

// take returns the delivery for the event: the one that a server would take, or the task
// that the event brings.
func (a *actor) take(ctx context.Context, event string) (*store.Delivery, error) {
	payload := a.run.Payload
	ev, _ := ghapp.ParseEvent(event, payload)            // source reports the error as well
	a.state.Use(action.Ref(threadref.Prefix, ev.Thread)) // an answer is recognized by the pending request of its thread
	found, kept, err := a.source(ctx, event, ev)
	if byInput := trigger.IsKey(found.Key) && a.run.Inputs.Task != ""; err == nil &&
		(!kept || byInput || ev.Thread.Number == 0 && !ci.Ended(ev)) {
		kept = false
		t, e := a.run.Task(os.Getenv)
		if e != nil {
			return nil, door.UsageError{Err: e}
		}
		if t != nil {
			event = trigger.Starts
			if payload, err = a.run.Begin(ctx, a.Client, t, a.cfg.Policy.Approvals.Bots); err == nil {
				found, kept, err = a.bot.Source(ctx, event, payload)
			}
		}
	}
	switch readOnly := a.run.Reads(); {
	case err != nil:
		return nil, err
	case !kept:
		return nil, action.Ignored(a.run.Event + ": nothing in this event is for the agent.")
	case readOnly != "":
		return nil, action.Ignored(readOnly)
	}
	if a.at, err = thread.Parse(found.Thread); err == nil &&
		!strings.EqualFold(a.at.Repository(), a.run.Repo.Repository()) {
		err = fmt.Errorf("the ref of a thread of %s has a session of %s", a.run.Repo.Repository(), a.at)
	}
	if err != nil {
		return nil, err
	}
	if ev.Thread.Same(a.at) { //control:home-of-a-pull-request
		a.at, err = action.Home{App: a.app, Client: a.Client, Has: a.has}.Of(ctx, ev)
	}
	if err != nil {
		return nil, err
	}
	a.state.Use(action.Ref(threadref.Prefix, a.at))
	if who, why, err := a.bot.TurnsAway(ctx, a.at, event, payload); err != nil {
		return nil, err
	} else if why != "" { //control:strangers-write-no-ref
		return nil, action.Ignored(fmt.Sprintf("%s: %s is not answered: %s.", a.run.Event, who, why))
	}
	found.ID, found.Event, found.Payload = fmt.Sprintf("actions-%d-%s", a.run.ID, ghapp.Digest(found.Key)), event, payload
	return &found, nil
}

// source returns the delivery for the event. An event of a check names no thread: source
// searches for the session that opened its pull request.
func (a *actor) source(ctx context.Context, event string, ev ghapp.Event) (found store.Delivery, kept bool, err error) {
	if !ci.Ended(ev) || a.run.Inputs.Task != "" {
		return a.bot.Source(ctx, event, a.run.Payload)
	}
	at, err := action.Home{App: a.app, Client: a.Client}.OfCheck(ctx, ev)
	for i := 0; i < len(at) && err == nil && !kept; i++ {
		a.state.Use(action.Ref(threadref.Prefix, at[i]))
		found, kept, err = a.bot.Source(ctx, event, a.run.Payload)
	}
	return found, kept, err
}

// has reports whether the ref of a thread holds a session.
func (a *actor) has(ctx context.Context, at thread.Ref, id string) (bool, error) {
	a.state.Use(action.Ref(threadref.Prefix, at))
	_, err := a.redactedStore.Sessions.Session(ctx, id)
	return err == nil, store.Unless(err, store.ErrNotFound)
}

// deliver stores the event, runs the queue until it is idle, and reports the result to
// the runner. If the run ends before that, the session waits for the next run.
func (a *actor) deliver(ctx context.Context, w *console, d *store.Delivery) error {
	seen := action.Witness{App: a.app, Client: a.Client, Kept: a.redactedStore, Read: a.state.Refresh}
	_, err := action.Patient(ctx, w.raw, actionWait, func() ([]bool, error) {
		if err := seen.SetBack(ctx, a.at); err != nil {
			return nil, err
		}
		return a.redactedStore.Deliveries.Put(ctx, d)
	})
	if err != nil {
		return err
	}
	if err := a.queue.Start(ctx); err != nil {
		return err
	}
	all := threadref.Watch{Owner: a.run.Owner(), Within: actionWait, Look: actionPoll, Log: a.log}
	written := a.lister()
	written.Said = a.run.Follow(ctx, a.Client, a.redactedStore.Sessions, a.at)
	written.Every = min(actionPoll, 10*a.opt.sweep)
	while, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { written.Follow(while) })
	err = errors.Join(a.bot.Reconcile(ctx), a.state.UntilIdle(ctx, all))
	stop()
	beside.Wait()
	err = errors.Join(err, a.state.UntilIdle(ctx, all)) // for comments found at the last moment
	why := context.Cause(ctx)
	if m, ok := a.state.Repo.(*gitops.Mirror); ok && why == nil {
		a.run.Sweep(ctx, a.Client, m, a.at, a.log)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err = errors.Join(err, a.queue.Drain(end), a.state.Flush(end))
	a.turns.End()
	said, e := a.run.Park(end, a.Client, a.redactedStore, a.at, why)
	if err = errors.Join(err, e); said != "" {
		action.Warning.Print(w.raw, said)
		err = errors.Join(err, a.run.Summarize(said))
	}
	if why := a.inbox.Why(d.ID); why != "" {
		action.Notice.Print(w.raw, a.run.Event+": "+why)
		err = errors.Join(err, a.run.Summarize("Nothing was done. "+a.run.Event+": "+why))
	}
	if errors.As(why, new(*action.NoModel)) {
		err = errors.Join(err, why)
	}
	if a.fault != nil { // the requester was told in the thread
		action.Fault.Print(w.raw, a.fault.Error())
		err = errors.Join(err, door.ErrFailed)
	}
	return errors.Join(err, a.run.Report(end, w.out, a.redactedStore, a.at))
}
