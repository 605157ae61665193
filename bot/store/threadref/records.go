package threadref

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

type sessions struct{ *Store }

// row returns a session with the fields of its lease.
func (b *book) row(id string) (*store.Session, error) {
	row, ok := b.Sessions[id]
	if !ok {
		return nil, store.ErrNotFound
	}
	l := b.Leases[id]
	row.Data = slices.Clone(row.Data)
	row.Epoch, row.Owner, row.Until = l.Epoch, l.Owner, l.Until
	return &row, nil
}

// Create implements [store.Sessions].
func (s sessions) Create(ctx context.Context, row *store.Session) error {
	if err := store.CheckName("session", row.ID); err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	now, seq := s.stamp(), int64(0)
	err := s.change(ctx, soon, func(b *book) error {
		if _, ok := b.Sessions[row.ID]; ok {
			return store.ErrExists
		}
		kept := *row
		kept.Created, kept.Updated, kept.Version, kept.Seq = now, now, 1, 1
		if n := len(b.Order); n > 0 {
			kept.Seq += b.Sessions[b.Order[n-1]].Seq
		}
		seq = kept.Seq
		b.Sessions[row.ID] = kept
		b.Order = append(b.Order, row.ID)
		return nil
	})
	if err != nil {
		return fmt.Errorf("create session %s: %w", row.ID, err)
	}
	row.Seq, row.Created, row.Updated, row.Version = seq, now, now, 1
	return nil
}

// Session implements [store.Sessions].
func (s sessions) Session(ctx context.Context, id string) (row *store.Session, err error) {
	err = s.read(ctx, func(b *book) error { row, err = b.row(id); return err })
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	return row, nil
}

// ByThread implements [store.Sessions].
func (s sessions) ByThread(ctx context.Context, thread string) (row *store.Session, err error) {
	err = s.read(ctx, func(b *book) error {
		for _, id := range slices.Backward(b.Order) {
			if b.Sessions[id].Thread == thread {
				row, err = b.row(id)
				return err
			}
		}
		return store.ErrNotFound
	})
	if err != nil {
		return nil, fmt.Errorf("read session of %s: %w", thread, err)
	}
	return row, nil
}

// Update implements [store.Sessions].
func (s sessions) Update(ctx context.Context, f store.Fence, row *store.Session) error {
	kept := *row
	err := s.change(ctx, soon, func(b *book) error {
		if f == (store.Fence{}) {
			if b.Leases[row.ID].Live(s.stamp()) {
				return session.ErrFenced
			}
		} else if err := b.fenceFor(f, row.ID); err != nil {
			return err
		}
		kept = *row
		return b.update(s.stamp(), &kept)
	})
	if err != nil {
		return fmt.Errorf("update session %s: %w", row.ID, err)
	}
	*row = kept
	return nil
}

// fenceFor checks that the fence is held and belongs to session id.
func (b *book) fenceFor(f store.Fence, id string) error {
	if f.Key != id {
		return session.ErrFenced
	}
	_, err := b.fence(f)
	return err
}

func (b *book) update(now time.Time, row *store.Session) error {
	old, ok := b.Sessions[row.ID]
	if !ok {
		return store.ErrNotFound
	}
	if old.Version != row.Version {
		return store.ErrConflict
	}
	row.Created, row.Updated, row.Version = old.Created, now, old.Version+1
	kept := *row
	kept.Data = slices.Clone(row.Data)
	b.Sessions[row.ID] = kept
	return nil
}

// List implements [store.Sessions].
func (s sessions) List(ctx context.Context, q store.Query) (out []*store.Session, err error) {
	err = s.read(ctx, func(b *book) error {
		for _, id := range slices.Backward(b.Order) {
			row, err := b.row(id)
			if err != nil {
				return err
			}
			if len(q.Pulls)+len(q.Branches) > 0 && (row.Pull == 0 || !slices.Contains(q.Pulls, row.Pull)) && (row.Branch == "" || !slices.Contains(q.Branches, row.Branch)) ||
				q.Repo != "" && row.Repo != q.Repo || q.Thread != "" && row.Thread != q.Thread ||
				q.Requester != "" && row.Requester != q.Requester ||
				len(q.States) > 0 && !slices.Contains(q.States, row.State) ||
				!q.Before.IsZero() && !row.Created.Before(q.Before) ||
				row.Updated.Before(q.Since.Truncate(time.Second)) || q.Below != 0 && row.Seq >= q.Below {
				continue
			}
			if out = append(out, row); len(out) == cmp.Or(q.Limit, 100) {
				break
			}
		}
		return nil
	})
	return out, err
}

// Tally implements [store.Sessions].
func (s sessions) Tally(ctx context.Context) (t store.Tally, err error) {
	err = s.read(ctx, func(b *book) error {
		for _, row := range b.Sessions {
			t.Count(&row)
		}
		return nil
	})
	return t, err
}

type intents struct{ *Store }

// Intend implements [store.Intents].
func (s intents) Intend(ctx context.Context, f store.Fence, in *store.Intent) error {
	var kept store.Intent
	err := s.change(ctx, soon, func(b *book) (err error) {
		kept, err = b.intend(s.stamp(), f, *in)
		return err
	})
	if err != nil {
		return fmt.Errorf("intend %q: %w", in.Key, err)
	}
	*in = kept
	return nil
}

// intend stores in, or returns the stored intent.
func (b *book) intend(now time.Time, f store.Fence, in store.Intent) (store.Intent, error) {
	for _, err := range []error{store.CheckName("key", in.Key), store.CheckName("kind", in.Kind), b.fenceIntent(f, in.Session)} {
		if err != nil {
			return in, err
		}
	}
	if old, ok := b.Intents[in.Key]; ok {
		return old, nil
	}
	in.State, in.Created, in.Updated = store.Intended, now, now
	b.Intents[in.Key] = in
	b.Planned = append(b.Planned, in.Key)
	return in, nil
}

// fenceIntent checks the fence of the intent's session. Intents without a session need
// none.
func (b *book) fenceIntent(f store.Fence, id string) error {
	switch {
	case id == "" && f == (store.Fence{}):
		return nil
	case id == "":
		_, err := b.fence(f)
		return err
	}
	return b.fenceFor(f, id)
}

// settle lets fn modify a stored intent.
func (s intents) settle(
	ctx context.Context,
	d depth,
	f store.Fence,
	key string,
	fn func(*store.Intent) error,
) (in store.Intent, err error) {
	err = s.change(ctx, d, func(b *book) error {
		var ok bool
		if in, ok = b.Intents[key]; !ok {
			return store.ErrNotFound
		}
		if err := b.fenceIntent(f, in.Session); err != nil {
			return err
		}
		if err := fn(&in); err != nil {
			return err
		}
		in.Updated = s.stamp()
		b.Intents[key] = in
		return nil
	})
	if err != nil {
		return in, fmt.Errorf("write intent %q: %w", key, err)
	}
	return in, nil
}

// Attempted implements [store.Intents].
func (s intents) Attempted(ctx context.Context, f store.Fence, key string, notBefore time.Time) (store.Intent, error) {
	d := sure //control:attempts-are-in-the-ref
	return s.settle(ctx, d, f, key, func(in *store.Intent) error { return in.Attempt(notBefore) })
}

// Done implements [store.Intents].
func (s intents) Done(ctx context.Context, f store.Fence, key, ref string) error {
	_, err := s.settle(ctx, soon, f, key, func(in *store.Intent) error { return in.Finish(ref) })
	return err
}

// Failed implements [store.Intents].
func (s intents) Failed(ctx context.Context, f store.Fence, key, reason string) error {
	_, err := s.settle(ctx, soon, f, key, func(in *store.Intent) error { return in.GiveUp(reason) })
	return err
}

// Open implements [store.Intents].
func (s intents) Open(ctx context.Context, id string) (out []store.Intent, err error) {
	err = s.read(ctx, func(b *book) error {
		for _, key := range b.Planned {
			if in := b.Intents[key]; in.Session == id && in.State != store.Done && in.State != store.Failed {
				out = append(out, in)
			}
		}
		return nil
	})
	return out, err
}

// Effect implements [store.Effects].
func (s intents) Effect(ctx context.Context, key string) (in store.Intent, err error) {
	err = s.read(ctx, func(b *book) error {
		var ok bool
		if in, ok = b.Intents[key]; !ok {
			return store.ErrNotFound
		}
		return nil
	})
	return in, err
}

type meta struct{ *Store }

// Get implements [store.Meta].
func (s meta) Get(ctx context.Context, key string) (value []byte, err error) {
	err = s.read(ctx, func(b *book) error {
		v, ok := b.Values[key]
		if !ok {
			return fmt.Errorf("value %q: %w", key, store.ErrNotFound)
		}
		value = slices.Clone(v)
		return nil
	})
	return value, err
}

// Set implements [store.Meta].
func (s meta) Set(ctx context.Context, key string, value []byte) error {
	if err := store.CheckName("key", key); err != nil {
		return fmt.Errorf("store value: %w", err)
	}
	return s.change(ctx, soon, func(b *book) error { b.Values[key] = slices.Clone(value); return nil })
}

// Drop implements [store.Meta].
func (s meta) Drop(ctx context.Context, key string) error {
	return s.drop(ctx, key, func(is string) bool { return is == key })
}

// DropAll implements [store.Meta].
func (s meta) DropAll(ctx context.Context, prefix string) error {
	return s.drop(ctx, prefix, func(is string) bool { return strings.HasPrefix(is, prefix) })
}

func (s meta) drop(ctx context.Context, key string, meant func(key string) bool) error {
	if err := store.CheckName("key", key); err != nil {
		return fmt.Errorf("drop value: %w", err)
	}
	return s.change(ctx, soon, func(b *book) error {
		maps.DeleteFunc(b.Values, func(is string, _ []byte) bool { return meant(is) })
		return nil
	})
}

// Swap implements [store.Meta].
func (s meta) Swap(ctx context.Context, key string, old, value []byte) error {
	if err := store.CheckName("key", key); err != nil {
		return fmt.Errorf("store value: %w", err)
	}
	return s.change(ctx, sure, func(b *book) error {
		if is, ok := b.Values[key]; ok != (old != nil) || !bytes.Equal(is, old) {
			return fmt.Errorf("value %q: %w", key, store.ErrConflict)
		}
		b.Values[key] = slices.Clone(value)
		return nil
	})
}
