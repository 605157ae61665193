package retain_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/retain"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// away is a server whose App is taken off octo/hello, and its clock.
type away struct {
	*retain.Uninstalled

	store  *sqlstore.Store
	clock  time.Duration
	said   *strings.Builder
	mirror func() bool

	installed retain.Installed
	silent    error           // of GitHub, where it is asked for all
	there     map[string]bool // that it knows by themselves
	ended     []string
	forgotten []string
	unused    int
}

func newAway(t *testing.T) *away {
	t.Helper()
	s, _, k, said := open(t)
	git, mirror := mirrors(t, gitops.SessionRefs+"waits")
	a := &away{store: s, said: said, mirror: mirror, there: map[string]bool{}}
	a.installed = retain.Installed{Repositories: map[string]bool{"octo/hello": true, "octo/other": true}}
	k.Now = func() time.Time { return time.Now().Add(a.clock) } // the files' own times do not follow
	a.Uninstalled = &retain.Uninstalled{
		Keeper: k, Keep: 30 * day, App: 1, Git: git,
		Ask:         func(context.Context) (retain.Installed, error) { return a.installed, a.silent },
		Exists:      func(_ context.Context, repo string) (bool, error) { return a.there[repo], nil },
		EndSessions: func(_ context.Context, repos []string) { a.ended = append(a.ended, repos...) },
		Others:      func(context.Context) ([]string, error) { return []string{"octo/Scheduled"}, nil },
		Forget:      func(_ context.Context, repo string) error { a.forgotten = append(a.forgotten, repo); return nil },
		Unused:      func(time.Duration) error { a.unused++; return nil },
	}
	for _, row := range []store.Session{
		{ID: "waits", Thread: "octo/hello#1", Repo: "octo/hello", State: session.PhaseAwaitingApproval},
		{ID: "done", Thread: "octo/hello#2", Repo: "octo/hello", State: session.PhaseDone},
		{ID: "other", Thread: "octo/other#1", Repo: "octo/other", State: session.PhaseAwaitingApproval},
	} {
		must(t, s.Sessions.Create(t.Context(), &row))
		l, err := s.Leases.Acquire(t.Context(), row.ID, "me", time.Minute)
		must(t, err)
		must(t, s.Logs.Log(l.Fence()).Append(t.Context(), session.NewEvent(session.TypeNote, 0, session.Note{Text: "a"})))
		must(t, s.Intents.Intend(t.Context(), l.Fence(), &store.Intent{Key: "say " + row.ID, Session: row.ID, Kind: "comment"}))
		_, err = s.Leases.Release(t.Context(), l, time.Time{})
		must(t, err)
		_, err = s.Deliveries.Put(t.Context(), &store.Delivery{ID: "d-" + row.ID, Event: "issue_comment", Thread: row.Thread, Payload: []byte("{}")})
		must(t, err)
	}
	return a
}

// days has a server look every day.
func (a *away) days(t *testing.T, n int) {
	t.Helper()
	for range n {
		a.clock += day
		if err := a.Look(t.Context()); err != nil && (a.silent == nil || !errors.Is(err, a.silent)) {
			t.Fatal(err)
		}
	}
}

// isThere reports whether all of octo/hello is there. Half of it is an error.
func (a *away) isThere(t *testing.T) bool {
	t.Helper()
	ids, mirror := left(t, a.store), a.mirror()
	all := slices.Equal(ids, []string{"done", "other", "waits"})
	if all != mirror || !all && !slices.Equal(ids, []string{"other"}) {
		t.Fatalf("sessions that are left: %v, its mirror is there: %t\n%s", ids, mirror, a.said)
	}
	return all
}

// TestUninstalled: after its time everything of a repository goes that the App was taken
// off, also what waits, and nothing of others.
func TestUninstalled(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	a := newAway(t)
	a.installed.Repositories["octo/scheduled"] = true
	a.days(t, 40)
	if len(a.ended) > 0 || !a.isThere(t) {
		t.Fatalf("ended %v", a.ended)
	}
	delete(a.installed.Repositories, "octo/hello")
	a.days(t, 30)
	if diff := cmp.Diff([]string{"octo/hello"}, a.ended); diff != "" || !a.isThere(t) || a.unused > 0 {
		t.Fatalf("sessions that end (-want +got):\n%s", diff)
	}
	a.days(t, 1)
	if a.isThere(t) || a.unused != 1 || !slices.Equal(a.forgotten, []string{"octo/hello"}) {
		t.Fatalf("it is there, or a part of it; forgotten %v", a.forgotten)
	}
	list, err := a.store.Deleted(t.Context())
	must(t, err)
	for _, d := range list {
		if r, err := retain.CheckDeleted(a.Key, &d); err != nil || r.Signed != 1 || d.Why != "retention.uninstalled, 30 days after the App was uninstalled from octo/hello" {
			t.Errorf("%+v: %+v, %v", d, r, err)
		}
	}
	if len(list) != 2 || !strings.Contains(a.said.String(), "repository=octo/hello sessions=2 left=0") {
		t.Errorf("%d records\n%s", len(list), a.said)
	}
	if _, err := a.store.Deliveries.Next(t.Context(), "octo/hello#1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a delivery waits: %v", err)
	}
	a.days(t, 40)
	if strings.Count(a.said.String(), "sessions=2") != 1 || a.isThere(t) {
		t.Errorf("deleted again:\n%s", a.said)
	}
}

// TestUninstalledByEvent: the time of a repository begins when GitHub tells of it.
func TestUninstalledByEvent(t *testing.T) {
	t.Parallel()
	a := newAway(t)
	a.Keep = day
	must(t, a.NoteRemoval(t.Context(), "Octo/Hello"))
	delete(a.installed.Repositories, "octo/hello")
	a.days(t, 1)
	if a.isThere(t) {
		t.Error("it is there a day after the event")
	}
}

// TestUninstalledSinceTheLastLook: of a repository nothing was kept but a mirror.
func TestUninstalledSinceTheLastLook(t *testing.T) {
	t.Parallel()
	a := newAway(t)
	row, err := a.store.Sessions.Session(t.Context(), "waits")
	must(t, err)
	row.State = session.PhaseDone // nothing needs the mirror of octo/hello any more, which is another's
	must(t, a.store.Sessions.Update(t.Context(), store.Fence{}, row))
	a.installed.Repositories["octo/read"] = true
	a.days(t, 1)
	delete(a.installed.Repositories, "octo/read")
	a.days(t, 31)
	if !slices.Contains(a.forgotten, "octo/read") || !a.isThere(t) {
		t.Errorf("forgotten: %v", a.forgotten)
	}
}

// TestNotUninstalled: where it is not known for certain that a repository was gone all the
// time.
func TestNotUninstalled(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	gone := func(a *away) { delete(a.installed.Repositories, "octo/hello") }
	for name, do := range map[string]func(t *testing.T, a *away){
		"kept for ever": func(t *testing.T, a *away) { a.Keep = 0; gone(a); a.days(t, 100) },
		"not yet":       func(t *testing.T, a *away) { gone(a); a.days(t, 30) },
		"back for a while": func(t *testing.T, a *away) {
			gone(a)
			a.days(t, 30)
			a.installed.Repositories["octo/hello"] = true
			a.days(t, 1)
			gone(a)
			a.days(t, 30)
		},
		"suspended": func(t *testing.T, a *away) {
			a.installed = retain.Installed{Unknown: map[string]bool{"octo": true}}
			must(t, a.NoteRemoval(t.Context(), "octo/hello"))
			a.days(t, 100)
		},
		"GitHub does not answer": func(t *testing.T, a *away) {
			a.installed, a.silent = retain.Installed{}, errors.New("404")
			must(t, a.NoteRemoval(t.Context(), "octo/hello"))
			a.days(t, 100)
		},
		"it does not answer any more": func(t *testing.T, a *away) {
			gone(a)
			a.days(t, 30)
			a.installed, a.silent = retain.Installed{}, errors.New("401")
			a.days(t, 100)
		},
		"the server was down": func(t *testing.T, a *away) {
			gone(a)
			a.days(t, 1)
			a.clock += 365 * day
			a.days(t, 1)
		},
		"the clock jumps": func(t *testing.T, a *away) {
			gone(a)
			a.days(t, 1)
			a.clock -= 1000 * day
			a.days(t, 1)
			a.clock += 1000 * day
			a.days(t, 1)
		},
		"another App": func(t *testing.T, a *away) {
			gone(a)
			a.days(t, 30)
			a.App = 2
			a.days(t, 30)
		},
		"another name": func(t *testing.T, a *away) {
			gone(a)
			a.there["octo/hello"] = true
			a.days(t, 100)
		},
		"asked by itself, no answer": func(t *testing.T, a *away) {
			gone(a)
			a.silent = errors.New("500")
			ask := a.Ask
			a.Ask = func(ctx context.Context) (retain.Installed, error) { is, _ := ask(ctx); return is, nil }
			a.Exists = func(context.Context, string) (bool, error) { return false, a.silent }
			a.days(t, 100)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAway(t)
			a.installed.Repositories["octo/scheduled"] = true
			do(t, a)
			if !a.isThere(t) || len(a.forgotten) > 0 {
				t.Errorf("it is gone:\n%s", a.said)
			}
		})
	}
}

// TestUninstalledAndWorkedOn: what somebody works on is left for the next look, and so is
// the mirror.
func TestUninstalledAndWorkedOn(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	a := newAway(t)
	l, err := a.store.Leases.Acquire(t.Context(), "waits", "other", time.Hour)
	must(t, err)
	delete(a.installed.Repositories, "octo/hello")
	a.days(t, 35)
	if ids := left(t, a.store); !slices.Contains(ids, "waits") || !a.mirror() || len(a.forgotten) > 0 && slices.Contains(a.forgotten, "octo/hello") {
		t.Errorf("sessions that are left: %v; the mirror is there: %t", ids, a.mirror())
	}
	must(t, a.store.Logs.Log(l.Fence()).Append(t.Context(), session.NewEvent(session.TypeNote, 0, session.Note{Text: "it goes on"})))
	_, err = a.store.Leases.Release(t.Context(), l, time.Time{})
	must(t, err)
	a.days(t, 1)
	if a.isThere(t) {
		t.Error("it is there")
	}
}
