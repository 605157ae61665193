package config

import (
	"path/filepath"
	"strings"
)

// IsPostgres reports whether address is one of PostgreSQL, and not a path.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") || strings.Contains(address, "dbname=")
}

// SQLitePath returns where the SQLite database of a server is.
func SQLitePath(cfg Server) string {
	if cfg.Database != "" {
		return cfg.Database
	}
	return filepath.Join(cfg.Data, "handrail.db")
}
