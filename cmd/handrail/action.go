package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/queue"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/gitref"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/cmd/action"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/gitops"
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
	if err != nil {
		action.Error(w.raw, run.Inputs.Config, err.Error())
	}
	return err
}

// actor is the bot in a workflow run.
type actor struct {
	*server

	run   action.Run
	at    thread.Ref
	state *threadref.Store
	moved chan struct{} // others left something in the ref

	once sync.Once
	repo *gitops.Mirror
	err  error
}

func act(ctx context.Context, w *console, run action.Run) (err error) {
	event, err := run.Webhook(ctx, os.Getenv)
	if err == nil && !w.options.unlimited {
		err = run.Walled()
	}
	if err != nil {
		return door.UsageError{Err: err}
	}
	cfg, err := config.ReadAction(run.Inputs.Config, os.Getenv, config.Action{
		Repository: run.Repo.Repository(), API: run.API, Token: run.Token, Key: run.Inputs.StateKey, APIKey: run.Inputs.APIKey, Data: filepath.Join(cmp.Or(run.Temp, os.TempDir()), "handrail"),
		Model: run.Inputs.Model, Ollama: run.Inputs.Ollama, BaseURL: run.Inputs.BaseURL, Workspace: run.Inputs.Workspace, Image: run.Inputs.Image,
	})
	if err != nil {
		return door.UsageError{Err: err}
	}
	opt := w.options
	opt.unlimited = opt.unlimited || run.Inputs.Workspace == "local" // it was asked for by name
	opt.owner, opt.login = run.Owner(), cmp.Or(run.Inputs.Login, action.Login)
	opt.ttl = cmp.Or(opt.ttl, actionLease)
	opt.sweep = cmp.Or(opt.sweep, time.Second)
	a := &actor{run: run, moved: make(chan struct{}, 1)}
	if a.server, w, err = newParts(w, cfg, opt); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.closeParts()) }()
	a.state = threadref.New(threadref.Config{Repo: a, Away: a.away})
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
	if err := a.newQueue(r, queue.NoEngine); err != nil {
		return err
	}
	found, kept, err := a.bot.Source(ctx, event, run.Payload)
	if err != nil {
		return err
	}
	if !kept {
		fmt.Fprintf(w.out, "%s: nothing in this event is for the agent.\n", run.Event)
		return nil
	}
	found.ID, found.Event, found.Payload = fmt.Sprintf("actions-%d", run.ID), event, run.Payload
	if a.at, err = thread.Parse(found.Thread); err != nil {
		return err
	}
	a.state.Ref = action.Ref(gitref.Prefix, a.at)
	client, err := a.app.For(ctx, a.at, 0)
	if err != nil {
		return err
	}
	r.clients[run.Server+"/"+run.Repo.Repository()] = client
	return a.deliver(ctx, w, &found)
}

// deliver stores the event, has the queue work until nothing is left, and tells the
// runner what came of it.
func (a *actor) deliver(ctx context.Context, w *console, d *store.Delivery) error {
	if _, err := a.redactedStore.Deliveries.Put(ctx, d); err != nil {
		return err
	}
	if err := a.queue.Start(ctx); err != nil {
		return err
	}
	err := errors.Join(a.bot.Reconcile(ctx), a.state.UntilIdle(ctx, threadref.Watch{Owner: a.run.Owner(), Within: actionWait, Look: actionLook, Moved: a.hear, Log: a.log}))
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err = errors.Join(err, a.queue.Drain(end), a.state.Flush(end))
	return errors.Join(err, a.held(end, w), a.report(end, w))
}

// hear tells the worker of the thread that others left something for it.
func (a *actor) hear() {
	select {
	case a.moved <- struct{}{}:
	default:
	}
}

// held says so when another run has the lease of the thread: it works on the event.
func (a *actor) held(ctx context.Context, w *console) error {
	l, err := a.redactedStore.Leases.Lease(ctx, a.at.Key())
	if err == nil && l.Owner != "" && l.Owner != a.run.Owner() {
		fmt.Fprintf(w.out, "%s: another run works on this thread (%s), and takes up this event.\n", a.at.Key(), l.Owner)
	}
	return store.Unless(err, store.ErrNotFound)
}

// report writes outputs and the summary. A session that failed is an error.
func (a *actor) report(ctx context.Context, w *console) error {
	row, err := a.redactedStore.Sessions.ByThread(ctx, a.at.Key())
	if errors.Is(err, store.ErrNotFound) {
		return a.run.Write(action.Outputs{State: "none"})
	}
	if err != nil {
		return err
	}
	events, err := a.redactedStore.Logs.Log(store.Fence{Key: row.ID}).Events(ctx, 0)
	if err != nil {
		return err
	}
	v, err := session.Fold(events)
	if err != nil {
		return err
	}
	out := action.Outputs{Session: row.ID, State: strings.ReplaceAll(string(row.State), " ", "_"), Branch: row.Branch}
	if row.Pull != 0 {
		out.Pull = fmt.Sprint(row.Pull)
	}
	if v.Outcome != nil {
		out.Summary = v.Outcome.Reason
	}
	for _, o := range v.Open() {
		out.Approvals = append(out.Approvals, o.ID)
	}
	at := live.Thread{Ref: a.at}
	at.Repo.URL = a.run.Server + "/" + a.run.Repo.Repository()
	err = errors.Join(a.run.Write(out), a.run.Summarize(live.ProgressText(&at, row, v).Text))
	fmt.Fprintf(w.out, "%s: session %s is %s\n", a.at.Key(), row.ID, row.State)
	if row.State == session.PhaseFailed || row.State == session.PhaseCrashed {
		err = errors.Join(err, fmt.Errorf("the session %s: %s", row.State, out.Summary))
	}
	return err
}

// away reports whether the run that signed a lease has ended.
func (a *actor) away(ctx context.Context, owner string) (bool, error) {
	id, attempt, ok := action.ParseOwner(owner)
	if !ok {
		return false, nil
	}
	client, err := a.app.For(ctx, a.at, 0)
	if err != nil {
		return false, err
	}
	return reads.RunEnded(ctx, client, id, attempt)
}

// mirror is the repository with the ref.
func (a *actor) mirror(ctx context.Context) (*gitops.Mirror, error) {
	a.once.Do(func() { a.repo, a.err = a.git.Bare(ctx, a.run.CloneURL()) })
	return a.repo, a.err
}

// ReadRef implements [gitref.Repo].
func (a *actor) ReadRef(ctx context.Context, ref string) (map[string][]byte, string, error) {
	m, err := a.mirror(ctx)
	if err != nil {
		return nil, "", err
	}
	return m.RefFiles(ctx, ref)
}

// WriteRef implements [gitref.Repo].
func (a *actor) WriteRef(ctx context.Context, ref string, files map[string][]byte, old string) (string, error) {
	m, err := a.mirror(ctx)
	if err != nil {
		return "", err
	}
	commit, err := m.PutRefFiles(ctx, ref, files, old)
	if errors.Is(err, gitops.ErrRejected) || errors.Is(err, gitops.ErrStale) {
		err = fmt.Errorf("%w: %w", gitref.ErrMoved, err)
	}
	return commit, err
}
