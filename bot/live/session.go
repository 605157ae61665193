package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/pull"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// Data is what the bot keeps of a session besides its log.
type Data struct {
	RequesterID  int64         `json:"requester_id"`
	Person       bool          `json:"person,omitempty"` // GitHub says that the requester is no bot
	Installation int64         `json:"installation"`
	Target       string        `json:"target"` // branch that the pull request goes to
	IsPull       bool          `json:"is_pull"`
	Config       policy.Config `json:"config"`

	Used policy.Usage `json:"used,omitzero"`

	Shown string `json:"shown,omitempty"` // digest of what the progress comment says while nothing runs

	Progress string        `json:"progress,omitempty"` // address of the progress comment
	Told     approval.Told `json:"told,omitzero"`      // where the words of the last end stand

	Waits   int   `json:"waits,omitempty"`    // times in a row that it could not go on for want of something
	Deaths  int   `json:"deaths,omitempty"`   // runs in a row that nobody saw the end of
	DeadAt  int64 `json:"dead_at,omitempty"`  // answers of the model at the last of them
	Tries   int   `json:"tries,omitempty"`    // runs that failed for a reason that may pass
	TriesAt int64 `json:"tries_at,omitempty"` // answers of the model at the last of them

	Checks []outbox.CheckMark `json:"checks,omitempty"` // the check runs that say how it stands

	Reviews map[string]approval.Stage `json:"reviews,omitempty"` // by request

	Reviewed int64 `json:"reviewed,omitempty"` // event up to which its findings are posted

	Pull pull.Kept `json:"pull,omitzero"`
	Unasked
}

// Unasked is what a session goes by that nobody says.
type Unasked struct {
	Seen     Seen       `json:"seen,omitzero"`
	Schedule *Scheduled `json:"schedule,omitempty"` // that began it; nil where somebody asked
}

// Scheduled is the schedule that a session was begun by. Asks says that people are asked
// for what needs them, InThread that its result goes to a thread of people.
type Scheduled struct {
	Repository string `json:"repository"`
	Name       string `json:"name"`
	Asks       bool   `json:"asks,omitempty"`
	InThread   bool   `json:"in_thread,omitempty"`
	Range
}

// Range is what a review by the clock reads of the default branch.
type Range struct {
	From string `json:"from,omitempty"` // "" for the newest commits
	To   string `json:"to,omitempty"`
}

// Seen is what a session saw of the checks of a commit. Since is when it began to wait
// for them, zero where it does not.
type Seen struct {
	Head  string    `json:"head"`
	Green []string  `json:"green,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// greenAt returns the checks that were seen to be content with the work as it stands.
func (s Seen) greenAt(v *session.State) []string {
	if s.Head == "" || s.Head != v.Published {
		return nil
	}
	return s.Green
}

// DataOf returns what is kept of a session, nothing for nil.
func DataOf(s *store.Session) Data {
	var r Data
	if s != nil && json.Unmarshal(s.Data, &r) != nil {
		return Data{}
	}
	return r
}

// InForce returns what is in force in a session: what was when it was opened, under
// the server's present one.
func (c *Config) InForce(r Data) policy.Config {
	return policy.Merge(c.Policy, r.Config).WithDefaults()
}

// Session is a session whose lease a worker has: its row, what its log says, and what
// is written for it. It implements [approval.Holder]. One goroutine uses it at a time.
type Session struct {
	outbox.Outbox
	Thread *Thread
	Row    *store.Session
	Data   Data
	State  *session.State // as of the last Reload; nil before
	Edits  *outbox.Edits  // of progress comments, by the worker

	TurnedAway string // who was not answered, and why

	cfg *Config
}

// Session returns the session of a row. Its writes go through out, which has its lease.
func (c *Config) Session(out outbox.Outbox, at *Thread, row *store.Session) *Session {
	return &Session{Outbox: out, Thread: at, Row: row, Data: DataOf(row), cfg: c}
}

// config returns what is in force in the session.
func (l *Session) config() policy.Config { return l.cfg.InForce(l.Data) }

// Checks are the check runs of the session. What they note is saved together with how
// it stands.
func (l *Session) Checks() outbox.Checks {
	return outbox.Checks{Outbox: l.Outbox, App: l.cfg.GitHub.IsApp(), Head: l.head(), Marks: &l.Data.Checks}
}

// head is the commit at the end of the session's branch, "" when there is
// none on GitHub yet.
func (l *Session) head() string {
	if n := len(l.State.Checkpoints); n > 0 {
		return l.State.Checkpoints[n-1].Commit
	}
	if l.Thread.Pull != nil {
		return l.Thread.Pull.HeadSHA
	}
	return ""
}

// Reload reads the log anew.
func (l *Session) Reload(ctx context.Context) error {
	state, err := l.cfg.Fold(ctx, l.Row)
	if err == nil {
		l.State = state
	}
	return err
}

// Append implements [approval.Holder].
func (l *Session) Append(ctx context.Context, events ...*session.Event) error {
	return l.cfg.Store.Logs.Log(l.Fence).Append(ctx, events...)
}

// Stage implements [approval.Holder].
func (l *Session) Stage(request string) approval.Stage { return l.Data.Reviews[request] }

// SetStage implements [approval.Holder].
func (l *Session) SetStage(ctx context.Context, request string, s approval.Stage) error {
	if l.Data.Reviews == nil {
		l.Data.Reviews = map[string]approval.Stage{}
	}
	l.Data.Reviews[request] = s
	return l.Save(ctx)
}

// Wake implements [approval.Holder].
func (l *Session) Wake(ctx context.Context, at time.Time) error {
	priority := store.PriorityIdle
	if at.IsZero() {
		priority = store.PriorityWork
	}
	return l.cfg.Store.Wakes.Wake(ctx, l.Row.Thread, priority, at)
}

// SaveState saves the row with where the session stands. It is called when
// all of it is said, so that a row that says "done" has nothing open.
func (l *Session) SaveState(ctx context.Context) error {
	l.Row.State = l.State.Phase
	if l.State.Outcome != nil {
		l.Row.Status = l.State.Outcome.Status
	}
	return l.Save(ctx)
}

// Save keeps the row of the session in step. The row has one writer at a
// time, by its lease; a conflict means that this copy is old.
func (l *Session) Save(ctx context.Context) error {
	data, err := json.Marshal(l.Data)
	if err != nil {
		return fmt.Errorf("write row of %s: %w", l.Row.ID, err)
	}
	l.Row.Data = data
	for {
		err := l.cfg.Store.Sessions.Update(ctx, l.Fence, l.Row)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		now, err := l.cfg.Store.Sessions.Session(ctx, l.Row.ID)
		if err != nil {
			return err
		}
		l.Row.Version = now.Version
	}
}

// Approvals returns what approvals in a session depend on.
func (c *Config) Approvals(at *Thread, row *store.Session) approval.Session {
	r := DataOf(row)
	return approval.Session{
		ID: row.ID, Requester: row.Requester, RequesterID: r.RequesterID, Target: r.Target, Config: c.InForce(r), Model: row.Model,
		Thread: at.Ref, IsPull: at.Pull != nil, Pull: row.Pull, Client: at.Client, CommitURL: at.commitURL, Progress: r.Progress, Approves: c.Approves, Earlier: func(ctx context.Context) ([]*session.State, error) { return c.earlier(ctx, row) }, Now: c.Now, Log: c.Log,
	}
}

// OfFork is the session where its thread is a pull request from a fork.
func (l *Session) OfFork() approval.Fork { return l.cfg.Fork(l.Thread, l.Row, l) }

// Fork returns a session where its thread is a pull request from a fork. Holder is nil
// for one that is only looked at.
func (c *Config) Fork(at *Thread, row *store.Session, h approval.Holder) approval.Fork {
	return approval.Fork{Session: c.Approvals(at, row), Holder: h, Names: c.Lets}
}

// Requests asks people in the session.
func (l *Session) Requests() approval.Requests {
	r := approval.Requests{Session: l.cfg.Approvals(l.Thread, l.Row), Holder: l}
	if l.cfg.Offer != nil {
		r.Offer = func(ctx context.Context, o approval.Offer) (string, error) {
			return l.cfg.Offer(ctx, *l.Thread, o)
		}
	}
	return r
}

// mostEarlier is how many earlier sessions of a thread are looked through.
const mostEarlier = 20

// earlier returns what the logs of the thread's sessions before one say, newest first.
func (c *Config) earlier(ctx context.Context, s *store.Session) (out []*session.State, err error) {
	list, err := c.Store.Sessions.List(ctx, store.Query{Repo: s.Repo, Before: s.Created, Limit: mostSessions})
	for _, e := range list {
		if e.Thread != s.Thread || len(out) == mostEarlier {
			continue
		}
		v, err := c.Fold(ctx, e)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, err
}

// Fold reads what the session's log says.
func (c *Config) Fold(ctx context.Context, s *store.Session) (*session.State, error) {
	events, err := c.Store.Logs.Log(store.Fence{Key: s.ID}).Events(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("read log of %s: %w", s.ID, err)
	}
	return session.Fold(events)
}
