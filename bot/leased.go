package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/approval"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/notice"
	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/pull"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// rowData is what the bot keeps of a session besides its log.
type rowData struct {
	RequesterID  int64         `json:"requester_id"`
	Person       bool          `json:"person,omitempty"` // GitHub says that the requester is no bot
	Installation int64         `json:"installation"`
	Target       string        `json:"target"` // branch that the pull request goes to
	IsPull       bool          `json:"is_pull"`
	Config       policy.Config `json:"config"`

	Used policy.Usage `json:"used,omitzero"`

	Shown string `json:"shown,omitempty"` // digest of what the progress comment says while nothing runs

	Progress string      `json:"progress,omitempty"` // address of the progress comment
	Told     notice.Told `json:"told,omitzero"`      // where the words of the last end stand

	Waits   int   `json:"waits,omitempty"`    // times in a row that it could not go on for want of something
	Deaths  int   `json:"deaths,omitempty"`   // runs in a row that nobody saw the end of
	DeadAt  int64 `json:"dead_at,omitempty"`  // answers of the model at the last of them
	Tries   int   `json:"tries,omitempty"`    // runs that failed for a reason that may pass
	TriesAt int64 `json:"tries_at,omitempty"` // answers of the model at the last of them

	Checks []outbox.CheckMark `json:"checks,omitempty"` // the check runs that say how it stands

	Reviews map[string]approval.Stage `json:"reviews,omitempty"` // by request

	Pull pull.Kept `json:"pull,omitzero"`
}

func dataOf(s *store.Session) rowData {
	var r rowData
	if s != nil && json.Unmarshal(s.Data, &r) != nil {
		return rowData{}
	}
	return r
}

// config is what is in force in a session: what was when it was opened, under
// the server's present one.
func (b *Bot) config(r rowData) policy.Config {
	return policy.Merge(b.cfg.Policy, r.Config).WithDefaults()
}

// leased is a session whose lease this worker has: its row, what its log says,
// and what is written for it. It implements [approval.Holder].
type leased struct {
	outbox.Outbox
	*Bot
	at    *Thread
	edits *outbox.Edits
	row   *store.Session
	data  rowData
	state *session.State // as of the last reload

	turnedAway string // who was not answered, and why
}

// lease takes the lease of a session.
func (w *worker) lease(ctx context.Context, row *store.Session) (*leased, error) {
	f, err := w.leases.Take(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	return &leased{Outbox: w.outbox(f), Bot: w.Bot, at: &w.at, edits: &w.edits, row: row, data: dataOf(row), turnedAway: w.turnedAway}, nil
}

// outbox is for writes in the thread, under a lease.
func (w *worker) outbox(f store.Fence) outbox.Outbox {
	return outbox.Outbox{Store: w.cfg.Store.Intents, Fence: f, At: w.at.Ref, Client: w.at.Client, Settle: w.cfg.Settle, Now: w.cfg.Now, Log: w.cfg.Log}
}

// checks are the check runs of the session. What they note is saved together with how
// it stands.
func (l *leased) checks() outbox.Checks {
	return outbox.Checks{Outbox: l.Outbox, App: l.cfg.GitHub.IsApp(), Head: l.head(), Marks: &l.data.Checks}
}

// head is the commit at the end of the session's branch, "" when there is
// none on GitHub yet.
func (l *leased) head() string {
	if n := len(l.state.Checkpoints); n > 0 {
		return l.state.Checkpoints[n-1].Commit
	}
	if l.at.Pull != nil {
		return l.at.Pull.HeadSHA
	}
	return ""
}

// reload reads the log anew.
func (l *leased) reload(ctx context.Context) error {
	state, err := l.fold(ctx, l.row)
	if err == nil {
		l.state = state
	}
	return err
}

// Append implements [approval.Holder].
func (l *leased) Append(ctx context.Context, events ...*session.Event) error {
	return l.cfg.Store.Logs.Log(l.Fence).Append(ctx, events...)
}

// Stage implements [approval.Holder].
func (l *leased) Stage(request string) approval.Stage { return l.data.Reviews[request] }

// SetStage implements [approval.Holder].
func (l *leased) SetStage(ctx context.Context, request string, s approval.Stage) error {
	if l.data.Reviews == nil {
		l.data.Reviews = map[string]approval.Stage{}
	}
	l.data.Reviews[request] = s
	return l.save(ctx)
}

// Wake implements [approval.Holder].
func (l *leased) Wake(ctx context.Context, at time.Time) error {
	priority := store.PriorityIdle
	if at.IsZero() {
		priority = store.PriorityWork
	}
	return l.cfg.Store.Wakes.Wake(ctx, l.row.Thread, priority, at)
}

// saveState saves the row with where the session stands. It is called when
// all of it is said, so that a row that says "done" has nothing open.
func (l *leased) saveState(ctx context.Context) error {
	l.row.State = l.state.Phase
	if l.state.Outcome != nil {
		l.row.Status = l.state.Outcome.Status
	}
	return l.save(ctx)
}

// save keeps the row of the session in step. The row has one writer at a
// time, by its lease; a conflict means that this copy is old.
func (l *leased) save(ctx context.Context) error {
	data, err := json.Marshal(l.data)
	if err != nil {
		return fmt.Errorf("write row of %s: %w", l.row.ID, err)
	}
	l.row.Data = data
	for {
		err := l.cfg.Store.Sessions.Update(ctx, l.Fence, l.row)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		now, err := l.cfg.Store.Sessions.Session(ctx, l.row.ID)
		if err != nil {
			return err
		}
		l.row.Version = now.Version
	}
}

// approvals is what approvals in a session depend on.
func (b *Bot) approvals(at *Thread, row *store.Session) approval.Session {
	r := dataOf(row)
	return approval.Session{
		ID: row.ID, Requester: row.Requester, RequesterID: r.RequesterID, Target: r.Target, Config: b.config(r), Model: row.Model,
		Thread: at.Ref, IsPull: at.Pull != nil, Pull: row.Pull, Client: at.Client, CommitURL: at.commitURL, Progress: r.Progress, Approves: b.approves, Earlier: func(ctx context.Context) ([]*session.State, error) { return b.earlier(ctx, row) }, Now: b.cfg.Now, Log: b.cfg.Log,
	}
}

// approves returns what a text says to a request, read as when it arrives.
func (b *Bot) approves(ctx context.Context, text, request string) (approval.Yes, error) {
	cmds, _, err := b.commandsIn(ctx, text)
	if err != nil {
		return approval.YesNot, err
	}
	says := approval.YesNot
	for _, c := range cmds {
		switch {
		case c.Name != "approve":
		case slices.Contains(c.IDs, request):
			return approval.YesNamed, nil
		case len(c.IDs) == 0:
			says = approval.YesUnnamed
		}
	}
	return says, nil
}

// ofFork is the session where its thread is a pull request from a fork.
func (l *leased) ofFork() approval.Fork { return l.forkSession(l.at, l.row, l) }

func (b *Bot) forkSession(at *Thread, row *store.Session, h approval.Holder) approval.Fork {
	return approval.Fork{Session: b.approvals(at, row), Holder: h, Names: b.lets}
}

// lets reports whether a text lets the bot work on a commit of a fork.
func (b *Bot) lets(ctx context.Context, text, commit string) (bool, error) {
	cmds, _, err := b.commandsIn(ctx, text)
	return slices.ContainsFunc(cmds, func(c command.Command) bool {
		return c.Name == okWord && len(c.IDs) == 1 && strings.HasPrefix(commit, strings.ToLower(c.IDs[0]))
	}), err
}

// requests asks people in the session.
func (l *leased) requests() approval.Requests {
	r := approval.Requests{Session: l.approvals(l.at, l.row), Holder: l}
	if l.cfg.Offers != nil {
		r.Offer = func(ctx context.Context, o approval.Offer) (string, error) { return l.cfg.Offers.Offer(ctx, *l.at, o) }
	}
	return r
}
