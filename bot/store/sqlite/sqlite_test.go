package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestMain(m *testing.M) {
	longtest.Wide(6)
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, c sqlite.Config) *sqlstore.Store {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "a b%20#?", "bot.db")
	}
	s, err := sqlite.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return open(t, sqlite.Config{Now: now}).Store
	}, 6)
}

func TestCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.db")
	storetest.Crash(t, "TestCrashChild", path, func() store.Store { return open(t, sqlite.Config{Path: path}).Store })
}

// TestCrashChild is the process that TestCrash kills; by itself it does
// nothing.
func TestCrashChild(t *testing.T) {
	storetest.CrashChild(t, func(path string) store.Store { return open(t, sqlite.Config{Path: path}).Store })
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func() store.Store { return open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "bot.db")}).Store })
}

func TestDelete(t *testing.T) {
	t.Parallel()
	storetest.Delete(t, func(t *testing.T, now func() time.Time) (store.Store, store.Retired) {
		s := open(t, sqlite.Config{Now: now})
		return s.Store, s
	})
}

func TestVectors(t *testing.T) {
	t.Parallel()
	storetest.Vectors(t, func(t *testing.T, now func() time.Time) store.Vectors {
		return open(t, sqlite.Config{Now: now})
	})
}
