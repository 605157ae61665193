// Package sweep looks after deliveries: it asks GitHub to send again what it
// could not deliver, and forgets what was worked on long ago.
package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
)

// Every has something done at start and then after each pause.
type Every struct {
	Pause time.Duration
	Later bool // not at start
	Log   *slog.Logger
}

// Run does it until ctx ends. What fails is logged, and tried again after the pause.
func (e Every) Run(ctx context.Context, what string, do func(context.Context) error) {
	tick := time.NewTicker(e.Pause)
	defer tick.Stop()
	for later := e.Later; ; later = false {
		if !later {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				e.Log.ErrorContext(ctx, "not done now", "what", what, "err", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

const (
	sweepEvery = 5 * time.Minute
	// sweepOverlap is how much further back a sweep looks than the last one:
	// clocks differ by up to ten minutes, and a try may fail too.
	sweepOverlap = 20 * time.Minute
	// sweepReach is how long GitHub keeps deliveries.
	sweepReach = 72 * time.Hour
	sweptKey   = "deliveries swept"
)

const (
	forgetEvery = 24 * time.Hour
	// forgetAfter is how long a delivery that was worked on is remembered, to
	// know it when it comes again. GitHub sends none again that is older than
	// sweepReach; people may import a database that slept.
	forgetAfter = 30 * 24 * time.Hour
)

// Forget drops old deliveries at start and then daily, until ctx ends.
func Forget(ctx context.Context, deliveries store.Deliveries, log *slog.Logger) {
	Every{Pause: forgetEvery, Log: log}.Run(ctx, "forget old deliveries", func(ctx context.Context) error {
		n, err := deliveries.Prune(ctx, time.Now().Add(-forgetAfter))
		if err == nil && n > 0 {
			log.InfoContext(ctx, "forgot old deliveries", "count", n)
		}
		return err
	})
}

const (
	spentKey   = "writes of the last hour"
	spentEvery = 10 * time.Second
)

// KeepSpent remembers over a restart what was written to GitHub within the
// last hour, until ctx ends.
func KeepSpent(ctx context.Context, app *ghapp.App, meta store.Meta, log *slog.Logger) {
	last, err := meta.Get(ctx, spentKey)
	if err == nil {
		err = app.CountSpent(last)
	}
	if store.Unless(err, store.ErrNotFound) != nil {
		log.WarnContext(ctx, "what was written within the last hour is not known", "err", err)
	}
	tick := time.NewTicker(spentEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		now, err := app.Spent()
		if err == nil && !bytes.Equal(now, last) {
			err = meta.Set(context.WithoutCancel(ctx), spentKey, now)
		}
		if last = now; err != nil {
			log.WarnContext(ctx, "keep what was written", "err", err)
		}
	}
}

// Sweeper asks GitHub to send again what it could not deliver, since GitHub
// does not do that by itself.
type Sweeper struct {
	cfg Config
}

// Config is what a sweeper is made of.
type Config struct {
	GitHub *ghapp.App
	Meta   store.Meta              // keeps the time of the last sweep
	Hears  func(event string) bool // whether anybody listens to events of a kind
	Every  time.Duration           // between sweeps, 5 minutes when zero
	Log    *slog.Logger
}

// New returns a sweeper.
func New(cfg Config) *Sweeper {
	if cfg.Every == 0 {
		cfg.Every = sweepEvery
	}
	return &Sweeper{cfg}
}

// Run sweeps at start and then now and then, until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	Every{Pause: s.cfg.Every, Log: s.cfg.Log}.Run(ctx, "sweep deliveries", func(ctx context.Context) error {
		n, err := s.Sweep(ctx)
		if err == nil && n > 0 {
			s.cfg.Log.InfoContext(ctx, "asked for deliveries again", "count", n)
		}
		return err
	})
}

// Sweep asks once for what no attempt has delivered since the last sweep, and
// returns how many deliveries that were. The time of the sweep is kept when
// all were asked for.
func (s *Sweeper) Sweep(ctx context.Context) (int, error) {
	begin := time.Now()
	since, err := s.last(ctx, begin)
	if err != nil {
		return 0, err
	}
	list, err := s.cfg.GitHub.Deliveries(ctx, since)
	if err != nil {
		return 0, err
	}
	missed := s.missing(list)
	for i, d := range missed {
		if err := s.cfg.GitHub.Redeliver(ctx, d.ID); err != nil {
			return i, err
		}
	}
	return len(missed), s.cfg.Meta.Set(ctx, sweptKey, []byte(begin.UTC().Format(time.RFC3339Nano)))
}

// last is the time from which a sweep looks.
func (s *Sweeper) last(ctx context.Context, now time.Time) (time.Time, error) {
	oldest := now.Add(-sweepReach)
	text, err := s.cfg.Meta.Get(ctx, sweptKey)
	if errors.Is(err, store.ErrNotFound) {
		return oldest, nil
	}
	if err != nil {
		return oldest, err
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return oldest, fmt.Errorf("read time of the last sweep: %w", err)
	}
	if at = at.Add(-sweepOverlap); at.After(oldest) {
		return at, nil
	}
	return oldest, nil
}

// missing picks one attempt for each event that no attempt has delivered,
// oldest first. What was refused as no delivery at all is refused again.
func (s *Sweeper) missing(list []ghapp.Delivery) []ghapp.Delivery {
	seen := map[string]bool{}
	for _, d := range list {
		if d.OK() || d.Status == http.StatusBadRequest || d.Status == http.StatusRequestEntityTooLarge || !s.cfg.Hears(d.Event) {
			seen[d.GUID] = true
		}
	}
	var out []ghapp.Delivery
	for _, d := range slices.Backward(list) {
		if !seen[d.GUID] {
			seen[d.GUID] = true
			out = append(out, d)
		}
	}
	return out
}
