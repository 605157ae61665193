package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
)

// TestPagesMove: committed pages reach the file of an open database, although no write moves so few.
func TestPagesMove(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bot.db")
	s := open(t, sqlite.Config{Path: path})
	payload := []byte(strings.Repeat("x", 3000))
	const commits = 200
	for n := range commits {
		_, err := s.Deliveries.Put(t.Context(), &store.Delivery{ID: fmt.Sprint("d", n), Event: "push", Thread: "a/b#1", Payload: payload})
		must(t, err)
	}
	want := int64(commits / 2 * len(payload))
	for until := time.Now().Add(5 * time.Minute); ; <-time.After(10 * time.Millisecond) {
		info, err := os.Stat(path)
		must(t, err)
		if info.Size() >= want {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("the file has %d bytes, want %d: nothing moves its pages", info.Size(), want)
		}
	}
}
