package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/gitops/objects"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// unused is a store with one mirror that has saved states of a session.
func unused(t *testing.T) (*Store, *Mirror, string) {
	t.Helper()
	url, _, _ := newRemote(t).repo("one", map[string]string{"a": "1\n"})
	s := newStore(t, nil)
	m := must(s.Mirror(t.Context(), url))(t)
	_, head, err := m.Default(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.SetRef(t.Context(), SessionRefs+"s1", head, ""); err != nil {
		t.Fatal(err)
	}
	return s, m, url
}

func isThere(t *testing.T, s *Store) bool {
	t.Helper()
	list := must(filepath.Glob(filepath.Join(s.cfg.Dir, "*.git*")))(t)
	for _, path := range list {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

func unneeded(context.Context, Unused) (bool, error) { return false, nil }

// TestRemoveUnused: a mirror goes that nobody used since, and is cloned again, also for
// who had it before.
func TestRemoveUnused(t *testing.T) {
	t.Parallel()
	s, m, url := unused(t)
	var asked Unused
	gone, kept, err := s.RemoveUnused(t.Context(), time.Now().Add(time.Hour), func(_ context.Context, u Unused) (bool, error) {
		asked = u
		return false, nil
	})
	if gone != 1 || kept != 0 || err != nil || isThere(t, s) {
		t.Fatalf("gone %d, kept %d, %v", gone, kept, err)
	}
	if diff := cmp.Diff(Unused{Name: filepath.Base(m.dir), Own: []string{SessionRefs + "s1"}}, asked); diff != "" {
		t.Errorf("what is asked for (-want +got):\n%s", diff)
	}
	again := must(s.Mirror(t.Context(), url))(t)
	for _, m := range []*Mirror{again, m} {
		if err := m.Fetch(t.Context()); err != nil {
			t.Error(err)
		}
		if branch, _, err := m.Default(t.Context()); branch != "main" || err != nil {
			t.Errorf("default branch: %q %v", branch, err)
		}
		if _, err := m.Resolve(t.Context(), SessionRefs+"s1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("saved state: %v", err)
		}
	}
	fsck(t, again.dir)
}

// TestUsedMirrorStays: because of its time, because somebody works with it at this
// moment, here or in another process, or because it is needed.
func TestUsedMirrorStays(t *testing.T) {
	t.Parallel()
	broken := errors.New("the database is away")
	later := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		before time.Time
		kept   int
		use    func(t *testing.T, m *Mirror)
		needed func(context.Context, Unused) (bool, error)
		err    error
	}{
		"needed":               {later, 1, nil, func(context.Context, Unused) (bool, error) { return true, nil }, nil},
		"nobody knows":         {later, 1, nil, func(context.Context, Unused) (bool, error) { return false, broken }, broken},
		"used since":           {time.Now().Add(-time.Hour), 0, nil, unneeded, nil},
		"fetched into now":     {later, 1, func(t *testing.T, m *Mirror) { t.Cleanup(must(m.lock(t.Context()))(t)) }, unneeded, nil},
		"saved in now":         {later, 1, func(t *testing.T, m *Mirror) { t.Cleanup(must(m.refs.lock(t.Context()))(t)) }, unneeded, nil},
		"with a ref of others": {later, 1, func(t *testing.T, m *Mirror) { setRef(t, m, "refs/handrail/others") }, func(_ context.Context, u Unused) (bool, error) { return len(u.Own) == 2, nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m, _ := unused(t)
			if c.use != nil {
				c.use(t, m)
			}
			gone, kept, err := s.RemoveUnused(t.Context(), c.before, c.needed)
			if gone != 0 || kept != c.kept || !errors.Is(err, c.err) || !isThere(t, s) {
				t.Errorf("gone %d, kept %d, %v", gone, kept, err)
			}
			fsck(t, m.dir)
		})
	}
}

func setRef(t *testing.T, m *Mirror, ref string) {
	t.Helper()
	_, head, err := m.Default(t.Context())
	if err = errors.Join(err, m.SetRef(t.Context(), ref, head, "")); err != nil {
		t.Fatal(err)
	}
}

// TestReadMirrorStays: what is read at this moment stays.
func TestReadMirrorStays(t *testing.T) {
	t.Parallel()
	s, m, _ := unused(t)
	err := m.pool.Do(t.Context(), func(*objects.DB) error {
		gone, kept, err := s.RemoveUnused(t.Context(), time.Now().Add(time.Hour), unneeded)
		if gone != 0 || kept != 1 {
			t.Errorf("gone %d, kept %d", gone, kept)
		}
		return err
	})
	if err != nil || !isThere(t, s) {
		t.Errorf("it is gone, %v", err)
	}
}

// TestUseIsKnown: to fetch, though nothing is new, and to save are uses.
func TestUseIsKnown(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(t *testing.T, m *Mirror){
		"fetch": func(t *testing.T, m *Mirror) {
			if err := m.Fetch(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"save": func(t *testing.T, m *Mirror) { setRef(t, m, SessionRefs+"s2") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m, _ := unused(t)
			old := time.Now().Add(-100 * 24 * time.Hour)
			age := func(paths ...string) {
				for _, path := range paths {
					if err := os.Chtimes(path, old, old); err != nil {
						t.Fatal(err)
					}
				}
			}
			age(m.dir+".lock", m.dir+".refs.lock")
			use(t, m)
			age(m.dir, filepath.Join(m.dir, "packed-refs"))
			gone, _, err := s.RemoveUnused(t.Context(), time.Now().Add(-time.Hour), unneeded)
			if gone != 0 || err != nil || !isThere(t, s) {
				t.Errorf("gone %d, %v", gone, err)
			}
		})
	}
}

// TestHalfRemoved: what a killed process left of a removal goes.
func TestHalfRemoved(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s, m, _ := unused(t)
	if err := os.Rename(m.dir, m.dir+removedSuffix); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.RemoveUnused(t.Context(), time.Time{}, unneeded); err != nil || isThere(t, s) {
		t.Errorf("it is there still, %v", err)
	}
}

// TestUnusedOf: whose mirror it is.
func TestUnusedOf(t *testing.T) {
	t.Parallel()
	long := "octo/" + strings.Repeat("long", 20)
	for _, c := range []struct {
		url, repo string
		want      bool
	}{
		{"https://github.example/octo/hello", "octo/hello", true},
		{"https://github.example/Octo/Hello.git", "octo/hELLO", true},
		{"https://github.example/octo/hello", "octo/ello", false},
		{"https://github.example/octo/hello", "octo/hell", false},
		{"https://github.example/octo/.github", "octo/.github", true},
		{"http://127.0.0.1:8080/octo/hello", "octo/hello", true},
		{"https://github.example/" + long, long, true},
	} {
		_, name, err := cleanURL(c.url)
		if got := (Unused{Name: name}).Of(c.repo); got != c.want || err != nil {
			t.Errorf("%s of %s: %v, %v", name, c.repo, got, err)
		}
	}
}
