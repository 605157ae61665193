package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

const dayForm = "2006-01-02"

// Use is what a session uses in one stretch of work.
type Use struct {
	*Session
	began  time.Time
	waits  time.Time       // since when it waits for other runs, zero while it does not
	before policy.Duration // that it had worked until then
}

// BeginUse begins a stretch of work, whose use is counted.
func (l *Session) BeginUse() *Use {
	return &Use{Session: l, began: l.cfg.Now(), before: l.Data.Used.Total.Time}
}

// Waiting takes in how many runs are before this one: their time is not its own.
func (u *Use) Waiting(before int) {
	switch {
	case before > 0 && u.waits.IsZero():
		u.waits = u.cfg.Now()
	case before == 0:
		u.began, u.waits = u.began.Add(u.waited()), time.Time{}
	}
}

func (u *Use) waited() time.Duration {
	if u.waits.IsZero() {
		return 0
	}
	return u.cfg.Now().Sub(u.waits)
}

// note takes in what the session has used by now, in all. It reports whether that is
// more than was known.
func (u *Use) note(now policy.Limits) bool {
	before := u.Data.Used
	now.Time = u.before + policy.Duration(u.cfg.Now().Sub(u.began)-u.waited()) //control:waiting-is-free
	u.Data.Used = before.Grown(now, u.cfg.Now().UTC().Format(dayForm))
	return before.Day != u.Data.Used.Day || before.Total.Turns != now.Turns || before.Total.Tokens != now.Tokens
}

// Count notes what the stretch of work used, at its end.
func (u *Use) Count(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil // what was used shows in the log when the session goes on
	}
	if err := u.Reload(ctx); err != nil {
		return err
	}
	v := u.State
	u.note(policy.Limits{Turns: v.AllTurns(), Tokens: v.Tokens, Edits: v.Edits, Lines: v.Lines}) //control:turns-inside-are-kept
	return u.Save(ctx)
}

// Spend notes what the session has used by now where other sessions see it, and
// returns what it has in common with them. Each asks before each of its turns, so
// that together they use at most one turn each more than there is.
func (u *Use) Spend(ctx context.Context, now policy.Limits) ([]policy.Share, error) {
	if u.note(now) {
		if err := u.tell(ctx); err != nil { //control:used-while-it-runs
			return nil, fmt.Errorf("note what was used: %w", err)
		}
	}
	return u.shares(ctx)
}

// tell writes what was used into the session's row as it is stored: the copy at hand is
// read by others while the session runs.
func (u *Use) tell(ctx context.Context) error {
	for {
		row, err := u.cfg.Store.Sessions.Session(ctx, u.Row.ID)
		if err != nil {
			return err
		}
		data := DataOf(row)
		data.Used = u.Data.Used
		if row.Data, err = json.Marshal(data); err != nil {
			return err
		}
		if err := u.cfg.Store.Sessions.Update(ctx, u.Fence, row); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// mostSessions limits how many sessions are looked through for what they
// used, newest first.
const mostSessions = 1000

// shares are the budgets that the session has in common with the others of
// its thread and with the others of its requester today.
func (l *Session) shares(ctx context.Context) ([]policy.Share, error) {
	budget := l.config().Budget
	day := l.cfg.Now().UTC().Format(dayForm)
	thread := policy.Share{Of: "This thread", Limits: budget.Thread}
	person := policy.Share{Of: render.ShareOfDay(l.Row.Requester, day), Limits: budget.UserDay}
	if thread.Limits == (policy.Limits{}) && person.Limits == (policy.Limits{}) {
		return nil, nil
	}
	ofRepo, err := l.cfg.Store.Sessions.List(ctx, store.Query{Repo: l.Row.Repo, Limit: mostSessions})
	if err != nil {
		return nil, fmt.Errorf("look up what was used: %w", err)
	}
	for _, s := range ofRepo {
		if s.Thread == l.Row.Thread {
			thread.Used = thread.Used.Plus(DataOf(s).Used.Total)
		}
	}
	own, err := l.cfg.Store.Sessions.List(ctx, store.Query{Requester: l.Row.Requester, Limit: mostSessions})
	if err != nil {
		return nil, fmt.Errorf("look up what was used: %w", err)
	}
	for _, s := range own {
		person.Used = person.Used.Plus(DataOf(s).Used.On(day))
	}
	return []policy.Share{thread, person}, nil
}
