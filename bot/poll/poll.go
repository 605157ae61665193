// Package poll asks GitHub for what happened, where GitHub cannot reach the bot: behind a
// router, without a public address.
//
// For an App it reads the deliveries of the App's webhook, whatever became of them. With
// a token it lists what was written. Both are taken in as the webhook does it: stored
// once, under the id and the key that a delivery by webhook has, so that what comes both
// ways is worked on once.
//
// What was seen is remembered by GitHub's own times. The clock of this machine decides
// nothing but how far back a poll goes after a long silence.
package poll

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
)

// Config is what a poller is made of.
type Config struct {
	GitHub *ghapp.App
	Store  store.Store
	// Source returns where an event belongs, and false for one that nobody needs.
	Source func(ctx context.Context, event string, payload []byte) (store.Delivery, bool, error)
	Hears  func(event string) bool // whether anybody listens to events of a kind
	Every  time.Duration           // between polls
	Log    *slog.Logger
}

// Poller polls. It is for one goroutine.
type Poller struct {
	Config

	seen map[string]time.Time // ids of deliveries, with GitHub's time of them
}

// New returns a poller.
func New(cfg Config) *Poller { return &Poller{Config: cfg, seen: map[string]time.Time{}} }

const (
	// overlap is how much further back a poll looks than the newest thing that the last one
	// saw: GitHub shows some things later than others.
	overlap = 5 * time.Minute
	// reach is how far back a poll goes at all. GitHub keeps deliveries as long, and what
	// somebody wrote before that is no wish of today.
	reach = 72 * time.Hour
	// longest is how long a poller waits after failures, unless GitHub asks for more.
	longest = 5 * time.Minute
)

// Run polls at start and then after each pause, until ctx ends.
func (p *Poller) Run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		err := p.poll(ctx)
		failures++
		if err == nil {
			failures = 0
		} else if ctx.Err() == nil {
			p.Log.ErrorContext(ctx, "GitHub cannot be polled now", "again", p.pause(err, failures), "err", err)
		}
		if ghapp.Sleep(ctx, p.pause(err, failures)) != nil {
			return
		}
	}
}

// pause returns how long to wait after a poll: longer from failure to failure, and as
// long as GitHub asks for.
func (p *Poller) pause(err error, failures int) time.Duration {
	pause := p.Every
	for range failures {
		pause = max(p.Every, min(2*pause, longest))
	}
	var refused *ghapp.Error
	if errors.As(err, &refused) {
		pause = max(pause, refused.RetryAfter) //control:polls-wait-as-asked
	}
	return pause
}

// poll polls once.
func (p *Poller) poll(ctx context.Context) error { return p.deliveries(ctx) }

// take stores an event as the webhook does. One that cannot be read is left out, as the
// webhook refuses it.
func (p *Poller) take(ctx context.Context, id, event string, payload []byte) error {
	d, wanted, err := p.Source(ctx, event, payload)
	if errors.Is(err, store.ErrUnparsable) {
		p.Log.WarnContext(ctx, "an event of GitHub's cannot be read", "event", event, "delivery", id, "err", err)
		return nil
	}
	if err != nil || !wanted {
		return err
	}
	if d.ID = id; id == "" {
		d.ID = "listed-" + d.Key
	}
	d.Event, d.Payload, d.Received = event, payload, time.Now()
	_, err = p.Store.Deliveries.Put(ctx, &d)
	return err
}
