// Package sqlite stores the bot's records in one SQLite file. It is the default for a
// single machine.
//
// One connection writes and others read. A commit reaches the disk before it is
// acknowledged. Other processes may open the same file; they wait up to five seconds for
// each other to read, and up to a minute to write.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Config configures the database.
type Config struct {
	Path     string           // created with its directory if missing
	MaxPages int              // maximum size in pages of 4 KiB, 0 means no limit
	Now      func() time.Time // nil means time.Now
	Log      *slog.Logger     // nil disables logging
}

// Open opens the file and brings its tables up to date. The caller must close the store.
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
	write, read, pages, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	engine := sqlstore.Engine{
		Read:  read,
		Begin: func(ctx context.Context) (sqlstore.Tx, error) { return write.BeginTx(ctx, nil) },
		Field: "json_extract(CAST(doc AS TEXT), '$.%s')",
		Full:  full,
		Busy:  busy,
		Close: func() error { return errors.Join(pages.Close(), read.Close(), write.Close()) },
		Lane:  make(chan struct{}, 1),
	}
	err = sqlstore.Prepare(ctx, &engine,
		sqlstore.Tables{DB: write, Dialect: goose.DialectSQLite3, Files: migrations, Log: c.Log},
		sqlstore.Queue[*sql.Tx]{Driver: riversqlite.New(write), Own: own, Log: c.Log})
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	jobs := engine.Jobs
	engine.Jobs = func(config *river.Config) (store.Jobs, error) {
		client, err := jobs(config)
		return patientJobs{client, c.Log}, err
	}
	return sqlstore.New(ctx, sqlstore.Config{Engine: engine, Now: c.Now, Log: c.Log})
}

// own returns the queue driver's form of a transaction.
func own(tx sqlstore.Tx) (*sql.Tx, bool) {
	t, ok := tx.(*sql.Tx)
	return t, ok
}

// create makes the file, readable by its owner only.
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

// connect opens the single writing connection, the reading ones, and the one of the
// checkpointer.
func connect(ctx context.Context, c Config) (write, read *sql.DB, pages *checkpointer, err error) {
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return nil, nil, nil, err
	}
	options := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"}}
	if c.MaxPages > 0 {
		options.Add("_pragma", "max_page_count("+strconv.Itoa(c.MaxPages)+")")
	}
	name := func(more url.Values) string {
		u := url.URL{
			Scheme:   "file",
			OmitHost: true,
			Path:     filepath.ToSlash(path),
			RawQuery: options.Encode() + "&" + more.Encode(),
		}
		return u.String()
	}
	moves, err := database(name(nil), 1, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	pages = newCheckpointer(ctx, moves, c.Log)
	write, err = database(name(url.Values{"_txlock": {"immediate"}, "_pragma": {writerPragma}}), 1, pages.count)
	if err != nil {
		return nil, nil, nil, errors.Join(err, pages.Close())
	}
	read, err = database(name(url.Values{"_pragma": {"query_only(1)"}}), 4, nil)
	if err != nil {
		return nil, nil, nil, errors.Join(err, pages.Close(), write.Close())
	}
	return write, read, pages, nil
}

// patientJobs waits at the start for another process that holds the file.
type patientJobs struct {
	store.Jobs

	log *slog.Logger
}

// Start implements [store.Jobs]. The runner gives up after ten seconds of its own if its parts
// wait for the file one after another, and says only that the time is over.
func (j patientJobs) Start(ctx context.Context) error {
	err := j.Jobs.Start(ctx)
	for told := false; (busy(err) || errors.Is(err, context.DeadlineExceeded)) && ctx.Err() == nil; told = true {
		if !told {
			j.log.WarnContext(ctx, "wait for the database", "err", err)
		}
		err = j.Jobs.Start(ctx)
	}
	return err
}

// busy reports whether err means that another process holds the file.
func busy(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_BUSY
}

// full reports whether err means that the disk is full. SQLite reports an I/O error if
// the disk fills up while it extends its shared memory.
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
