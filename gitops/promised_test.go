package gitops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/handrail-bot/handrail/gitops/objects"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// partialOf makes a repository on a server that gives contents later, and a partial
// mirror of it.
func partialOf(t *testing.T, files map[string]string) (r *remote, m *Mirror, bare, work string) {
	t.Helper()
	r = newRemote(t)
	url, bare, work := r.repo("one", files)
	git(t, bare, "config", "uploadpack.allowFilter", "true")
	m, err := newStore(t, func(c *Config) { c.Partial = true }).Mirror(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return r, m, bare, work
}

// lacking lists the objects that a mirror was promised, by git.
func lacking(t *testing.T, m *Mirror) (ids []string) {
	t.Helper()
	for line := range strings.Lines(git(t, m.dir, "rev-list", "--objects", "--all", "--missing=print")) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "?"); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// whole checks a mirror with git, which must not ask the remote.
func whole(t *testing.T, m *Mirror) {
	t.Helper()
	out, err := gitTry(t, m.dir, "", "-c", "remote.origin.url=/nonexistent", "fsck", "--strict", "--full", "--no-dangling")
	if err != nil || strings.Contains(out, "error") || strings.Contains(out, "missing") {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

func TestPartialMirrorBringsWhatIsRead(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r, m, bare, work := partialOf(t, map[string]string{"a": "1\n", "src/x": "x\n", "src/y": "y\n", "lib/z": "1\n2\n3\n4\n5\n"})
	all := lacking(t, m)
	if len(all) != 4 || !m.pool.Partial() {
		t.Errorf("a new mirror lacks %d contents, want all 4", len(all))
	}
	whole(t, m)
	before := r.posts.Load()
	for _, want := range []struct{ path, text string }{{"src/x", "x\n"}, {"src/y", "y\n"}} {
		if got := must(m.ReadFile(t.Context(), "main", want.path, 0))(t); string(got) != want.text {
			t.Errorf("%s: %q", want.path, got)
		}
	}
	if n := r.posts.Load() - before; n != 1 || len(lacking(t, m)) != 2 {
		t.Errorf("two files of a directory took %d requests, and %d contents are lacking", n, len(lacking(t, m)))
	}
	whole(t, m)

	// What is new leaves its contents out too, and says truly what changed.
	git(t, work, "mv", "lib/z", "lib/moved")
	commitFiles(t, work, "second", map[string]string{"a": "2\n", "lib/moved": "1\n2\n3\n4\n5\nmore\n"})
	git(t, work, "push", "-q", "origin", "main")
	must(0, m.Fetch(t.Context()))(t)
	if len(lacking(t, m)) != 4 {
		t.Errorf("after a fetch: %v", lacking(t, m))
	}
	before = r.posts.Load()
	first, head := git(t, bare, "rev-parse", "main~1"), git(t, bare, "rev-parse", "main")
	text, stats, err := m.Diff(t.Context(), first, head, DiffOptions{})
	if err != nil || len(stats) != 2 || !strings.Contains(text, "+2\n") || !strings.Contains(text, "rename from lib/z") {
		t.Errorf("diff: %v %+v\n%s", err, stats, text)
	}
	if n := r.posts.Load() - before; n != 1 || len(lacking(t, m)) != 0 {
		t.Errorf("a diff took %d requests; lacking after it: %v", n, lacking(t, m))
	}
	whole(t, m)
	if _, err := m.ReadFile(t.Context(), "main", "no/such", 0); !errors.Is(err, ErrNotFound) {
		t.Errorf("a path that is not there: %v", err)
	}
}

// A server that does not give contents later, and one that does not speak version 2.
func TestServersWithoutPromises(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"no filter": false, "version 0": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			url, bare, _ := r.repo("one", map[string]string{"a": "1\n"})
			if old {
				git(t, bare, "config", "uploadpack.allowFilter", "true")
				r.before = func(r *http.Request) { r.Header.Del("Git-Protocol") }
			}
			m, err := newStore(t, func(c *Config) { c.Partial = true }).Mirror(t.Context(), url)
			if err != nil || m.pool.Partial() {
				t.Fatalf("%v, partial %v", err, m.pool.Partial())
			}
			fsck(t, m.dir)
		})
	}
	_, m, _, _ := partialOf(t, nil)
	if _, _, err := m.Default(t.Context()); !errors.Is(err, ErrEmpty) || m.pool.Partial() {
		t.Errorf("an empty repository: %v, partial %v", err, m.pool.Partial())
	}
}

// A push has every object that the remote lacks, and git finds nothing missing there. An
// undo brings back what this mirror never had.
func TestPushFromAPartialMirror(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	_, m, bare, work := partialOf(t, map[string]string{"a": "1\n", "b": "b\n", "other": "o\n"})
	meta := Meta{Message: "m", Author: Signature{"A", "a@x"}, Trailers: []Trailer{{TrailerSession, "s"}}}
	head := git(t, bare, "rev-parse", "main")
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Meta: meta, Changes: []Change{put("a", "2\n"), {Path: "b", Delete: true}}}))(t)
	must(0, m.Push(t.Context(), Push{Commit: c.ID, Ref: "refs/heads/agent"}))(t)
	fsck(t, bare)

	// The same work over again, by somebody who has only commits.
	again := must(newStore(t, func(s *Config) { s.Partial = true }).Mirror(t.Context(), m.url))(t)
	undone := must(again.Undo(t.Context(), Undo{Head: c.ID, Session: "s", Base: head, Meta: meta}))(t)
	must(0, again.Push(t.Context(), Push{Commit: undone.ID, Ref: "refs/heads/agent"}))(t)
	if diffs := git(t, bare, "diff", "--name-only", "main", "agent"); diffs != "" {
		t.Errorf("after the undo the branch differs from main at %q", diffs)
	}
	fsck(t, bare)
	whole(t, again)

	// Both sides changed a file: it is merged by lines, and the push is rebased.
	theirs := commitFiles(t, work, "theirs", map[string]string{"other": "o\nthem\n"})
	git(t, work, "push", "-q", "origin", "HEAD:agent", "--force")
	ours := must(again.Checkpoint(t.Context(), Checkpoint{Parent: head, Meta: meta, Changes: []Change{put("other", "us\no\n")}}))(t)
	out, err := again.PushSafe(t.Context(), SafePush{Commit: ours.ID, Base: head, Ref: "refs/heads/agent"})
	if err != nil || out.How != howRebased {
		t.Fatalf("%v %+v", err, out)
	}
	if got := git(t, bare, "show", "agent:other"); got != "us\no\nthem" || git(t, bare, "rev-parse", "agent~1") != theirs {
		t.Errorf("merged: %q", got)
	}
	fsck(t, bare)
}

// A base brings what it shows, in one request; what is outside of it never comes.
func TestBaseOfAPartialMirror(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	files := many(400)
	files["app/a"], files["app/b"] = "a\n", "b\n"
	r, m, bare, work := partialOf(t, files)
	store := must(OpenBases(BasesConfig{Dir: t.TempDir()}))(t)
	rules := BaseRules{Outside: func(name string) bool { return strings.HasPrefix(name, "d") }, OutsideKey: "app"}
	before := r.posts.Load()
	take := func(commit string, rules BaseRules) map[string]string {
		t.Helper()
		b := must(store.Take(t.Context(), m, BaseWant{Commit: commit, Rules: rules, Layers: true}))(t)
		defer b.Drop()
		return tree(t, b.Source)
	}
	if got := take("main", rules); !maps.Equal(got, map[string]string{"app/a": "a\n", "app/b": "b\n"}) {
		t.Errorf("the base has %v", got)
	}
	if n := r.posts.Load() - before; n != 1 || len(lacking(t, m)) != 400 {
		t.Errorf("the base took %d requests, and %d contents are lacking", n, len(lacking(t, m)))
	}

	// The next commit brings what changed, and what git shows of those before is whole.
	git(t, work, "reset", "-q", "--hard", "origin/main")
	for i := range 3 {
		commitFiles(t, work, "more", map[string]string{"app/a": fmt.Sprint(i), "d00/more": fmt.Sprint(i)})
	}
	git(t, work, "push", "-q", "origin", "HEAD:main")
	must(0, m.Fetch(t.Context()))(t)
	before = r.posts.Load()
	if got := take("main", rules); got["app/a"] != "2" && got["app/a"] != "a\n" { // it may be in a layer
		t.Errorf("the next base has %v", got)
	}
	if n := r.posts.Load() - before; n != 1 {
		t.Errorf("the next base took %d requests", n)
	}
	past := ""
	write := func(rules BaseRules) int64 {
		t.Helper()
		before, past = r.posts.Load(), t.TempDir()
		must(0, os.MkdirAll(filepath.Join(past, "objects"), 0o755))(t)
		must(0, os.Mkdir(filepath.Join(past, "refs"), 0o755))(t)
		p := Past{Want: BaseWant{Commit: "main", Rules: rules}, Branch: "main", Files: past, Objects: filepath.Join(past, "objects")}
		must(0, store.WritePast(t.Context(), m, p))(t)
		fsck(t, past)
		return r.posts.Load() - before
	}
	if n := write(rules); n != 0 || len(lacking(t, m)) != 402 {
		t.Errorf("the past took %d requests, and %d contents are lacking, want those outside and two of former commits", n, len(lacking(t, m)))
	}
	if log := git(t, past, "log", "-p", "--format=%s"); !strings.Contains(log, "+2") || strings.Contains(log, "d00") {
		t.Errorf("the past shows\n%s", log)
	}
	if n := write(BaseRules{}); n != 1 {
		t.Errorf("the past took %d requests", n)
	}
	if log := git(t, past, "log", "-p", "--format=%s"); !strings.Contains(log, "-1\n\\ No newline at end of file\n+2") {
		t.Errorf("the past shows\n%s", log)
	}
	fsck(t, bare)
}

// tree reads the files of a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		out[strings.TrimPrefix(name, dir+"/")] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// cut is a network that breaks in the middle of an answer to a POST, once for each
// number of bytes.
type cut struct {
	mu    sync.Mutex
	after []int64
}

func (c *cut) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost {
		return res, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.after) > 0 && c.after[0] >= 0 {
		body := res.Body
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(body, c.after[0]), broken{}), body}
	}
	if len(c.after) > 0 {
		c.after = c.after[1:]
	}
	return res, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// The server goes away while contents come: that is told as such, nothing half is there,
// and the next try is whole.
func TestInterruptedPrefetch(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRemote(t)
	url, bare, _ := r.repo("one", many(200))
	git(t, bare, "config", "uploadpack.allowFilter", "true")
	net := &cut{}
	m := must(newStore(t, func(c *Config) { c.Partial, c.HTTP = true, net }).Mirror(t.Context(), url))(t)
	store := must(OpenBases(BasesConfig{Dir: t.TempDir()}))(t)
	for _, n := range []int64{0, 7, 100, 3000} {
		net.after = []int64{n, n, n} // it is asked for three times
		if b, err := store.Take(t.Context(), m, BaseWant{Commit: "main"}); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("a base from half an answer: %v %v", b, err)
		}
		whole(t, m)
	}
	ctx, stop := context.WithCancel(t.Context())
	r.before = func(*http.Request) { stop() }
	if _, err := store.Take(ctx, m, BaseWant{Commit: "main"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a prefetch that is stopped: %v", err)
	}
	r.before = nil
	b := must(store.Take(t.Context(), m, BaseWant{Commit: "main"}))(t)
	defer b.Drop()
	if got := tree(t, b.Source); len(got) != 200 || len(lacking(t, m)) != 0 {
		t.Errorf("%d files, lacking %d", len(got), len(lacking(t, m)))
	}
	if left, _ := filepath.Glob(filepath.Join(m.dir, "objects/pack/tmp_*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Two processes want the same at once: it comes once.
func TestTwoBringTheSame(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r, m, _, _ := partialOf(t, many(300))
	other := must(newStore(t, func(c *Config) { c.Dir = filepath.Dir(m.dir) }).Mirror(t.Context(), m.url))(t)
	before := r.posts.Load()
	var group sync.WaitGroup
	for _, m := range []*Mirror{m, other, m, other} {
		group.Go(func() {
			store, err := OpenBases(BasesConfig{Dir: t.TempDir()})
			if err != nil {
				t.Error(err)
				return
			}
			b, err := store.Take(t.Context(), m, BaseWant{Commit: "main"})
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Drop()
			if got := tree(t, b.Source); len(got) != 300 {
				t.Errorf("%d files", len(got))
			}
		})
	}
	group.Wait()
	if n := r.posts.Load() - before; n != 1 {
		t.Errorf("contents were fetched %d times", n)
	}
	whole(t, m)
}

// What was made here and lost is not taken for promised; what the remote has is.
func TestLostIsNotPromised(t *testing.T) {
	t.Parallel()
	_, m, bare, _ := partialOf(t, map[string]string{"a": "1\n", "far/b": "b\n"})
	head := git(t, bare, "rev-parse", "main")
	meta := Meta{Message: "m", Author: Signature{"A", "a@x"}}
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Meta: meta, Changes: []Change{put("a", "mine\n"), put("back", "else\n")}}))(t)
	mended := must(m.Mend(t.Context(), c.ID, head))(t)
	if !mended[c.ID] || !mended[head] {
		t.Errorf("whole: %v", mended)
	}
	if len(lacking(t, m)) != 1 {
		t.Errorf("looking brought contents: %v", lacking(t, m))
	}
	id := git(t, m.dir, "rev-parse", c.ID+":a")
	if err := os.Remove(filepath.Join(m.dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	m.pool.Renew()
	if _, err := m.ReadFile(t.Context(), c.ID, "a", 0); !errors.Is(err, ErrNotFound) {
		t.Errorf("a lost content is read: %v", err)
	}
	if got := must(m.ReadFile(t.Context(), head, "far/b", 0))(t); string(got) != "b\n" {
		t.Errorf("beside a lost one: %q", got)
	}
	if mended := must(m.Mend(t.Context(), c.ID, head))(t); mended[c.ID] || !mended[head] {
		t.Errorf("whole after a loss: %v", mended)
	}
}

// Packs of both kinds are joined, and git reads all of it.
func TestPartialMirrorIsTidied(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	files := map[string]string{}
	for i := range maxPacks + 5 {
		files[fmt.Sprintf("d%d/f", i)] = fmt.Sprint(i)
	}
	_, m, bare, _ := partialOf(t, files)
	for name, text := range files {
		if got := must(m.ReadFile(t.Context(), "main", name, 0))(t); string(got) != text {
			t.Errorf("%s: %q", name, got)
		}
	}
	packs, _ := filepath.Glob(filepath.Join(m.dir, "objects/pack/*.pack"))
	marks, _ := filepath.Glob(filepath.Join(m.dir, "objects/pack/*.promisor"))
	if len(packs) > maxPacks || len(marks) != len(packs) {
		t.Errorf("%d packs, %d marks", len(packs), len(marks))
	}
	whole(t, m)
	for name := range files {
		if got, want := git(t, m.dir, "cat-file", "-p", "main:"+name), git(t, bare, "cat-file", "-p", "main:"+name); got != want {
			t.Errorf("git reads %s as %q, want %q", name, got, want)
		}
	}
}

// Who reads without saying so first gets what is promised, too.
func TestPromisedIsBrought(t *testing.T) {
	t.Parallel()
	_, m, bare, _ := partialOf(t, map[string]string{"a": "1\n", "b": "22\n"})
	a, b := mustHash(git(t, bare, "rev-parse", "main:a")), mustHash(git(t, bare, "rev-parse", "main:b"))
	err := m.pool.Use(t.Context(), func(o *objects.DB) error {
		data, err := o.Read(plumbing.BlobObject, a, 10)
		if err != nil || string(data) != "1\n" {
			t.Errorf("read: %q %v", data, err)
		}
		size, err := o.EncodedObjectSize(b)
		if err != nil || size != 3 {
			t.Errorf("size: %d %v", size, err)
		}
		return nil
	})
	if err != nil || len(lacking(t, m)) != 0 {
		t.Errorf("%v, lacking %v", err, lacking(t, m))
	}
}
