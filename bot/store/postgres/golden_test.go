package postgres_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/store/postgres"
	"github.com/handrail-bot/handrail/bot/store/storetest"
)

var writeGolden = flag.Bool("golden.write", false, "write the database of the newest form to testdata")

// TestGolden opens a database that each version of the stored form left, and
// goes on with it.
func TestGolden(t *testing.T) {
	server := storetest.StartPostgres(t, false)
	forms, err := filepath.Glob("migrations/*.sql")
	must(t, err)
	for form := 1; form <= len(forms); form++ {
		t.Run(fmt.Sprint("form ", form), func(t *testing.T) {
			golden := fmt.Sprintf("testdata/golden-%d.sql.gz", form)
			if *writeGolden && form == len(forms) {
				write(t, server, golden)
			}
			data, err := os.ReadFile(golden)
			must(t, err)
			zip, err := gzip.NewReader(bytes.NewReader(data))
			must(t, err)
			data, err = io.ReadAll(zip)
			must(t, err)
			url := server.Restore(t, data)
			storetest.Filled(t, open(t, postgres.Config{URL: url, Now: storetest.NewClock().Now}).Store)
			open(t, postgres.Config{URL: url}) // once more, with the newest form
			path := filepath.Join(t.TempDir(), "dump.sql")
			server.Dump(t, url, path)
			after, err := os.ReadFile(path)
			must(t, err)
			if strings.Contains(string(after), "CREATE TABLE public.approvals") {
				t.Error("the table of approvals is still there")
			}
		})
	}
}

// write makes the golden database of this version.
func write(t *testing.T, server *storetest.Postgres, golden string) {
	t.Helper()
	url := server.Database(t)
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url, Now: storetest.NewClock().Now})
	must(t, err)
	storetest.Fill(t, s.Store)
	must(t, s.Close())
	path := filepath.Join(t.TempDir(), "dump.sql")
	server.Dump(t, url, path)
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
