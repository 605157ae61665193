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
			if err := s.Refresh(ctx); err != nil {
				w.Log.WarnContext(ctx, "look at the ref", "ref", s.Ref, "err", err)
			}
		}
		if idle, err := s.idle(ctx, w); err != nil || idle {
			return err
		}
	}
}

// idle reports whether nothing is left to do. What another works on that is not gone is
// left to it: it lets go only when it has found all that waits.
func (s *Store) idle(ctx context.Context, w Watch) (idle bool, err error) {
	unsure := map[string]bool{} // who may be gone
	err = s.read(ctx, func(b *book) error {
		now, end := s.stamp(), s.stamp().Add(w.Within)
		idle = true
		for _, l := range b.Leases {
			idle = idle && l.Owner != w.Owner
			if l.Owner != "" && time.Since(s.asked[l.Owner].at) > w.Look { //control:holder-is-not-gone
				unsure[l.Owner] = true
			}
		}
		for thread := range s.waiting(b, end) {
			switch l := b.Leases[thread]; {
			case l.Owner == "":
				idle = idle && l.NotBefore.After(end) //control:put-off-is-waited-for
			case l.Owner == w.Owner || !s.works(l, now):
				idle = false
			}
		}
		return nil
	})
	if err != nil || !idle || len(unsure) == 0 {
		return idle, err
	}
	for owner := range unsure {
		if _, err := s.gone(ctx, owner); err != nil {
			w.Log.WarnContext(ctx, "look whether another run works", "run", owner, "err", err)
		}
	}
	return false, nil // now more is known
}
