package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
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
		"SELECT doc FROM sessions s WHERE 1 = 1 AND s.thread = 'a' ORDER BY s.n DESC LIMIT 9",
		"SELECT n FROM sessions WHERE pull <> 0 AND pull = 7 AND repo = 'a'",
		"SELECT n FROM sessions WHERE branch <> '' AND branch = 'b' AND repo = 'a'",
		"DELETE FROM intents WHERE session = 'a'",
		// an index with the taken leases alone
		"SELECT key FROM leases l WHERE (l.owner <> '' OR l.wanted = 1) AND (l.owner = '' OR l.until <= 5)",
	} {
		var id, parent, unused int
		var plan string
		must(t, db.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN "+stmt).Scan(&id, &parent, &unused, &plan))
		if !strings.HasPrefix(plan, "SEARCH") && !strings.HasSuffix(plan, "leases_taken") {
			t.Errorf("%s: %s", stmt, plan)
		}
	}
}

// BenchmarkOld does what a server does all the time, beside many sessions that ended long
// ago: the same at each size.
func BenchmarkOld(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "bot.db")
			s := open(b, sqlite.Config{Path: path})
			fillOld(b, path, n)
			list := func(q store.Query, want int) func(context.Context) error {
				return func(ctx context.Context) error {
					got, err := s.Sessions.List(ctx, q)
					if err == nil && len(got) != want {
						err = fmt.Errorf("%d sessions, want %d", len(got), want)
					}
					return err
				}
			}
			for _, c := range []struct {
				name string
				do   func(ctx context.Context) error
			}{
				{"sweep", func(ctx context.Context) error { _, err := s.Wakes.Waiting(ctx, 1000); return err }},
				{"oldest", func(ctx context.Context) error { _, err := s.Wakes.Oldest(ctx); return err }},
				{"tally", func(ctx context.Context) error { _, err := s.Sessions.Tally(ctx); return err }},
				{"thread", func(ctx context.Context) error { _, err := s.Sessions.ByThread(ctx, "o/r7#7"); return err }},
				{"list", list(store.Query{Limit: 50}, 50)},
				{"page", list(store.Query{Limit: 50, Below: int64(n / 2)}, 50)},
				{"repo", list(store.Query{Repo: "o/r7", Limit: 50}, 50)},
				{"requester", list(store.Query{Requester: "kim3", Limit: 50}, 50)},
				{"open", list(store.Query{States: []session.Phase{session.PhaseRunning, session.PhaseAwaitingAnswer}, Limit: 1000}, 50)},
				{"today", list(store.Query{Requester: "kim3", Since: time.Now()}, 0)},
				{"earlier", list(store.Query{Thread: "o/r7#7"}, 1)},
				{"pull", list(store.Query{Repo: "o/r7", Pulls: []int{7, 8}, Branches: []string{"agent/57"}}, 2)},
			} {
				b.Run(c.name, func(b *testing.B) {
					for b.Loop() {
						must(b, c.do(b.Context()))
					}
				})
			}
		})
	}
}

// fillOld adds sessions of 50 repositories that are over, but for 50, and their leases.
func fillOld(b *testing.B, path string, n int) {
	db, err := sql.Open("sqlite", path)
	must(b, err)
	for _, stmt := range []string{
		`INSERT INTO sessions (id, thread, repo, requester, state, pull, branch, created, version, doc)
			WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?)
			SELECT 's' || i, 'o/r' || (i % 50) || '#' || i, 'o/r' || (i % 50), 'kim' || (i % 20), iif(i <= 50, 'awaiting answer', 'done'), i, 'agent/' || i, i, 1,
			CAST('{"id":"s' || i || '","data":"` + strings.Repeat("eHh4", 125) + `"}' AS BLOB) FROM c`,
		`INSERT INTO leases (key, owner, epoch, until, not_before, attempts, wanted)
			WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?) SELECT 's' || i, '', 2, i, 0, 0, 0 FROM c`,
		`INSERT INTO leases (key, owner, epoch, until, not_before, attempts, wanted)
			WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?) SELECT 'o/r' || (i % 50) || '#' || i, '', 2, i, 0, 0, 0 FROM c`,
	} {
		_, err := db.ExecContext(b.Context(), stmt, n)
		must(b, err)
	}
	must(b, db.Close())
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
