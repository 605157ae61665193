// Package bot turns what people write on GitHub into agent sessions, and what
// sessions do into comments and pull requests.
//
// It never heard of Ollama, Docker or SQLite: the store, the queue's wakes,
// the GitHub clients and the runner of sessions are given to it.
//
//	bot.go       one wake of a thread: take deliveries, run the session
//	source.go    which deliveries are wanted, and how urgent they are
//	words.go     whose words count
//	watchers.go  events without words, see bot/watch
//	handle.go    what a delivery means
//	asker.go     who is answered, and who has to wait
//	commands.go  the table of commands
//	task.go      open, continue and supersede a session
//	setup.go     the model, the configuration, and what is forgotten
//	own.go       commands of the repository's own
//	limits.go    what a session may work with
//	given.go     what comes with a request: pictures, code
//	steer.go     status, stop, resume, retry and budget
//	approvals.go answers to requests, see bot/approval
//	change.go    what a delivery leads to, stored in one transaction
//	session.go   the session of a thread
//	run.go       run a session, see bot/live
//	watch.go     a stop ends a run at once, and people see that they were heard
//	fault.go     panics, which it cannot
package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/bot/watch"
	"github.com/handrail-bot/handrail/policy"
)

// Runner runs sessions. StartPoint returns where work on a thread starts, before a
// session is opened. Run works on a session until it ends or parks; it is
// called again with the same log after a park or a crash.
type Runner interface {
	StartPoint(ctx context.Context, at live.Thread) (StartPoint, error)
	Run(ctx context.Context, w Work) (session.Outcome, error)
}

// StartPoint is where work starts: the commit, the branch that receives the
// checkpoints, the branch that a pull request goes to, and the configuration
// in force, read from the base branch.
type StartPoint struct {
	Base   string
	Branch string
	Target string
	Config policy.Config
}

// Work is one stretch of work on a session.
type Work struct {
	Thread  live.Thread
	Task    session.Task
	Log     session.Log
	Inbox   func(context.Context) error
	OnEvent func(session.Event)
	// OnOutput is told that a command at work printed something; last returns its last
	// line, cleaned, at any time after.
	OnOutput func(last func() string)
	OnSetup  func(how string) // is told how far the workspace is that is being made
	Waiting  func(before int) // is told how many runs the model works for before this one
	// Shares returns the budgets that the session has in common with others, given
	// what it has used by now; see [policy.Share].
	Shares func(ctx context.Context, used policy.Limits) ([]policy.Share, error)
	// Post makes a write of the model to the thread happen, once for its key.
	Post func(context.Context, ghapp.Write) (ghapp.Ref, error)
	// SawGreen is told which checks of a commit are content with it.
	SawGreen func(commit string, checks []string)
	// Unsigned is called when GitHub does not sign commits, and the repository asks for that.
	Unsigned func(context.Context) error
	// RequesterID is the account that the task's requester had when it was asked for.
	RequesterID int64
	// ApprovalFacts returns what approvals are bound to, as GitHub has it now. Confirm
	// checks an approval that is about to be used once more, and returns why it
	// does not count any more, or "".
	ApprovalFacts func(context.Context) ([]session.Fact, error)
	Confirm       func(context.Context, session.Asked, session.Resolved) (why string, err error)
}

// Config is what a bot is made of.
type Config struct {
	Store    store.Store
	GitHub   *ghapp.App
	Runner   Runner
	Offers   Offerer                                      // nil: no request is a pull request
	Clone    Clone                                        // nil: nothing is known of what is in the repository
	Watchers []watch.Watcher                              // of events that hold no words
	Quotas   Quotas                                       // on what people ask for; nil for none
	Policy   policy.Config                                // the server's; repositories can only narrow it
	Model    string                                       // for requests that name none
	Sees     func(ctx context.Context, model string) bool // whether a model sees pictures; nil for all of them
	Room     func(ctx context.Context, model string) int  // how many bytes of a thread a model is told of a request; nil for a small model's
	More     func(thread string) <-chan struct{}          // tells of new deliveries while a thread is worked on; may be nil
	Owner    string                                       // name of this worker in leases

	Repositories []string      // that are served: owner/name, or owner/* for all of an owner; none for all that there are
	Apps         []int64       // through which people may write
	TTL          time.Duration // of session leases, 15 s when zero
	Settle       time.Duration // how long a lost write may take to become visible, 10 s when zero
	Every        time.Duration // between edits of a progress comment, 3 s when zero
	Now          func() time.Time
	Log          *slog.Logger
}

// Bot works on threads. It is safe for concurrent use; one thread is worked
// on by one caller at a time, which the queue makes sure of.
type Bot struct {
	cfg       Config
	live      *live.Config // what sessions are given
	rows      []row
	strangers sync.Map // repositories whose deliveries were dropped, for the log
	taken     sync.Map // repositories that GitHub said were taken away, until one is seen to be there
}

// New checks cfg and returns a bot.
func New(cfg Config) (*Bot, error) {
	switch {
	case cfg.Store.Logs == nil:
		return nil, errors.New("new bot: no store")
	case cfg.GitHub == nil:
		return nil, errors.New("new bot: no GitHub")
	case cfg.Runner == nil:
		return nil, errors.New("new bot: no runner")
	}
	rows := commands()
	if err := checkCommands(rows); err != nil {
		return nil, fmt.Errorf("new bot: %w", err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.TTL == 0 {
		cfg.TTL = 15 * time.Second
	}
	if cfg.Settle == 0 {
		cfg.Settle = 10 * time.Second
	}
	cfg.TTL = max(cfg.TTL, cfg.Settle) // who takes a session over finds all that its last holder sent
	if cfg.Every == 0 {
		cfg.Every = 3 * time.Second
	}
	if cfg.Owner == "" {
		cfg.Owner = "bot-" + session.NewID()
	}
	b := &Bot{cfg: cfg, rows: rows}
	b.live = &live.Config{
		Store: cfg.Store, GitHub: cfg.GitHub, Policy: cfg.Policy, Approves: b.approves, Lets: b.lets, Every: cfg.Every, Now: cfg.Now, Log: cfg.Log,
	}
	b.live.Report = b.report
	if cfg.Offers != nil {
		b.live.Offer = cfg.Offers.Offer
	}
	return b, nil
}

// worker is the work on one thread, from a wake until nothing is left.
type worker struct {
	*Bot
	key    string // of the thread, as records name it
	at     live.Thread
	leases outbox.Leases
	edits  outbox.Edits

	opening *store.Session  // by the change that is being made
	running string          // id of the session that runs
	halt    bool            // it must end: a person said so
	hearing sync.Mutex      // held by who speaks for deliveries while it runs
	early   map[string]bool // deliveries that were answered while it runs, and counted

	waits      map[asking]time.Time // who is over a quota, and when to look again
	heard      bool                 // who wrote the delivery may ask for something
	turnedAway string               // who got no answer in this thread, and why
}

func (b *Bot) worker(ref thread.Ref) *worker {
	return &worker{
		Bot: b, key: ref.Key(), at: live.Thread{Ref: ref}, waits: map[asking]time.Time{}, early: map[string]bool{}, edits: outbox.Edits{Settle: b.cfg.Settle},
		leases: outbox.Leases{Store: b.cfg.Store.Leases, Owner: b.cfg.Owner, TTL: b.cfg.TTL, Log: b.cfg.Log, Lost: func(error) {}},
	}
}

// Work does everything that waits in a thread: it takes its deliveries in
// order, runs its session, and starts over. It returns an error for what may
// work later; the queue calls again.
func (b *Bot) Work(ctx context.Context, key string) (err error) {
	if at, ok := thread.Repository(key); ok {
		return b.workOnRepository(ctx, at)
	}
	ref, err := thread.Parse(key)
	if err != nil {
		return b.drop(ctx, key, err)
	}
	w := b.worker(ref)
	ctx, lost := context.WithCancelCause(w.leases.Guard(ctx))
	w.leases.Lost = lost
	defer lost(nil)
	defer func() {
		end := context.WithoutCancel(ctx)
		err = errors.Join(err, w.interrupted(ctx), w.edits.Wait(end), w.leases.Release(end))
	}()
	for {
		if _, err := w.takeAll(ctx); err != nil {
			return err
		}
		again, err := w.runSession(ctx)
		if err != nil {
			return err
		}
		if !again {
			return w.stillWaits()
		}
	}
}

// drop gives up deliveries of a thread that cannot be one.
func (b *Bot) drop(ctx context.Context, key string, cause error) error {
	for {
		d, err := b.cfg.Store.Deliveries.Next(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		b.cfg.Log.WarnContext(ctx, "delivery dropped", "delivery", d.ID, "thread", key, "err", cause)
		if err := b.cfg.Store.Deliveries.Done(ctx, "not a thread: "+cause.Error(), d.ID); err != nil {
			return err
		}
	}
}

// takeAll handles deliveries in order until none is left, and returns how many
// there were.
func (w *worker) takeAll(ctx context.Context) (int, error) {
	for n := 0; ; n++ {
		d, err := w.next(ctx)
		if errors.Is(err, store.ErrNotFound) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("take delivery: %w", err)
		}
		w.opening = nil
		var over *postponed
		if err := w.handleOnce(ctx, d); err != nil && !errors.As(err, &over) {
			return n, fmt.Errorf("handle delivery %s: %w", d.ID, err)
		}
	}
}

// Reconcile wakes the threads of sessions that are not said to wait or to
// have ended, whatever became of their wakes. It is called at start.
func (b *Bot) Reconcile(ctx context.Context) error {
	return b.wake(ctx, store.Query{States: live.Unsettled, Limit: 200})
}

// takenAway has sessions looked at whose repositories the bot does not reach any more:
// they end. Nothing hangs on it: who is not woken here finds out by itself.
func (b *Bot) takenAway(ctx context.Context, repositories []thread.Ref) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, at := range repositories {
		b.taken.Store(strings.ToLower(at.Repository()), true)
		if err := b.wake(ctx, store.Query{Repo: strings.ToLower(at.Repository()), States: live.Unfinished, Limit: 200}); err != nil {
			b.cfg.Log.WarnContext(ctx, "sessions of a repository that was taken away are not looked at", "repository", at.Repository(), "err", err)
		}
	}
}

// TakenAway has the sessions of repositories, owner/name, end that the bot does not reach
// any more.
func (b *Bot) TakenAway(ctx context.Context, repos []string) {
	var list []thread.Ref
	for _, name := range repos {
		owner, repo, _ := strings.Cut(name, "/")
		list = append(list, thread.Ref{Owner: owner, Repo: repo})
	}
	b.takenAway(ctx, list)
}

// Forget forgets what is kept of a repository, owner/name, beside its sessions.
func (b *Bot) Forget(ctx context.Context, repo string) error {
	return b.cfg.Store.Meta.DropAll(ctx, stopKey(strings.ToLower(repo)+"#"))
}

// wake wakes the threads of sessions.
func (b *Bot) wake(ctx context.Context, q store.Query) error {
	for {
		list, err := b.cfg.Store.Sessions.List(ctx, q)
		if err != nil {
			return fmt.Errorf("list sessions to go on with: %w", err)
		}
		for _, s := range list {
			if err := b.cfg.Store.Wakes.Wake(ctx, s.Thread, store.PriorityWork, time.Time{}); err != nil {
				return err
			}
		}
		if len(list) < q.Limit {
			return nil
		}
		q.Before = list[len(list)-1].Created
	}
}
