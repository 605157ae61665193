package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

type logs struct{ *base }

// Log implements [store.Logs].
func (s *logs) Log(f store.Fence) session.Log { return &log{s, f} }

// log is the log of one session under one lease.
type log struct {
	*logs

	fence store.Fence
}

// Append implements [session.Log].
func (l *log) Append(ctx context.Context, events ...*session.Event) error {
	return l.Apply(ctx, l.fence, store.Change{Events: events})
}

// Events implements [session.Log].
func (l *log) Events(ctx context.Context, after int64) ([]session.Event, error) {
	var out []session.Event
	err := l.read().rows(ctx, func(rows *sql.Rows) error {
		e, err := scanEvent(rows)
		out = append(out, e)
		return err
	}, selectEvents, l.fence.Key, after)
	if err != nil {
		return nil, fmt.Errorf("read log of session %s: %w", l.fence.Key, err)
	}
	return out, nil
}

const selectEvents = `SELECT seq, time, turn, type, v, data, prev, hash FROM events WHERE session = ? AND seq > ? ORDER BY seq`

func scanEvent(rows *sql.Rows) (e session.Event, err error) {
	var at int64
	if err = rows.Scan(&e.Seq, &at, &e.Turn, &e.Type, &e.V, (*[]byte)(&e.Data), &e.Prev, &e.Hash); err == nil {
		e.Time = fromMicros(at)
	}
	return e, err
}

// errPageFull ends the reading of a page.
var errPageFull = errors.New("page is full")

// Page implements [store.Logs].
func (s *logs) Page(ctx context.Context, id string, after int64, limit int) ([]session.Event, error) {
	var out []session.Event
	size := 0
	err := s.read().rows(ctx, func(rows *sql.Rows) error {
		e, err := scanEvent(rows)
		if err != nil {
			return err
		}
		if size += len(e.Data); size > store.PageBytes && len(out) > 0 {
			return errPageFull
		}
		out = append(out, e)
		return nil
	}, selectEvents+` LIMIT ?`, id, after, limit)
	if err != nil && !errors.Is(err, errPageFull) {
		return nil, fmt.Errorf("read log of session %s: %w", id, err)
	}
	return out, nil
}

// Apply implements [store.Logs]. The caller's values are set only after the commit.
func (s *logs) Apply(ctx context.Context, f store.Fence, c store.Change) error {
	events := make([]*session.Event, len(c.Events))
	for i, e := range c.Events {
		copied := *e
		events[i] = &copied
	}
	var row store.Session
	if c.Session != nil {
		row = *c.Session
	}
	err := s.write(ctx, func(q query) error {
		if _, err := fence(ctx, q, f); err != nil {
			return err
		}
		if err := appendEvents(ctx, q, f.Key, events); err != nil {
			return err
		}
		if c.Session != nil {
			if row.ID != f.Key {
				return fmt.Errorf("session %q is not the fence's: %w", row.ID, session.ErrFenced)
			}
			if err := updateSession(ctx, q, &row); err != nil {
				return fmt.Errorf("update session: %w", err)
			}
		}
		return applyRecords(ctx, q, f, c)
	})
	if err != nil {
		return fmt.Errorf("write to session %s: %w", f.Key, err)
	}
	for i, e := range events {
		*c.Events[i] = *e
	}
	if c.Session != nil {
		*c.Session = row
	}
	return nil
}

func applyRecords(ctx context.Context, q query, f store.Fence, c store.Change) error {
	for _, in := range c.Intents {
		if err := intend(ctx, q, f, in); err != nil {
			return fmt.Errorf("intend %q: %w", in.Key, err)
		}
	}
	done, err := doneDeliveries(ctx, q, "", c.Done)
	if err == nil && done < len(c.Done) { //control:worked-on-once
		return fmt.Errorf("a delivery of %q was worked on meanwhile: %w", c.Done, session.ErrFenced)
	}
	return err
}

// head returns the end of a log; seq is 0 for an empty one.
func head(ctx context.Context, q query, id string) (seq int64, hash string, err error) {
	err = q.row(ctx, []any{&seq, &hash}, `SELECT seq, hash FROM heads WHERE session = ?`, id)
	if errors.Is(err, store.ErrNotFound) {
		return 0, "", nil
	}
	return seq, hash, err
}

// appendEvents chains events to the log and stores them.
func appendEvents(ctx context.Context, q query, id string, events []*session.Event) error {
	if len(events) == 0 {
		return nil
	}
	seq, prev, err := head(ctx, q, id)
	if err != nil {
		return fmt.Errorf("read head: %w", err)
	}
	session.Chain(seq, prev, events)
	if err := insertEvents(ctx, q, id, events); err != nil || q.Announce == "" {
		return err
	}
	if _, err := q.exec(ctx, q.Announce, id); err != nil {
		return fmt.Errorf("announce events: %w", err)
	}
	return nil
}

func insertEvents(ctx context.Context, q query, id string, events []*session.Event) error {
	const columns, chunk = 9, 50
	for start := 0; start < len(events); start += chunk {
		part := events[start:min(start+chunk, len(events))]
		args := make([]any, 0, len(part)*columns)
		for _, e := range part {
			args = append(args, id, e.Seq, micros(e.Time), e.Turn, string(e.Type), e.V, []byte(e.Data), e.Prev, e.Hash)
		}
		stmt := `INSERT INTO events (session, seq, time, turn, type, v, data, prev, hash) VALUES ` + marks(len(part), columns)
		if _, err := q.exec(ctx, stmt, args...); err != nil {
			return fmt.Errorf("append events: %w", err)
		}
	}
	last := events[len(events)-1]
	_, err := q.exec(ctx, `INSERT INTO heads (session, seq, hash) VALUES (?, ?, ?)
		ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`, id, last.Seq, last.Hash)
	if err != nil {
		return fmt.Errorf("move head: %w", err)
	}
	return nil
}

// Heads implements [store.Logs].
func (s *logs) Heads(ctx context.Context) ([]store.Head, error) {
	var out []store.Head
	err := s.read().rows(ctx, func(rows *sql.Rows) error {
		var h store.Head
		err := rows.Scan(&h.Session, &h.Seq, &h.Hash)
		out = append(out, h)
		return err
	}, `SELECT session, seq, hash FROM heads ORDER BY session`)
	if err != nil {
		return nil, fmt.Errorf("list logs: %w", err)
	}
	return out, nil
}

// Import implements [store.Logs].
func (s *logs) Import(ctx context.Context, id string, events []session.Event) error {
	if err := store.CheckName("session", id); err != nil {
		return fmt.Errorf("import log: %w", err)
	}
	if err := session.Verify(events); err != nil {
		return fmt.Errorf("import log of session %s: %w", id, err)
	}
	if len(events) == 0 {
		return fmt.Errorf("import log of session %s: it is empty", id)
	}
	pointers := make([]*session.Event, len(events))
	for i := range events {
		pointers[i] = &events[i]
	}
	err := s.write(ctx, func(q query) error {
		n, err := q.exec(ctx, `INSERT INTO heads (session, seq, hash) VALUES (?, 0, '') ON CONFLICT DO NOTHING`, id)
		if err == nil && n == 0 {
			err = store.ErrExists
		}
		if err == nil { // the log is no longer deleted
			_, err = q.exec(ctx, `DELETE FROM deleted WHERE session = ?`, id)
		}
		if err != nil {
			return err
		}
		return insertEvents(ctx, q, id, pointers)
	})
	if err != nil {
		return fmt.Errorf("import log of session %s: %w", id, err)
	}
	return nil
}
