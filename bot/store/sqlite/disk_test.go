package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
)

// TestFull fills the disk: errors are clear, what was acknowledged stays,
// nothing is half-written, and with space all goes on.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.db")
	first, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	small := open(t, sqlite.Config{Path: path, MaxPages: int(info.Size()/4096) + 60})
	lease, err := small.Leases.Acquire(t.Context(), "s1", "me", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	deliveries, full := fill(func(i int) error {
		d := &store.Delivery{ID: fmt.Sprint("d", i), Event: "push", Thread: "a/b#1", Payload: []byte(strings.Repeat("x", 3000))}
		stored, err := small.Deliveries.Put(t.Context(), d)
		if err == nil && !stored[0] {
			err = errors.New("not new")
		}
		return err
	})
	if !errors.Is(full, store.ErrFull) {
		t.Errorf("store deliveries on a full disk: %v", full)
	}
	changes, full := fill(func(i int) error {
		id := fmt.Sprint("i", i)
		return small.Logs.Apply(t.Context(), lease.Fence(), store.Change{
			Events:  []*session.Event{session.NewEvent(session.TypeNote, i, session.Note{Kind: "reminder", Text: "x"})},
			Intents: []*store.Intent{{Key: id, Session: "s1", Kind: "comment", Payload: make([]byte, 2000)}},
		})
	})
	if !errors.Is(full, store.ErrFull) {
		t.Errorf("append on a full disk: %v", full)
	}
	if deliveries == 0 {
		t.Error("not even one delivery was stored")
	}
	check(t, small, deliveries, changes)
	check(t, open(t, sqlite.Config{Path: path}), deliveries, changes)
	roomy := open(t, sqlite.Config{Path: path})
	if err := roomy.Logs.Log(lease.Fence()).Append(t.Context(), session.NewEvent(session.TypeNote, 0, session.Note{})); err != nil {
		t.Errorf("append with space again: %v", err)
	}
}

// fill calls fn until it fails and returns how often it did not.
func fill(fn func(i int) error) (int, error) {
	for i := range 10000 {
		if err := fn(i); err != nil {
			return i, err
		}
	}
	return 10000, nil
}

// check finds what was acknowledged and nothing else.
func check(t *testing.T, s *sqlstore.Store, deliveries, changes int) {
	t.Helper()
	ids := make([]string, deliveries)
	for i := range ids {
		ids[i] = fmt.Sprint("d", i)
	}
	unknown, err := s.Deliveries.Unknown(t.Context(), append(ids, fmt.Sprint("d", deliveries))...)
	if err != nil || len(unknown) != 1 {
		t.Errorf("unknown are %v, want only the one after the last: %v", unknown, err)
	}
	events, err := s.Logs.Log(store.Fence{Key: "s1"}).Events(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	intents, err := s.Intents.Open(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != changes || len(intents) != changes || session.Verify(events) != nil {
		t.Errorf("%d events and %d intents of %d changes", len(events), len(intents), changes)
	}
}

func TestAppendOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.db")
	s := open(t, sqlite.Config{Path: path})
	l, err := s.Leases.Acquire(t.Context(), "s1", "me", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Logs.Log(l.Fence()).Append(t.Context(), session.NewEvent(session.TypeNote, 0, session.Note{})); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, stmt := range []string{`UPDATE events SET data = '{}'`, `DELETE FROM events`} {
		if _, err := db.ExecContext(t.Context(), stmt); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", stmt, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"no path": "", "a folder": dir, "another file": text, "under a file": filepath.Join(text, "bot.db")} {
		if s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path}); err == nil {
			t.Errorf("%s: opened; close: %v", name, s.Close())
		}
	}
}

func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "bot.db")
	open(t, sqlite.Config{Path: path})
	for _, file := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want nothing for others", file, fs.FileMode(info.Mode().Perm()))
		}
	}
}
