package config

import (
	"path/filepath"
	"strings"
)

// IsPostgres reports whether address is a PostgreSQL address, not a path.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") ||
		strings.Contains(address, "dbname=")
}

// SQLitePath returns the path of a server's SQLite database.
func SQLitePath(cfg Server) string {
	if cfg.Database != "" {
		return cfg.Database
	}
	return filepath.Join(cfg.Data, "handrail.db")
}
