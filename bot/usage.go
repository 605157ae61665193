package bot

import (
	"context"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/render"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// usage is what a session used so far: in all, and on the day it last worked.
type usage struct {
	Total policy.Limits `json:"total,omitzero"`
	Day   string        `json:"day,omitempty"` // UTC
	Today policy.Limits `json:"today,omitzero"`
}

const dayForm = "2006-01-02"

// on is what was used on a day, nothing when the session last worked on
// another one.
func (u usage) on(day string) policy.Limits {
	if u.Day != day {
		return policy.Limits{}
	}
	return u.Today
}

// grown is u after work that brought the session's totals to now.
func (u usage) grown(now policy.Limits, day string) usage {
	today := u.on(day)
	return usage{Total: now, Day: day, Today: policy.Limits{
		Turns: today.Turns + now.Turns - u.Total.Turns, Tokens: today.Tokens + now.Tokens - u.Total.Tokens,
		Time: today.Time + now.Time - u.Total.Time, Edits: today.Edits + now.Edits - u.Total.Edits, Lines: today.Lines + now.Lines - u.Total.Lines,
	}}
}

func plus(a, b policy.Limits) policy.Limits {
	return policy.Limits{Turns: a.Turns + b.Turns, Tokens: a.Tokens + b.Tokens, Time: a.Time + b.Time, Edits: a.Edits + b.Edits, Lines: a.Lines + b.Lines}
}

// count notes what a stretch of work used.
func (l *leased) count(ctx context.Context, took time.Duration) error {
	if ctx.Err() != nil {
		return nil // what was used shows in the log when the session goes on
	}
	if err := l.reload(ctx); err != nil {
		return err
	}
	v, r := l.state, &l.data
	now := policy.Limits{Turns: v.Turns, Tokens: v.Tokens, Edits: v.Edits, Lines: v.Lines, Time: r.Used.Total.Time + policy.Duration(took)}
	r.Used = r.Used.grown(now, l.cfg.Now().UTC().Format(dayForm))
	return l.save(ctx)
}

// mostSessions limits how many sessions are looked through for what they
// used, newest first.
const mostSessions = 1000

// shares are the budgets that the session has in common with the others of
// its thread and with the others of its requester today.
func (l *leased) shares(ctx context.Context) ([]Share, error) {
	budget := l.config(l.data).Budget
	day := l.cfg.Now().UTC().Format(dayForm)
	thread := Share{Of: "This thread", Limits: budget.Thread}
	person := Share{Of: render.ShareOfDay(l.row.Requester, day), Limits: budget.UserDay}
	if thread.Limits == (policy.Limits{}) && person.Limits == (policy.Limits{}) {
		return nil, nil
	}
	ofRepo, err := l.cfg.Store.Sessions.List(ctx, store.Query{Repo: l.row.Repo, Limit: mostSessions})
	if err != nil {
		return nil, fmt.Errorf("look up what was used: %w", err)
	}
	for _, s := range ofRepo {
		if s.Thread == l.row.Thread {
			thread.Used = plus(thread.Used, dataOf(s).Used.Total)
		}
	}
	own, err := l.cfg.Store.Sessions.List(ctx, store.Query{Requester: l.row.Requester, Limit: mostSessions})
	if err != nil {
		return nil, fmt.Errorf("look up what was used: %w", err)
	}
	for _, s := range own {
		person.Used = plus(person.Used, dataOf(s).Used.on(day))
	}
	return []Share{thread, person}, nil
}
