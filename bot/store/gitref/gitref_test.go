package gitref_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/gitref"
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a repository in memory.
type memory struct {
	mu    sync.Mutex
	n     int
	refs  map[string]string
	trees map[string]map[string][]byte
	reads int
}

func (m *memory) ReadRef(_ context.Context, ref string) (map[string][]byte, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	return maps.Clone(m.trees[m.refs[ref]]), m.refs[ref], nil
}

func (m *memory) WriteRef(_ context.Context, ref string, files map[string][]byte, old string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refs[ref] != old {
		return "", fmt.Errorf("%s is at %q: %w", ref, m.refs[ref], gitref.ErrMoved)
	}
	m.n++
	commit := fmt.Sprint("commit", m.n)
	m.refs[ref], m.trees[commit] = commit, maps.Clone(files)
	return commit, nil
}

// git is a clone that reads and writes a bare remote with the git program.
type git struct {
	t           *testing.T
	dir, remote string
}

func newGit(t *testing.T, remote string) *git {
	g := &git{t, filepath.Join(t.TempDir(), "clone.git"), remote}
	g.run("", "init", "--quiet", "--bare", g.dir)
	return g
}

func (g *git) run(stdin string, args ...string) string {
	g.t.Helper()
	out, err := g.try(stdin, args...)
	if err != nil {
		g.t.Errorf("git %v: %v", args, err)
	}
	return out
}

func (g *git) try(stdin string, args ...string) (string, error) {
	if args[0] != "init" {
		args = append([]string{"--git-dir", g.dir, "-c", "user.name=bot", "-c", "user.email=bot@example.com"}, args...)
	}
	cmd := exec.Command("git", args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

func (g *git) ReadRef(_ context.Context, ref string) (map[string][]byte, string, error) {
	commit, _, _ := strings.Cut(g.run("", "ls-remote", g.remote, ref), "\t")
	if commit == "" {
		return nil, "", nil
	}
	g.run("", "fetch", "--quiet", g.remote, commit)
	files := map[string][]byte{}
	for _, name := range strings.Fields(g.run("", "ls-tree", "--name-only", commit)) {
		files[name] = []byte(g.run("", "cat-file", "blob", commit+":"+name))
	}
	return files, commit, nil
}

func (g *git) WriteRef(_ context.Context, ref string, files map[string][]byte, old string) (string, error) {
	var tree strings.Builder
	for name, data := range files {
		fmt.Fprintf(&tree, "100644 blob %s\t%s\n", strings.TrimSpace(g.run(string(data), "hash-object", "-w", "--stdin")), name)
	}
	args := []string{"commit-tree", "-m", "session", strings.TrimSpace(g.run(tree.String(), "mktree"))}
	if old != "" {
		args = append(args, "-p", old)
	}
	commit := strings.TrimSpace(g.run("", args...))
	_, err := g.try("", "push", "--quiet", "--force-with-lease="+ref+":"+old, g.remote, commit+":"+ref)
	if err != nil && (strings.Contains(err.Error(), "stale info") || strings.Contains(err.Error(), "cannot lock ref")) {
		err = fmt.Errorf("%w: %w", gitref.ErrMoved, err)
	}
	return commit, err
}

// repos makes, for each kind of repository, clones of one remote.
func repos(t *testing.T, test func(t *testing.T, clone func() gitref.Repo)) {
	t.Run("memory", func(t *testing.T) {
		m := &memory{refs: map[string]string{}, trees: map[string]map[string][]byte{}}
		test(t, func() gitref.Repo { return m })
	})
	t.Run("git", func(t *testing.T) {
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip("NEEDS GIT: install the git program")
		}
		remote := filepath.Join(t.TempDir(), "remote.git")
		newGit(t, remote).run("", "init", "--quiet", "--bare", remote)
		test(t, func() gitref.Repo { return newGit(t, remote) })
	})
}

func open(t *testing.T, c gitref.Config) *gitref.Store {
	t.Helper()
	s, err := gitref.New(c)
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func note(text string) *session.Event {
	return session.NewEvent(session.TypeNote, 1, session.Note{Kind: "reminder", Text: text})
}

func texts(t *testing.T, l session.Log) []string {
	t.Helper()
	events, err := l.Events(t.Context(), 0)
	must(t, err)
	must(t, session.Verify(events))
	var out []string
	for _, e := range events {
		n, err := session.Decode[session.Note](e)
		must(t, err)
		out = append(out, n.Text)
	}
	return out
}

// TestRuns is a session that one workflow run parks and a later one resumes,
// on a machine that has only the remote.
func TestRuns(t *testing.T) {
	repos(t, func(t *testing.T, clone func() gitref.Repo) {
		ctx, clock := t.Context(), storetest.NewClock()
		first := open(t, gitref.Config{Repo: clone(), Now: clock.Now})
		if _, err := first.State(ctx, "s1"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("state of no session: %v", err)
		}
		l1, err := first.Acquire(ctx, "s1", "run 1", time.Hour)
		must(t, err)
		a, b := note("a"), note("b")
		must(t, first.Log(l1.Fence()).Append(ctx, a, b))
		must(t, first.Save(ctx, l1.Fence(), []byte(`{"state":"parked"}`), note("c")))
		if b.Seq != 2 || b.Prev != a.Hash {
			t.Errorf("append did not fill the chain: %+v", b)
		}
		second := open(t, gitref.Config{Repo: clone(), Now: clock.Now})
		_, err = second.Acquire(ctx, "s1", "run 2", time.Hour)
		if !errors.Is(err, store.ErrHeld) {
			t.Errorf("acquire while held: %v", err)
		}
		must(t, first.Release(ctx, l1))
		l2, err := second.Acquire(ctx, "s1", "run 2", time.Hour)
		must(t, err)
		if l2.Epoch != 2 {
			t.Errorf("second epoch is %d", l2.Epoch)
		}
		must(t, second.Log(l2.Fence()).Append(ctx, note("d")))
		if diff := cmp.Diff([]string{"a", "b", "c", "d"}, texts(t, open(t, gitref.Config{Repo: clone()}).Log(store.Fence{Key: "s1"}))); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		state, err := second.State(ctx, "s1")
		must(t, err)
		if string(state) != `{"state":"parked"}` {
			t.Errorf("state is %s", state)
		}
		tail, err := second.Log(store.Fence{Key: "s1"}).Events(ctx, 3)
		must(t, err)
		if len(tail) != 1 || tail[0].Seq != 4 {
			t.Errorf("events after 3: %+v", tail)
		}
	})
}

// TestPausedHolder wakes a run whose lease has passed to another.
func TestPausedHolder(t *testing.T) {
	repos(t, func(t *testing.T, clone func() gitref.Repo) {
		ctx, clock := t.Context(), storetest.NewClock()
		first, second := open(t, gitref.Config{Repo: clone(), Now: clock.Now}), open(t, gitref.Config{Repo: clone(), Now: clock.Now})
		l1, err := first.Acquire(ctx, "s1", "run 1", time.Minute)
		must(t, err)
		must(t, first.Log(l1.Fence()).Append(ctx, note("a")))
		clock.Add(time.Hour)
		l2, err := second.Acquire(ctx, "s1", "run 2", time.Minute)
		must(t, err)
		for name, write := range map[string]func() error{
			"append, with what it knew": func() error { return first.Log(l1.Fence()).Append(ctx, note("late")) },
			"append, after a look":      func() error { return first.Log(l1.Fence()).Append(ctx, note("late")) },
			"release":                   func() error { return first.Release(ctx, l1) },
			"append for reading":        func() error { return second.Log(store.Fence{Key: "s1"}).Append(ctx, note("x")) },
			"append of no session":      func() error { return second.Log(store.Fence{Key: "s2", Epoch: 1}).Append(ctx, note("x")) },
		} {
			if err := write(); !errors.Is(err, session.ErrFenced) {
				t.Errorf("%s: %v, want that it is fenced", name, err)
			}
		}
		must(t, second.Log(l2.Fence()).Append(ctx, note("b")))
		if diff := cmp.Diff([]string{"a", "b"}, texts(t, second.Log(l2.Fence()))); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

func TestContention(t *testing.T) {
	repos(t, func(t *testing.T, clone func() gitref.Repo) {
		const n = 4
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			s := open(t, gitref.Config{Repo: clone()})
			wg.Go(func() { _, errs[i] = s.Acquire(t.Context(), "s1", fmt.Sprint("run ", i), time.Hour) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, store.ErrHeld) {
				t.Errorf("acquire: %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d runs hold the lease, want 1", won)
		}
	})
}

func TestRedact(t *testing.T) {
	m := &memory{refs: map[string]string{}, trees: map[string]map[string][]byte{}}
	s := open(t, gitref.Config{Repo: m, Redact: func(_ session.Type, data []byte) []byte {
		return bytes.ReplaceAll(data, []byte("hunter2"), []byte("[redacted]"))
	}})
	l, err := s.Acquire(t.Context(), "s1", "run", time.Hour)
	must(t, err)
	e := note("password hunter2")
	must(t, s.Log(l.Fence()).Append(t.Context(), e))
	if diff := cmp.Diff([]string{"password [redacted]"}, texts(t, s.Log(l.Fence()))); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	events, err := open(t, gitref.Config{Repo: m}).Log(l.Fence()).Events(t.Context(), 0)
	must(t, err)
	if diff := cmp.Diff([]session.Event{*e}, events); diff != "" {
		t.Errorf("the writer's event is not the stored one (-want +got):\n%s", diff)
	}
	before := m.reads
	must(t, s.Log(l.Fence()).Append(t.Context(), note("b")))
	if m.reads != before {
		t.Error("the holder asks the remote before each write")
	}
}

// TestTransfer carries a log from SQLite to a ref and back.
func TestTransfer(t *testing.T) {
	repos(t, func(t *testing.T, clone func() gitref.Repo) {
		ctx := t.Context()
		opened := func() store.Store {
			db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "bot.db")})
			must(t, err)
			t.Cleanup(func() { must(t, db.Close()) })
			return db.Store
		}
		from, to, refs := opened(), opened(), open(t, gitref.Config{Repo: clone()})
		l, err := from.Leases.Acquire(ctx, "s1", "me", time.Hour)
		must(t, err)
		must(t, from.Logs.Log(l.Fence()).Append(ctx, note("a"), note("b")))
		var one, two, three bytes.Buffer
		must(t, storetest.Export(ctx, from.Logs, "s1", &one))
		_, err = refs.Import(ctx, bytes.NewReader(one.Bytes()))
		must(t, err)
		if _, err := refs.Import(ctx, bytes.NewReader(one.Bytes())); !errors.Is(err, store.ErrExists) {
			t.Errorf("second import: %v", err)
		}
		must(t, storetest.Export(ctx, refs, "s1", &two))
		_, err = storetest.Import(ctx, bytes.NewReader(two.Bytes()), to.Logs)
		must(t, err)
		must(t, storetest.Export(ctx, to.Logs, "s1", &three))
		if one.String() != two.String() || two.String() != three.String() {
			t.Errorf("the log changed on its way:\n%s\n%s\n%s", one.String(), two.String(), three.String())
		}
		if err := storetest.Export(ctx, refs, "s2", &two); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("export of no session: %v", err)
		}
	})
}

// TestDamaged reads refs that somebody else wrote.
func TestDamaged(t *testing.T) {
	m := &memory{refs: map[string]string{}, trees: map[string]map[string][]byte{}}
	s := open(t, gitref.Config{Repo: m})
	for _, id := range []string{"s1", "s2"} {
		l, err := s.Acquire(t.Context(), id, "run", time.Hour)
		must(t, err)
		must(t, s.Log(l.Fence()).Append(t.Context(), note(id)))
	}
	good := m.trees[m.refs[gitref.Prefix+"s1"]]
	for name, change := range map[string]func(map[string][]byte){
		"log of another session": func(f map[string][]byte) { f["log.jsonl.gz"] = m.trees[m.refs[gitref.Prefix+"s2"]]["log.jsonl.gz"] },
		"log cut":                func(f map[string][]byte) { f["log.jsonl.gz"] = f["log.jsonl.gz"][:40] },
		"log not compressed":     func(f map[string][]byte) { f["log.jsonl.gz"] = []byte("{}") },
		"lease not JSON":         func(f map[string][]byte) { f["lease.json"] = []byte("x") },
	} {
		files := maps.Clone(good)
		change(files)
		other := &memory{refs: map[string]string{gitref.Prefix + "s1": "c"}, trees: map[string]map[string][]byte{"c": files}}
		if _, err := open(t, gitref.Config{Repo: other}).Log(store.Fence{Key: "s1"}).Events(t.Context(), 0); err == nil {
			t.Errorf("%s: was read", name)
		}
	}
	for _, id := range []string{"", "../heads/main", "a b", "-x", "a/b", strings.Repeat("a", 65), "$(id)"} {
		if _, err := s.Acquire(t.Context(), id, "run", time.Hour); err == nil {
			t.Errorf("acquired %q", id)
		}
	}
	if _, err := gitref.New(gitref.Config{}); err == nil {
		t.Error("made a store without a repository")
	}
}
