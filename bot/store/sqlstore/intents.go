package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
)

type intents struct{ *base }

// Intend implements [store.Intents].
func (s *intents) Intend(ctx context.Context, f store.Fence, in *store.Intent) error {
	row := *in
	err := s.write(ctx, func(q query) error { return intend(ctx, q, f, &row) })
	if err != nil {
		return fmt.Errorf("intend %q: %w", in.Key, err)
	}
	*in = row
	return nil
}

// intend stores in, or overwrites it with the stored intent.
func intend(ctx context.Context, q query, f store.Fence, in *store.Intent) error {
	for _, err := range []error{store.CheckName("key", in.Key), store.CheckName("kind", in.Kind), store.CheckPlain("session", in.Session)} {
		if err != nil {
			return err
		}
	}
	if err := fenceIntent(ctx, q, f, in.Session); err != nil {
		return err
	}
	row := *in
	row.State, row.Created = store.Intended, q.stamp()
	row.Updated = row.Created
	doc, err := document(row)
	if err != nil {
		return err
	}
	n, err := q.exec(ctx, `INSERT INTO intents (key, session, state, doc) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		row.Key, row.Session, string(row.State), doc)
	if err != nil {
		return err
	}
	if n == 0 {
		stored, err := readIntent(ctx, q, in.Key)
		if err != nil {
			return err
		}
		row = *stored
	}
	*in = row
	return nil
}

// fenceIntent checks the fence of the intent's session. Intents without a session need
// none.
func fenceIntent(ctx context.Context, q query, f store.Fence, id string) error {
	if id == "" && f == (store.Fence{}) {
		return nil
	}
	if id == "" {
		_, err := fence(ctx, q, f)
		return err
	}
	return fenceFor(ctx, q, f, id)
}

func readIntent(ctx context.Context, q query, key string) (*store.Intent, error) {
	var doc []byte
	if err := q.row(ctx, []any{&doc}, `SELECT doc FROM intents WHERE key = ?`+q.Lock, key); err != nil {
		return nil, err
	}
	return parse[store.Intent](doc)
}

// change lets fn modify a stored intent.
func (s *intents) change(
	ctx context.Context,
	f store.Fence,
	key string,
	fn func(*store.Intent) error,
) (store.Intent, error) {
	var in store.Intent
	err := s.write(ctx, func(q query) error {
		var owner string
		if err := q.row(ctx, []any{&owner}, `SELECT session FROM intents WHERE key = ?`, key); err != nil {
			return err
		}
		if err := fenceIntent(ctx, q, f, owner); err != nil {
			return err
		}
		row, err := readIntent(ctx, q, key)
		if err != nil {
			return err
		}
		in = *row
		if err := fn(&in); err != nil {
			return err
		}
		in.Updated = q.stamp()
		doc, err := document(in)
		if err != nil {
			return err
		}
		_, err = q.exec(ctx, `UPDATE intents SET state = ?, doc = ? WHERE key = ?`, string(in.State), doc, key)
		return err
	})
	return in, err
}

// Attempted implements [store.Intents].
func (s *intents) Attempted(ctx context.Context, f store.Fence, key string, notBefore time.Time) (store.Intent, error) {
	in, err := s.change(ctx, f, key, func(in *store.Intent) error { return in.Attempt(notBefore) })
	if err != nil {
		return in, fmt.Errorf("attempt intent %q: %w", key, err)
	}
	return in, nil
}

// Done implements [store.Intents].
func (s *intents) Done(ctx context.Context, f store.Fence, key, ref string) error {
	_, err := s.change(ctx, f, key, func(in *store.Intent) error { return in.Finish(ref) })
	if err != nil {
		return fmt.Errorf("finish intent %q: %w", key, err)
	}
	return nil
}

// Failed implements [store.Intents].
func (s *intents) Failed(ctx context.Context, f store.Fence, key, reason string) error {
	_, err := s.change(ctx, f, key, func(in *store.Intent) error { return in.GiveUp(reason) })
	if err != nil {
		return fmt.Errorf("give up intent %q: %w", key, err)
	}
	return nil
}

// Effect implements [store.Effects].
func (s *intents) Effect(ctx context.Context, key string) (store.Intent, error) {
	var doc []byte
	if err := s.read().row(ctx, []any{&doc}, `SELECT doc FROM intents WHERE key = ?`, key); err != nil {
		return store.Intent{}, fmt.Errorf("read intent %q: %w", key, err)
	}
	in, err := parse[store.Intent](doc)
	if err != nil {
		return store.Intent{}, err
	}
	return *in, nil
}

// Open implements [store.Intents].
func (s *intents) Open(ctx context.Context, id string) ([]store.Intent, error) {
	var out []store.Intent
	err := s.read().rows(ctx, func(rows *sql.Rows) error {
		var doc []byte
		if err := rows.Scan(&doc); err != nil {
			return err
		}
		in, err := parse[store.Intent](doc)
		if err == nil {
			out = append(out, *in)
		}
		return err
	}, `SELECT doc FROM intents WHERE session = ? AND state IN ('intended', 'attempted') ORDER BY n`, id)
	if err != nil {
		return nil, fmt.Errorf("list open intents: %w", err)
	}
	return out, nil
}

type meta struct{ *base }

// Get implements [store.Meta].
func (s *meta) Get(ctx context.Context, key string) ([]byte, error) {
	var value []byte
	if err := s.read().row(ctx, []any{&value}, `SELECT value FROM meta WHERE key = ?`, key); err != nil {
		return nil, fmt.Errorf("read value %q: %w", key, err)
	}
	return value, nil
}

// Set implements [store.Meta].
func (s *meta) Set(ctx context.Context, key string, value []byte) error {
	err := store.CheckName("key", key)
	if err == nil {
		err = s.write(ctx, func(q query) error {
			_, err := q.exec(
				ctx,
				`INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
				key,
				notNil(value),
			)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("store value %q: %w", key, err)
	}
	return nil
}

// Swap implements [store.Meta].
func (s *meta) Swap(ctx context.Context, key string, old, value []byte) error {
	err := store.CheckName("key", key)
	if err == nil {
		err = s.write(ctx, func(q query) (err error) {
			n := 0
			if old == nil {
				n, err = q.exec(ctx, `INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING`, key, notNil(value))
			} else {
				n, err = q.exec(ctx, `UPDATE meta SET value = ? WHERE key = ? AND value = ?`, notNil(value), key, old)
			}
			if err == nil && n == 0 {
				err = store.ErrConflict
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("swap value %q: %w", key, err)
	}
	return nil
}

// Drop implements [store.Meta].
func (s *meta) Drop(ctx context.Context, key string) error {
	return s.drop(ctx, key, `DELETE FROM meta WHERE key = ?`, key)
}

// DropAll implements [store.Meta].
func (s *meta) DropAll(ctx context.Context, prefix string) error {
	return s.drop(ctx, prefix, `DELETE FROM meta WHERE substr(key, 1, length(CAST(? AS TEXT))) = ?`, prefix, prefix)
}

func (s *meta) drop(ctx context.Context, key, stmt string, args ...any) error {
	err := store.CheckName("key", key)
	if err == nil {
		err = s.write(ctx, func(q query) error {
			_, err := q.exec(ctx, stmt, args...)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("drop value %q: %w", key, err)
	}
	return nil
}

// notNil keeps an empty value from being stored as NULL.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
