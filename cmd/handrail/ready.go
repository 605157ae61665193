package main

// The services that the server depends on are monitored: at the start, regularly, and after
// failed work. This reports problems in the log and to callers.
// Deliveries and sessions wait during an outage; none is given up.

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// readyPart is a service that the server depends on. Ask returns nil if it works, and
// otherwise an error that explains the problem and the remedy.
type readyPart struct {
	Name string
	Ask  func(context.Context) error
}

// readyConfig is the configuration of a Watch.
type readyConfig struct {
	Parts []readyPart
	Every time.Duration         // pause between checks; 0 means 30 s; a sixth during a problem
	Back  func(context.Context) // called when a part works again; may be nil
	Log   *slog.Logger
}

// readiness monitors parts. It is safe for concurrent use.
type readiness struct {
	readyConfig

	soon chan struct{}

	mu    sync.Mutex
	wrong map[string]trouble
}

type trouble struct {
	text  string
	until time.Time // expiry; the zero time means never
}

// readyPatience is the timeout of a part's check.
const readyPatience = 10 * time.Second

// noteTTL is the lifetime of a problem that Note reported, unless it is reported again.
const noteTTL = 5 * time.Minute

// newReadiness returns a watch. It checks nothing before Run.
func newReadiness(c readyConfig) *readiness {
	if c.Every == 0 {
		c.Every = 30 * time.Second
	}
	return &readiness{readyConfig: c, soon: make(chan struct{}, 1), wrong: map[string]trouble{}}
}

// Run checks all parts at once and then regularly, until ctx ends.
func (w *readiness) Run(ctx context.Context) {
	for ctx.Err() == nil {
		w.look(ctx)
		least := min(w.Every/6, time.Second) // failing work may request checks at a high rate
		wait(ctx, least, nil)
		if len(w.Troubles()) > 0 {
			wait(ctx, w.Every/6-least, w.soon)
		} else {
			wait(ctx, w.Every-least, w.soon)
		}
	}
}

// wait waits for d, the end of ctx, or a value from more.
func wait(ctx context.Context, d time.Duration, more <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-more:
	}
}

// Soon requests an early check of the parts, after a failure.
func (w *readiness) Soon() {
	select {
	case w.soon <- struct{}{}:
	default:
	}
}

// look checks all parts.
func (w *readiness) look(ctx context.Context) {
	var asked sync.WaitGroup
	for _, p := range w.Parts {
		asked.Go(func() {
			call, cancel := context.WithTimeout(ctx, readyPatience)
			defer cancel()
			err := p.Ask(call)
			if ctx.Err() == nil {
				w.set(ctx, p.Name, err, time.Time{})
			}
		})
	}
	asked.Wait()
}

// Note records the result of work for a part without a check of its own; a nil err
// means that it works.
func (w *readiness) Note(ctx context.Context, name string, err error) {
	w.set(ctx, name, err, time.Now().Add(noteTTL))
}

// NoteOutage records that work found a checked part unavailable. The server counts as not
// ready from then on, and the parts are checked soon.
func (w *readiness) NoteOutage(ctx context.Context, name string, err error) {
	w.set(ctx, name, err, time.Time{}) //control:not-ready-at-once
	w.Soon()
}

// set records the state of a part and logs changes.
func (w *readiness) set(ctx context.Context, name string, err error, until time.Time) {
	w.mu.Lock()
	was, bad := w.wrong[name]
	if err == nil {
		delete(w.wrong, name)
	} else {
		w.wrong[name] = trouble{err.Error(), until}
	}
	w.mu.Unlock()
	switch {
	case err != nil && was.text != err.Error():
		w.Log.ErrorContext(ctx, "not ready: deliveries and sessions wait", "part", name, "err", err)
	case err == nil && bad:
		w.Log.InfoContext(ctx, "ready again", "part", name)
		if w.Back != nil {
			w.Back(ctx)
		}
	}
}

// Troubles returns the current problems, one line per part; none if all parts work.
func (w *readiness) Troubles() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(w.wrong)) {
		t := w.wrong[name]
		if !t.until.IsZero() && time.Now().After(t.until) {
			delete(w.wrong, name)
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s", name, t.text))
	}
	return out
}
