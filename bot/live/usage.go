package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

const dayForm = "2006-01-02"

// Use is a session's use of its budget in one stretch of work.
type Use struct {
	*Session
	began  time.Time
	waits  time.Time       // start of the wait for other runs; zero while not waiting
	before policy.Duration // time used before this stretch

	mu    sync.Mutex
	stall store.Stall // as recorded while the run goes on
}

// BeginUse begins to count the use of a stretch of work.
func (l *Session) BeginUse() *Use {
	return &Use{Session: l, began: l.cfg.Now(), before: l.Data.Used.Total.Time}
}

// Waiting sets the number of runs ahead of this one. The wait does not count as used
// time.
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

// scheduleUpdate records the session's total use so far. It reports whether days, turns or tokens
// changed.
func (u *Use) note(now policy.Limits) bool {
	before := u.Data.Used
	now.Time = u.before + policy.Duration(u.cfg.Now().Sub(u.began)-u.waited()) //control:waiting-is-free
	u.Data.Used = before.Advance(now, u.cfg.Now().UTC().Format(dayForm))
	return before.Day != u.Data.Used.Day || before.Total.Turns != now.Turns || before.Total.Tokens != now.Tokens
}

// Count records the use of the stretch of work at its end.
func (u *Use) Count(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil // the next run reads the use from the log
	}
	if err := u.Reload(ctx); err != nil {
		return err
	}
	v := u.State
	u.note(policy.Limits{Turns: v.AllTurns(), Tokens: v.Tokens, Edits: v.Edits, Lines: v.Lines}) //control:turns-inside-are-kept
	return u.Save(ctx)
}

// Spend publishes the session's use to other sessions and returns their shared budgets.
// Every session calls it before each turn, so each can exceed a shared budget by at
// most one turn.
func (u *Use) Spend(ctx context.Context, now policy.Limits) ([]policy.Share, error) {
	if u.note(now) {
		if err := u.publish(ctx, u.spent(now.Turns)); err != nil { //control:used-while-it-runs
			return nil, fmt.Errorf("record usage: %w", err)
		}
	}
	return u.shares(ctx)
}

// spent returns the change of a row that records the use. An answer of the model ends a
// wait.
func (u *Use) spent(turns int) func(*store.Session) error {
	return func(row *store.Session) (err error) {
		if slices.Contains(waiting, row.State) && int64(turns) > u.Data.DeadAt { //control:answer-ends-the-wait
			row.State, row.Stall = session.PhaseRunning, store.Stall{Since: u.cfg.Now().UTC()}
		}
		data := DataOf(row)
		data.Used = u.Data.Used
		row.Data, err = json.Marshal(data)
		return err
	}
}

// Stall records why the run stands still, in words; "" means that it goes on. It is safe for
// concurrent use.
func (u *Use) Stall(ctx context.Context, why string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if why == u.stall.Why {
		return
	}
	if u.stall.Why = why; u.stall.Since.IsZero() || why == "" {
		u.stall.Since = u.cfg.Now().UTC()
	}
	err := u.publish(ctx, func(row *store.Session) error {
		if row.Stall = u.stall; why == "" && slices.Contains(waiting, row.State) {
			row.State = session.PhaseRunning
		}
		return nil
	})
	if why == "" {
		u.stall.Since = time.Time{} // the next one begins anew
	}
	if err != nil && ctx.Err() == nil {
		u.Log.WarnContext(ctx, "a wait is not recorded", "session", u.Row.ID, "err", err)
	}
}

// publish changes the stored row. It leaves u.Row alone, because other goroutines read it
// during a run.
func (u *Use) publish(ctx context.Context, change func(*store.Session) error) error {
	for {
		row, err := u.cfg.Store.Sessions.Session(ctx, u.Row.ID)
		if err != nil {
			return err
		}
		if err := change(row); err != nil {
			return err
		}
		if err := u.cfg.Store.Sessions.Update(ctx, u.Fence, row); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// shares returns the budgets that the session shares: with the other sessions of its
// thread, and with today's sessions of its requester. It is asked for before each turn, so
// older sessions are not read.
func (l *Session) shares(ctx context.Context) ([]policy.Share, error) {
	budget := l.config().Budget
	day := l.cfg.Now().UTC().Format(dayForm)
	thread := policy.Share{Of: "This thread", Limits: budget.Thread}
	person := policy.Share{Of: render.ShareOfDay(l.Row.Requester, day), Limits: budget.UserDay}
	if thread.Limits == (policy.Limits{}) && person.Limits == (policy.Limits{}) {
		return nil, nil
	}
	ofThread, err := l.cfg.Store.Sessions.List(ctx, store.Query{Thread: l.Row.Thread, Limit: store.MaxSince})
	if err != nil {
		return nil, fmt.Errorf("look up usage: %w", err)
	}
	for _, s := range ofThread {
		thread.Used = thread.Used.Plus(DataOf(s).Used.Total)
	}
	today, err := time.Parse(dayForm, day)
	if err != nil {
		return nil, fmt.Errorf("look up usage: %w", err)
	}
	ofToday := store.Query{Requester: l.Row.Requester, Since: today, Limit: store.MaxSince}
	own, err := l.cfg.Store.Sessions.List(ctx, ofToday)
	if err != nil {
		return nil, fmt.Errorf("look up usage: %w", err)
	}
	for _, s := range own {
		person.Used = person.Used.Plus(DataOf(s).Used.On(day))
	}
	return []policy.Share{thread, person}, nil
}
