package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/live"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// Event is the event type of deliveries that start scheduled sessions. GitHub has no
// event of this name, so none can come from outside.
const Event = "handrail-schedule"

// Start is the payload of such a delivery.
type Start struct {
	Entry        Entry     `json:"entry"`
	At           time.Time `json:"at"` // scheduled time of this occurrence
	Missed       int       `json:"missed,omitempty"`
	Installation int64     `json:"installation"`
	Task         string    `json:"task,omitempty"` // set in the thread of the result
	Mode         string    `json:"mode,omitempty"`
	live.Range
}

// Table lists the schedules of a repository.
type Table struct {
	Installation int64   `json:"installation"`
	Entries      []Entry `json:"entries"`
}

// State is the state of one schedule.
type State struct {
	Last   time.Time      `json:"last"`             // last time of the clock that was handled
	Times  string         `json:"times,omitempty"`  // configured times, to detect a change
	Commit string         `json:"commit,omitempty"` // last reviewed commit of the default branch
	Result string         `json:"result,omitempty"` // digest of the last reported result
	Upto   int            `json:"upto,omitempty"`   // number of the last issue that was sorted
	Past   []HistoryEntry `json:"past,omitempty"`   // newest last
}

// HistoryEntry is one entry in a schedule's history.
type HistoryEntry struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// maxPast is the maximum length of a schedule's history.
const maxPast = 20

// Book stores schedules and their states.
type Book struct{ Meta store.Meta }

const repositories = "schedules"

func tableKey(repo string) string       { return "schedules " + strings.ToLower(repo) }
func stateKey(repo, name string) string { return "schedule " + strings.ToLower(repo) + " " + name }

func (b Book) read(ctx context.Context, key string, into any) (raw []byte, err error) {
	raw, err = b.Meta.Get(ctx, key)
	if err != nil {
		return nil, store.Unless(err, store.ErrNotFound)
	}
	return raw, json.Unmarshal(raw, into)
}

// change updates a stored value atomically; with is called again after a conflict, and
// returns false to leave the value as it is.
func change[T any](ctx context.Context, b Book, key string, with func(*T) (write bool)) error {
	for {
		var v T
		raw, err := b.read(ctx, key, &v)
		if err != nil || !with(&v) {
			return err
		}
		next, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err = b.Meta.Swap(ctx, key, raw, next); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// Repositories returns the repositories with schedules.
func (b Book) Repositories(ctx context.Context) (names []string, err error) {
	_, err = b.read(ctx, repositories, &names)
	return names, err
}

// Table returns the schedules of a repository.
func (b Book) Table(ctx context.Context, repo string) (t Table, err error) {
	_, err = b.read(ctx, tableKey(repo), &t)
	return t, err
}

// State returns the state of a schedule.
func (b Book) State(ctx context.Context, repo, name string) (s State, err error) {
	_, err = b.read(ctx, stateKey(repo, name), &s)
	return s, err
}

// learn stores the schedules of a repository. A new schedule, or one with changed times,
// begins at now: it has missed nothing before.
func (b Book) learn(ctx context.Context, repo string, t Table, now time.Time) error {
	for _, e := range t.Entries {
		if err := change(ctx, b, stateKey(repo, e.Name), func(s *State) bool {
			was, times := s.Times, e.Cron+" "+e.Zone
			others := was != "" && was != times //control:other-times-missed-nothing
			if s.Last.IsZero() || others {
				s.Last = now
			}
			s.Times = times
			return was != times
		}); err != nil {
			return err
		}
	}
	if err := change(ctx, b, tableKey(repo), func(was *Table) bool { *was = t; return true }); err != nil {
		return err
	}
	return change(ctx, b, repositories, func(names *[]string) bool {
		if slices.Contains(*names, strings.ToLower(repo)) || len(t.Entries) == 0 {
			return false
		}
		*names = append(*names, strings.ToLower(repo))
		return true
	})
}

// Forget deletes the schedules of a repository and their states.
func (b Book) Forget(ctx context.Context, repo string) error {
	if err := change(ctx, b, repositories, func(names *[]string) bool {
		was := len(*names)
		*names = slices.DeleteFunc(*names, func(name string) bool { return strings.EqualFold(name, repo) })
		return len(*names) < was
	}); err != nil {
		return err
	}
	if err := b.Meta.Drop(ctx, tableKey(repo)); err != nil {
		return err
	}
	if err := b.Meta.Drop(ctx, takenKey(repo)); err != nil {
		return err
	}
	return b.Meta.DropAll(ctx, stateKey(repo, "")) // the prefix ends in a space
}

// note adds an entry to a schedule's history. keep may change the rest of its state; nil
// leaves it.
func (b Book) note(ctx context.Context, repo, name string, h HistoryEntry, keep func(*State)) error {
	return change(ctx, b, stateKey(repo, name), func(s *State) bool {
		if s.Past = append(s.Past, h); len(s.Past) > maxPast {
			s.Past = s.Past[len(s.Past)-maxPast:]
		}
		if keep != nil {
			keep(s)
		}
		return true
	})
}

// Delivery returns the delivery that starts one occurrence. Its id is the same on all
// servers, so it is stored only once.
func (s Start) Delivery() (store.Delivery, error) {
	payload, err := json.Marshal(s)
	id := fmt.Sprintf("schedule %s %s %d", strings.ToLower(s.Entry.Repository), s.Entry.Name, s.At.Unix()) //control:occurrence-once
	return store.Delivery{ID: id, Key: id, Event: Event, Thread: strings.ToLower(s.Entry.Repository) + "#0", Priority: store.PriorityIdle, Payload: payload}, err
}

// Clock starts due occurrences.
type Clock struct {
	Book
	Deliveries store.Deliveries
	Now        func() time.Time
}

// Look starts due occurrences. It stores the delivery before it records the start: after
// a crash in between, the duplicate delivery is dropped.
func (c Clock) Look(ctx context.Context) error {
	names, err := c.Repositories(ctx)
	if err != nil {
		return err
	}
	var wrong []error
	for _, repo := range names {
		t, err := c.Table(ctx, repo)
		wrong = append(wrong, err)
		for _, e := range t.Entries {
			wrong = append(wrong, c.start(ctx, e, t.Installation))
		}
	}
	return errors.Join(wrong...)
}

func (c Clock) start(ctx context.Context, e Entry, installation int64) error {
	s, err := c.State(ctx, e.Repository, e.Name)
	if err != nil || s.Last.IsZero() {
		return err
	}
	d, ok := e.due(s.Last, c.Now())
	if !ok {
		return nil
	}
	what := "started"
	switch {
	case d.Skip:
		what = fmt.Sprintf("left out: no server ran at %s", d.At.UTC().Format(time.DateTime))
	case d.Missed > 0:
		what = fmt.Sprintf("started once for %d times, most of them missed", d.Missed+1)
	}
	if !d.Skip {
		put, err := Start{Entry: e, At: d.At, Missed: d.Missed, Installation: installation}.Delivery()
		if err != nil {
			return err
		}
		if _, err := c.Deliveries.Put(ctx, &put); err != nil {
			return err
		}
	}
	return change(ctx, c.Book, stateKey(e.Repository, e.Name), func(now *State) bool {
		if !now.Last.Before(d.At) {
			return false // another server was faster
		}
		now.Last, now.Past = d.At, append(now.Past, HistoryEntry{c.Now(), what})
		now.Past = now.Past[max(0, len(now.Past)-maxPast):]
		return true
	})
}

// isEmptyResult reports whether a result is empty or says that there is nothing to report.
func isEmptyResult(result string) bool {
	words := strings.ToLower(strings.Trim(strings.TrimSpace(result), ".!*_`\" "))
	return words == "" || words == nothingWords
}

// nothingWords is the model's answer if there is nothing to report.
const nothingWords = "nothing to report"

// TaskOf returns the task of a scheduled session with a subject.
func TaskOf(s policy.Schedule, what string) string {
	return strings.TrimSpace(strings.TrimSpace(what)+"\n\n"+strings.TrimSpace(s.Task)) +
		"\n\nThere is no requester to ask. If nothing needs attention, answer with the words: " + nothingWords
}
