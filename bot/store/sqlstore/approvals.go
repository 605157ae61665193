package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
)

type approvals struct{ *base }

// Ask implements [store.Approvals].
func (s *approvals) Ask(ctx context.Context, f store.Fence, a *store.Approval) error {
	row := *a
	err := s.write(ctx, func(q query) error {
		if _, err := fence(ctx, q, f); err != nil {
			return err
		}
		return ask(ctx, q, f, &row)
	})
	if err != nil {
		return fmt.Errorf("ask %q: %w", a.ID, err)
	}
	*a = row
	return nil
}

// ask stores a pending request; the fence is checked by the caller.
func ask(ctx context.Context, q query, f store.Fence, a *store.Approval) error {
	if a.Session == "" {
		a.Session = f.Key
	}
	for _, err := range []error{name("id", a.ID), name("session", a.Session), name("kind", a.Kind)} {
		if err != nil {
			return err
		}
	}
	if a.Session != f.Key {
		return fmt.Errorf("fence of %q does not cover session %q", f.Key, a.Session)
	}
	row := *a
	row.State, row.Created, row.Used, row.Epoch = store.Pending, q.stamp(), time.Time{}, 0
	row.Updated = row.Created
	doc, err := document(row)
	if err != nil {
		return err
	}
	n, err := q.exec(ctx, `INSERT INTO approvals (id, session, state, deadline, doc) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		row.ID, row.Session, string(row.State), micros(row.Deadline), doc)
	if err != nil {
		return err
	}
	if n == 0 {
		return store.ErrExists
	}
	*a = row
	return nil
}

func readApproval(ctx context.Context, q query, id, lock string) (*store.Approval, error) {
	var doc []byte
	if err := q.row(ctx, []any{&doc}, `SELECT doc FROM approvals WHERE id = ?`+lock, id); err != nil {
		return nil, err
	}
	return parse[store.Approval](doc)
}

func writeApproval(ctx context.Context, q query, a *store.Approval) error {
	a.Updated = q.stamp()
	doc, err := document(a)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `UPDATE approvals SET state = ?, doc = ? WHERE id = ?`, string(a.State), doc, a.ID)
	return err
}

// Approval implements [store.Approvals].
func (s *approvals) Approval(ctx context.Context, id string) (*store.Approval, error) {
	a, err := readApproval(ctx, s.read(), id, "")
	if err != nil {
		return nil, fmt.Errorf("read approval %q: %w", id, err)
	}
	return a, nil
}

// Settle implements [store.Approvals].
func (s *approvals) Settle(ctx context.Context, id string, to store.Settlement) (*store.Approval, error) {
	var a *store.Approval
	var late bool
	err := s.write(ctx, func(q query) (err error) {
		if a, err = readApproval(ctx, q, id, q.Lock); err != nil {
			return err
		}
		if a.State == to.To && a.Key == to.Key {
			return nil // told again
		}
		late = a.State.Open() && overdue(a, q.now()) && to.To != store.Expired
		if late {
			to = store.Settlement{To: store.Expired}
		}
		if to.To == store.Used || !a.State.Can(to.To) {
			return store.ErrConflict
		}
		a.State, a.By, a.ByID, a.Reason, a.Key = to.To, to.By, to.ByID, to.Reason, to.Key
		return writeApproval(ctx, q, a)
	})
	if err == nil && late {
		err = store.ErrConflict
	}
	if err != nil {
		return a, fmt.Errorf("settle approval %q: %w", id, err)
	}
	return a, nil
}

func overdue(a *store.Approval, now time.Time) bool {
	return !a.Deadline.IsZero() && now.After(a.Deadline)
}

// Use implements [store.Approvals].
func (s *approvals) Use(ctx context.Context, f store.Fence, u store.Use) error {
	err := s.write(ctx, func(q query) error {
		if _, err := fence(ctx, q, f); err != nil {
			return err
		}
		return use(ctx, q, f, []store.Use{u})
	})
	if err != nil {
		return fmt.Errorf("use approval: %w", err)
	}
	return nil
}

// use spends approvals; the fence is checked by the caller.
func use(ctx context.Context, q query, f store.Fence, all []store.Use) error {
	for _, u := range all {
		a, err := readApproval(ctx, q, u.ID, q.Lock)
		if err != nil {
			return fmt.Errorf("approval %q: %w", u.ID, err)
		}
		switch {
		case a.Session != f.Key:
			return fmt.Errorf("approval %q belongs to session %q: %w", u.ID, a.Session, store.ErrConflict)
		case a.State != store.Approved:
			return fmt.Errorf("approval %q is %s: %w", u.ID, a.State, store.ErrConflict)
		case a.Digest != u.Digest:
			return fmt.Errorf("approval %q is for another action: %w", u.ID, store.ErrConflict)
		case a.Head != u.Head:
			return fmt.Errorf("approval %q is for another head: %w", u.ID, store.ErrConflict)
		}
		a.State, a.Used, a.Epoch = store.Used, q.stamp(), f.Epoch
		if err := writeApproval(ctx, q, a); err != nil {
			return err
		}
	}
	return nil
}

// Open implements [store.Approvals].
func (s *approvals) Open(ctx context.Context, id string, due time.Time) ([]*store.Approval, error) {
	where, arg := `session = ?`, any(id)
	if id == "" {
		where, arg = `deadline > 0 AND deadline < ?`, micros(due)
	}
	var out []*store.Approval
	err := s.read().rows(ctx, func(rows *sql.Rows) error {
		var doc []byte
		if err := rows.Scan(&doc); err != nil {
			return err
		}
		a, err := parse[store.Approval](doc)
		out = append(out, a)
		return err
	}, `SELECT doc FROM approvals WHERE `+where+` AND state IN ('pending', 'approved') ORDER BY n`, arg)
	if err != nil {
		return nil, fmt.Errorf("list open approvals: %w", err)
	}
	return out, nil
}
