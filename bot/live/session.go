package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/pull"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// Data is the bot's data of a session, in addition to its log.
type Data struct {
	RequesterID  int64         `json:"requester_id"`
	Person       bool          `json:"person,omitempty"` // GitHub says that the requester is no bot
	Installation int64         `json:"installation"`
	Repository   int64         `json:"repository,omitempty"` // GitHub's number of it; 0 in sessions of older versions
	Target       string        `json:"target"`               // base branch of the pull request
	IsPull       bool          `json:"is_pull"`
	Title        string        `json:"title,omitempty"` // of its thread as the session began, as plain text
	Config       policy.Config `json:"config"`

	Used policy.Usage `json:"used,omitzero"`

	Shown string `json:"shown,omitempty"` // digest of the progress comment while no run is active

	Progress string             `json:"progress,omitempty"` // address of the progress comment
	Under    int64              `json:"under,omitempty"`    // request that the progress comment is of, see [session.State]
	Told     approval.EndNotice `json:"told,omitzero"`      // the message that announced the last end

	Waits   int      `json:"waits,omitempty"`    // number of consecutive waits during an outage
	Begun   []string `json:"begun,omitempty"`    // processes that began consecutive runs without a recorded end
	DeadAt  int64    `json:"dead_at,omitempty"`  // number of model answers at the last of them
	Tries   int      `json:"tries,omitempty"`    // number of consecutive failures with a retry
	TriesAt int64    `json:"tries_at,omitempty"` // number of model answers at the last of them

	Checks []outbox.CheckMark `json:"checks,omitempty"` // check runs that show the session's state

	Reviews map[string]approval.Stage `json:"reviews,omitempty"` // by request id

	Reviewed int64 `json:"reviewed,omitempty"` // event up to which findings are posted

	Pull pull.Kept `json:"pull,omitzero"`

	Parts map[string]Part `json:"parts,omitempty"` // its parts in other repositories, by name in lower case
	Whole *Whole          `json:"whole,omitempty"` // the session that this one is a part of; nil if it is none
	Unattended
}

// Part is the progress of bringing a session's change in another repository there.
type Part struct {
	Name   string `json:"name"`             // "owner/name"
	Number int    `json:"number,omitempty"` // of the issue there; 0 if there is none
	Why    string `json:"why,omitempty"`    // reason why there is none
	Tree   string `json:"tree,omitempty"`   // tree of the change
	Shows  bool   `json:"shows,omitempty"`  // the change may be shown in the session's thread instead
	Waits  string `json:"waits,omitempty"`  // tree of the change of which users were told that it waits
	Told   bool   `json:"told,omitempty"`   // its session has begun, and users were told
}

// Whole is the thread of the session that made a part, and the number of its pull request, or 0.
type Whole struct {
	Thread thread.Ref `json:"thread"`
	Pull   int        `json:"pull,omitempty"`
}

// PartIn returns the part in a repository, or the zero Part.
func (d Data) PartIn(repository string) Part { return d.Parts[strings.ToLower(repository)] }

// with returns the threads of other repositories that the session belongs with.
func (d Data) with() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(d.Parts)) {
		if p := d.Parts[name]; p.Number != 0 {
			out = append(out, fmt.Sprintf("%s#%d", p.Name, p.Number))
		}
	}
	if of := d.Whole; of != nil {
		out = append(out, of.Thread.String())
		if of.Pull != 0 && of.Pull != of.Thread.Number {
			out = append(out, fmt.Sprintf("%s#%d", of.Thread.Repository(), of.Pull))
		}
	}
	return out
}

// Unattended is the part of Data that comes from no user.
type Unattended struct {
	Seen     Seen       `json:"seen,omitzero"`
	Schedule *Scheduled `json:"schedule,omitempty"` // the schedule that started it; nil if a user did
}

// Scheduled is the schedule that started a session. If Asks is set, the session may ask
// for approvals; if InThread is set, its result goes to a thread of users.
type Scheduled struct {
	Repository string `json:"repository"`
	Name       string `json:"name"`
	Asks       bool   `json:"asks,omitempty"`
	InThread   bool   `json:"in_thread,omitempty"`

	Commits bool     `json:"commits,omitempty"` // it reviews the commits of its range
	Triage  bool     `json:"triage,omitempty"`  // it sorts an issue without a request
	Had     []string `json:"had,omitempty"`     // labels of that issue at the beginning
	Range
}

// Range is the part of the default branch that a scheduled review reads.
type Range struct {
	From string `json:"from,omitempty"` // empty means the newest commits
	To   string `json:"to,omitempty"`
}

// Seen is the result of a session's look at the checks of a commit. Since is the time
// when it began to wait for them, or zero if it does not wait.
type Seen struct {
	Head  string    `json:"head"`
	Green []string  `json:"green,omitempty"`
	Since time.Time `json:"since,omitzero"`

	Missed string `json:"missed,omitempty"` // commit whose checks ended while the session waited for something else
}

// greenAt returns the checks seen to pass on the published work.
func (s Seen) greenAt(v *session.State) []string {
	if s.Head == "" || s.Head != v.Published {
		return nil
	}
	return s.Green
}

// DataOf returns the data of a session, or the zero Data if s is nil or its data is
// invalid.
func DataOf(s *store.Session) Data {
	var r Data
	if s != nil && json.Unmarshal(s.Data, &r) != nil {
		return Data{}
	}
	return r
}

// InForce returns a session's effective configuration: the one from its start, limited
// by the server's current one.
func (c *Config) InForce(r Data) policy.Config {
	return policy.Merge(c.Policy, r.Config).WithDefaults()
}

// Session is a session whose lease a worker holds: its row, its log's state and its
// writes. It implements [approval.Holder]. It is not safe for concurrent use.
type Session struct {
	outbox.Outbox
	Thread *Thread
	Row    *store.Session
	Data   Data
	State  *session.State // as of the last Reload; nil before the first
	Edits  *outbox.Edits  // edits of progress comments, shared by the worker

	TurnedAway string // the requester who got no answer, and the reason

	cfg *Config
}

// Session returns the session of a row. It writes through out, which has the lease.
func (c *Config) Session(out outbox.Outbox, at *Thread, row *store.Session) *Session {
	return &Session{Outbox: out, Thread: at, Row: row, Data: DataOf(row), cfg: c}
}

// config returns the session's effective configuration.
func (l *Session) config() policy.Config { return l.cfg.InForce(l.Data) }

// Checks returns the session's check runs. Changes of their marks are saved with the
// row.
func (l *Session) Checks() outbox.Checks {
	return outbox.Checks{Outbox: l.Outbox, App: l.cfg.GitHub.IsApp(), Head: l.head(), Marks: &l.Data.Checks}
}

// head returns the head commit of the session's branch, or "" if the branch is not on
// GitHub yet. That of a finished review is the commit that was read: a push may have followed.
func (l *Session) head() string {
	if n := len(l.State.Checkpoints); n > 0 {
		return l.State.Checkpoints[n-1].Commit
	}
	if l.Thread.Pull == nil {
		return ""
	}
	if Reviews(l.State.ModeName()) && l.State.Over() { //control:check-of-the-commit-read
		return l.State.Published
	}
	return l.Thread.Pull.HeadSHA
}

// Reload reads the log again.
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

// SetPart stores the progress of a part in another repository.
func (l *Session) SetPart(ctx context.Context, repository string, p Part) error {
	p.Name = repository
	if l.Data.Parts == nil {
		l.Data.Parts = map[string]Part{}
	}
	l.Data.Parts[strings.ToLower(repository)] = p
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

// SaveState saves the session's state in the row. It comes after all messages, so that
// a row with the state "done" has nothing left to send.
func (l *Session) SaveState(ctx context.Context) error {
	phase := l.State.Standing()
	if l.Row.State != phase {
		l.Row.Stall = store.Stall{Since: l.cfg.Now().UTC()}
	}
	l.Row.State = phase
	l.Row.Asked, l.Row.AskedAt = openApprovals(l.State)
	if l.State.Outcome != nil {
		l.Row.Status = l.State.Outcome.Status
	}
	return l.Save(ctx)
}

// Save writes the row. The lease holder is the only writer, so on a version conflict it
// adopts the stored version number and overwrites the row.
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

// openApprovals counts the open requests for an approval, and returns the time of the oldest.
func openApprovals(v *session.State) (n int, since time.Time) {
	for _, r := range v.Requests {
		if r.Kind == session.AskQuestion || !r.Approval.IsPending() {
			continue
		}
		if n++; since.IsZero() || r.At.Before(since) {
			since = r.At
		}
	}
	return n, since.UTC()
}

// Approvals returns the facts on which a session's approvals depend.
func (c *Config) Approvals(at *Thread, row *store.Session) approval.Session {
	r := DataOf(row)
	return approval.Session{
		ID:          row.ID,
		Requester:   row.Requester,
		RequesterID: r.RequesterID,
		Target:      r.Target,
		Config:      c.InForce(r),
		Model:       row.Model,
		Thread:      at.Ref,
		IsPull:      at.Pull != nil,
		Pull:        row.Pull,
		Client:      at.Client,
		CommitURL:   at.commitURL,
		Approves:    c.Approves,
		Earlier:     func(ctx context.Context) ([]*session.State, error) { return c.earlier(ctx, row) },
		Now:         c.Now,
		Log:         c.Log,
	}
}

// OfFork returns the session as one on a pull request from a fork.
func (l *Session) OfFork() approval.Fork { return l.cfg.Fork(l.Thread, l.Row, l) }

// Fork returns a session as one on a pull request from a fork. A nil h means read-only
// use.
func (c *Config) Fork(at *Thread, row *store.Session, h approval.Holder) approval.Fork {
	return approval.Fork{Session: c.Approvals(at, row), Holder: h, Names: c.Lets}
}

// Requests returns the session's requests for approval.
func (l *Session) Requests() approval.Requests {
	r := approval.Requests{Session: l.cfg.Approvals(l.Thread, l.Row), Holder: l}
	if l.cfg.Offer != nil {
		r.Offer = func(ctx context.Context, o approval.Offer) (string, error) {
			return l.cfg.Offer(ctx, *l.Thread, o)
		}
	}
	return r
}

// SettleAskBacks edits the replies that asked back about requests which are settled now,
// once per request.
func (l *Session) SettleAskBacks(ctx context.Context) error {
	for _, r := range l.State.Requests {
		is, end := l.Stage(r.ID), r
		if r.Kind == session.AskCommit { // it stands for those before
			end = approval.NewestCommit(l.State)
		}
		switch {
		case is.Over, end.Answer == nil && (r.Kind == session.AskPlan || !r.Kind.ByID()): // it waits beside others
			continue
		case end.Answer == nil: // replies about later requests may name it
			return nil
		}
		for _, kind := range approval.AskBacks() {
			key := approval.ReplyTo(kind.Text(r.ID))
			in, err := l.cfg.Store.Effects.Effect(ctx, key)
			if errors.Is(err, store.ErrNotFound) || err == nil && in.State != store.Done {
				continue
			}
			if err != nil {
				return err
			}
			ref := outbox.RefOf(in)
			edit := ghapp.Write{Key: key + "-over", Kind: ghapp.WriteEditComment, Body: render.SettledBy(*r.Answer)}
			if r.Kind == session.AskCommit { // its id is not shown
				edit.Body = render.ForkRequest(end)
			}
			edit.Target = ghapp.Target{Comment: ref.ID, Diff: approval.OnDiff(ref.URL)}
			if err := l.Try(ctx, edit); err != nil { //control:asked-back-is-settled
				return err
			}
		}
		is.Over = true
		if err := l.SetStage(ctx, r.ID, is); err != nil {
			return err
		}
	}
	return nil
}

// maxEarlier is the maximum number of earlier sessions of a thread to look through.
const maxEarlier = 20

// earlier returns the states of the thread's sessions before s, newest first.
func (c *Config) earlier(ctx context.Context, s *store.Session) (out []*session.State, err error) {
	list, err := c.Store.Sessions.List(ctx, store.Query{Thread: s.Thread, Below: s.Seq, Limit: maxEarlier})
	for _, e := range list {
		v, err := c.Fold(ctx, e)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, err
}

// Fold computes a session's state from its log.
func (c *Config) Fold(ctx context.Context, s *store.Session) (*session.State, error) {
	events, err := c.Store.Logs.Log(store.Fence{Key: s.ID}).Events(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("read log of %s: %w", s.ID, err)
	}
	return session.Fold(events)
}
