// Package postgres stores the bot's records in PostgreSQL, for many machines that share
// their work.
//
// Each machine compares the times of leases with its own clock, so the clocks must agree
// to within a second or two.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/handrail-bot/handrail/bot/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Keys of advisory locks: one makes deliveries commit in the order of their numbers, the
// other lets one machine migrate at a time.
const (
	orderKey   int64 = 0x68616e647261696c // "handrail" in ASCII
	migrateKey int64 = orderKey + 1
)

// Config configures the database.
type Config struct {
	URL   string           // "postgres://user:password@host/database", or the "key=value" form
	Conns int              // maximum number of connections, 0 means 16
	Now   func() time.Time // nil means time.Now
	Log   *slog.Logger     // nil disables logging
}

// Open connects and brings the tables up to date; several machines may call it at once.
// The caller must close the store.
func Open(ctx context.Context, c Config) (*sqlstore.Store, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Conns == 0 {
		c.Conns = 16
	}
	config, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("read database address: %w", err) // pgx omits the password
	}
	config.MaxConns = int32(min(c.Conns, 1000))
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to database: %w", err)
	}
	s, err := open(ctx, c, pool)
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open database %s on %s: %w", config.ConnConfig.Database, config.ConnConfig.Host, err)
	}
	return s, nil
}

func open(ctx context.Context, c Config, pool *pgxpool.Pool) (*sqlstore.Store, error) {
	if err := pool.Ping(ctx); err != nil {
		return nil, err
	}
	db := stdlib.OpenDBFromPool(pool)
	engine := sqlstore.Engine{
		Read:    db,
		Begin:   func(ctx context.Context) (sqlstore.Tx, error) { return begin(ctx, db) },
		Dollars: true,
		Lock:    " FOR UPDATE",
		Field:   "convert_from(doc, 'UTF8')::json->>'%s'",
		Order:   fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", orderKey),
		Full:    full,

		Announce: "SELECT pg_notify('" + grown + "', ?)",
		Listen:   func(ctx context.Context, told func(string)) error { return listen(ctx, pool, told) },
		Close: func() error {
			err := db.Close()
			pool.Close()
			return err
		},
	}
	if err := prepare(ctx, &engine, pool, c.Log); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return sqlstore.New(ctx, sqlstore.Config{Engine: engine, Now: c.Now, Log: c.Log})
}

// grown is the channel on which sessions with new events are announced.
const grown = "handrail_log"

// listen calls told for each announced session until ctx ends. It holds one connection.
func listen(ctx context.Context, pool *pgxpool.Pool, told func(string)) error {
	held, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("listen for events: %w", err)
	}
	conn := held.Hijack() // a connection that listens does not go back
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+grown); err != nil {
		return fmt.Errorf("listen for events: %w", err)
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end was asked for
		}
		if err != nil {
			return fmt.Errorf("listen for events: %w", err)
		}
		told(n.Payload)
	}
}

// prepare brings the tables up to date, on one machine at a time.
func prepare(ctx context.Context, engine *sqlstore.Engine, pool *pgxpool.Pool, log *slog.Logger) (err error) {
	conn, err := engine.Read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrateKey); err != nil {
		return fmt.Errorf("wait for migrations of other machines: %w", err)
	}
	defer func() {
		_, unlock := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrateKey)
		err = errors.Join(err, unlock)
	}()
	return sqlstore.Prepare(ctx, engine,
		sqlstore.Tables{DB: engine.Read, Dialect: goose.DialectPostgres, Files: migrations, Log: log},
		sqlstore.Queue[pgx.Tx]{Driver: riverpgxv5.New(pool), Own: own, Log: log})
}

// tx is a transaction shared by database/sql and the queue's driver, on one connection.
type tx struct {
	*sql.Conn

	own pgx.Tx
}

func begin(ctx context.Context, db *sql.DB) (*tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &tx{Conn: conn}
	err = conn.Raw(func(driver any) (err error) {
		c, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("connection is a %T", driver)
		}
		t.own, err = c.Conn().Begin(ctx)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return t, nil
}

// Commit implements [sqlstore.Tx].
func (t *tx) Commit() error { return t.end(t.own.Commit) }

// Rollback implements [sqlstore.Tx].
func (t *tx) Rollback() error { return t.end(t.own.Rollback) }

// end ends the transaction once and returns the connection to the pool. It takes no
// context: the server limits its time. If a context ends in the middle of a statement,
// database/sql closes the connection, which rolls the transaction back; the connection
// must not be used afterwards.
func (t *tx) end(how func(context.Context) error) error {
	err := t.Raw(func(any) error { return how(context.Background()) })
	if errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, sql.ErrConnDone) {
		return sql.ErrTxDone
	}
	return errors.Join(err, t.Close())
}

// own returns the queue driver's form of a transaction.
func own(open sqlstore.Tx) (pgx.Tx, bool) {
	t, ok := open.(*tx)
	if !ok {
		return nil, false
	}
	return t.own, true
}

// full reports whether err means that the server's disk is full.
func full(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "53100"
}
