package ghapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/bot/quota"
)

// patience is how long a write waits for its part of the budget before it is
// given back as one to be tried again later. An edit that only shows progress
// does not wait.
const patience = 5 * time.Second

// errBudget is why a write is not sent now.
var errBudget = errors.New("the budget for writing to GitHub is used up for now")

// pacer lets the writes of one installation pass one at a time, not sooner
// than spacing after the last one ended, within a budget, and those that
// matter more first.
type pacer struct {
	spacing time.Duration
	budget  *quota.Writes
	now     func() time.Time // of the budget

	mu      sync.Mutex
	busy    bool      // a write runs
	last    time.Time // end of the last one
	until   time.Time // nothing is written before, GitHub said so
	waiting []*waiter
	alarm   *time.Timer
}

// waiter is a write that waits.
type waiter struct {
	quota.Turn

	until time.Time  // waits no longer than that for its part of the budget
	ready chan error // gets nil when it may be sent, and otherwise why not
}

func (a *App) newPacer() *pacer {
	l := a.cfg.Limits
	l.PerMinute, l.PerHour = max(0, l.PerMinute), max(0, l.PerHour)
	return &pacer{spacing: a.cfg.Spacing, budget: quota.NewWrites(l), now: a.cfg.Clock}
}

// hold keeps every write of the installation back until then.
func (p *pacer) hold(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.until) {
		p.until = until
	}
}

// wait returns when a write may be sent; done says that it was. A write that
// the budget has no room for soon gets an error.
func (p *pacer) wait(ctx context.Context, t quota.Turn) (done func(), err error) {
	w := &waiter{t, p.now().Add(patience), make(chan error, 1)}
	if t.Class == quota.Progress || t.Class == quota.Outsider {
		w.until = p.now()
	}
	p.mu.Lock()
	p.waiting = append(p.waiting, w)
	p.giveBack()
	p.next()
	p.mu.Unlock()
	select {
	case err := <-w.ready:
		if err != nil {
			return nil, err
		}
		return p.done, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	i := slices.Index(p.waiting, w)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 && <-w.ready == nil {
		p.done() // its turn came at the same time
	}
	return nil, ctx.Err()
}

// giveBack returns the writes that would wait too long for their part of the budget:
// who waits for one holds a thread up meanwhile. The lock is held.
func (p *pacer) giveBack() {
	now := p.now()
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter) bool {
		wait := p.budget.Wait(now, w.Class, w.Repo)
		late := wait > 0 && now.Add(wait).After(w.until) //control:budget-patience
		if late {
			w.ready <- &Error{Op: "write to github", Kind: Temporary, RetryAfter: wait, Err: errBudget}
		}
		return late
	})
}

func (p *pacer) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy, p.last = false, time.Now()
	p.next()
}

// next lets the write pass whose turn it is, or comes back when it can be the
// turn of one. The lock is held.
func (p *pacer) next() {
	if p.busy || len(p.waiting) == 0 {
		return
	}
	soon := max(p.spacing-time.Since(p.last), time.Until(p.until))
	if soon > 0 {
		p.wake(soon)
		return
	}
	now, best := p.now(), -1
	for i, w := range p.waiting {
		if wait := p.budget.Wait(now, w.Class, w.Repo); wait > 0 {
			if soon <= 0 || wait < soon {
				soon = wait
			}
			continue
		}
		if best < 0 || p.budget.Before(w.Turn, p.waiting[best].Turn) < 0 { //control:writes-in-turn
			best = i
		}
	}
	if best < 0 {
		p.wake(soon)
		return
	}
	w := p.waiting[best]
	p.waiting = slices.Delete(p.waiting, best, best+1)
	p.budget.Take(now, w.Class, w.Repo)
	p.busy = true
	w.ready <- nil
	p.giveBack()
}

func (p *pacer) wake(after time.Duration) {
	if p.alarm != nil {
		p.alarm.Stop()
	}
	p.alarm = time.AfterFunc(after, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.next()
	})
}

// classKey is the key of the class of a write in its context.
type classKey struct{}

// class is how much a write matters.
func (w Write) class() quota.Class {
	switch {
	case w.First:
		return quota.First
	case w.Outsider:
		return quota.Outsider
	case w.Kind == WriteEditComment || w.Kind == WriteEditCheck:
		return quota.Progress
	}
	return quota.Work
}

type paced struct {
	pacer *pacer
	repo  string
	next  http.RoundTripper
}

func (t paced) RoundTrip(r *http.Request) (*http.Response, error) {
	if isRead(r) {
		return t.next.RoundTrip(r)
	}
	class, _ := r.Context().Value(classKey{}).(quota.Class)
	done, err := t.pacer.wait(r.Context(), quota.Turn{Class: class, Repo: t.repo, Since: time.Now()})
	if err != nil {
		return nil, &notSent{err}
	}
	defer done()
	return t.next.RoundTrip(r)
}

// Spent returns what was written within the last hour, to be kept over a
// restart: GitHub counts on.
func (a *App) Spent() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[int64]*quota.Writes{}
	for installation, p := range a.pacers {
		out[installation] = p.budget
	}
	return json.Marshal(out)
}

// CountSpent counts what Spent returned, in an earlier run.
func (a *App) CountSpent(data []byte) error {
	var spent map[int64]json.RawMessage
	if err := json.Unmarshal(data, &spent); err != nil {
		return fmt.Errorf("read what was written: %w", err)
	}
	for installation, taken := range spent {
		if err := json.Unmarshal(taken, a.pacer(installation).budget); err != nil {
			return err
		}
	}
	return nil
}
