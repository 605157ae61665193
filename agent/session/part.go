package session

import (
	"context"
	"sync"
)

// Part is the log of one sub-task in the form of a session's log. It begins at 1 and
// has the events of the sub-task and the answers to its requests. It implements
// [Log].
type Part struct {
	to   Log
	id   string
	told func(Event)
	with *sync.Mutex

	seen   int64 // last Seq read from to
	events []Event
	asked  map[string]bool
}

// NewPart returns the log of the sub-task id within a session's log. told, which may
// be nil, is called with each appended event. Logs that share the mutex with append
// one at a time.
func NewPart(to Log, id string, told func(Event), with *sync.Mutex) *Part {
	return &Part{to: to, id: id, told: told, with: with, asked: map[string]bool{}}
}

// Append implements [Log].
func (l *Part) Append(ctx context.Context, events ...*Event) error {
	l.with.Lock()
	defer l.with.Unlock()
	whole := make([]*Event, 0, len(events))
	for _, e := range events {
		whole = append(whole, wrap(l.id, *e))
	}
	if err := l.to.Append(ctx, whole...); err != nil {
		return err
	}
	if l.told != nil {
		for _, e := range whole {
			l.told(*e)
		}
	}
	if err := l.read(ctx); err != nil {
		return err
	}
	mine := l.events[len(l.events)-len(events):]
	for i, e := range events {
		*e = mine[i]
	}
	return nil
}

// Events implements [Log].
func (l *Part) Events(ctx context.Context, after int64) ([]Event, error) {
	l.with.Lock()
	defer l.with.Unlock()
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	return append([]Event(nil), l.events[min(after, int64(len(l.events))):]...), nil
}

// read processes the new events of the session's log.
func (l *Part) read(ctx context.Context) error {
	fresh, err := l.to.Events(ctx, l.seen)
	if err != nil {
		return err
	}
	for _, e := range fresh {
		l.seen = e.Seq
		inner, id := e.Unwrap()
		if mine, err := l.mine(inner, id); err != nil || !mine {
			if err != nil {
				return err
			}
			continue
		}
		inner.Seq = int64(len(l.events)) + 1
		l.events = append(l.events, inner)
	}
	return nil
}

// mine reports whether an event belongs to the sub-task or answers one of its
// requests.
func (l *Part) mine(e Event, id string) (bool, error) {
	switch {
	case id == l.id && e.Type == TypeAsked:
		a, err := Decode[Asked](e)
		l.asked[a.ID] = true
		return true, err
	case id == "" && e.Type == TypeResolved:
		r, err := Decode[Resolved](e)
		return l.asked[r.ID], err
	}
	return id == l.id, nil
}
