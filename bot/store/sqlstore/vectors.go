package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// noted is the accuracy of the time of the last use: reading writes at most once in it.
const noted = 24 * time.Hour

// Vectors implements [store.Vectors].
func (s *Store) Vectors(ctx context.Context, maker string, blobs []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	if len(blobs) == 0 {
		return out, nil
	}
	args := []any{maker}
	for _, b := range blobs {
		args = append(args, b)
	}
	old := false
	stale := micros(s.base.stamp().Add(-noted))
	err := s.base.read().rows(ctx, func(rows *sql.Rows) error {
		var blob string
		var used int64
		var data []byte
		if err := rows.Scan(&blob, &used, &data); err != nil {
			return err
		}
		out[blob] = data
		old = old || used < stale
		return nil
	}, `SELECT blob, used, data FROM vectors WHERE maker = ? AND blob IN `+marks(1, len(blobs)), args...)
	if err == nil && old {
		err = s.base.write(ctx, func(q query) error {
			_, err := q.exec(ctx, `UPDATE vectors SET used = ? WHERE maker = ? AND blob IN `+marks(1, len(blobs)),
				append([]any{micros(s.base.stamp())}, args...)...)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", s.base.explain(err))
	}
	return out, nil
}

// PutVectors implements [store.Vectors].
func (s *Store) PutVectors(ctx context.Context, maker, blob string, data []byte) error {
	err := s.base.write(ctx, func(q query) error {
		_, err := q.exec(ctx, `INSERT INTO vectors (maker, blob, used, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			maker, blob, micros(s.base.stamp()), data)
		return err
	})
	if err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	return nil
}

// PruneVectors implements [store.Vectors].
func (s *Store) PruneVectors(ctx context.Context, before time.Time) (n int, err error) {
	err = s.base.write(ctx, func(q query) (err error) {
		n, err = q.exec(ctx, `DELETE FROM vectors WHERE used < ?`, micros(before))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("prune vectors: %w", err)
	}
	return n, nil
}
