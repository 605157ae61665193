package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/queue"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/gitref"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy/secret"
)

type actionCmd struct{}

// actionLease is how long a lease lasts that nobody extends; actionLook is the time
// between two looks at what others left in the ref.
const (
	actionLease = 10 * time.Minute
	actionLook  = 3 * time.Second
	actionWait  = 5 * time.Minute // for what is away; what is due later waits for another run
)

// Run works on the event of a workflow run: it is serve for one delivery.
func (c *actionCmd) Run(ctx context.Context, w *console) error {
	run, err := action.Read(os.Getenv)
	if err != nil {
		return door.UsageError{Err: err}
	}
	for _, s := range []string{run.Token.Reveal(), run.Inputs.APIKey.Reveal(), run.Inputs.StateKey.Reveal()} {
		action.Mask(w.raw, s)
	}
	err = act(ctx, w, run)
	var nothing action.Ignored
	switch {
	case errors.As(err, &nothing):
		action.Notice.Print(w.raw, nothing.Error())
		return run.Write(action.Outputs{State: "none"})
	case err != nil && !errors.Is(err, door.ErrFailed):
		action.Fault.Print(w.raw, err.Error())
	}
	return err
}

// actor is the bot in a workflow run.
type actor struct {
	*server

	*ghapp.Client

	run   action.Run
	at    thread.Ref
	state *threadref.Store
	turns *action.Log
	fault error // of the repository's configuration
}

func act(ctx context.Context, w *console, run action.Run) (err error) {
	event, err := run.Webhook(ctx, os.Getenv)
	if err == nil && !w.options.unlimited {
		err = run.Walled()
	}
	ends, wrong := run.Ends(os.Getenv)
	if err = errors.Join(err, wrong); err != nil {
		return door.UsageError{Err: err}
	}
	ctx, stop := context.WithDeadlineCause(ctx, ends, action.ErrTime)
	defer stop()
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
	opt.shown, opt.fault = a.turns.Event, func(err error) { a.fault = err }
	if a.server, w, err = newParts(w, cfg, opt); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.closeParts()) }()
	a.state = threadref.New(threadref.Config{Away: a.away})
	if key, err := secret.DeriveKey(run.Inputs.StateKey, "state of threads"); err != nil {
		return err
	} else if run.Inputs.StateKey != "" { //control:state-is-sealed
		a.state.Seal = func(data []byte) ([]byte, error) { return key.Seal(data, a.state.Ref) }
		a.state.Open = func(data []byte) ([]byte, error) { return key.Open(data, a.state.Ref) }
	}
	r, err := a.build(ctx, w, a.state.Store())
	if err != nil {
		return err
	}
	m, err := a.git.Bare(ctx, run.CloneURL())
	if err != nil {
		return err
	}
	a.state.Repo = action.Repo{Mirror: m}
	if err := a.newQueue(r, queue.NoEngine); err != nil {
		return err
	}
	if a.Client, err = a.app.For(ctx, run.Repo, 0); err != nil {
		return err
	}
	r.clients[run.Server+"/"+run.Repo.Repository()] = a.Client
	found, err := a.take(ctx, event)
	if err != nil {
		return err
	}
	a.state.Use(action.Ref(gitref.Prefix, a.at))
	return a.deliver(ctx, w, found)
}

// take returns what the event is to the bot: as a server takes it, or the task that it
// brings.
func (a *actor) take(ctx context.Context, event string) (*store.Delivery, error) {
	payload := a.run.Payload
	ev, _ := ghapp.ParseEvent(event, payload)         // whose error the next one says as well
	a.state.Use(action.Ref(gitref.Prefix, ev.Thread)) // an answer is known by what waits in its thread
	found, kept, err := a.bot.Source(ctx, event, payload)
	if err == nil && !kept {
		t, e := a.run.Task(os.Getenv)
		if e != nil {
			return nil, door.UsageError{Err: e}
		}
		if t != nil {
			event = action.Starts
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
	if a.at, err = thread.Parse(found.Thread); err != nil {
		return nil, err
	}
	if ev.Thread.Same(a.at) { //control:home-of-a-pull-request
		a.at, err = action.Home{App: a.app, Client: a.Client, Has: a.has}.Of(ctx, ev)
	}
	found.ID, found.Event, found.Payload = fmt.Sprintf("actions-%d", a.run.ID), event, payload
	return &found, err
}

// has reports whether the ref of a thread has a session.
func (a *actor) has(ctx context.Context, at thread.Ref, id string) (bool, error) {
	a.state.Use(action.Ref(gitref.Prefix, at))
	_, err := a.redactedStore.Sessions.Session(ctx, id)
	return err == nil, store.Unless(err, store.ErrNotFound)
}

// deliver stores the event, has the queue work until nothing is left, and tells the
// runner what came of it. When the run is to end before that, the session waits for the
// next one.
func (a *actor) deliver(ctx context.Context, w *console, d *store.Delivery) error {
	if _, err := a.redactedStore.Deliveries.Put(ctx, d); err != nil {
		return err
	}
	if err := a.queue.Start(ctx); err != nil {
		return err
	}
	all := threadref.Watch{Owner: a.run.Owner(), Within: actionWait, Look: actionLook, Log: a.log}
	written := a.lister()
	written.Said, written.Every = a.run.Follow(ctx, a.Client, a.redactedStore.Sessions, a.at), min(actionLook, 10*a.opt.sweep)
	while, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { written.Follow(while) })
	err := errors.Join(a.bot.Reconcile(ctx), a.state.UntilIdle(ctx, all))
	stop()
	beside.Wait()
	err = errors.Join(err, a.state.UntilIdle(ctx, all)) // what was found at the last moment
	why := context.Cause(ctx)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err = errors.Join(err, a.queue.Drain(end), a.state.Flush(end))
	a.turns.End()
	if why != nil {
		said, e := a.run.Park(end, a.Client, a.redactedStore, a.at, why)
		if err = errors.Join(err, e); said != "" {
			action.Warning.Print(w.raw, said)
		}
	}
	if a.fault != nil { // whoever asked was told in the thread
		action.Fault.Print(w.raw, a.fault.Error())
		err = errors.Join(err, door.ErrFailed)
	}
	return errors.Join(err, a.run.Report(end, w.out, a.redactedStore, a.at))
}

// away reports whether the run that signed a lease has ended.
func (a *actor) away(ctx context.Context, owner string) (bool, error) {
	id, attempt, ok := action.ParseOwner(owner)
	if !ok {
		return false, nil
	}
	return reads.RunEnded(ctx, a.Client, id, attempt)
}
