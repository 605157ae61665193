package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
)

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

// forget drops old deliveries at start and then daily, until ctx ends.
func forget(ctx context.Context, deliveries store.Deliveries, log *slog.Logger) {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for {
		n, err := deliveries.Prune(ctx, time.Now().Add(-forgetAfter))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.WarnContext(ctx, "forget old deliveries", "err", err)
		case n > 0:
			log.InfoContext(ctx, "forgot old deliveries", "count", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sweeper asks GitHub to send again what it could not deliver, since GitHub
// does not do that by itself.
type sweeper struct {
	app   *ghapp.App
	meta  store.Meta
	every time.Duration
	log   *slog.Logger
}

// run sweeps at start and then now and then, until ctx ends.
func (s *sweeper) run(ctx context.Context) {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		n, err := s.sweep(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log.ErrorContext(ctx, "sweep deliveries", "err", err)
		case n > 0:
			s.log.InfoContext(ctx, "asked for deliveries again", "count", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sweep asks once for what no attempt has delivered since the last sweep, and
// returns how many deliveries that were. The time of the sweep is kept when
// all were asked for.
func (s *sweeper) sweep(ctx context.Context) (int, error) {
	begin := time.Now()
	since, err := s.last(ctx, begin)
	if err != nil {
		return 0, err
	}
	list, err := s.app.Deliveries(ctx, since)
	if err != nil {
		return 0, err
	}
	missed := missing(list)
	for i, d := range missed {
		if err := s.app.Redeliver(ctx, d.ID); err != nil {
			return i, err
		}
	}
	return len(missed), s.meta.Set(ctx, sweptKey, []byte(begin.UTC().Format(time.RFC3339Nano)))
}

// last is the time from which a sweep looks.
func (s *sweeper) last(ctx context.Context, now time.Time) (time.Time, error) {
	oldest := now.Add(-sweepReach)
	text, err := s.meta.Get(ctx, sweptKey)
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
func missing(list []ghapp.Delivery) []ghapp.Delivery {
	seen := map[string]bool{}
	for _, d := range list {
		if d.OK() || d.Status == http.StatusBadRequest || d.Status == http.StatusRequestEntityTooLarge || !bot.Hears(d.Event) {
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
