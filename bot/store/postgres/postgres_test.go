package postgres_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/postgres"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/bot/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, c postgres.Config) *sqlstore.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), c)
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
	server := storetest.StartPostgres(t, false)
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		return open(t, postgres.Config{URL: server.Database(t), Now: now}).Store
	})
}
