package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
)

type sessions struct{ *base }

const selectSession = `SELECT s.n, s.doc, s.version, COALESCE(l.epoch, 0), COALESCE(l.owner, ''), COALESCE(l.until, 0)
	FROM sessions s LEFT JOIN leases l ON l.key = s.id `

type scanner interface{ Scan(dest ...any) error }

func scanSession(row scanner) (*store.Session, error) {
	var doc []byte
	var n, version, epoch, until int64
	var owner string
	if err := row.Scan(&n, &doc, &version, &epoch, &owner, &until); err != nil {
		return nil, err
	}
	s, err := parse[store.Session](doc)
	if err != nil {
		return nil, err
	}
	s.Seq, s.Version, s.Epoch, s.Owner, s.Until = n, version, epoch, owner, fromMicros(until)
	return s, nil
}

func checkSession(s *store.Session) error {
	for _, err := range []error{
		store.CheckName("id", s.ID), store.CheckName("thread", s.Thread), store.CheckPlain("repo", s.Repo), store.CheckPlain("requester", s.Requester), store.CheckPlain("state", string(s.State)), store.CheckPlain("branch", s.Branch),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// Create implements [store.Sessions].
func (s *sessions) Create(ctx context.Context, in *store.Session) error {
	if err := checkSession(in); err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	row := *in
	row.Created, row.Version = s.stamp(), 1
	row.Updated = row.Created
	doc, err := document(row)
	if err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	err = s.write(ctx, func(q query) error {
		err := q.row(ctx, []any{&row.Seq}, `INSERT INTO sessions
			(id, thread, repo, requester, state, pull, branch, created, version, doc)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING n`,
			row.ID, row.Thread, row.Repo, row.Requester, row.State, row.Pull, row.Branch, micros(row.Created), row.Version, doc)
		if errors.Is(err, store.ErrNotFound) { // no row was made
			err = store.ErrExists
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("create session %s: %w", in.ID, err)
	}
	in.Seq, in.Created, in.Updated, in.Version = row.Seq, row.Created, row.Updated, row.Version
	return nil
}

// Session implements [store.Sessions].
func (s *sessions) Session(ctx context.Context, id string) (*store.Session, error) {
	return s.one(ctx, "session "+id, `WHERE s.id = ?`, id)
}

// ByThread implements [store.Sessions].
func (s *sessions) ByThread(ctx context.Context, thread string) (*store.Session, error) {
	return s.one(ctx, "session of "+thread, `WHERE s.thread = ? ORDER BY s.n DESC LIMIT 1`, thread)
}

func (s *sessions) one(ctx context.Context, what, where string, arg any) (*store.Session, error) {
	out, err := scanSession(s.Read.QueryRowContext(ctx, s.sql(selectSession+where), arg))
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return out, nil
}

// Update implements [store.Sessions].
func (s *sessions) Update(ctx context.Context, f store.Fence, in *store.Session) error {
	row := *in
	err := s.write(ctx, func(q query) error {
		if err := fenceOrFree(ctx, q, f, in.ID); err != nil {
			return err
		}
		return updateSession(ctx, q, &row)
	})
	if err != nil {
		return fmt.Errorf("update session %s: %w", in.ID, err)
	}
	*in = row
	return nil
}

// fenceOrFree allows a write without a fence unless the session has a live lease.
func fenceOrFree(ctx context.Context, q query, f store.Fence, id string) error {
	if f != (store.Fence{}) {
		return fenceFor(ctx, q, f, id)
	}
	l, err := readLease(ctx, q, id, q.Lock)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case l.Live(q.now()):
		return session.ErrFenced
	}
	return nil
}

// fenceFor checks that the fence is held and belongs to session id.
func fenceFor(ctx context.Context, q query, f store.Fence, id string) error {
	if f.Key != id {
		return fmt.Errorf("fence of %q does not cover %q: %w", f.Key, id, session.ErrFenced)
	}
	_, err := fence(ctx, q, f)
	return err
}

// updateSession writes row and raises its version.
func updateSession(ctx context.Context, q query, row *store.Session) error {
	if err := checkSession(row); err != nil {
		return err
	}
	old := row.Version
	row.Version, row.Updated = old+1, q.stamp()
	doc, err := document(row)
	if err != nil {
		return err
	}
	n, err := q.exec(
		ctx,
		`UPDATE sessions SET thread = ?, repo = ?, requester = ?, state = ?, pull = ?, branch = ?, version = ?, doc = ?
			WHERE id = ? AND version = ?`,
		row.Thread,
		row.Repo,
		row.Requester,
		row.State,
		row.Pull,
		row.Branch,
		row.Version,
		doc,
		row.ID,
		old,
	)
	if err != nil || n == 1 {
		return err
	}
	var one int
	if err := q.row(ctx, []any{&one}, `SELECT 1 FROM sessions WHERE id = ?`, row.ID); err != nil {
		return err
	}
	return store.ErrConflict
}

// List implements [store.Sessions].
func (s *sessions) List(ctx context.Context, by store.Query) ([]*store.Session, error) {
	where, args := []string{"1 = 1"}, []any{}
	add := func(clause string, arg ...any) {
		where = append(where, clause)
		args = append(args, arg...)
	}
	if by.Repo != "" {
		add("s.repo = ?", by.Repo)
	}
	if by.Thread != "" {
		add("s.thread = ?", by.Thread)
	}
	if by.Requester != "" {
		add("s.requester = ?", by.Requester)
	}
	if !by.Before.IsZero() {
		add("s.created < ?", micros(by.Before))
	}
	if by.Below != 0 {
		add("s.n < ?", by.Below)
	}
	if len(by.States) > 0 {
		states := make([]any, len(by.States))
		for i, state := range by.States {
			states[i] = state
		}
		add("s.state IN "+marks(1, len(states)), states...)
	}
	if len(by.Pulls)+len(by.Branches) > 0 {
		clause, of := ofEither(by)
		add(clause, of...)
	}
	if !by.Since.IsZero() {
		newest := "SELECT s.n FROM sessions s WHERE " + strings.Join(where, " AND ") + " ORDER BY s.n DESC LIMIT ?"
		where, args = []string{"s.n IN (" + newest + ")"}, append(args, store.MaxSince)
		updated := fmt.Sprintf(s.Field, "updated")
		add(fmt.Sprintf("SUBSTR(%s, 1, %d) >= ?", updated, len(second)), by.Since.UTC().Format(second))
	}
	if by.Limit <= 0 {
		by.Limit = 100
	}
	var out []*store.Session
	err := s.read().rows(ctx, func(rows *sql.Rows) error {
		one, err := scanSession(rows)
		out = append(out, one)
		return err
	}, selectSession+"WHERE "+strings.Join(where, " AND ")+" ORDER BY s.n DESC LIMIT ?", append(args, by.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return out, nil
}

// ofEither returns the condition for the sessions of one of the pull requests or branches.
// Each is a look into a partial index, of which it repeats the condition: the terms of an OR
// would be tried with all sessions of the repository.
func ofEither(by store.Query) (clause string, args []any) {
	var either []string
	add := func(column, none string, value any) {
		stmt := "SELECT n FROM sessions WHERE " + column + " <> " + none + " AND " + column + " = ?"
		if args = append(args, value); by.Repo != "" {
			stmt, args = stmt+" AND repo = ?", append(args, by.Repo)
		}
		either = append(either, stmt)
	}
	for _, n := range by.Pulls {
		add("pull", "0", n)
	}
	for _, name := range by.Branches {
		add("branch", "''", name)
	}
	return "s.n IN (" + strings.Join(either, " UNION ALL ") + ")", args
}

// Tally implements [store.Sessions]. The states are counted in their index; documents are
// read of sessions that wait for an approval, and only in the database.
func (s *sessions) Tally(ctx context.Context) (store.Tally, error) {
	t := store.Tally{States: map[session.Phase]int{}}
	var open []any
	for _, p := range session.Phases() {
		if !p.Over() {
			open = append(open, p)
		}
	}
	err := s.read().rows(ctx, func(rows *sql.Rows) error {
		var state session.Phase
		var n int
		err := rows.Scan(&state, &n)
		t.States[state] = n
		return err
	}, "SELECT state, COUNT(*) FROM sessions WHERE state IN "+marks(1, len(open))+" GROUP BY state", open...)
	if err == nil && t.States[session.PhaseAwaitingApproval] > 0 {
		err = s.tallyAsked(ctx, &t)
	}
	if err != nil {
		return store.Tally{}, fmt.Errorf("count sessions: %w", err)
	}
	return t, nil
}

// second is the form of stored times as far as the seconds: that many characters of all of
// them have the same form and can be compared.
const second = "2006-01-02T15:04:05"

// tallyAsked counts the open requests.
func (s *sessions) tallyAsked(ctx context.Context, t *store.Tally) error {
	field := func(name string) string { return fmt.Sprintf(s.Field, name) }
	at := field("asked_at")
	stmt := fmt.Sprintf(`SELECT SUM(CASE WHEN at IS NULL THEN 1 ELSE CAST(asked AS BIGINT) END),
			MIN(SUBSTR(COALESCE(at, updated), 1, %d)) FROM
		(SELECT COALESCE(%s, '0') AS asked, %s AS at, %s AS updated FROM sessions WHERE state = ?) AS open`,
		len(second), field("asked"), at, field("updated"))
	var oldest sql.NullString
	var n sql.NullInt64
	if err := s.read().row(ctx, []any{&n, &oldest}, stmt, session.PhaseAwaitingApproval); err != nil || !oldest.Valid {
		return err
	}
	var err error
	t.Asked = int(n.Int64)
	t.Oldest, err = time.Parse(second, oldest.String)
	return err
}
