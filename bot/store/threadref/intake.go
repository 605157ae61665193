package threadref

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
)

type deliveries struct{ *Store }

// Put implements [store.Deliveries].
func (s deliveries) Put(ctx context.Context, all ...*store.Delivery) (stored []bool, err error) {
	for _, d := range all {
		if err := store.CheckDelivery(d); err != nil {
			return nil, fmt.Errorf("store delivery: %w", err)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	var kept []store.Delivery
	err = s.change(ctx, sure, func(b *book) error {
		stored, kept = make([]bool, len(all)), nil
		for i, d := range all {
			if b.has(d.ID, d.Key) {
				continue
			}
			b.Seq++
			one := *d
			one.Seq, one.Priority = b.Seq, cmp.Or(one.Priority, store.PriorityWork)
			if one.Received.IsZero() {
				one.Received = s.stamp()
			}
			b.Deliveries, stored[i] = append(b.Deliveries, one), true
			kept = append(kept, one)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store delivery: %w", err)
	}
	for i, d := range all {
		if stored[i] {
			*d, kept = kept[0], kept[1:]
			s.nudge(store.Waiting{Thread: d.Thread, Sender: d.Sender, Priority: d.Priority, Since: d.Received})
		}
	}
	return stored, nil
}

// has reports whether a delivery with that id, or with that non-empty key, was stored.
func (b *book) has(id, key string) bool {
	if _, ok := b.Known[id]; ok {
		return true
	}
	if slices.ContainsFunc(b.Deliveries, func(d store.Delivery) bool { return d.ID == id || key != "" && d.Key == key }) {
		return true
	}
	for _, k := range b.Known {
		if key != "" && k.Key == key {
			return true
		}
	}
	return false
}

// undone returns the waiting deliveries of a thread, oldest first.
func (b *book) undone(thread string) (out []store.Delivery) {
	for _, d := range b.Deliveries {
		if d.Thread == thread {
			out = append(out, d)
		}
	}
	return out
}

// Next implements [store.Deliveries].
func (s deliveries) Next(ctx context.Context, thread string) (*store.Delivery, error) {
	var next *store.Delivery
	err := s.read(ctx, func(b *book) error {
		all := b.undone(thread)
		if len(all) == 0 {
			return store.ErrNotFound
		}
		next = &all[0]
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("next delivery of %s: %w", thread, err)
	}
	return next, nil
}

// Done implements [store.Deliveries].
func (s deliveries) Done(ctx context.Context, note string, ids ...string) error {
	return s.change(ctx, soon, func(b *book) error { b.done(s.stamp(), note, ids); return nil })
}

// done marks deliveries as done and returns the number of newly done ones.
func (b *book) done(now time.Time, note string, ids []string) int {
	before := len(b.Deliveries)
	b.Deliveries = slices.DeleteFunc(b.Deliveries, func(d store.Delivery) bool {
		if !slices.Contains(ids, d.ID) {
			return false
		}
		b.Known[d.ID] = known{Key: d.Key, Done: now, Note: strings.ToValidUTF8(note, "?")}
		return true
	})
	return before - len(b.Deliveries)
}

// Unknown implements [store.Deliveries].
func (s deliveries) Unknown(ctx context.Context, ids ...string) (unknown []string, err error) {
	err = s.read(ctx, func(b *book) error {
		for _, id := range ids {
			if !b.has(id, "") {
				unknown = append(unknown, id)
			}
		}
		return nil
	})
	return unknown, err
}

// Prune implements [store.Deliveries].
func (s deliveries) Prune(ctx context.Context, before time.Time) (n int, err error) {
	err = s.change(ctx, soon, func(b *book) error {
		had := len(b.Known)
		maps.DeleteFunc(b.Known, func(_ string, k known) bool { return k.Done.Before(before) })
		n = had - len(b.Known)
		return nil
	})
	return n, err
}

type wakes struct{ *Store }

// Wake implements [store.Wakes]. Only this process keeps the wake: the next one checks
// the thread anyway.
func (s wakes) Wake(_ context.Context, thread string, urgency int, at time.Time) error {
	urgency = cmp.Or(urgency, store.PriorityWork)
	if err := cmp.Or(store.CheckName("thread", thread), store.CheckPriority(urgency)); err != nil {
		return fmt.Errorf("wake thread: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.stamp()
	if at.IsZero() {
		at = now
	}
	s.due[thread] = at
	if !at.After(now) {
		s.nudge(store.Waiting{Thread: thread, Priority: urgency, Since: now})
	}
	return nil
}

// clearWake drops the due wake of a thread: its new worker checks all of it.
func (s *Store) clearWake(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.due[thread].After(s.stamp()) {
		delete(s.due, thread)
	}
}

// Nudges implements [store.Wakes].
func (s wakes) Nudges() <-chan store.Waiting { return s.nudges }

// Urgent implements [store.Wakes].
func (s wakes) Urgent(
	ctx context.Context,
	thread string,
	priority int,
	after int64,
) (out []*store.Delivery, err error) {
	err = s.read(ctx, func(b *book) error {
		for _, d := range b.undone(thread) {
			if d.Seq > after && d.Priority <= priority && len(out) < 200 {
				out = append(out, &d)
			}
		}
		return nil
	})
	return out, err
}

// Oldest implements [store.Wakes].
func (s wakes) Oldest(ctx context.Context) (oldest time.Time, err error) {
	all, err := s.Waiting(ctx, math.MaxInt)
	for _, w := range all {
		if oldest.IsZero() || w.Since.Before(oldest) {
			oldest = w.Since
		}
	}
	return oldest, err
}

// Waiting implements [store.Wakes].
func (s wakes) Waiting(ctx context.Context, limit int) (out []store.Waiting, err error) {
	err = s.read(ctx, func(b *book) error {
		now := s.stamp()
		for thread, w := range s.waiting(b, now) {
			l := b.Leases[thread]
			if s.works(l, now) || l.Owner == "" && l.NotBefore.After(now) {
				continue
			}
			w.Epoch = l.Epoch
			out = append(out, w)
		}
		slices.SortFunc(out, func(a, z store.Waiting) int {
			return cmp.Or(cmp.Compare(a.Priority, z.Priority), a.Since.Compare(z.Since), cmp.Compare(a.Thread, z.Thread))
		})
		out = out[:min(len(out), limit)]
		return nil
	})
	return out, err
}

// waiting returns the threads with work up to a time, including those with a worker.
func (s *Store) waiting(b *book, until time.Time) map[string]store.Waiting {
	found := map[string]store.Waiting{}
	add := func(w store.Waiting) {
		old, ok := found[w.Thread]
		if !ok {
			old = w
		}
		old.Priority = min(old.Priority, w.Priority)
		found[w.Thread] = old
	}
	for _, d := range b.Deliveries {
		add(store.Waiting{Thread: d.Thread, Sender: d.Sender, Priority: d.Priority, Since: d.Received})
	}
	for key, l := range b.Leases {
		thread := key
		if row, ok := b.Sessions[key]; ok {
			thread = row.Thread
		}
		if l.Owner != "" && !s.works(l, s.stamp()) || l.Owner == "" && l.Wanted {
			add(store.Waiting{Thread: thread, Priority: store.PriorityWork, Since: l.Until})
		}
	}
	for thread, at := range s.due {
		if !at.After(until) {
			add(store.Waiting{Thread: thread, Priority: store.PriorityWork, Since: at})
		}
	}
	return found
}
