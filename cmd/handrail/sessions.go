package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
)

// storeFlags say which database a verb reads.
type storeFlags struct {
	File     string `name:"config" short:"c" type:"path" help:"The server's configuration file, for where its database is."`
	Data     string `type:"path" help:"The server's data directory."`
	Database string `env:"HANDRAIL_DATABASE" help:"postgres://… instead of the database in the data directory, or the path of an SQLite file."`
}

// open opens the database of a server, which may be running.
func (f storeFlags) open(ctx context.Context, w *console) (*sqlstore.Store, error) {
	cfg := config.Server{Data: f.Data, Database: f.Database}
	if f.File != "" {
		read, err := config.Read(f.File, os.Getenv)
		if err != nil {
			return nil, door.UsageError{Err: err}
		}
		cfg = read
		if f.Database != "" {
			cfg.Database = f.Database
		}
	}
	if cfg.Data == "" {
		cfg.Data = cmp.Or(os.Getenv("HANDRAIL_DATA"), "data")
	}
	if !config.IsPostgres(cfg.Database) {
		if _, err := os.Stat(config.SQLitePath(cfg)); err != nil {
			return nil, door.Usage("there is no database at %s: say where with --data, --database or --config", config.SQLitePath(cfg))
		}
	}
	return openStore(ctx, cfg, w.log)
}

type sessionsCmd struct {
	List   sessionsListCmd   `cmd:"" help:"List sessions, newest first."`
	Export sessionsExportCmd `cmd:"" help:"Write the log of a session to a file or a git ref."`
	Import sessionsImportCmd `cmd:"" help:"Store the log of a session from a file or a git ref."`
}

type sessionsListCmd struct {
	storeFlags `embed:""`

	Repo  string `help:"Only of this repository, owner/name."`
	Limit int    `default:"50" help:"At most this many."`
}

// Run lists sessions.
func (c *sessionsListCmd) Run(ctx context.Context, w *console) (err error) {
	s, err := c.open(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	list, err := s.Sessions.List(ctx, store.Query{Repo: c.Repo, Limit: c.Limit})
	if err != nil {
		return err
	}
	for _, row := range list {
		if _, err := fmt.Fprintf(w.out, "%s\t%s\t%s\t%s\n", row.ID, row.Thread, row.State, row.Created.Format("2006-01-02 15:04")); err != nil {
			return err
		}
	}
	return nil
}

type sessionsExportCmd struct {
	storeFlags `embed:""`

	Session string `arg:"" help:"Id of the session."`
	Out     string `short:"o" aliases:"to" default:"-" help:"Where to: a file, git:REPOSITORY (a URL or a path), or - for standard output."`
}

// Run writes the log of one session.
func (c *sessionsExportCmd) Run(ctx context.Context, w *console) (err error) {
	s, err := c.open(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	events, err := s.Logs.Log(store.Fence{Key: c.Session}).Events(ctx, 0)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return fmt.Errorf("export session %s: %w", c.Session, store.ErrNotFound)
	}
	return writeLog(ctx, w, c.Out, c.Session, events)
}

type sessionsImportCmd struct {
	storeFlags `embed:""`

	In string `arg:"" default:"-" help:"What to read, as export wrote it: a file, git:REPOSITORY#SESSION, or - for standard input."`
}

// Run stores the log of one session.
func (c *sessionsImportCmd) Run(ctx context.Context, w *console) (err error) {
	id, events, err := readLog(ctx, w, c.In)
	if errors.Is(err, os.ErrNotExist) {
		return door.UsageError{Err: err}
	}
	if err != nil {
		return fmt.Errorf("import session: %w", err)
	}
	if id == "" {
		return door.Usage("%s says of no session whose log it is: the first event of a log names it", c.In)
	}
	if c.Database != "" && !config.IsPostgres(c.Database) {
		f, err := os.OpenFile(c.Database, os.O_CREATE|os.O_RDONLY, 0o600) // a new database is fine here
		if err != nil {
			return door.UsageError{Err: err}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	s, err := c.open(ctx, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Logs.Import(ctx, id, events); err != nil {
		return err
	}
	if err := store.Restore(ctx, s.Store, id); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.out, "stored the log of session %s\n", id)
	return err
}
