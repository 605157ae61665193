package main

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/handrail-bot/handrail/bot/store/sqlite"
)

// emptyRecords is a database without records. A story begins with a copy of it, since to make its
// tables takes a twentieth of the story; what handrail init began, and what is killed or cut off
// while it makes them, has tests that begin without.
var emptyRecords = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "records")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "handrail.db")
	db, err := sqlite.Open(context.Background(), sqlite.Config{Path: path})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// prepareRecords puts a database without records into a server's directory that has none.
func prepareRecords(dir string) error {
	path := filepath.Join(dir, "handrail.db")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	empty, err := emptyRecords()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, empty, 0o600)
}
