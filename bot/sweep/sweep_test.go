package sweep

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/reads"
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

// values keeps values in memory.
type values struct {
	store.Meta
	of map[string][]byte
}

func (v values) Get(_ context.Context, key string) ([]byte, error) { return v.of[key], nil }

func (v values) Set(_ context.Context, key string, value []byte) error {
	v.of[key] = value
	return nil
}

// TestClockSetBack: after the clock was ahead, what was missed is looked for up to now and
// not from then on.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	ahead := time.Now().Add(48 * time.Hour).UTC()
	text, err := json.Marshal(listed{First: ahead.Add(-time.Hour), Last: ahead})
	if err != nil {
		t.Fatal(err)
	}
	v := values{of: map[string][]byte{sweptKey: []byte(ahead.Format(time.RFC3339Nano)), listedKey: text}}
	var since time.Time
	l := Lister{Meta: v, Log: slog.New(slog.DiscardHandler), Said: func(_ context.Context, at time.Time) ([]reads.Said, error) {
		since = at
		return nil, nil
	}}
	if err := l.list(t.Context()); err != nil || since.IsZero() || time.Until(since) > 0 {
		t.Errorf("texts are listed since %s: %v", since, err)
	}
	if since, err = New(Config{Meta: v}).last(t.Context(), time.Now()); err != nil || time.Until(since) > 0 {
		t.Errorf("deliveries are swept since %s: %v", since, err)
	}
}
