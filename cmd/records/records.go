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
	"github.com/handrail-bot/handrail/policy/secret"
)

// Flags say which database a verb reads.
type Flags struct {
	File     string `name:"config" short:"c" type:"path" help:"The server's configuration file, for where its database is."`
	Data     string `type:"path" help:"The server's data directory."`
	Database string `env:"HANDRAIL_DATABASE" help:"postgres://… instead of the database in the data directory, or the path of an SQLite file."`
}

// Unset reports whether nobody said which database it is.
func (f Flags) Unset() bool { return f.File == "" && f.Data == "" && f.Database == "" }

// IsThere reports whether the database that the flags name can be there: one of PostgreSQL
// can always.
func (f Flags) IsThere() bool {
	cfg, err := f.config(os.Getenv)
	if err != nil || config.IsPostgres(cfg.Database) {
		return true
	}
	_, err = os.Stat(config.SQLitePath(cfg))
	return err == nil
}

// Open opens the database of a server, which may be running.
func (f Flags) Open(ctx context.Context, log *slog.Logger) (*sqlstore.Store, error) {
	cfg, err := f.config(os.Getenv)
	if err != nil {
		return nil, door.UsageError{Err: err}
	}
	if !config.IsPostgres(cfg.Database) {
		if _, err := os.Stat(config.SQLitePath(cfg)); err != nil {
			return nil, door.Usage("there is no database at %s: say where with --data, --database or --config", config.SQLitePath(cfg))
		}
	}
	return Open(ctx, cfg, log)
}

// config returns where the database is: as the flags say, then as the environment of the
// server says, then as its file does. It asks for no other secret of the server.
func (f Flags) config(getenv func(string) string) (config.Server, error) {
	cfg, err := config.ReadFile(f.File)
	if err != nil {
		return cfg, err
	}
	database, err := config.Secret(getenv, "HANDRAIL_DATABASE") // may hold a password
	if err != nil {
		return cfg, err
	}
	cfg.Data = cmp.Or(f.Data, getenv("HANDRAIL_DATA"), cfg.Data)
	cfg.Database = cmp.Or(f.Database, database.Reveal(), cfg.Database)
	if f.Data != "" && f.Database == "" { // a directory that is named holds its own
		cfg.Database = ""
	}
	return cfg, nil
}

// Keys open and check what logs keep; each is nil where it is not known.
type Keys struct {
	Contents *secret.Key // of files that are sealed
	Signing  *secret.Key // of the ends of logs
}

// EnvironmentKeys returns the keys that a server with this environment has.
func EnvironmentKeys(getenv func(string) string) (Keys, error) {
	from, err := config.LogKey(getenv)
	if err != nil {
		return Keys{}, err
	}
	return KeysFrom(from)
}

// KeysFrom derives the keys of logs from a secret; there are none without one.
func KeysFrom(from secret.Value) (k Keys, err error) {
	if k.Contents, err = secret.DeriveKey(from, "contents of logs"); err == nil {
		k.Signing, err = secret.DeriveKey(from, "ends of logs")
	}
	return k, err
}

// Open opens the database that a configuration names.
func Open(ctx context.Context, cfg config.Server, log *slog.Logger) (*sqlstore.Store, error) {
	if config.IsPostgres(cfg.Database) {
		return postgres.Open(ctx, postgres.Config{URL: cfg.Database, Log: log})
	}
	return sqlite.Open(ctx, sqlite.Config{Path: config.SQLitePath(cfg), Log: log})
}
