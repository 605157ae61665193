// Package bot turns comments and events on GitHub into agent sessions, and the results of
// sessions into comments and pull requests.
//
// It does not know Ollama, Docker or SQLite: the store, the queue's wakes, the GitHub
// clients and the runner of sessions are given to it.
//
//	bot.go       one wake of a thread: take deliveries, run the session
//	kinds.go     the kinds of events: which are stored, how urgent they are, and their handlers
//	words.go     texts, and the authors that count
//	watchers.go  events without text, see bot/watch
//	handle.go    texts
//	aside.go     texts without a command, and questions back
//	touched.go   texts that were changed or deleted
//	asker.go     rights and quotas of requesters
//	commands.go  the table of commands
//	task.go      open, continue and supersede a session
//	setup.go     the model, the configuration, and clearing a session
//	own.go       commands of the repository's own
//	limits.go    mode, model and turns of a session
//	order.go     texts of the dashboard
//	given.go     the context of a request: pictures, code
//	steer.go     status, stop, resume, retry and budget
//	approvals.go answers to requests, see bot/approval
//	change.go    the effects of a delivery, stored in one transaction
//	session.go   the session of a thread
//	run.go       run a session, see bot/live
//	watch.go     stops and early answers during a run
//	fault.go     panics
package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
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

// Runner runs sessions. StartPoint returns the start of work on a thread before a session
// is opened. Run works on a session until it ends or parks; it is called again with the
// same log after a park or a crash.
type Runner interface {
	StartPoint(ctx context.Context, at live.Thread) (StartPoint, error)
	Run(ctx context.Context, w Work) (session.Outcome, error)
}

// StartPoint is the start of work: the commit, the branch for the checkpoints, the target
// branch of a pull request, and the configuration in force, read from the base branch.
type StartPoint struct {
	Base       string
	Branch     string
	Target     string
	Config     policy.Config
	Convention session.Convention // of the base branch's history
}

// Work is one run of a session.
type Work struct {
	Thread  live.Thread
	Task    session.Task
	Log     session.Log
	Inbox   func(context.Context) error
	OnEvent func(session.Event)
	// OnOutput is called when a running command prints. last returns its last line, cleaned,
	// at any time later.
	OnOutput func(last func() string)
	OnSetup  func(how string) // reports the progress of the workspace's preparation
	OnCall   func(end func()) // is called with the end of a call that begins, and with nil behind it
	Waiting  func(before int) // reports the number of runs ahead of this one at the model
	Stall    func(why string) // reports why the run stands still; "" means that it goes on
	// Shares returns the budgets that the session shares with others, given its own usage;
	// see [policy.Share].
	Shares func(ctx context.Context, used policy.Limits) ([]policy.Share, error)
	// Post makes a write of the model to the thread, once per key.
	Post func(context.Context, ghapp.Write) (ghapp.Ref, error)
	// Intended returns the write that Post recorded for a key; the zero value if there is none.
	Intended func(ctx context.Context, key string) (ghapp.Write, error)
	// Passed are the other repositories whose part has a session of its own.
	Passed []string
	// Had are the labels of the issue when its triage began without a request.
	Had []string
	// SawGreen reports the successful checks of a commit.
	SawGreen func(commit string, checks []string)
	// Unsigned is called if GitHub does not sign commits although the repository asks for it.
	Unsigned func(context.Context) error
	// RequesterID is the account id of the task's requester at the time of the request.
	RequesterID int64
	// ApprovalFacts returns the facts that approvals are bound to, as GitHub has them now.
	// Confirm checks an approval again before it is used, and returns the reason why it no
	// longer counts, or "".
	ApprovalFacts func(context.Context) ([]session.Fact, error)
	Confirm       func(context.Context, session.Asked, session.Resolved) (why string, err error)
}

// Config configures a bot.
type Config struct {
	Store    store.Store
	GitHub   *ghapp.App
	Runner   Runner
	Offers   Offerer         // nil means that no request becomes a pull request
	Clone    Clone           // nil means that the repository's content is not available
	Watchers []watch.Watcher // of events without text
	Quotas   Quotas          // on requests; nil means none
	Policy   policy.Config   // the server's; repositories can only narrow it
	Model    string          // for requests without one

	Dashboard string // public address of the dashboard, for links to it; "" if there is none

	Sees func(ctx context.Context, model string) bool // reports whether a model sees pictures; nil means always
	// maximum bytes of context for a model; nil means those of a small model
	Room  func(ctx context.Context, model string) int
	More  func(thread string) <-chan struct{} // signals new deliveries while a thread is worked on; may be nil
	Owner string                              // unique name of this process in leases; default random

	Repositories []string      // served repositories: owner/name, or owner/* for all of an owner; empty means all
	Apps         []int64       // Apps through which users may write
	TTL          time.Duration // of session leases; zero means 15 s
	Settle       time.Duration // time until a lost write is visible; zero means 10 s
	Every        time.Duration // between edits of a progress comment; zero means 3 s
	Now          func() time.Time
	Log          *slog.Logger
}

// Bot works on threads. It is safe for concurrent use; the queue ensures that one caller
// at a time works on a thread.
type Bot struct {
	cfg      Config
	live     *live.Config // configuration of sessions
	rows     []row
	unserved sync.Map // repositories with dropped deliveries, to log each once
	removed  sync.Map // repositories reported as removed, until one is reachable again
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
	cfg.TTL = max(cfg.TTL, cfg.Settle) // a new lease holder must see every write of the previous one
	if cfg.Every == 0 {
		cfg.Every = 3 * time.Second
	}
	if cfg.Owner == "" {
		cfg.Owner = "bot-" + session.NewID()
	}
	b := &Bot{cfg: cfg, rows: rows}
	b.live = &live.Config{
		Store:    cfg.Store,
		GitHub:   cfg.GitHub,
		Policy:   cfg.Policy,
		Approves: b.approves,
		Lets:     b.lets,
		Owner:    cfg.Owner,
		Every:    cfg.Every,
		Now:      cfg.Now,
		Log:      cfg.Log,
	}
	b.live.Report = b.report
	if cfg.Offers != nil {
		b.live.Offer = cfg.Offers.Offer
	}
	return b, nil
}

// worker works on one thread, from a wake until nothing is left.
type worker struct {
	*Bot
	key    string // of the thread, as in records
	at     live.Thread
	leases outbox.Leases
	edits  outbox.Edits

	pending       *store.Session         // session created by the transaction in progress
	running       string                 // id of the running session
	call          atomic.Pointer[func()] // ends its running step; nil if none runs
	halt          bool                   // the running session must end
	answering     sync.Mutex             // held while deliveries are answered during a run
	answeredEarly map[string]bool        // deliveries answered and counted during a run

	waits       waits
	getsReplies bool   // the delivery's author gets replies
	recorded    bool   // the delivery's change is recorded: its writes are made without it
	turnedAway  string // last author turned away in this thread, and why
}

func (b *Bot) worker(ref thread.Ref) *worker {
	return &worker{
		Bot:           b,
		key:           ref.Key(),
		at:            live.Thread{Ref: ref, Dashboard: b.cfg.Dashboard},
		waits:         waits{},
		answeredEarly: map[string]bool{},
		edits:         outbox.Edits{Settle: b.cfg.Settle},
		leases: outbox.Leases{
			Store: b.cfg.Store.Leases,
			Owner: b.cfg.Owner,
			TTL:   b.cfg.TTL,
			Log:   b.cfg.Log,
			Lost:  func(error) {},
		},
	}
}

// LeaseTime returns the validity of a session's lease after its last heartbeat.
func (b *Bot) LeaseTime() time.Duration { return b.cfg.TTL }

// Work does all work that is due in a thread: it takes deliveries in order, runs the
// session, and starts over. It returns an error if a retry can help; the queue calls
// again.
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
		err = errors.Join(err, w.markInterrupted(ctx), w.edits.Wait(end), w.leases.Release(end))
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
			return w.waits.nextLook()
		}
	}
}

// drop gives up the deliveries of a key that is no thread.
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

// takeAll handles deliveries in order until none is left, and returns their number.
func (w *worker) takeAll(ctx context.Context) (int, error) {
	for n := 0; ; n++ {
		d, err := w.next(ctx)
		if errors.Is(err, store.ErrNotFound) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("take delivery: %w", err)
		}
		w.pending = nil
		var over *postponed
		if err := w.handleOnce(ctx, d); err != nil && !errors.As(err, &over) {
			return n, fmt.Errorf("handle delivery %s: %w", d.ID, err)
		}
	}
}

// Reconcile wakes the threads of sessions that neither wait nor have ended, in case their
// wakes were lost. It is called at start.
func (b *Bot) Reconcile(ctx context.Context) error {
	return b.wake(ctx, store.Query{States: live.Unsettled, Limit: 200})
}

// wakeRemoved wakes the sessions of repositories that the bot no longer reaches, so that
// they end. Errors are only logged: a session that is not woken here finds out by itself.
func (b *Bot) wakeRemoved(ctx context.Context, repositories []thread.Ref) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, at := range repositories {
		b.removed.Store(strings.ToLower(at.Repository()), true)
		if err := b.wake(ctx, store.Query{
			Repo:   strings.ToLower(at.Repository()),
			States: live.Unfinished,
			Limit:  200,
		}); err != nil {
			b.cfg.Log.WarnContext(
				ctx,
				"sessions of a repository that was taken away are not looked at",
				"repository",
				at.Repository(),
				"err",
				err,
			)
		}
	}
}

// RepositoriesRemoved ends the sessions of repositories (owner/name) that the bot no longer
// reaches.
func (b *Bot) RepositoriesRemoved(ctx context.Context, repos []string) {
	var list []thread.Ref
	for _, name := range repos {
		owner, repo, _ := strings.Cut(name, "/")
		list = append(list, thread.Ref{Owner: owner, Repo: repo})
	}
	b.wakeRemoved(ctx, list)
}

// Forget deletes the records of a repository (owner/name) besides its sessions.
func (b *Bot) Forget(ctx context.Context, repo string) error {
	meta := b.cfg.Store.Meta
	return errors.Join(meta.DropAll(ctx, stopKey(strings.ToLower(repo)+"#")), meta.DropAll(ctx, quotaKey(repo)))
}

// wake wakes the threads of the sessions that match q.
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
		q.Below = list[len(list)-1].Seq
	}
}
