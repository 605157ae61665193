// Package sqlstore keeps the records of package store in an SQL database. It is the
// common part of the adapters sqlite and postgres; an [Engine] holds their few
// differences.
//
// Every write is one transaction that first locks the row of its lease, so that a worker
// that lost its lease can write nothing. Rows are key columns beside a JSON document.
// Times are microseconds since 1970.
package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"github.com/handrail-bot/handrail/bot/store"
)

// Tx is a running transaction.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	Commit() error
	Rollback() error
}

// Engine is one database. Queries are written with "?" for arguments.
type Engine struct {
	Read    *sql.DB                                                                // for single reads
	Begin   func(ctx context.Context) (Tx, error)                                  // begins a transaction that may write
	Insert  func(ctx context.Context, tx Tx, wakes []river.InsertManyParams) error // inserts jobs
	Jobs    func(config *river.Config) (store.Jobs, error)                         // returns a runner of jobs
	Dollars bool                                                                   // arguments are $1, $2 …
	// suffix of a SELECT that locks its rows
	Lock string
	// Field is the text of a field of a document, as a format of the field's name.
	Field string
	// statement that makes deliveries commit in the order of their numbers
	Order string
	Full  func(error) bool // reports whether no space is left
	Busy  func(error) bool // reports whether another process kept a transaction from beginning
	Close func() error
	// Announce is a statement that tells other processes of a session with new events, for
	// Listen; "" if they cannot be told. Listen calls told for each until ctx ends.
	Announce string
	Listen   func(ctx context.Context, told func(session string)) error
	// Lane serializes writes, except the intake of deliveries: a delivery then waits for at
	// most one other write. A database with concurrent writes leaves it nil.
	Lane chan struct{}
}

// Config configures a Store.
type Config struct {
	Engine Engine
	Now    func() time.Time // nil means time.Now
	Log    *slog.Logger     // nil disables logging
}

// Store is an open database.
type Store struct {
	store.Store

	base *base
	put  *committer
	once sync.Once
	err  error
}

// base is the common part of all record types.
type base struct {
	Engine

	now    func() time.Time
	log    *slog.Logger
	nudges chan store.Waiting
	seen   atomic.Int64 // time of the last search for waiting threads; 0 if there was none
}

// New returns a store over an engine with up-to-date tables. It runs until Close, even if
// ctx ends.
func New(ctx context.Context, c Config) (*Store, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	b := &base{Engine: c.Engine, now: c.Now, log: c.Log, nudges: make(chan store.Waiting, 1024)}
	s := &Store{base: b, put: newCommitter(context.WithoutCancel(ctx), b)}
	s.Store = store.Store{
		Deliveries: &deliveries{b, s.put},
		Wakes:      &wakes{b},
		Leases:     &leases{b},
		Sessions:   &sessions{b},
		Logs:       &logs{b},
		Intents:    &intents{b},
		Effects:    &intents{b},
		Meta:       &meta{b},
	}
	return s, nil
}

// River returns the runner of the queue's jobs in this database.
func (s *Store) River(config *river.Config) (store.Jobs, error) { return s.base.Jobs(config) }

// Follows reports whether [Store.Follow] hears of other processes.
func (s *Store) Follows() bool { return s.base.Listen != nil }

// Follow calls told with the id of each session that gets new events, from any process on
// the database, until ctx ends. What happens between two calls is not told. It returns at
// once if the database cannot tell.
func (s *Store) Follow(ctx context.Context, told func(session string)) error {
	if s.base.Listen == nil {
		return nil
	}
	return s.base.Listen(ctx, told)
}

// Close waits for running writes and closes the database.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.put.close()
		s.err = s.base.Close()
	})
	return s.err
}

// maxBusy is how long a write waits for another process. The caller tries again later.
const maxBusy = time.Minute

// write runs fn in one transaction.
func (b *base) write(ctx context.Context, fn func(q query) error) error {
	if b.Lane != nil {
		select {
		case b.Lane <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("begin transaction: %w", context.Cause(ctx))
		}
		defer func() { <-b.Lane }()
	}
	for began, told := time.Now(), false; ; told = true {
		err := b.transact(ctx, fn)
		if !errors.Is(err, store.ErrBusy) || ctx.Err() != nil || time.Since(began) > maxBusy { //control:suspended-process
			return err
		}
		if !told {
			b.log.WarnContext(ctx, "wait for the database", "err", err)
		}
	}
}

// transact is write without the lane and without patience, for the intake.
func (b *base) transact(ctx context.Context, fn func(q query) error) error {
	tx, err := b.Begin(ctx)
	if err != nil {
		return b.explain(fmt.Errorf("begin transaction: %w", err))
	}
	if err := fn(query{b, tx}); err != nil {
		return b.explain(errors.Join(err, rolledBack(tx)))
	}
	if err := tx.Commit(); err != nil {
		return b.explain(errors.Join(fmt.Errorf("commit transaction: %w", err), rolledBack(tx)))
	}
	return nil
}

// rolledBack rolls back and returns only unexpected errors.
func rolledBack(tx Tx) error {
	err := tx.Rollback()
	if err == nil || errors.Is(err, sql.ErrTxDone) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	if strings.Contains(err.Error(), "no transaction is active") {
		return nil // already rolled back by the database
	}
	return fmt.Errorf("roll back transaction: %w", err)
}

// explain wraps [store.ErrFull] if the disk is full, and [store.ErrBusy] if the database is.
func (b *base) explain(err error) error {
	switch {
	case err == nil:
	case b.Full != nil && b.Full(err) && !errors.Is(err, store.ErrFull):
		return fmt.Errorf("%w (%w)", store.ErrFull, err)
	case b.Busy != nil && b.Busy(err):
		return fmt.Errorf("%w (%w)", store.ErrBusy, err)
	}
	return err
}

// sql adapts the placeholders of a query to the database.
func (b *base) sql(q string) string {
	if !b.Dollars {
		return q
	}
	var out strings.Builder
	n := 0
	for part := range strings.SplitSeq(q, "?") {
		if n > 0 {
			out.WriteString("$" + strconv.Itoa(n))
		}
		out.WriteString(part)
		n++
	}
	return out.String()
}

// read returns a query outside of any transaction.
func (b *base) read() query { return query{b, b.Read} }

// runner is implemented by transactions and databases.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// query runs statements with the placeholders of the database.
type query struct {
	*base

	on runner
}

// exec runs a statement and returns the number of changed rows.
func (q query) exec(ctx context.Context, stmt string, args ...any) (int, error) {
	res, err := q.on.ExecContext(ctx, q.sql(stmt), args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// row scans the only row of a statement, or returns [store.ErrNotFound].
func (q query) row(ctx context.Context, dest []any, stmt string, args ...any) error {
	err := q.on.QueryRowContext(ctx, q.sql(stmt), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}

// rows calls scan for every row of a statement.
func (q query) rows(ctx context.Context, scan func(*sql.Rows) error, stmt string, args ...any) (err error) {
	rows, err := q.on.QueryContext(ctx, q.sql(stmt), args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// micros returns the stored form of a time; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// stamp returns the current time in the stored precision.
func (b *base) stamp() time.Time { return b.now().UTC().Truncate(time.Microsecond) }

// document returns the stored form of a record.
func document(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("marshal %T: %w", v, err)
	}
	return data, nil
}

func parse[T any](data []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("read stored %T: %w", v, err)
	}
	return v, nil
}

// marks returns "(?,?),(?,?)" for a number of rows and columns.
func marks(rows, columns int) string {
	row := "(" + strings.Repeat("?,", columns-1) + "?)"
	return strings.Repeat(row+",", rows-1) + row
}
