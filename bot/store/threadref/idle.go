package threadref

import (
	"context"
	"log/slog"
	"time"
)

// Watch says what a process waits for, and who is told.
type Watch struct {
	Owner  string        // of the leases of this process
	Within time.Duration // what is due later is left to another process
	Look   time.Duration // between two looks at the ref
	Log    *slog.Logger
}

// UntilIdle waits until nothing is left to do for this process: it has no lease, and
// there is nothing that it is to look at, now or within a time. What others leave in the
// ref meanwhile is found. It returns nil when ctx ends.
func (s *Store) UntilIdle(ctx context.Context, w Watch) error {
	tick := time.NewTicker(min(w.Look, 200*time.Millisecond))
	defer tick.Stop()
	for looked := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if time.Since(looked) > w.Look {
			looked = time.Now()
			if _, err := s.refresh(ctx); err != nil {
				w.Log.WarnContext(ctx, "look at the ref", "ref", s.Ref, "err", err)
			}
		}
		if idle, err := s.idle(ctx, w); err != nil || idle {
			return err
		}
	}
}

func (s *Store) idle(ctx context.Context, w Watch) (idle bool, err error) {
	err = s.read(ctx, func(b *book) error {
		idle = true
		for _, at := range s.due {
			idle = idle && at.After(s.stamp().Add(w.Within))
		}
		for _, l := range b.Leases {
			idle = idle && l.Owner != w.Owner
		}
		for _, d := range b.Deliveries {
			l := b.Leases[d.Thread]
			idle = idle && live(l, s.stamp()) && l.Owner != w.Owner
		}
		return nil
	})
	return idle, err
}
