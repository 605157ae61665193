package threadref_test

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
	"github.com/handrail-bot/handrail/bot/store/sqlite"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/bot/store/threadref"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryRepo is a repository in memory.
type memoryRepo struct {
	mu    sync.Mutex
	n     int
	refs  map[string]string
	trees map[string]map[string][]byte
}

func (m *memoryRepo) ReadRef(_ context.Context, ref string) (map[string][]byte, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.trees[m.refs[ref]]), m.refs[ref], nil
}

func (m *memoryRepo) WriteRef(_ context.Context, ref string, files map[string][]byte, old string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refs[ref] != old {
		return "", fmt.Errorf("%s is at %q: %w", ref, m.refs[ref], threadref.ErrMoved)
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
		err = fmt.Errorf("%w: %w", threadref.ErrMoved, err)
	}
	return commit, err
}

// repos makes, for each kind of repository, clones of one remote.
func repos(t *testing.T, test func(t *testing.T, clone func() threadref.Repo)) {
	t.Run("memory", func(t *testing.T) {
		m := &memoryRepo{refs: map[string]string{}, trees: map[string]map[string][]byte{}}
		test(t, func() threadref.Repo { return m })
	})
	t.Run("git", func(t *testing.T) {
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip("NEEDS GIT: install the git program")
		}
		remote := filepath.Join(t.TempDir(), "remote.git")
		newGit(t, remote).run("", "init", "--quiet", "--bare", remote)
		test(t, func() threadref.Repo { return newGit(t, remote) })
	})
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func note(text string) *session.Event {
	return session.NewEvent(session.TypeNote, 1, session.Note{Kind: "reminder", Text: text})
}

// TestContention imports a session from many clones at once: one stores it, the
// others find it there.
func TestContention(t *testing.T) {
	repos(t, func(t *testing.T, clone func() threadref.Repo) {
		const n = 3 // as often as an import looks again
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			repo, e := clone(), note(fmt.Sprint(i))
			session.Chain(0, "", []*session.Event{e})
			wg.Go(func() { errs[i] = threadref.Import(t.Context(), repo, "s1", []session.Event{*e}) })
		}
		wg.Wait()
		won, want := 0, ""
		for i, err := range errs {
			if err == nil {
				won, want = won+1, fmt.Sprint(i)
			} else if !errors.Is(err, store.ErrExists) {
				t.Errorf("import: %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d imports stored the log, want 1", won)
		}
		events, err := threadref.Log(t.Context(), clone(), "s1")
		noError(t, err)
		if len(events) != 1 || !strings.Contains(string(events[0].Data), `"`+want+`"`) {
			t.Errorf("the log is %+v, not that of %s", events, want)
		}
	})
}

// TestTransfer carries a log from SQLite to a ref and back.
func TestTransfer(t *testing.T) {
	repos(t, func(t *testing.T, clone func() threadref.Repo) {
		ctx := t.Context()
		opened := func() store.Store {
			db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "bot.db")})
			noError(t, err)
			t.Cleanup(func() { noError(t, db.Close()) })
			return db.Store
		}
		from, to, repo := opened(), opened(), clone()
		l, err := from.Leases.Acquire(ctx, "s1", "me", time.Hour)
		noError(t, err)
		noError(t, from.Logs.Log(l.Fence()).Append(ctx, note("a"), note("b")))
		before, err := from.Logs.Log(l.Fence()).Events(ctx, 0)
		noError(t, err)
		noError(t, threadref.Import(ctx, repo, "s1", before))
		if err := threadref.Import(ctx, repo, "s1", before); !errors.Is(err, store.ErrExists) {
			t.Errorf("second import: %v", err)
		}
		after, err := threadref.Log(ctx, clone(), "s1")
		noError(t, err)
		var one, two bytes.Buffer
		noError(t, store.WriteLog(&one, "s1", after))
		_, err = storetest.Import(ctx, bytes.NewReader(one.Bytes()), to.Logs)
		noError(t, err)
		noError(t, storetest.Export(ctx, to.Logs, "s1", &two))
		if diff := cmp.Diff(before, after); diff != "" || one.String() != two.String() {
			t.Errorf("the log changed on its way:\n%s\n%s\n%s", diff, one.String(), two.String())
		}
		if events, err := threadref.Log(ctx, repo, "s2"); err != nil || len(events) > 0 {
			t.Errorf("log of no session: %v, %v", events, err)
		}
	})
}

// TestDamaged reads refs that somebody else wrote.
func TestDamaged(t *testing.T) {
	m := &memoryRepo{refs: map[string]string{}, trees: map[string]map[string][]byte{}}
	for _, id := range []string{"s1", "s2"} {
		e := note(id)
		session.Chain(0, "", []*session.Event{e})
		noError(t, threadref.Import(t.Context(), m, id, []session.Event{*e}))
	}
	good := m.trees[m.refs[threadref.Prefix+"s1"]]
	for name, data := range map[string][]byte{
		"log of another session": m.trees[m.refs[threadref.Prefix+"s2"]]["log.jsonl.gz"],
		"log cut":                good["log.jsonl.gz"][:40],
		"log not compressed":     []byte("{}"),
	} {
		other := &memoryRepo{refs: map[string]string{threadref.Prefix + "s1": "c"}, trees: map[string]map[string][]byte{"c": {"log.jsonl.gz": data}}}
		if _, err := threadref.Log(t.Context(), other, "s1"); err == nil {
			t.Errorf("%s: was read", name)
		}
	}
	for _, id := range []string{"", "../heads/main", "a b", "-x", "a/b", strings.Repeat("a", 65), "$(id)"} {
		if _, err := threadref.Log(t.Context(), m, id); err == nil {
			t.Errorf("read %q", id)
		}
		if err := threadref.Import(t.Context(), m, id, nil); err == nil {
			t.Errorf("wrote %q", id)
		}
	}
}
