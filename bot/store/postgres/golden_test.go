package postgres_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/store/postgres"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestGolden opens a database that each version of the stored form left, and
// goes on with it.
func TestGolden(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	server := storetest.StartPostgres(t, false)
	dump := func(t *testing.T, url string) []byte {
		path := filepath.Join(t.TempDir(), "dump.sql")
		server.Dump(t, url, path)
		data, err := os.ReadFile(path)
		must(t, err)
		return data
	}
	write := func(t *testing.T) []byte {
		url := server.Database(t)
		s, err := postgres.Open(t.Context(), postgres.Config{URL: url, Now: storetest.NewClock().Now})
		must(t, err)
		storetest.Fill(t, s.Store)
		must(t, s.Close())
		return dump(t, url)
	}
	storetest.Golden(t, "sql", write, func(t *testing.T, data []byte) {
		url := server.Restore(t, data)
		storetest.Filled(t, open(t, postgres.Config{URL: url, Now: storetest.NewClock().Now}).Store)
		open(t, postgres.Config{URL: url}) // once more, with the newest form
		if strings.Contains(string(dump(t, url)), "CREATE TABLE public.approvals") {
			t.Error("the table of approvals is still there")
		}
	})
}

// TestNewerForm refuses a database that a newer version wrote.
func TestNewerForm(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	server := storetest.StartPostgres(t, false)
	dump := append(storetest.Unpack(t, "testdata/golden-1.sql.gz"), "\nINSERT INTO public.goose_db_version (version_id, is_applied) VALUES (99, true);\n"...)
	url := server.Restore(t, dump)
	_, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err == nil || !strings.Contains(err.Error(), "form 99") || !strings.Contains(err.Error(), "use a newer version") {
		t.Fatalf("a database of a newer version: %v", err)
	}
	path := filepath.Join(t.TempDir(), "dump.sql")
	server.Dump(t, url, path)
	after, err := os.ReadFile(path)
	must(t, err)
	if !strings.Contains(string(after), "CREATE TABLE public.approvals") {
		t.Error("a database that was refused was changed")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
