package retain_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/retain"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// mirrors is a store of mirrors with that of octo/hello, which has some refs.
func mirrors(t *testing.T, refs ...string) (git *gitops.Store, there func() bool) {
	t.Helper()
	dir := t.TempDir()
	git, err := gitops.New(gitops.Config{Dir: dir})
	must(t, err)
	t.Cleanup(func() { must(t, git.Close()) })
	m, err := git.Bare(t.Context(), "https://github.example/octo/hello")
	must(t, err)
	c, err := m.Checkpoint(t.Context(), gitops.Checkpoint{Changes: []gitops.Change{{Path: "a", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("1")), nil }}}, Meta: gitops.Meta{Message: "Saved state", When: time.Now()}})
	must(t, err)
	for _, ref := range refs {
		must(t, m.SetRef(t.Context(), ref, c.ID, ""))
	}
	return git, func() bool {
		list, err := filepath.Glob(filepath.Join(dir, "*.git"))
		must(t, err)
		return len(list) == 1
	}
}

// later is a keeper's clock, which the files' own times do not follow.
func later(k retain.Keeper, d time.Duration) retain.Keeper {
	k.Now = func() time.Time { return time.Now().Add(d) }
	return k
}

// TestMirrors: a mirror goes after its time, and never while a session may need what only
// it has.
func TestMirrors(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for _, p := range append(session.Phases(), "a word of later") {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s, _, k, _ := open(t)
			add(t, s, "s1", p)
			git, there := mirrors(t, gitops.SessionRefs+"s1")
			must(t, later(k, 1000*day).Mirrors(t.Context(), git, 0))
			must(t, later(k, 89*day).Mirrors(t.Context(), git, 90*day))
			if !there() {
				t.Fatal("it went before its time")
			}
			must(t, later(k, 91*day).Mirrors(t.Context(), git, 90*day))
			ended := p == session.PhaseDone || p == session.PhaseAnswered || p == session.PhaseReviewed || p == session.PhaseNoChanges
			if there() == ended {
				t.Errorf("it is there: %v", there())
			}
		})
	}
}

// TestMirrorsThatStay: where it is not known for certain that nobody needs them.
func TestMirrorsThatStay(t *testing.T) {
	t.Parallel()
	away := errors.New("the database is away")
	for name, c := range map[string]struct {
		refs  []string
		rows  []store.Session
		wrap  func(store.Sessions) store.Sessions
		stays bool
	}{
		"nothing is known of it":                                  {stays: false},
		"a session that nobody knows":                             {refs: []string{gitops.SessionRefs + "s9"}, stays: true},
		"a ref of others":                                         {refs: []string{"refs/handrail/others"}, stays: true},
		"one of two goes on":                                      {refs: []string{gitops.SessionRefs + "s1", gitops.SessionRefs + "s2"}, rows: []store.Session{{ID: "s1", State: session.PhaseDone}, {ID: "s2", State: session.PhaseAwaitingApproval}}, stays: true},
		"a session that saved nothing waits":                      {rows: []store.Session{{ID: "s1", Repo: "Octo/hello", State: session.PhaseAwaitingAnswer}}, stays: true},
		"another repository's was stopped, with a part here":      {refs: []string{gitops.SessionRefs + "s1"}, rows: []store.Session{{ID: "s1", Repo: "octo/other", State: session.PhaseStopped}}, stays: true},
		"another repository's is done, and its part goes on here": {refs: []string{gitops.SessionRefs + "s1"}, rows: []store.Session{{ID: "s1", Repo: "octo/other", State: session.PhaseDone}, {ID: "s2", Repo: "octo/hello", State: session.PhaseAwaitingApproval}}, stays: true},
		"both are done":                                           {refs: []string{gitops.SessionRefs + "s1", gitops.SessionRefs + "s2"}, rows: []store.Session{{ID: "s1", Repo: "octo/other", State: session.PhaseDone}, {ID: "s2", Repo: "octo/hello", State: session.PhaseDone}}, stays: false},
		"another repository's waits":                              {rows: []store.Session{{ID: "s1", Repo: "octo/other", State: session.PhaseAwaitingAnswer}}, stays: false},
		"the database is away":                                    {refs: []string{gitops.SessionRefs + "s1"}, wrap: func(s store.Sessions) store.Sessions { return awaySessions{s, away} }, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, k, _ := open(t)
			for _, row := range c.rows {
				row.Thread = "octo/hello#" + row.ID
				must(t, s.Sessions.Create(t.Context(), &row))
			}
			git, there := mirrors(t, c.refs...)
			k = later(k, 91*day)
			if c.wrap != nil {
				k.Store.Sessions = c.wrap(k.Store.Sessions)
			}
			if err := k.Mirrors(t.Context(), git, 90*day); (c.wrap != nil) != errors.Is(err, away) {
				t.Error(err)
			}
			if there() != c.stays {
				t.Errorf("it is there: %v", there())
			}
		})
	}
}

type awaySessions struct {
	store.Sessions
	err error
}

// Session implements store.Sessions.
func (a awaySessions) Session(context.Context, string) (*store.Session, error) { return nil, a.err }

// TestMirrorOfADeletedSession: with the session that was stopped goes what it saved.
func TestMirrorOfADeletedSession(t *testing.T) {
	t.Parallel()
	s, clock, k, said := open(t)
	add(t, s, "s1", session.PhaseStopped)
	git, there := mirrors(t, gitops.SessionRefs+"s1")
	must(t, later(k, 91*day).Mirrors(t.Context(), git, 90*day))
	if !there() || !strings.Contains(said.String(), "removed=0 kept=1") {
		t.Fatalf("the session may be taken up again, and its mirror is gone:\n%s", said)
	}
	clock.Add(91 * day)
	must(t, k.Logs(t.Context(), 90*day))
	must(t, later(k, 200*day).Mirrors(t.Context(), git, 90*day))
	if there() || !strings.Contains(said.String(), "removed=1 kept=0") {
		t.Errorf("it is there: %v\n%s", there(), said)
	}
}

// TestNoMirrors: a directory that cannot be read is told.
func TestNoMirrors(t *testing.T) {
	t.Parallel()
	_, _, k, _ := open(t)
	dir := filepath.Join(t.TempDir(), "mirrors")
	git, err := gitops.New(gitops.Config{Dir: dir})
	must(t, err)
	must(t, os.RemoveAll(dir))
	if err := k.Mirrors(t.Context(), git, day); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
