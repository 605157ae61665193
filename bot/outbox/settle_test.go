package outbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/storetest"
)

// openIntents has open intents only.
type openIntents struct {
	store.Intents
	list []store.Intent
}

func (o openIntents) Open(context.Context, string) ([]store.Intent, error) { return o.list, nil }

// TestSettlesInTime: a write whose answer was lost is looked up after the settle time, also if the
// clock was set back since.
func TestSettlesInTime(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	for ahead, want := range map[time.Duration]time.Duration{
		-time.Hour:       time.Second,
		30 * time.Second: 30 * time.Second,
		2 * time.Hour:    time.Minute,
	} {
		in := store.Intent{State: store.Attempted, NotBefore: clock.Now().Add(ahead)}
		o := outbox.Outbox{Store: openIntents{list: []store.Intent{in}}, Settle: time.Minute, Now: clock.Now}
		next, err := o.NextRetry(t.Context())
		if err != nil || next.Sub(clock.Now()) != want {
			t.Errorf("%s ahead: in %s, want %s (%v)", ahead, next.Sub(clock.Now()), want, err)
		}
	}
}
