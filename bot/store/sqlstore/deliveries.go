package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/handrail-bot/handrail/bot/store"
)

type deliveries struct {
	*base

	group *committer
}

// Put implements [store.Deliveries].
func (s *deliveries) Put(ctx context.Context, all ...*store.Delivery) ([]bool, error) {
	now := s.stamp()
	for _, d := range all {
		if err := store.CheckDelivery(d); err != nil {
			return nil, fmt.Errorf("store delivery: %w", err)
		}
		if d.Received.IsZero() {
			d.Received = now
		}
		if d.Priority == 0 {
			d.Priority = store.PriorityWork
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return s.group.put(ctx, all)
}

const deliveryColumns = `seq, id, key, event, thread, sender, priority, payload, received`

// scanDelivery scans the columns of deliveryColumns.
func scanDelivery(scan func(...any) error) (*store.Delivery, error) {
	var d store.Delivery
	var key sql.NullString
	var received int64
	err := scan(&d.Seq, &d.ID, &key, &d.Event, &d.Thread, &d.Sender, &d.Priority, &d.Payload, &received)
	d.Key, d.Received = key.String, fromMicros(received)
	return &d, err
}

// Next implements [store.Deliveries].
func (s *deliveries) Next(ctx context.Context, thread string) (*store.Delivery, error) {
	d, err := scanDelivery(func(dest ...any) error {
		return s.read().row(ctx, dest, `SELECT `+deliveryColumns+` FROM deliveries WHERE thread = ? AND done IS NULL ORDER BY seq LIMIT 1`, thread)
	})
	if err != nil {
		return nil, fmt.Errorf("next delivery of %s: %w", thread, err)
	}
	return d, nil
}

// Urgent implements [store.Wakes].
func (s *wakes) Urgent(ctx context.Context, thread string, most int, after int64) ([]*store.Delivery, error) {
	var out []*store.Delivery
	err := s.read().rows(ctx, func(rows *sql.Rows) error {
		d, err := scanDelivery(rows.Scan)
		out = append(out, d)
		return err
	}, `SELECT `+deliveryColumns+` FROM deliveries WHERE thread = ? AND done IS NULL AND seq > ? AND priority <= ? ORDER BY seq LIMIT 200`, thread, after, most)
	if err != nil {
		return nil, fmt.Errorf("list urgent deliveries of %s: %w", thread, err)
	}
	return out, nil
}

// Done implements [store.Deliveries].
func (s *deliveries) Done(ctx context.Context, note string, ids ...string) error {
	err := s.write(ctx, func(q query) error { _, err := doneDeliveries(ctx, q, note, ids); return err })
	if err != nil {
		return fmt.Errorf("finish deliveries: %w", err)
	}
	return nil
}

// doneDeliveries marks deliveries as done and returns the number of newly done ones.
func doneDeliveries(ctx context.Context, q query, note string, ids []string) (done int, err error) {
	note = strings.ReplaceAll(strings.ToValidUTF8(note, "?"), "\x00", "?")
	for _, id := range ids {
		// The payload is dropped; id and key stay to detect duplicates.
		n, err := q.exec(
			ctx,
			`UPDATE deliveries SET done = ?, note = ?, payload = NULL WHERE id = ? AND done IS NULL`,
			micros(q.stamp()),
			note,
			id,
		)
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// Unknown implements [store.Deliveries].
func (s *deliveries) Unknown(ctx context.Context, ids ...string) ([]string, error) {
	const chunk = 500
	known := map[string]bool{}
	for start := 0; start < len(ids); start += chunk {
		part := ids[start:min(start+chunk, len(ids))]
		args := make([]any, len(part))
		for i, id := range part {
			args[i] = id
		}
		err := s.read().rows(ctx, func(rows *sql.Rows) error {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			known[id] = true
			return nil
		}, `SELECT id FROM deliveries WHERE id IN `+marks(1, len(part)), args...)
		if err != nil {
			return nil, fmt.Errorf("look up deliveries: %w", err)
		}
	}
	var unknown []string
	for _, id := range ids {
		if !known[id] {
			unknown = append(unknown, id)
		}
	}
	return unknown, nil
}

// Prune implements [store.Deliveries].
func (s *deliveries) Prune(ctx context.Context, before time.Time) (int, error) {
	var n int
	err := s.write(ctx, func(q query) (err error) {
		n, err = q.exec(ctx, `DELETE FROM deliveries WHERE done IS NOT NULL AND done < ?`, micros(before))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("prune deliveries: %w", err)
	}
	return n, nil
}

type wakes struct{ *base }

// Wake implements [store.Wakes].
func (s *wakes) Wake(ctx context.Context, thread string, urgency int, at time.Time) error {
	if urgency == 0 {
		urgency = store.PriorityWork
	}
	for _, err := range []error{store.CheckName("thread", thread), store.CheckPriority(urgency)} {
		if err != nil {
			return fmt.Errorf("wake thread: %w", err)
		}
	}
	params := []river.InsertManyParams{{
		Args:       store.Wake{Thread: thread, Due: true},
		InsertOpts: &river.InsertOpts{Priority: urgency, ScheduledAt: at},
	}}
	if err := s.write(ctx, func(q query) error { return insertWakes(ctx, q, params) }); err != nil {
		return fmt.Errorf("wake thread %s: %w", thread, err)
	}
	now := s.stamp()
	if !at.After(now) {
		s.nudge(store.Waiting{Thread: thread, Priority: urgency, Since: now})
	}
	return nil
}

// Nudges implements [store.Wakes].
func (s *wakes) Nudges() <-chan store.Waiting { return s.nudges }

// waiting are the threads with work and without a worker, each perhaps in several rows.
// The conditions on leases begin with that of the index leases_taken, which holds a few of
// the leases of all sessions that ever were.
const waiting = `WITH work (thread, priority, since) AS (
		SELECT thread, MIN(priority), MIN(received) FROM deliveries WHERE done IS NULL GROUP BY thread
		UNION ALL
		SELECT COALESCE(s.thread, l.key), 3, l.until FROM leases l LEFT JOIN sessions s ON s.id = l.key
		WHERE (l.owner <> '' OR l.wanted = 1) AND (l.owner = '' OR l.until <= ?)
	), waiting AS (
		SELECT w.thread, w.priority, w.since, COALESCE(l.epoch, 0) AS epoch
		FROM work w LEFT JOIN leases l ON l.key = w.thread
		WHERE l.key IS NULL OR (l.not_before <= ? AND (l.owner = '' OR l.until <= ?))
	)
	`

// Waiting implements [store.Wakes].
func (s *wakes) Waiting(ctx context.Context, limit int) ([]store.Waiting, error) {
	s.followClock(ctx)
	now := micros(s.stamp())
	var out []store.Waiting
	err := s.read().rows(ctx, func(rows *sql.Rows) error {
		var w store.Waiting
		var since int64
		if err := rows.Scan(&w.Thread, &w.Priority, &since, &w.Sender, &w.Epoch); err != nil {
			return err
		}
		w.Since = fromMicros(since)
		out = append(out, w)
		return nil
	}, waiting+`SELECT w.thread, MIN(w.priority), MIN(w.since),
			COALESCE((SELECT d.sender FROM deliveries d WHERE d.thread = w.thread AND d.done IS NULL
				ORDER BY d.seq LIMIT 1), ''),
			MAX(w.epoch)
		FROM waiting w GROUP BY w.thread ORDER BY MIN(w.priority), MIN(w.since) LIMIT ?`, now, now, now, limit)
	if err != nil {
		return nil, fmt.Errorf("list waiting threads: %w", err)
	}
	return out, nil
}

// Oldest implements [store.Wakes].
func (s *wakes) Oldest(ctx context.Context) (time.Time, error) {
	now := micros(s.stamp())
	var since sql.NullInt64
	err := s.read().row(ctx, []any{&since}, waiting+`SELECT MIN(since) FROM waiting`, now, now, now)
	if err != nil {
		return time.Time{}, fmt.Errorf("look for the oldest work: %w", err)
	}
	if !since.Valid {
		return time.Time{}, nil
	}
	return fromMicros(since.Int64), nil
}
