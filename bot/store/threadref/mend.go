package threadref

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/handrail-bot/handrail/bot/store"
)

// maxCounter is the maximum of stored counters. Without it, an account with push access
// could set a counter so high that the next increment overflows.
const maxCounter = math.MaxInt64 / 2

// mend checks records that may have been written by hand, and returns an error for
// impossible values. It numbers the sessions of an older version.
func (b *book) mend() error { return errors.Join(b.mendWork(), b.mendSessions()) }

// mendWork checks deliveries and leases.
func (b *book) mendWork() error {
	if b.Seq < 0 || b.Seq > maxCounter || b.Change < 0 || b.Change > maxCounter {
		return errors.New("a count is out of range")
	}
	last, ids := int64(0), map[string]bool{}
	for i := range b.Deliveries {
		d := &b.Deliveries[i]
		switch {
		case store.CheckDelivery(d) != nil || ids[d.ID]:
			return fmt.Errorf("delivery %d is none, or is there twice", i+1)
		case d.Seq <= last || d.Seq > b.Seq:
			return fmt.Errorf("delivery %d is not in its order", i+1)
		}
		last, ids[d.ID] = d.Seq, true
	}
	for key, l := range b.Leases {
		if l.Key != key || l.Epoch < 0 || l.Epoch > maxCounter || l.Attempts < 0 || l.Attempts > math.MaxInt32 {
			return fmt.Errorf("the lease of %.100q is none", key)
		}
	}
	return nil
}

// mendSessions checks sessions, the ends of their logs, and intents.
func (b *book) mendSessions() error {
	for id, row := range b.Sessions {
		if row.ID != id || store.CheckName("session", id) != nil || row.Version < 0 || row.Version > maxCounter {
			return fmt.Errorf("the session %.100q is none", id)
		}
	}
	if !slices.Equal(sorted(b.Order), slices.Sorted(maps.Keys(b.Sessions))) {
		return errors.New("the order of the sessions is not that of those that are there")
	}
	last := int64(0)
	for _, id := range b.Order { // an older version counted none
		row := b.Sessions[id]
		if row.Seq <= last || row.Seq > maxCounter {
			row.Seq = last + 1
			b.Sessions[id] = row
		}
		last = row.Seq
	}
	for id, h := range b.Heads {
		if h.Session != id || h.Seq < 1 || h.Seq > maxCounter {
			return fmt.Errorf("the end of the log of session %.100q is none", id)
		}
	}
	for key, in := range b.Intents {
		if in.Key != key || in.Attempts < 0 || in.Attempts > math.MaxInt32 {
			return fmt.Errorf("the write %.100q is none", key)
		}
	}
	if !slices.Equal(sorted(b.Planned), slices.Sorted(maps.Keys(b.Intents))) {
		return errors.New("the order of the writes is not that of those that are there")
	}
	return nil
}

func sorted(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return out
}
