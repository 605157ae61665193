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

// Flags choose the database of a verb.
type Flags struct {
	File     string `name:"config" short:"c" type:"path" placeholder:"FILE" help:"The server's configuration file, for the place of its database."`
	Data     string `type:"path" placeholder:"DIR" help:"The server's data directory."`
	Database string `env:"HANDRAIL_DATABASE" placeholder:"ADDRESS" help:"postgres://… instead of the database in the data directory, or the path of an SQLite file."`
}

// Unset reports whether no flag names a database.
func (f Flags) Unset() bool { return f.File == "" && f.Data == "" && f.Database == "" }

// IsThere reports whether the chosen database may exist. It is always true for
// PostgreSQL.
func (f Flags) IsThere() bool {
	cfg, err := f.config(os.Getenv)
	if err != nil || config.IsPostgres(cfg.Database) {
		return true
	}
	_, err = os.Stat(config.SQLitePath(cfg))
	return err == nil
}

// Open opens the database of a server. The server may be running.
func (f Flags) Open(ctx context.Context, log *slog.Logger) (*sqlstore.Store, error) {
	cfg, err := f.config(os.Getenv)
	if err != nil {
		return nil, door.UsageError{Err: err}
	}
	if !config.IsPostgres(cfg.Database) {
		if _, err := os.Stat(config.SQLitePath(cfg)); err != nil {
			return nil, door.Usage(
				"there is no database at %s: say where with --data, --database or --config",
				config.SQLitePath(cfg),
			)
		}
	}
	return Open(ctx, cfg, log)
}

// config returns the location of the database, from the flags, then the server's
// environment, then its file. It reads no other secret of the server.
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
	if f.Data != "" && f.Database == "" { // --data means the database in that directory
		cfg.Database = ""
	}
	return cfg, nil
}

// Keys open and verify logs. An unknown key is nil.
type Keys struct {
	Contents *secret.Key // opens sealed files
	Signing  *secret.Key // signs the ends of logs
}

// EnvironmentKeys returns the keys of a server with this environment.
func EnvironmentKeys(getenv func(string) string) (Keys, error) {
	from, err := config.LogKey(getenv)
	if err != nil {
		return Keys{}, err
	}
	return KeysFrom(from)
}

// KeysFrom derives the keys of logs from a secret. Without a secret both are nil.
func KeysFrom(from secret.Value) (k Keys, err error) {
	if k.Contents, err = secret.DeriveKey(from, "contents of logs"); err == nil {
		k.Signing, err = secret.DeriveKey(from, "ends of logs")
	}
	return k, err
}

// Open opens the configured database.
func Open(ctx context.Context, cfg config.Server, log *slog.Logger) (*sqlstore.Store, error) {
	if config.IsPostgres(cfg.Database) {
		return postgres.Open(ctx, postgres.Config{URL: cfg.Database, Log: log})
	}
	return sqlite.Open(ctx, sqlite.Config{Path: config.SQLitePath(cfg), Log: log})
}
