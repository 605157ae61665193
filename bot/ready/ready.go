// Package ready knows what the server lacks to do its work: at start, now and then,
// and when work fails it asks those that it depends on, and says in the log and to
// whoever asks what is wrong. Nothing is given up meanwhile: deliveries and sessions
// wait.
package ready

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Part is something that the server depends on. Ask returns nil when it is there, and
// otherwise says what is wrong and what to do.
type Part struct {
	Name string
	Ask  func(context.Context) error
}

// Config is what a Watch is made of.
type Config struct {
	Parts []Part
	Every time.Duration         // between looks, 30 s when zero; a sixth of it while something is wrong
	Back  func(context.Context) // called when something is back; nil for nothing
	Log   *slog.Logger
}

// Watch looks after parts. It is safe for concurrent use.
type Watch struct {
	Config

	soon chan struct{}

	mu    sync.Mutex
	wrong map[string]trouble
}

type trouble struct {
	text  string
	until time.Time // it is forgotten then; zero for never
}

// patience is how long a part may take to answer.
const patience = 10 * time.Second

// noted is how long a trouble stays that somebody met and nobody met again.
const noted = 5 * time.Minute

// New returns a watch. It asks nobody before Run.
func New(c Config) *Watch {
	if c.Every == 0 {
		c.Every = 30 * time.Second
	}
	return &Watch{Config: c, soon: make(chan struct{}, 1), wrong: map[string]trouble{}}
}

// Run looks at once and then now and then, until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	for ctx.Err() == nil {
		w.look(ctx)
		least := min(w.Every/6, time.Second) // work that fails everywhere asks for a look often
		wait(ctx, least, nil)
		if len(w.Troubles()) > 0 {
			wait(ctx, w.Every/6-least, w.soon)
		} else {
			wait(ctx, w.Every-least, w.soon)
		}
	}
}

// wait waits for d, for ctx to end, or for more.
func wait(ctx context.Context, d time.Duration, more <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-more:
	}
}

// Soon has the parts asked at once: something did not work.
func (w *Watch) Soon() {
	select {
	case w.soon <- struct{}{}:
	default:
	}
}

// look asks all parts.
func (w *Watch) look(ctx context.Context) {
	var asked sync.WaitGroup
	for _, p := range w.Parts {
		asked.Go(func() {
			call, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			err := p.Ask(call)
			if ctx.Err() == nil {
				w.set(ctx, p.Name, err, time.Time{})
			}
		})
	}
	asked.Wait()
}

// Note takes in what somebody met at work on a part that is not asked by itself; nil
// means that it works.
func (w *Watch) Note(ctx context.Context, name string, err error) {
	w.set(ctx, name, err, time.Now().Add(noted))
}

// Met takes in that work found a part away which is asked by itself: the server is not
// ready from now on, and the part is asked at once.
func (w *Watch) Met(ctx context.Context, name string, err error) {
	w.set(ctx, name, err, time.Time{}) //control:not-ready-at-once
	w.Soon()
}

// set keeps how a part is, and tells of what changed.
func (w *Watch) set(ctx context.Context, name string, err error, until time.Time) {
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

// Troubles says what is wrong, a line for each part; nothing when all is well.
func (w *Watch) Troubles() []string {
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
