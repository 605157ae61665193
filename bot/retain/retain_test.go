package retain_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/retain"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/policy/longtest"
	"github.com/handrail-bot/handrail/policy/secret"
)

const day = 24 * time.Hour

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) (*sqlstore.Store, *storetest.Clock, retain.Keeper, *strings.Builder) {
	t.Helper()
	clock := storetest.NewClock()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "h.db"), Now: clock.Now})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	key, err := secret.DeriveKey("a key", "ends of logs")
	must(t, err)
	var said strings.Builder
	return s, clock, retain.Keeper{Store: s.Store, Retired: s, Key: key, Now: clock.Now, Log: slog.New(slog.NewTextHandler(&said, nil))}, &said
}

func add(t *testing.T, s *sqlstore.Store, id string, state session.Phase) {
	t.Helper()
	must(t, s.Sessions.Create(t.Context(), &store.Session{ID: id, Thread: "octo/hello#" + id, State: state}))
	l, err := s.Leases.Acquire(t.Context(), id, "me", time.Minute)
	must(t, err)
	must(t, s.Logs.Log(l.Fence()).Append(t.Context(), session.NewEvent(session.TypeNote, 0, session.Note{Text: "a"})))
	_, err = s.Leases.Release(t.Context(), l, time.Time{})
	must(t, err)
}

func left(t *testing.T, s *sqlstore.Store) (ids []string) {
	t.Helper()
	list, err := s.Sessions.List(t.Context(), store.Query{Limit: 1000})
	must(t, err)
	for _, row := range list {
		ids = append(ids, row.ID)
	}
	slices.Sort(ids)
	return ids
}

// TestLogs: what is over and old goes, and nothing else; what is left of it is signed.
func TestLogs(t *testing.T) {
	t.Parallel()
	s, clock, k, said := open(t)
	var waits []string
	for _, p := range session.Phases() {
		add(t, s, string(p), p)
		if !p.Over() {
			waits = append(waits, string(p))
		}
	}
	add(t, s, "old, and gone on with", session.PhaseDone)
	clock.Add(60 * day)
	again, err := s.Sessions.Session(t.Context(), "old, and gone on with")
	must(t, err)
	must(t, s.Sessions.Update(t.Context(), store.Fence{}, again))
	add(t, s, "new", session.PhaseDone)
	all := left(t, s)
	clock.Add(40 * day)

	must(t, k.Logs(t.Context(), 0))
	must(t, k.Logs(t.Context(), 101*day))
	if diff := cmp.Diff(all, left(t, s)); diff != "" || said.String() != "" {
		t.Errorf("kept for ever, and for longer (-want +got):\n%s\n%s", diff, said)
	}
	must(t, k.Logs(t.Context(), 90*day))
	want := append(waits, "old, and gone on with", "new")
	slices.Sort(want)
	if diff := cmp.Diff(want, left(t, s)); diff != "" {
		t.Errorf("sessions that are left (-want +got):\n%s", diff)
	}
	gone := len(all) - len(want)
	if text := said.String(); !strings.Contains(text, "deleted=7 kept=0") || gone != 7 {
		t.Errorf("%d are gone, the log says %s", gone, text)
	}
	list, err := s.Deleted(t.Context())
	must(t, err)
	for _, d := range list {
		if r, err := retain.CheckDeleted(k.Key, &d); err != nil || r.Signed != 1 || d.Why != "retention.logs, after 90 days" {
			t.Errorf("%+v: %+v, %v", d, r, err)
		}
		d.Why = "another"
		if _, err := retain.CheckDeleted(k.Key, &d); err == nil {
			t.Errorf("a record that was changed is taken for true: %+v", d)
		}
	}
	if len(list) != gone {
		t.Errorf("of %d sessions %d records are left", gone, len(list))
	}
}

// TestMany: more sessions than are looked at together.
func TestMany(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s, clock, k, _ := open(t)
	for i := range 205 {
		must(t, s.Sessions.Create(t.Context(), &store.Session{ID: "s" + time.Duration(i).String(), Thread: "octo/hello#1", State: session.PhaseDone}))
		clock.Add(time.Minute)
	}
	clock.Add(2 * day)
	must(t, k.Logs(t.Context(), day))
	if ids := left(t, s); len(ids) > 0 {
		t.Errorf("%d are left: %v", len(ids), ids)
	}
}

// TestOneThatIsWorkedOn: it stays, and the others go.
func TestOneThatIsWorkedOn(t *testing.T) {
	t.Parallel()
	s, clock, k, said := open(t)
	add(t, s, "s1", session.PhaseDone)
	add(t, s, "s2", session.PhaseDone)
	clock.Add(2 * day)
	_, err := s.Leases.Acquire(t.Context(), "octo/hello#s1", "other", time.Minute)
	must(t, err)
	must(t, k.Logs(t.Context(), day))
	if diff := cmp.Diff([]string{"s1"}, left(t, s)); diff != "" || !strings.Contains(said.String(), "deleted=1 kept=1") {
		t.Errorf("sessions that are left (-want +got):\n%s\n%s", diff, said)
	}
	row, err := s.Sessions.Session(t.Context(), "s1")
	must(t, err)
	if err := k.Delete(t.Context(), "by hand", row); !errors.Is(err, store.ErrNotOver) {
		t.Errorf("deleted by hand: %v", err)
	}
	clock.Add(time.Hour)
	must(t, k.Delete(t.Context(), "by hand", row))
}
