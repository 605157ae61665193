package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

type leases struct{ *base }

// readLease reads a lease. In a transaction, lock locks its row.
func readLease(ctx context.Context, q query, key string, lock string) (store.Lease, error) {
	l := store.Lease{Key: key}
	var until, notBefore int64
	var wanted int
	err := q.row(ctx, []any{&l.Owner, &l.Epoch, &until, &notBefore, &l.Attempts, &wanted},
		`SELECT owner, epoch, until, not_before, attempts, wanted FROM leases WHERE key = ?`+lock, key)
	l.Until, l.NotBefore, l.Wanted = fromMicros(until), fromMicros(notBefore), wanted != 0
	return l, err
}

func writeLease(ctx context.Context, q query, l store.Lease) error {
	wanted := 0
	if l.Wanted {
		wanted = 1
	}
	_, err := q.exec(
		ctx,
		`UPDATE leases SET owner = ?, epoch = ?, until = ?, not_before = ?, attempts = ?, wanted = ? WHERE key = ?`,
		l.Owner,
		l.Epoch,
		micros(l.Until),
		micros(l.NotBefore),
		l.Attempts,
		wanted,
		l.Key,
	)
	return err
}

// fence locks the lease of a write and checks that it is held.
func fence(ctx context.Context, q query, f store.Fence) (store.Lease, error) {
	l, err := readLease(ctx, q, f.Key, q.Lock)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return l, session.ErrFenced
	case err != nil:
		return l, fmt.Errorf("read lease: %w", err)
	}
	return l, l.Check(f)
}

// Acquire implements [store.Leases].
func (s *leases) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (store.Lease, error) {
	var l store.Lease
	for _, err := range []error{store.CheckName("lease key", key), store.CheckName("lease owner", owner)} {
		if err != nil {
			return l, fmt.Errorf("acquire lease: %w", err)
		}
	}
	err := s.write(ctx, func(q query) (err error) {
		_, err = q.exec(
			ctx,
			`INSERT INTO leases (key, owner, epoch, until, not_before, attempts, wanted) VALUES (?, '', 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING`,
			key,
		)
		if err != nil {
			return err
		}
		if l, err = readLease(ctx, q, key, q.Lock); err != nil {
			return err
		}
		if err := l.Take(owner, s.stamp(), ttl); err != nil {
			return err
		}
		return writeLease(ctx, q, l)
	})
	if err != nil {
		return store.Lease{}, fmt.Errorf("acquire lease of %s: %w", key, err)
	}
	return l, nil
}

// Heartbeat implements [store.Leases].
func (s *leases) Heartbeat(ctx context.Context, held store.Lease, ttl time.Duration) (store.Lease, error) {
	var l store.Lease
	err := s.write(ctx, func(q query) (err error) {
		if l, err = fence(ctx, q, held.Fence()); err != nil {
			return err
		}
		l.Until = s.stamp().Add(ttl)
		return writeLease(ctx, q, l)
	})
	if err != nil {
		return held, fmt.Errorf("extend lease of %s: %w", held.Key, err)
	}
	return l, nil
}

// Release implements [store.Leases].
func (s *leases) Release(ctx context.Context, held store.Lease, backoff time.Time) (bool, error) {
	released := false
	err := s.write(ctx, func(q query) error {
		l, err := fence(ctx, q, held.Fence())
		if err != nil {
			return err
		}
		// The row is locked: a concurrent delivery is either visible to this check, or its wake
		// finds the lease free.
		more, err := pending(ctx, q, held.Key)
		if err != nil {
			return err
		}
		released = l.GiveBack(s.stamp(), backoff, more)
		return writeLease(ctx, q, l)
	})
	if err != nil {
		return false, fmt.Errorf("release lease of %s: %w", held.Key, err)
	}
	return released, nil
}

func pending(ctx context.Context, q query, thread string) (bool, error) {
	var one int
	err := q.row(ctx, []any{&one}, `SELECT 1 FROM deliveries WHERE thread = ? AND done IS NULL LIMIT 1`, thread)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Want implements [store.Leases].
func (s *leases) Want(ctx context.Context, key string) (bool, error) {
	held := false
	err := s.write(ctx, func(q query) error {
		l, err := readLease(ctx, q, key, q.Lock)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if held = l.Live(s.now()); !held || l.Wanted {
			return nil
		}
		l.Wanted = true
		return writeLease(ctx, q, l)
	})
	if err != nil {
		return false, fmt.Errorf("want lease of %s: %w", key, err)
	}
	return held, nil
}

// Lease implements [store.Leases].
func (s *leases) Lease(ctx context.Context, key string) (store.Lease, error) {
	l, err := readLease(ctx, s.read(), key, "")
	if err != nil {
		return store.Lease{}, fmt.Errorf("read lease of %s: %w", key, err)
	}
	return l, nil
}

// maxAhead is longer than any lease and any backoff of a server with its own database.
const maxAhead = 10 * time.Minute

// followClock ends the leases and backoffs that were written before the clock was set back; they
// would last until it is as late again. Servers that share a database have a clock each, and none
// is known to be right.
func (b *base) followClock(ctx context.Context) {
	now := b.stamp()
	last := b.seen.Swap(micros(now))
	if b.Lane == nil || last != 0 && micros(now) >= last { //control:clock-set-back
		return
	}
	err := b.write(ctx, func(q query) error {
		for _, end := range []string{
			`UPDATE leases SET until = ? WHERE (owner <> '' OR wanted = 1) AND until > ?`,
			`UPDATE leases SET not_before = ? WHERE (owner <> '' OR wanted = 1) AND not_before > ?`,
		} {
			if _, err := q.exec(ctx, end, micros(now), micros(now.Add(maxAhead))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.seen.Store(0) // the next search tries again
		b.log.WarnContext(ctx, "end leases of a clock that was set back", "err", err)
	}
}
