package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/storetest"
)

// TestGolden opens a database that each version of the stored form left, and
// goes on with it.
func TestGolden(t *testing.T) {
	t.Parallel()
	storetest.Golden(t, "db", written, func(t *testing.T, data []byte) {
		path := file(t, data)
		storetest.Filled(t, open(t, sqlite.Config{Path: path, Now: storetest.NewClock().Now}).Store)
		open(t, sqlite.Config{Path: path}) // once more, with the newest form
		if tables := tables(t, path); strings.Contains(tables, "approvals") {
			t.Errorf("tables are %s", tables)
		}
	})
}

// written is the golden database of this version.
func written(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bot.db")
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Now: storetest.NewClock().Now})
	must(t, err)
	storetest.Fill(t, s.Store)
	must(t, s.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

// file puts a database on the disk.
func file(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bot.db")
	must(t, os.WriteFile(path, data, 0o600))
	return path
}

func tables(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	var names string
	must(t, db.QueryRowContext(t.Context(), `SELECT group_concat(name) FROM sqlite_master WHERE type = 'table'`).Scan(&names))
	return names
}

// TestNewerForm refuses a database that a newer version wrote.
func TestNewerForm(t *testing.T) {
	t.Parallel()
	path := file(t, storetest.Unpack(t, "testdata/golden-1.db.gz"))
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`)
	must(t, err)
	must(t, db.Close())
	_, err = sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err == nil || !strings.Contains(err.Error(), "form 99") || !strings.Contains(err.Error(), "use a newer version") {
		t.Fatalf("a database of a newer version: %v", err)
	}
	if !strings.Contains(tables(t, path), "approvals") {
		t.Error("a database that was refused was changed")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPullsOfAnOldForm: sessions of a database from before a check looked for them by
// their pull request or branch are found by these.
func TestPullsOfAnOldForm(t *testing.T) {
	t.Parallel()
	path := file(t, storetest.Unpack(t, "testdata/golden-2.db.gz"))
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), `UPDATE sessions SET doc = CAST(json_set(CAST(doc AS TEXT), '$.pull', 7, '$.branch', 'agent/x') AS BLOB)`)
	must(t, err)
	must(t, db.Close())
	s := open(t, sqlite.Config{Path: path})
	for _, q := range []store.Query{{Repo: "octo/hello", Pulls: []int{7}}, {Repo: "octo/hello", Branches: []string{"agent/x"}}} {
		list, err := s.Sessions.List(t.Context(), q)
		must(t, err)
		if len(list) != 1 {
			t.Errorf("%+v finds %d sessions", q, len(list))
		}
	}
}
