package sweep

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
)

// pruned notes what it is told to forget.
type pruned struct {
	store.Deliveries
	before chan time.Time
}

func (p pruned) Prune(_ context.Context, before time.Time) (int, error) {
	p.before <- before
	return 1, nil
}

// TestForget: a server forgets old deliveries, and none that GitHub could
// send again.
func TestForget(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p, ended := pruned{before: make(chan time.Time)}, make(chan struct{})
	go func() {
		defer close(ended)
		Forget(ctx, p, slog.New(slog.DiscardHandler))
	}()
	if age := time.Since(<-p.before); age < 2*sweepReach || age > 60*24*time.Hour {
		t.Errorf("it forgets what is older than %v", age)
	}
	stop()
	<-ended
}
