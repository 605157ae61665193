// Package records opens the database of a server.
package records

import (
	"cmp"
	"context"
	"log/slog"
	"os"

	"github.com/handrail-bot/handrail/bot/store/postgres"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
)

// Flags say which database a verb reads.
type Flags struct {
	File     string `name:"config" short:"c" type:"path" help:"The server's configuration file, for where its database is."`
	Data     string `type:"path" help:"The server's data directory."`
	Database string `env:"HANDRAIL_DATABASE" help:"postgres://… instead of the database in the data directory, or the path of an SQLite file."`
}

// Open opens the database of a server, which may be running.
func (f Flags) Open(ctx context.Context, log *slog.Logger) (*sqlstore.Store, error) {
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
	return Open(ctx, cfg, log)
}

// Open opens the database that a configuration names.
func Open(ctx context.Context, cfg config.Server, log *slog.Logger) (*sqlstore.Store, error) {
	if config.IsPostgres(cfg.Database) {
		return postgres.Open(ctx, postgres.Config{URL: cfg.Database, Log: log})
	}
	return sqlite.Open(ctx, sqlite.Config{Path: config.SQLitePath(cfg), Log: log})
}
