package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/storetest"
)

var writeGolden = flag.Bool("golden.write", false, "write the database of the newest form to testdata")

// TestGolden opens a database that each version of the stored form left, and
// goes on with it.
func TestGolden(t *testing.T) {
	forms, err := filepath.Glob("migrations/*.sql")
	must(t, err)
	for form := 1; form <= len(forms); form++ {
		t.Run(fmt.Sprint("form ", form), func(t *testing.T) {
			golden := fmt.Sprintf("testdata/golden-%d.db.gz", form)
			if *writeGolden && form == len(forms) {
				write(t, golden)
			}
			path := unpack(t, golden)
			storetest.Filled(t, open(t, sqlite.Config{Path: path, Now: storetest.NewClock().Now}).Store)
			open(t, sqlite.Config{Path: path}) // once more, with the newest form
			if tables := tables(t, path); strings.Contains(tables, "approvals") {
				t.Errorf("tables are %s", tables)
			}
		})
	}
}

// write makes the golden database of this version.
func write(t *testing.T, golden string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bot.db")
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Now: storetest.NewClock().Now})
	must(t, err)
	storetest.Fill(t, s.Store)
	must(t, s.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	must(t, err)
	_, err = zip.Write(data)
	must(t, err)
	must(t, zip.Close())
	must(t, os.WriteFile(golden, out.Bytes(), 0o600))
}

func unpack(t *testing.T, golden string) string {
	t.Helper()
	data, err := os.ReadFile(golden)
	must(t, err)
	zip, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	data, err = io.ReadAll(zip)
	must(t, err)
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
	path := unpack(t, "testdata/golden-1.db.gz")
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
