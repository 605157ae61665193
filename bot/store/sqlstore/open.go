package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/handrail-bot/handrail/bot/store"
)

// Tables are the tables of a store, as a series of migrations. The number of the last
// migration is the schema version.
type Tables struct {
	DB      *sql.DB
	Dialect goose.Dialect
	Files   fs.FS // with a directory "migrations"
	Log     *slog.Logger
}

// Queue is the queue in a store's database, through River's driver.
type Queue[T any] struct {
	Driver riverdriver.Driver[T]
	Own    func(Tx) (T, bool) // returns the driver's form of a store's transaction
	Log    *slog.Logger
}

// Prepare brings the tables of the store and of the queue up to date, and sets Insert and
// Jobs of the engine. It refuses a database that a newer version wrote, before any
// change.
func Prepare[T any](ctx context.Context, e *Engine, t Tables, q Queue[T]) error {
	if err := t.migrate(ctx); err != nil {
		return err
	}
	jobs, err := rivermigrate.New(q.Driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("prepare migrations of the queue: %w", err)
	}
	if _, err := jobs.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate tables of the queue: %w", err)
	}
	inserter, err := river.NewClient(q.Driver, &river.Config{Logger: q.Log})
	if err != nil {
		return fmt.Errorf("connect queue: %w", err)
	}
	e.Insert = func(ctx context.Context, tx Tx, wakes []river.InsertManyParams) error {
		own, ok := q.Own(tx)
		if !ok {
			return fmt.Errorf("transaction is a %T", tx)
		}
		_, err := inserter.InsertManyFastTx(ctx, own, wakes)
		return err
	}
	e.Jobs = func(config *river.Config) (store.Jobs, error) {
		client, err := river.NewClient(q.Driver, config)
		if err != nil {
			return nil, fmt.Errorf("connect queue: %w", err)
		}
		return client, nil
	}
	return nil
}

func (t Tables) migrate(ctx context.Context) error {
	files, err := fs.Sub(t.Files, "migrations")
	if err != nil {
		return err
	}
	tables, err := goose.NewProvider(t.Dialect, t.DB, files, goose.WithSlog(t.Log), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	is, known, err := tables.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read version of the tables: %w", err)
	}
	if is > known {
		return fmt.Errorf("its tables have form %d, this version knows up to %d: use a newer version", is, known)
	}
	if _, err := tables.Up(ctx); err != nil {
		return fmt.Errorf("migrate tables: %w", err)
	}
	return nil
}
