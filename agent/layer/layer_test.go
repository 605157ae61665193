package layer

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

func key(c string) string { return strings.Repeat(c, 64) }

// fills makes a layer with one file.
func fills(text string) func(string) error {
	return func(dir string) error {
		return errors.Join(os.Mkdir(filepath.Join(dir, workspace.LayerTree), 0o755), os.Mkdir(filepath.Join(dir, workspace.LayerCache), 0o755),
			os.WriteFile(filepath.Join(dir, workspace.LayerTree, "a"), []byte(text), 0o600))
	}
}

func open(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read returns what a layer has, "none" where there is none.
func read(t *testing.T, s *Store, k string) string {
	t.Helper()
	dir, drop, err := s.Take(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	defer drop()
	if dir == "" {
		return "none"
	}
	data, err := os.ReadFile(filepath.Join(dir, workspace.LayerTree, "a"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Those who want the same layer at once make it once, whatever process they are in.
func TestMadeOnce(t *testing.T) {
	dir := t.TempDir()
	var made atomic.Int32
	var work sync.WaitGroup
	over, cancel := context.WithCancel(t.Context())
	cancel()
	first, other := open(t, Config{Dir: dir}), open(t, Config{Dir: dir})
	if err := first.Make(t.Context(), key("a"), func(at string) error {
		made.Add(1)
		twice := func(string) error { t.Error("another makes it meanwhile"); return nil }
		if err := other.Make(over, key("a"), twice); !errors.Is(err, context.Canceled) {
			t.Errorf("another does not wait: %v", err)
		}
		return fills("made\n")(at)
	}); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		s := open(t, Config{Dir: dir})
		work.Go(func() {
			if err := s.Make(t.Context(), key("a"), func(dir string) error {
				made.Add(1)
				return fills("made\n")(dir)
			}); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if n := made.Load(); n != 1 || read(t, open(t, Config{Dir: dir}), key("a")) != "made\n" {
		t.Errorf("it was made %d times", n)
	}
	if _, _, err := open(t, Config{Dir: dir}).Take(t.Context(), "../"+key("a")); err == nil {
		t.Error("a key that is none is taken")
	}
}

// What fails, or is not whole, leaves nothing.
func TestHalfALayer(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	why := errors.New("no network")
	if err := s.Make(t.Context(), key("b"), func(dir string) error { return errors.Join(fills("half\n")(dir), why) }); !errors.Is(err, why) {
		t.Errorf("it says %v", err)
	}
	if err := s.Make(t.Context(), key("b"), func(dir string) error { return os.Mkdir(filepath.Join(dir, workspace.LayerTree), 0o755) }); err == nil || !strings.Contains(err.Error(), "it has no cache") {
		t.Errorf("without caches it says %v", err)
	}
	if got := read(t, s, key("b")); got != "none" {
		t.Errorf("there is %q", got)
	}
	if list, err := os.ReadDir(s.at("making")); err != nil || len(list) > 0 {
		t.Errorf("left are %v, %v", list, err)
	}
}

// A process that dies while it makes a layer leaves none, and its place is cleared.
func TestKilledWhileMaking(t *testing.T) {
	dir := t.TempDir()
	if at := os.Getenv("HANDRAIL_TEST_LAYERS"); at != "" {
		_ = open(t, Config{Dir: at}).Make(context.Background(), key("c"), func(dir string) error {
			if err := fills("half\n")(dir); err != nil {
				return err
			}
			p, err := os.FindProcess(os.Getpid())
			return errors.Join(err, p.Kill(), func() error { select {} }())
		})
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestKilledWhileMaking$")
	cmd.Env = append(os.Environ(), "HANDRAIL_TEST_LAYERS="+dir)
	if err := cmd.Run(); err == nil {
		t.Fatal("the process did not die")
	}
	uid := open(t, Config{Dir: dir})
	if got := read(t, uid, key("c")); got != "none" {
		t.Errorf("there is %q", got)
	}
	if list, err := os.ReadDir(uid.at("making")); err != nil || len(list) > 0 {
		t.Errorf("left are %v, %v", list, err)
	}
	if err := uid.Make(t.Context(), key("c"), fills("whole\n")); err != nil || read(t, uid, key("c")) != "whole\n" {
		t.Errorf("it cannot be made anew: %v", err)
	}
}

// Caches are taken from the newest layer of the same family, and of no other.
func TestNewest(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	for i, k := range []string{"1", "2", "3"} {
		family := map[bool]string{true: "theirs", false: "ours"}[k == "3"]
		err := s.Make(t.Context(), key(k), func(dir string) error {
			at := time.Now().Add(time.Duration(i) * time.Minute)
			name := filepath.Join(dir, "family")
			return errors.Join(fills(k)(dir), os.WriteFile(name, []byte(family), 0o600), os.Chtimes(name, at, at))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for family, want := range map[string]string{"ours": s.at("layers", key("2")), "theirs": s.at("layers", key("3")), "others": ""} {
		dir, drop, err := s.newest(t.Context(), family)
		if err != nil || dir != want {
			t.Errorf("of %s it is %s, %v", family, dir, err)
		}
		drop()
	}
}

// What nobody used for long goes, and what is too much, the oldest first. What is in use
// stays.
func TestSweep(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir(), MaxAge: time.Hour, MaxBytes: 3<<20 - 1})
	big := strings.Repeat("x", 1<<20)
	for i, k := range []string{"1", "2", "3", "4", "5"} {
		if err := s.Make(t.Context(), key(k), fills(big)); err != nil {
			t.Fatal(err)
		}
		read(t, s, key(k))
		age := time.Now().Add(-time.Duration(5-i) * time.Minute)
		if k == "5" {
			age = time.Now().Add(-2 * time.Hour)
		}
		if err := os.Chtimes(s.at("locks", key(k)), age, age); err != nil {
			t.Fatal(err)
		}
	}
	_, drop, err := s.Take(t.Context(), key("1"))
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-30 * time.Minute)
	if err := errors.Join(os.Chtimes(s.at("locks", key("1")), old, old), s.RemoveUnused(time.Hour)); err != nil {
		t.Fatal(err)
	}
	drop()
	var left []string
	for _, k := range []string{"1", "2", "3", "4", "5"} {
		if read(t, s, key(k)) != "none" {
			left = append(left, k)
		}
	}
	if got := strings.Join(left, ""); got != "14" {
		t.Errorf("left are %s", got)
	}
}

// A file that layers share is counted once.
func TestSharedIsCountedOnce(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir(), MaxBytes: 3 << 20})
	for i, k := range []string{"1", "2", "3", "4"} {
		err := s.Make(t.Context(), key(k), func(dir string) error {
			to := filepath.Join(dir, workspace.LayerCache, "shared")
			err := fills(k)(dir)
			if i == 0 {
				return errors.Join(err, os.WriteFile(to, make([]byte, 2<<20), 0o600))
			}
			return errors.Join(err, os.Link(filepath.Join(s.at("layers", key("1")), workspace.LayerCache, "shared"), to))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.sweep(time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"1", "2", "3", "4"} {
		if read(t, s, key(k)) == "none" {
			t.Errorf("layer %s went", k)
		}
	}
}

// An answer is there for the repository and the set-up that it was given to.
func TestAnswers(t *testing.T) {
	a := Answers{Files(filepath.Join(t.TempDir(), "answers")), os.ErrNotExist}
	if _, ok, err := a.Answer(t.Context(), "team/app", key("a")); ok || err != nil {
		t.Errorf("before any: %t, %v", ok, err)
	}
	for _, v := range []policy.ApprovalState{policy.Denied, policy.Approved} {
		if err := a.Keep(t.Context(), "team/app", key("a"), session.Resolved{ID: "x", Verdict: v, By: "kim"}); err != nil {
			t.Fatal(err)
		}
		if got, ok, err := a.Answer(t.Context(), "team/app", key("a")); got.Verdict != v || got.By != "kim" || !ok || err != nil {
			t.Errorf("it is %+v, %t, %v", got, ok, err)
		}
	}
	for _, other := range [][2]string{{"team/other", key("a")}, {"team/app", key("b")}} {
		if _, ok, err := a.Answer(t.Context(), other[0], other[1]); ok || err != nil {
			t.Errorf("for %s: %t, %v", other[0], ok, err)
		}
	}
}

type values map[string][]byte

func (v values) Get(_ context.Context, key string) ([]byte, error) {
	if value, ok := v[key]; ok {
		return value, nil
	}
	return nil, os.ErrNotExist
}

func (v values) Set(_ context.Context, key string, value []byte) error { v[key] = value; return nil }

func (v values) DropAll(_ context.Context, prefix string) error {
	maps.DeleteFunc(v, func(key string, _ []byte) bool { return strings.HasPrefix(key, prefix) })
	return nil
}

// What people said in one repository is forgotten, and nothing of others.
func TestForget(t *testing.T) {
	v := values{}
	a := Answers{v, os.ErrNotExist}
	for _, repo := range []string{"team/app", "team/apple"} {
		for _, set := range []string{"a", "b"} {
			if err := a.Keep(t.Context(), repo, key(set), session.Resolved{Verdict: policy.Approved}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := Forget(t.Context(), v, "team/app"); err != nil {
		t.Fatal(err)
	}
	for repo, want := range map[string]bool{"team/app": false, "team/apple": true} {
		if _, ok, err := a.Answer(t.Context(), repo, key("b")); ok != want || err != nil || len(v) != 2 {
			t.Errorf("%s: %t, %v; %d are left", repo, ok, err, len(v))
		}
	}
}
