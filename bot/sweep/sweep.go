// Package sweep asks GitHub for deliveries that did not arrive: failed ones are redelivered, and a bot
// that GitHub cannot reach reads all of them (poll.go). It deletes old ones.
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

// Every runs a function at start and then after each pause.
type Every struct {
	Pause time.Duration
	Later bool // skips the run at start
	Log   *slog.Logger
}

// Run calls do until ctx ends. It logs errors with the name of the work, and calls do
// again after the pause.
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
	// sweepOverlap is the overlap of a sweep with the previous one: clocks may differ by
	// up to ten minutes, and a redelivery may fail too.
	sweepOverlap = 20 * time.Minute
	// sweepReach is the time for which GitHub keeps deliveries.
	sweepReach = 72 * time.Hour
	sweptKey   = "deliveries swept"
)

const (
	forgetEvery = 24 * time.Hour
	// forgetAfter is the time for which a finished delivery is kept to detect duplicates.
	// GitHub redelivers nothing older than sweepReach, but an old database may be imported.
	forgetAfter = 30 * 24 * time.Hour
)

// Forget deletes old deliveries at start and then daily, until ctx ends.
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

// KeepSpent preserves the count of writes to GitHub within the last hour across restarts,
// until ctx ends.
func KeepSpent(ctx context.Context, app *ghapp.App, meta store.Meta, log *slog.Logger) {
	last, err := meta.Get(ctx, spentKey)
	if err == nil {
		err = app.CountSpent(last)
	}
	if store.Unless(err, store.ErrNotFound) != nil {
		log.WarnContext(ctx, "the writes of the last hour are not known", "err", err)
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
			log.WarnContext(ctx, "keep listed texts", "err", err)
		}
	}
}

// Sweeper asks GitHub to redeliver failed deliveries, which GitHub does not do by itself.
type Sweeper struct {
	cfg Config
}

// Config configures a Sweeper.
type Config struct {
	GitHub *ghapp.App
	Meta   store.Meta              // keeps the time of the last sweep
	Hears  func(event string) bool // reports whether events of a kind are handled
	Every  time.Duration           // interval, zero means 5 minutes
	Log    *slog.Logger
}

// New returns a sweeper.
func New(cfg Config) *Sweeper {
	if cfg.Every == 0 {
		cfg.Every = sweepEvery
	}
	return &Sweeper{cfg}
}

// Run sweeps at start and then at intervals, until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	Every{Pause: s.cfg.Every, Log: s.cfg.Log}.Run(ctx, "sweep deliveries", func(ctx context.Context) error {
		n, err := s.Sweep(ctx)
		if err == nil && n > 0 {
			s.cfg.Log.InfoContext(ctx, "asked for deliveries again", "count", n)
		}
		return err
	})
}

// Sweep requests each delivery that has failed since the last sweep once, and returns
// their number. It records the time of the sweep only after all requests succeeded.
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

// last returns the time from which to sweep.
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
	return latest(oldest, earlier(at, now).Add(-sweepOverlap)), nil
}

// missing picks one attempt for each undelivered event, oldest first. Deliveries refused
// as malformed or too large are left out: they would be refused again.
func (s *Sweeper) missing(list []ghapp.Delivery) []ghapp.Delivery {
	seen := map[string]bool{}
	for _, d := range list {
		if d.OK() || d.Status == http.StatusBadRequest || d.Status == http.StatusRequestEntityTooLarge ||
			!s.cfg.Hears(d.Event) {
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
