package threadref

import (
	"context"
	"log/slog"
	"time"
)

// Watch configures [Store.UntilIdle].
type Watch struct {
	Owner  string        // owner of this process's leases
	Within time.Duration // later work is left to another process
	Look   time.Duration // interval between reads of the ref
	Log    *slog.Logger
}

// UntilIdle waits until this process holds no lease and has no work, now or within
// w.Within. It notices work that other processes leave in the ref. It returns nil if ctx
// ends.
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

// idle reports whether no work is left. Threads of another live process are left to it:
// it releases its lease only when nothing waits.
func (s *Store) idle(ctx context.Context, w Watch) (idle bool, err error) {
	unsure := map[string]bool{} // owners that may be gone
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
	return false, nil // the answers may change the result
}
