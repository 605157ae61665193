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

// patience is the maximum time that a write waits for budget before it fails as
// temporary. Progress edits and writes for outsiders do not wait.
const patience = 5 * time.Second

// errBudget means that the write budget is exhausted for now.
var errBudget = errors.New("the budget for writing to GitHub is used up for now")

// pacer serializes the writes of one installation: one at a time, at least spacing
// apart, within a budget, and in order of importance.
type pacer struct {
	spacing time.Duration
	budget  *quota.Writes
	now     func() time.Time // the budget's clock

	mu      sync.Mutex
	busy    bool      // a write is in flight
	last    time.Time // end of the last write
	until   time.Time // GitHub asked for no writes before this time
	waiting []*waiter
	alarm   *time.Timer
}

// waiter is a queued write.
type waiter struct {
	quota.Turn

	until time.Time  // deadline for its share of the budget
	ready chan error // receives nil when the write may be sent, or the reason for its refusal
}

func (a *App) newPacer() *pacer {
	l := a.cfg.Limits
	l.PerMinute, l.PerHour = max(0, l.PerMinute), max(0, l.PerHour)
	return &pacer{spacing: a.cfg.Spacing, budget: quota.NewWrites(l), now: a.cfg.Clock}
}

// hold blocks every write of the installation until a time.
func (p *pacer) hold(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.until) {
		p.until = until
	}
}

// wait blocks until a write may be sent; the caller calls done after sending it. It
// fails if the budget has no room soon.
func (p *pacer) wait(ctx context.Context, t quota.Turn) (done func(), err error) {
	w := &waiter{t, p.now().Add(patience), make(chan error, 1)}
	if t.Class == quota.Progress || t.Class == quota.Outsider {
		w.until = p.now()
	}
	p.mu.Lock()
	p.waiting = append(p.waiting, w)
	p.rejectLate()
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
		p.done() // its turn came in the same moment
	}
	return nil, ctx.Err()
}

// rejectLate fails the writes that would wait too long for budget, because a waiting
// write blocks its thread. The caller holds the lock.
func (p *pacer) rejectLate() {
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

// next starts the most important write that is allowed now, or sets a timer for the
// next possible one. The caller holds the lock.
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
	p.rejectLate()
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

// classKey is the context key for the class of a write.
type classKey struct{}

// class returns the importance of a write.
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

// Waiting returns the number of writes that wait for their turn.
func (a *App) Waiting() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.pacers {
		p.mu.Lock()
		n += len(p.waiting)
		p.mu.Unlock()
	}
	return n
}

// Spent returns the writes of the last hour, to be kept across a restart, because
// GitHub's limits do not reset with it.
func (a *App) Spent() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[int64]*quota.Writes{}
	for installation, p := range a.pacers {
		out[installation] = p.budget
	}
	return json.Marshal(out)
}

// CountSpent counts the result of Spent from an earlier run.
func (a *App) CountSpent(data []byte) error {
	var spent map[int64]json.RawMessage
	if err := json.Unmarshal(data, &spent); err != nil {
		return fmt.Errorf("read the texts: %w", err)
	}
	for installation, taken := range spent {
		if err := json.Unmarshal(taken, a.pacer(installation).budget); err != nil {
			return err
		}
	}
	return nil
}
