package sweep

// A poller reads the deliveries of the App's webhook from GitHub. It is for a bot
// that GitHub cannot reach: behind a router, without a public address.
//
// It takes in all deliveries, whether or not they failed, in the same way as the
// webhook: each is stored once, under the same id and key, so a delivery that arrives
// both ways is processed once.
//
// The position is kept by GitHub's clock. The local clock only limits the period that a
// poll covers after a long pause.

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/store"
)

// PollConfig is the configuration of a poller.
type PollConfig struct {
	GitHub *ghapp.App
	Store  store.Store
	// Source returns the delivery of an event, with its thread. It returns false if the
	// event is not needed.
	Source func(ctx context.Context, event string, payload []byte) (store.Delivery, bool, error)
	Hears  func(event string) bool // whether the bot uses events of a kind
	Every  time.Duration           // pause between polls
	Log    *slog.Logger
}

// poller polls GitHub. It is not safe for concurrent use.
type poller struct {
	PollConfig

	seen map[string]time.Time // GitHub's time by delivery id
}

// Poll polls GitHub until ctx ends.
func Poll(ctx context.Context, cfg PollConfig) { newPoller(cfg).run(ctx) }

func newPoller(cfg PollConfig) *poller { return &poller{PollConfig: cfg, seen: map[string]time.Time{}} }

const (
	// overlap is the time by which two polls overlap, because GitHub lists some deliveries
	// late.
	overlap = 5 * time.Minute
	// maxAge is the maximum age of a polled delivery. GitHub keeps deliveries no longer, and
	// older requests are out of date.
	maxAge = 72 * time.Hour
	// maxPause is the maximum pause after failures, unless GitHub asks for more.
	maxPause = 5 * time.Minute
)

// run polls at once and then after each pause, until ctx ends.
func (p *poller) run(ctx context.Context) {
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

// pause returns the time until the next poll. It grows with each failure, and is at
// least the time that GitHub asked for.
func (p *poller) pause(err error, failures int) time.Duration {
	pause := p.Every
	for range failures {
		pause = max(p.Every, min(2*pause, maxPause))
	}
	var refused *ghapp.Error
	if errors.As(err, &refused) {
		pause = max(pause, refused.RetryAfter) //control:polls-wait-as-asked
	}
	return pause
}

func (p *poller) poll(ctx context.Context) error { return p.deliveries(ctx) }

// take stores an event as the webhook does. It skips malformed events, which the
// webhook refuses.
func (p *poller) take(ctx context.Context, id, event string, payload []byte) error {
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
