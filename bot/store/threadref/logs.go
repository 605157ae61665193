package threadref

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

type logs struct{ *Store }

// soft are events without effects outside of the workspace, which ends with the run; if
// they are lost, the model is asked again. All other events, and the start of an approved
// call, are in the ref before they take effect.
var soft = []session.Type{
	session.TypeAnswer,
	session.TypeStarted,
	session.TypeResult,
	session.TypeNote,
	session.TypeState,
	session.TypePrompt,
}

// Log implements [store.Logs].
func (s logs) Log(f store.Fence) session.Log { return &log{s, f} }

// log is the log of one session under one lease.
type log struct {
	logs

	fence store.Fence
}

// Append implements [session.Log].
func (l *log) Append(ctx context.Context, events ...*session.Event) error {
	return l.Apply(ctx, l.fence, store.Change{Events: events})
}

// Events implements [session.Log].
func (l *log) Events(ctx context.Context, after int64) (out []session.Event, err error) {
	err = l.read(ctx, func(b *book) error {
		if all := b.events(l.fence.Key); after < int64(len(all)) {
			out = slices.Clone(all[max(after, 0):])
		}
		return nil
	})
	return out, err
}

// Page implements [store.Logs].
func (s logs) Page(ctx context.Context, id string, after int64, limit int) ([]session.Event, error) {
	all, err := s.Log(store.Fence{Key: id}).Events(ctx, after)
	n, size := 0, 0
	for n < min(len(all), limit) && (n == 0 || size+len(all[n].Data) <= store.PageBytes) {
		size += len(all[n].Data)
		n++
	}
	return all[:n], err
}

// Apply implements [store.Logs].
func (s logs) Apply(ctx context.Context, f store.Fence, c store.Change) error {
	d := soon
	if len(c.Intents) > 0 || len(c.Done) > 0 ||
		slices.ContainsFunc(c.Events, func(e *session.Event) bool { return !slices.Contains(soft, e.Type) }) {
		d = sure //control:events-are-in-the-ref
	}
	if asked, err := s.allowed(ctx, f.Key, c.Events); err != nil {
		return fmt.Errorf("write to session %s: %w", f.Key, err)
	} else if asked {
		d = sure //control:yes-is-used-up
	}
	var events []*session.Event
	var row store.Session
	var planned []store.Intent
	err := s.change(ctx, d, func(b *book) (err error) {
		if _, err := b.fence(f); err != nil {
			return err
		}
		events = make([]*session.Event, len(c.Events))
		for i, e := range c.Events {
			copied := *e
			events[i] = &copied
		}
		b.append(f.Key, events)
		if c.Session != nil {
			if row = *c.Session; row.ID != f.Key {
				return fmt.Errorf("session %q is not the fence's: %w", row.ID, session.ErrFenced)
			}
			if err := b.update(s.stamp(), &row); err != nil {
				return err
			}
		}
		planned = make([]store.Intent, len(c.Intents))
		for i, in := range c.Intents {
			if planned[i], err = b.intend(s.stamp(), f, *in); err != nil {
				return fmt.Errorf("intend %q: %w", in.Key, err)
			}
		}
		if b.done(s.stamp(), "", c.Done) < len(c.Done) { //control:worked-on-once-in-the-ref
			return fmt.Errorf("a delivery of %q was worked on meanwhile: %w", c.Done, session.ErrFenced)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write to session %s: %w", f.Key, err)
	}
	for i, e := range events {
		*c.Events[i] = *e
	}
	for i := range planned {
		*c.Intents[i] = planned[i]
	}
	if c.Session != nil {
		*c.Session = row
	}
	return nil
}

// allowed reports whether an event starts a call that needed approval. An approval counts
// once: the call must not start again because the ref was behind.
func (s logs) allowed(ctx context.Context, id string, events []*session.Event) (asked bool, err error) {
	var calls []string
	for _, e := range events {
		if e.Type == session.TypeStarted {
			call, err := session.Decode[session.Started](*e)
			if err != nil {
				return false, err
			}
			calls = append(calls, call.Call)
		}
	}
	if len(calls) == 0 {
		return false, nil
	}
	err = s.read(ctx, func(b *book) error {
		for _, old := range b.events(id) {
			if old.Type == session.TypeAsked && !asked {
				a, err := session.Decode[session.Asked](old)
				if err != nil {
					return err
				}
				asked = slices.Contains(calls, a.Call)
			}
		}
		return nil
	})
	return asked, err
}

// events returns the log of a session.
func (b *book) events(id string) []session.Event {
	if c := b.logs[id]; c != nil {
		return c.events
	}
	return nil
}

// append chains events to a log.
func (b *book) append(id string, events []*session.Event) {
	if len(events) == 0 {
		return
	}
	h := b.Heads[id]
	session.Chain(h.Seq, h.Hash, events)
	next := chain{}
	if c := b.logs[id]; c != nil {
		next = *c
	}
	next.events = slices.Clip(next.events)
	for _, e := range events {
		next.events = append(next.events, *e)
	}
	last := events[len(events)-1]
	b.logs[id], b.Heads[id] = &next, store.Head{Session: id, Seq: last.Seq, Hash: last.Hash}
}

// Heads implements [store.Logs].
func (s logs) Heads(ctx context.Context) (out []store.Head, err error) {
	err = s.read(ctx, func(b *book) error {
		for _, id := range slices.Sorted(maps.Keys(b.Heads)) {
			out = append(out, b.Heads[id])
		}
		return nil
	})
	return out, err
}

// Import implements [store.Logs].
func (s logs) Import(ctx context.Context, id string, events []session.Event) error {
	if err := store.CheckName("session", id); err != nil {
		return fmt.Errorf("import log: %w", err)
	}
	if err := session.Verify(events); err != nil {
		return fmt.Errorf("import log of session %s: %w", id, err)
	}
	if len(events) == 0 {
		return fmt.Errorf("import log of session %s: it is empty", id)
	}
	return s.change(ctx, sure, func(b *book) error {
		if _, ok := b.Heads[id]; ok {
			return fmt.Errorf("import log of session %s: %w", id, store.ErrExists)
		}
		last := events[len(events)-1]
		b.logs[id] = &chain{events: slices.Clone(events)}
		b.Heads[id] = store.Head{Session: id, Seq: last.Seq, Hash: last.Hash}
		return nil
	})
}
