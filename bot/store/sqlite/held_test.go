package sqlite_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// lines tells the first line of a log.
type lines struct {
	once  sync.Once
	first chan string
}

// Write implements [io.Writer].
func (l *lines) Write(p []byte) (int, error) {
	l.once.Do(func() { l.first <- string(p) })
	return len(p), nil
}

// TestHeldByAnotherProcess: while another process, such as a suspended one, holds the database, a write waits
// and goes on, and a delivery is refused, so that it is sent again.
func TestHeldByAnotherProcess(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	path, log := filepath.Join(t.TempDir(), "bot.db"), &lines{first: make(chan string, 1)}
	s := open(t, sqlite.Config{Path: path, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	must(t, err)
	defer func() { must(t, other.Close()) }()
	held, err := other.BeginTx(t.Context(), nil)
	must(t, err)
	written := make(chan error, 1)
	go func() {
		_, err := s.Leases.Acquire(t.Context(), "s1", "me", time.Hour)
		written <- err
	}()
	if first := <-log.first; !strings.Contains(first, "wait for the database") || !strings.Contains(first, "another process holds") {
		t.Errorf("the log says %q", first)
	}
	_, err = s.Deliveries.Put(t.Context(), &store.Delivery{ID: "d1", Event: "push", Thread: "a/b#1"})
	if !errors.Is(err, store.ErrBusy) || !fault.Temporary(err) {
		t.Errorf("a delivery: %v", err)
	}
	open(t, sqlite.Config{Path: path}) // a server can start
	select {
	case err := <-written:
		t.Errorf("a write did not wait: %v", err)
	default:
	}
	must(t, held.Rollback())
	if err := <-written; err != nil {
		t.Errorf("the write afterwards: %v", err)
	}
	if unknown, err := s.Deliveries.Unknown(t.Context(), "d1"); err != nil || len(unknown) != 1 {
		t.Errorf("the refused delivery is known: %v", err)
	}
}
