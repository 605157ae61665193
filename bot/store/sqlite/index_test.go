package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
)

// TestIndexes: lists of sessions and the intents of a session are found, and not looked for
// among all.
func TestIndexes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bot.db")
	open(t, sqlite.Config{Path: path})
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	for _, stmt := range []string{
		"SELECT doc FROM sessions s WHERE 1 = 1 AND s.repo = 'a' AND s.n < 7 ORDER BY s.n DESC LIMIT 9",
		"SELECT doc FROM sessions s WHERE 1 = 1 AND s.requester = 'a' ORDER BY s.n DESC LIMIT 9",
		"SELECT doc FROM sessions s WHERE 1 = 1 AND s.state IN ('a') ORDER BY s.n DESC LIMIT 9",
		"SELECT state, COUNT(*) FROM sessions WHERE state IN ('a', 'b') GROUP BY state",
		"DELETE FROM intents WHERE session = 'a'",
	} {
		var id, parent, unused int
		var plan string
		must(t, db.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+stmt).Scan(&id, &parent, &unused, &plan))
		if !strings.HasPrefix(plan, "SEARCH") {
			t.Errorf("%s: %s", stmt, plan)
		}
	}
}

// BenchmarkDelete100 deletes 100 of 10,000 sessions with ten intents each, with the indexes
// and without.
func BenchmarkDelete100(b *testing.B) {
	for _, c := range []struct{ name, before string }{
		{"indexed", "SELECT 1"},
		{"without indexes", "DROP INDEX intents_session; DROP INDEX sessions_repo; DROP INDEX sessions_requester; DROP INDEX sessions_state"},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				path := filepath.Join(b.TempDir(), fmt.Sprint(b.N, time.Now().UnixNano()), "bot.db")
				s := open(b, sqlite.Config{Path: path})
				db, err := sql.Open("sqlite", path)
				must(b, err)
				for _, stmt := range []string{
					`INSERT INTO sessions (id, thread, repo, requester, state, created, version, doc)
						WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10000)
						SELECT 's' || i, 'o/r#' || i, 'o/r', 'kim', 'done', i, 1, CAST('{"id":"s' || i || '","state":"done"}' AS BLOB) FROM c`,
					`INSERT INTO intents (key, session, state, doc)
						WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 99999)
						SELECT 'k' || i, 's' || (i / 10 + 1), 'done', CAST('{"key":"k' || i || '","payload":"` + strings.Repeat("x", 400) + `"}' AS BLOB) FROM c`,
					c.before,
				} {
					_, err := db.ExecContext(b.Context(), stmt)
					must(b, err)
				}
				must(b, db.Close())
				b.StartTimer()
				for i := range 100 {
					must(b, s.Delete(b.Context(), &store.Deleted{Head: store.Head{Session: fmt.Sprint("s", i*97+1)}}))
				}
			}
		})
	}
}

// BenchmarkTally counts parked sessions, half of which wait for an approval, among 10,000
// that are over.
func BenchmarkTally(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n, " parked"), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "bot.db")
			s := open(b, sqlite.Config{Path: path})
			db, err := sql.Open("sqlite", path)
			must(b, err)
			_, err = db.ExecContext(b.Context(), `INSERT INTO sessions (id, thread, repo, requester, state, created, version, doc)
				WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ? + 10000)
				SELECT 's' || i, 'o/r#' || i, 'o/r', 'kim', iif(i > ?, 'done', iif(i % 2, 'awaiting approval', 'awaiting answer')), i, 1,
				CAST('{"id":"s' || i || '","asked":1,"asked_at":"2026-05-04T12:00:00Z","updated":"2026-05-04T12:00:00Z","data":"`+strings.Repeat("x", 1000)+`"}' AS BLOB) FROM c`, n, n)
			must(b, err)
			must(b, db.Close())
			for b.Loop() {
				t, err := s.Sessions.Tally(b.Context())
				must(b, err)
				if t.Asked != n/2 {
					b.Fatalf("%d requests", t.Asked)
				}
			}
		})
	}
}
