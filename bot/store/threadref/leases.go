package threadref

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
)

type leases struct{ *Store }

// holderState is the last known state of a holder of leases.
type holderState struct {
	at   time.Time
	gone bool // permanently
}

// gone asks whether a holder of leases is permanently gone, and remembers the answer.
func (s *Store) gone(ctx context.Context, owner string) (gone bool, err error) {
	if s.Away != nil {
		gone, err = s.Away(ctx, owner)
	}
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked[owner] = holderState{time.Now(), gone}
	}
	return gone, err
}

// works reports whether a lease is live and its holder is not known to be gone.
func (s *Store) works(l store.Lease, now time.Time) bool {
	return l.Live(now) && !s.asked[l.Owner].gone
}

// fence checks that the lease of a write is held.
func (b *book) fence(f store.Fence) (store.Lease, error) {
	l := b.Leases[f.Key]
	return l, l.Check(f)
}

// Acquire implements [store.Leases].
func (s leases) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (store.Lease, error) {
	if err := errors.Join(store.CheckName("lease key", key), store.CheckName("lease owner", owner)); err != nil {
		return store.Lease{}, fmt.Errorf("acquire lease: %w", err)
	}
	var l store.Lease
	take := func(b *book) error {
		l = b.Leases[key]
		l.Key = key
		free := l
		if s.asked[l.Owner].gone { //control:lease-of-a-run-that-ended
			free.Until = time.Time{}
		}
		err := free.Take(owner, s.stamp(), ttl)
		if err == nil {
			l, b.Leases[key] = free, free
		}
		return err
	}
	err := s.change(ctx, sure, take)
	if errors.Is(err, store.ErrHeld) && l.Owner != owner {
		if away, e := s.gone(ctx, l.Owner); e != nil {
			err = e
		} else if away {
			err = s.change(ctx, sure, take)
		}
	}
	if err != nil {
		return store.Lease{}, fmt.Errorf("acquire lease of %s: %w", key, err)
	}
	s.clearWake(key)
	return l, nil
}

// Heartbeat implements [store.Leases].
func (s leases) Heartbeat(ctx context.Context, held store.Lease, ttl time.Duration) (store.Lease, error) {
	var l store.Lease
	err := s.change(ctx, sure, func(b *book) (err error) {
		if l, err = b.fence(held.Fence()); err != nil {
			return err
		}
		l.Until = s.stamp().Add(ttl)
		b.Leases[l.Key] = l
		return nil
	})
	if err != nil {
		return held, fmt.Errorf("extend lease of %s: %w", held.Key, err)
	}
	return l, nil
}

// Release implements [store.Leases]. The lease is released in the same move of the ref
// that finds nothing waiting, or not at all.
func (s leases) Release(ctx context.Context, held store.Lease, backoff time.Time) (bool, error) {
	released := false
	err := s.change(ctx, sure, func(b *book) error {
		l, err := b.fence(held.Fence())
		if err != nil {
			return err
		}
		released = l.GiveBack(s.stamp(), backoff, len(b.undone(held.Key)) > 0)
		b.Leases[l.Key] = l
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("release lease of %s: %w", held.Key, err)
	}
	return released, nil
}

// Want implements [store.Leases].
func (s leases) Want(ctx context.Context, key string) (bool, error) {
	held := false
	err := s.change(ctx, sure, func(b *book) error {
		l, ok := b.Leases[key]
		if held = ok && l.Live(s.stamp()); held {
			l.Wanted = true
			b.Leases[key] = l
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("want lease of %s: %w", key, err)
	}
	return held, nil
}

// Lease implements [store.Leases].
func (s leases) Lease(ctx context.Context, key string) (l store.Lease, err error) {
	err = s.read(ctx, func(b *book) error {
		var ok bool
		if l, ok = b.Leases[key]; !ok {
			return store.ErrNotFound
		}
		return nil
	})
	if err != nil {
		return l, fmt.Errorf("read lease of %s: %w", key, err)
	}
	return l, nil
}
