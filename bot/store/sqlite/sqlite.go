// Package sqlite keeps the bot's records in one SQLite file, beside nothing
// else: the default for one machine.
//
// One connection writes and others read. A commit reaches the disk before it
// is acknowledged. Other processes may open the same file; they wait up to
// five seconds for each other.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Config says which file to open.
type Config struct {
	Path     string           // file, made with its folder when it is missing
	MaxPages int              // largest size in pages of 4 KiB, 0 for what the disk holds
	Now      func() time.Time // nil for time.Now
	Log      *slog.Logger     // nil for none
}

// Open opens the file and brings its tables up to date. The store must be
// closed.
func Open(ctx context.Context, c Config) (*sqlstore.Store, error) {
	s, err := open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", c.Path, err)
	}
	return s, nil
}

func open(ctx context.Context, c Config) (*sqlstore.Store, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if err := create(c.Path); err != nil {
		return nil, err
	}
	write, read, err := connect(c)
	if err != nil {
		return nil, err
	}
	closeBoth := func() error { return errors.Join(read.Close(), write.Close()) }
	queue := riversqlite.New(write)
	if err := migrate(ctx, write, queue, c.Log); err != nil {
		return nil, errors.Join(err, closeBoth())
	}
	engine, err := newEngine(write, read, queue, c.Log)
	if err != nil {
		return nil, errors.Join(err, closeBoth())
	}
	engine.Close = closeBoth
	return sqlstore.New(ctx, sqlstore.Config{Engine: engine, Now: c.Now, Log: c.Log})
}

// create makes the file, readable for nobody else.
func create(path string) error {
	if path == "" {
		return errors.New("no path given")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// connect opens the one connection that writes and those that read.
func connect(c Config) (write, read *sql.DB, err error) {
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, nil, err
	}
	options := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}}
	if c.MaxPages > 0 {
		options.Add("_pragma", "max_page_count("+strconv.Itoa(c.MaxPages)+")")
	}
	name := func(more url.Values) string {
		u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: options.Encode() + "&" + more.Encode()}
		return u.String()
	}
	write, err = sql.Open("sqlite", name(url.Values{"_txlock": {"immediate"}}))
	if err != nil {
		return nil, nil, err
	}
	write.SetMaxOpenConns(1)
	read, err = sql.Open("sqlite", name(url.Values{"_pragma": {"query_only(1)"}}))
	if err != nil {
		return nil, nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(4)
	return write, read, nil
}

// migrate brings the tables of the store and of the queue up to date.
func migrate(ctx context.Context, db *sql.DB, queue *riversqlite.Driver, log *slog.Logger) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	tables, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithSlog(log), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	if _, err := tables.Up(ctx); err != nil {
		return fmt.Errorf("migrate tables: %w", err)
	}
	jobs, err := rivermigrate.New(queue, &rivermigrate.Config{Logger: log})
	if err != nil {
		return fmt.Errorf("prepare migrations of the queue: %w", err)
	}
	if _, err := jobs.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate tables of the queue: %w", err)
	}
	return nil
}

func newEngine(write, read *sql.DB, queue *riversqlite.Driver, log *slog.Logger) (sqlstore.Engine, error) {
	inserter, err := river.NewClient(queue, &river.Config{Logger: log})
	if err != nil {
		return sqlstore.Engine{}, fmt.Errorf("connect queue: %w", err)
	}
	return sqlstore.Engine{
		Read:  read,
		Begin: func(ctx context.Context) (sqlstore.Tx, error) { return write.BeginTx(ctx, nil) },
		Insert: func(ctx context.Context, tx sqlstore.Tx, wakes []river.InsertManyParams) error {
			own, ok := tx.(*sql.Tx)
			if !ok {
				return fmt.Errorf("transaction is a %T", tx)
			}
			_, err := inserter.InsertManyFastTx(ctx, own, wakes)
			return err
		},
		Jobs: func(config *river.Config) (store.Jobs, error) {
			client, err := river.NewClient(queue, config)
			if err != nil {
				return nil, fmt.Errorf("connect queue: %w", err)
			}
			return client, nil
		},
		Full: full,
	}, nil
}

// full recognizes a full disk. SQLite reports one that fills up while it
// extends its shared memory as an I/O error.
func full(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR_SHMSIZE:
		return true
	}
	return false
}
