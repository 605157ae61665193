package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

// Delete implements [store.Retired].
func (s *Store) Delete(ctx context.Context, list ...*store.Deleted) error {
	return s.base.write(ctx, func(q query) error {
		for _, d := range list {
			if err := remove(ctx, q, d); err != nil {
				return fmt.Errorf("delete session %s: %w", d.Session, err)
			}
		}
		return nil
	})
}

// remove deletes one session.
func remove(ctx context.Context, q query, d *store.Deleted) error {
	if err := over(ctx, q, d.Session); err != nil {
		return err
	}
	seq, hash, err := head(ctx, q, d.Session)
	if err == nil && (seq != d.Seq || hash != d.Hash) {
		err = store.ErrConflict
	}
	var doc []byte
	if err == nil {
		doc, err = document(d)
	}
	if err != nil {
		return err
	}
	// The record comes first: events can be deleted only if their session has one.
	for _, do := range []struct {
		stmt string
		args []any
	}{
		{`INSERT INTO deleted (session, doc) VALUES (?, ?)`, []any{d.Session, doc}},
		{`DELETE FROM events WHERE session = ?`, []any{d.Session}},
		{`DELETE FROM heads WHERE session = ?`, []any{d.Session}},
		{`DELETE FROM intents WHERE session = ?`, []any{d.Session}},
		{`DELETE FROM leases WHERE key = ?`, []any{d.Session}},
		{`DELETE FROM sessions WHERE id = ?`, []any{d.Session}},
	} {
		if _, err := q.exec(ctx, do.stmt, do.args...); err != nil {
			return err
		}
	}
	return nil
}

// over locks a session and its thread against work, and returns an error if the session
// is not over.
func over(ctx context.Context, q query, id string) error {
	var thread, state string
	if err := q.row(ctx, []any{&thread, &state}, `SELECT thread, state FROM sessions WHERE id = ?`, id); err != nil {
		return err
	}
	for _, key := range []string{thread, id} {
		l, err := readLease(ctx, q, key, q.Lock)
		if store.Unless(err, store.ErrNotFound) != nil {
			return err
		}
		if l.Live(q.now()) || l.Wanted {
			return fmt.Errorf("%s is worked on: %w", key, store.ErrNotOver)
		}
	}
	// With the lock, no work can begin: the state is final.
	if err := q.row(ctx, []any{&state}, `SELECT state FROM sessions WHERE id = ?`, id); err != nil {
		return err
	}
	if !session.Phase(state).Over() { //control:delete-only-over
		return fmt.Errorf("it is %s: %w", state, store.ErrNotOver)
	}
	var waiting int
	err := q.row(ctx, []any{&waiting}, `SELECT (SELECT count(*) FROM deliveries WHERE thread = ? AND done IS NULL) +
		(SELECT count(*) FROM intents WHERE session = ? AND state IN ('intended', 'attempted'))`, thread, id)
	if err == nil && waiting > 0 { //control:delete-nothing-waits
		err = fmt.Errorf("deliveries or writes wait: %w", store.ErrNotOver)
	}
	return err
}

// Deleted implements [store.Retired].
func (s *Store) Deleted(ctx context.Context) ([]store.Deleted, error) {
	var out []store.Deleted
	err := s.base.read().rows(ctx, func(rows *sql.Rows) error {
		var doc []byte
		if err := rows.Scan(&doc); err != nil {
			return err
		}
		d, err := parse[store.Deleted](doc)
		if err == nil {
			out = append(out, *d)
		}
		return err
	}, `SELECT doc FROM deleted ORDER BY session`)
	if err != nil {
		return nil, fmt.Errorf("list deleted sessions: %w", err)
	}
	return out, nil
}
