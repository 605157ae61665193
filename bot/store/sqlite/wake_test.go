package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
)

// TestAwake counts the jobs that deliveries make: a thread that one of its
// open deliveries has woken is not woken again, unless for something more
// urgent.
func TestAwake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.db")
	s := open(t, sqlite.Config{Path: path})
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	jobs := 0
	put := func(want int, what string, all ...*store.Delivery) {
		t.Helper()
		for _, d := range all {
			d.Event = "issue_comment"
		}
		_, err := s.Deliveries.Put(t.Context(), all...)
		must(t, err)
		var n int
		must(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM river_job`).Scan(&n))
		if n-jobs != want {
			t.Errorf("%s: %d jobs, want %d", what, n-jobs, want)
		}
		jobs = n
	}
	const one, two = "a/b#1", "a/b#2"
	put(1, "the first", &store.Delivery{ID: "d1", Thread: one})
	put(0, "the same again", &store.Delivery{ID: "d1", Thread: one})
	put(0, "a second", &store.Delivery{ID: "d2", Thread: one})
	put(1, "two of another thread at once", &store.Delivery{ID: "d3", Thread: two}, &store.Delivery{ID: "d4", Thread: two})
	put(1, "an answer after work", &store.Delivery{ID: "d5", Thread: one, Priority: store.PriorityAnswer})
	put(1, "a stop and an answer", &store.Delivery{ID: "d6", Thread: one, Priority: store.PriorityAnswer},
		&store.Delivery{ID: "d7", Thread: one, Priority: store.PriorityStop})
	must(t, s.Deliveries.Done(t.Context(), "", "d1", "d2", "d5", "d6", "d7"))
	put(1, "after all was done", &store.Delivery{ID: "d8", Thread: one})
	put(0, "of the thread that has open ones", &store.Delivery{ID: "d9", Thread: two})
}
