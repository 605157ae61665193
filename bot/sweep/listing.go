package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/store"
)

// Lister finds comments written during a downtime of a bot that uses a token. With a
// token, GitHub lists no deliveries.
type Lister struct {
	// Said returns the posts since a time. Take handles an event like the webhook does; a
	// known one changes nothing.
	Said  func(ctx context.Context, since time.Time) ([]reads.Said, error)
	Take  func(ctx context.Context, event string, payload []byte) error
	Meta  store.Meta
	Every time.Duration // interval, zero means 5 minutes
	Log   *slog.Logger
}

// Follow handles new posts until ctx ends. Said keeps its own position.
func (l Lister) Follow(ctx context.Context) {
	Every{Pause: l.Every, Later: true, Log: l.Log}.Run(ctx, "look at new texts", func(ctx context.Context) error {
		return l.since(ctx, listed{}, time.Time{})
	})
}

// listedKey is the key of the stored times of listings.
const listedKey = "comments listed"

// listed holds the times of the first listing, before which posts are ignored, and of the
// last one. Before lists posts that existed already in the second of the first listing.
type listed struct {
	First, Last time.Time
	Before      []string
}

// Run lists at start and then at intervals, until ctx ends.
func (l Lister) Run(ctx context.Context) {
	Every{Pause: cmp.Or(l.Every, sweepEvery), Log: l.Log}.Run(ctx, "list new texts", l.list)
}

// list handles the posts since the last listing. The first listing handles nothing: posts
// from before the bot's installation are not meant for it.
func (l Lister) list(ctx context.Context) error {
	now := time.Now()
	times := listed{First: now.Truncate(time.Second)} // GitHub's times have a precision of one second
	text, err := l.Meta.Get(ctx, listedKey)
	switch {
	case errors.Is(err, store.ErrNotFound):
		said, err := l.Said(ctx, times.First)
		if err != nil {
			return err
		}
		for _, s := range said {
			times.Before = append(times.Before, s.ID)
		}
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &times); err != nil {
			return fmt.Errorf("read time of the last listing: %w", err)
		}
		times.First, times.Last = earlier(times.First, now), earlier(times.Last, now)
		if err := l.since(ctx, times, latest(times.First, times.Last.Add(-sweepOverlap), now.Add(-sweepReach))); err != nil {
			return err
		}
	}
	times.Last = now
	if text, err = json.Marshal(times); err != nil {
		return err
	}
	if err := l.Meta.Set(ctx, listedKey, text); err != nil {
		return err
	}
	if times.First.Equal(now.Truncate(time.Second)) {
		l.Log.WarnContext(ctx, "with a token GitHub cannot be asked for missed deliveries; new texts are listed from now on")
	}
	return nil
}

func (l Lister) since(ctx context.Context, times listed, since time.Time) error {
	said, err := l.Said(ctx, since)
	if err != nil {
		return err
	}
	for _, s := range said {
		if slices.Contains(times.Before, s.ID) {
			continue
		}
		if err := l.Take(ctx, s.Event, s.Payload); err != nil {
			return err
		}
	}
	return nil
}

// earlier returns the earlier of a stored time and now: a stored time is later if the clock
// was set back, and nothing was looked at in between.
func earlier(stored, now time.Time) time.Time {
	if stored.After(now) { //control:set-back-clock
		return now
	}
	return stored
}

func latest(times ...time.Time) time.Time {
	out := times[0]
	for _, t := range times[1:] {
		if t.After(out) {
			out = t
		}
	}
	return out
}
