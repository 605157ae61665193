package gitops

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

func tokenAuth(context.Context, string, Access) (string, string, error) {
	return testUser, testToken, nil
}

func TestMirrorClonesHeadsAndTags(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	url, bare, work := r.repo("one", map[string]string{"README.md": "hello\n", "src/a.go": "package a\n"})
	git(t, work, "tag", "-a", "v1", "-m", "one")
	git(t, work, "push", "-q", "origin", "v1", "main:refs/pull/7/head")
	m := mirrorOf(t, url)
	head := git(t, bare, "rev-parse", "main")
	refs := must(m.localRefs(t.Context(), ""))(t)
	if _, ok := refs["refs/pull/7/head"]; ok || refs["refs/heads/main"] != head || refs["refs/tags/v1"] == "" || len(refs) != 2 {
		t.Errorf("refs of the mirror: %v", refs)
	}
	branch, at, err := m.Default(t.Context())
	if err != nil || branch != "main" || at != head {
		t.Errorf("default branch: %q %q %v", branch, at, err)
	}
	for _, rev := range []string{"main", "refs/heads/main", "v1", "HEAD", head, head[:9]} {
		if got, err := m.Resolve(t.Context(), rev); got != head || err != nil {
			t.Errorf("resolve %q: %q %v, want %s", rev, got, err, head)
		}
	}
	for _, rev := range []string{"nope", "", "--upload-pack=x", "main;id", strings.Repeat("0", 40), "../main"} {
		if got, err := m.Resolve(t.Context(), rev); !errors.Is(err, ErrNotFound) {
			t.Errorf("resolve %q: %q %v, want not found", rev, got, err)
		}
	}
	fsck(t, m.dir)
	if got := git(t, m.dir, "for-each-ref", "--format=%(refname) %(*objectname)"); !strings.Contains(got, "v1 "+head) {
		t.Errorf("git reads the mirror's refs as %q", got)
	}
}

func TestFetchFollowsTheRemote(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRemote(t)
	url, bare, work := r.repo("one", map[string]string{"a": "1\n"})
	git(t, work, "push", "-q", "origin", "main:gone")
	m := mirrorOf(t, url)
	first := git(t, work, "rev-parse", "HEAD")

	next := commitFiles(t, work, "next", map[string]string{"a": "2\n"})
	git(t, work, "push", "-q", "origin", "main", ":gone", "main:new")
	must(0, m.Fetch(t.Context()))(t)
	want := map[string]string{"refs/heads/main": next, "refs/heads/new": next}
	if got := must(m.localRefs(t.Context(), ""))(t); !maps.Equal(got, want) {
		t.Errorf("refs after a fetch: %v, want %v", got, want)
	}

	git(t, work, "reset", "-q", "--hard", first)
	forced := commitFiles(t, work, "forced", map[string]string{"b": "3\n"})
	git(t, work, "push", "-q", "-f", "origin", "main")
	must(0, m.Fetch(t.Context()))(t)
	if got, _ := m.Resolve(t.Context(), "main"); got != forced {
		t.Errorf("main after a forced push: %s, want %s", got, forced)
	}
	if _, err := m.ReadFile(t.Context(), next, "a", 0); err != nil {
		t.Errorf("the commit before the forced push is gone: %v", err)
	}
	before := r.posts.Load()
	must(0, m.Fetch(t.Context()))(t)
	if r.posts.Load() != before {
		t.Error("a fetch without news downloaded something")
	}
	fsck(t, m.dir)
	fsck(t, bare)
}

func TestFetchPullHeadsAndCommits(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRemote(t)
	url, bare, work := r.repo("one", map[string]string{"a": "1\n"})
	m := mirrorOf(t, url)
	pull := commitFiles(t, work, "pull", map[string]string{"a": "pull\n"})
	git(t, work, "push", "-q", "origin", "HEAD:refs/pull/12/head")
	loose := commitFiles(t, work, "loose", map[string]string{"a": "loose\n"})
	git(t, work, "push", "-q", "origin", "HEAD:refs/heads/tmp")
	git(t, bare, "update-ref", "-d", "refs/heads/tmp")

	must(0, m.Fetch(t.Context(), PullRef(12)))(t)
	if got, err := m.Resolve(t.Context(), "refs/pull/12/head"); got != pull || err != nil {
		t.Errorf("pull head: %q %v, want %s", got, err, pull)
	}
	must(0, m.Fetch(t.Context(), loose))(t)
	if got := must(m.ReadFile(t.Context(), loose, "a", 0))(t); string(got) != "loose\n" {
		t.Errorf("file of a commit fetched by id: %q", got)
	}
	for _, ref := range []string{PullRef(99), "no-such-branch", "refs/pull/0/head", "refs/pull/--x/head", "$(id)"} {
		if err := m.Fetch(t.Context(), ref); !errors.Is(err, ErrNotFound) {
			t.Errorf("fetch %q: %v, want not found", ref, err)
		}
	}
	if err := m.Fetch(t.Context(), strings.Repeat("12", 20)); err == nil {
		t.Error("fetching a commit that does not exist succeeded")
	}
	fsck(t, m.dir)
}

func TestRepositoriesWithoutABase(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRemote(t)
	empty, bare, _ := r.repo("empty", nil)
	m := mirrorOf(t, empty)
	if _, _, err := m.Default(t.Context()); !errors.Is(err, ErrEmpty) {
		t.Errorf("default branch of an empty repository: %v", err)
	}
	if err := m.Fetch(t.Context(), "main"); !errors.Is(err, ErrEmpty) {
		t.Errorf("fetch of a branch of an empty repository: %v", err)
	}
	first := must(m.Checkpoint(t.Context(), Checkpoint{Changes: []Change{put("a", "1\n")}}))(t)
	must(0, m.Push(t.Context(), Push{Commit: first.ID, Ref: "refs/heads/main"}))(t)
	if got := git(t, bare, "rev-parse", "main"); got != first.ID {
		t.Errorf("first commit of an empty repository: %s, want %s", got, first.ID)
	}

	url, bare, _ := r.repo("nohead", map[string]string{"a": "1\n"})
	git(t, bare, "symbolic-ref", "HEAD", "refs/heads/missing")
	m = mirrorOf(t, url)
	if _, _, err := m.Default(t.Context()); !errors.Is(err, ErrNoDefault) {
		t.Errorf("default branch when HEAD names none: %v", err)
	}
	git(t, bare, "symbolic-ref", "HEAD", "refs/heads/main")
	must(0, m.Fetch(t.Context()))(t)
	if branch, _, err := m.Default(t.Context()); branch != "main" || err != nil {
		t.Errorf("default branch after it was set: %q %v", branch, err)
	}
	if _, err := newStore(t, nil).Mirror(t.Context(), r.url+"/none.git"); !errors.Is(err, ErrNotFound) {
		t.Errorf("mirror of a repository that is not there: %v", err)
	}
}

func TestCredentialsStayInTheHeader(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	url, bare, _ := r.repo("one", map[string]string{"a": "1\n"})
	var log bytes.Buffer
	s := newStore(t, func(c *Config) {
		c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	m := must(s.Mirror(t.Context(), url))(t)
	_, head, _ := m.Default(t.Context())
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("a", "2\n")}}))(t)
	must(0, m.Push(t.Context(), Push{Commit: c.ID, Ref: "refs/heads/x"}))(t)
	hookText(t, bare, "pre-receive", "echo declined; exit 1")
	perr := m.Push(t.Context(), Push{Commit: c.ID, Ref: "refs/heads/y"})
	if !errors.Is(perr, errProtected) {
		t.Fatalf("declined push: %v", perr)
	}
	if !strings.Contains(log.String(), "pushed") {
		t.Errorf("the log does not tell of the push: %s", &log)
	}
	secrets := []string{testToken, "eC1hY2Nlc3MtdG9rZW4"} // plain, and as in the header
	check := func(where, text string) {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("the token is in %s", where)
			}
		}
	}
	check("the log", log.String())
	check("an error", perr.Error())
	err := filepath.WalkDir(s.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		check(path, string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	bad := newStore(t, func(c *Config) {
		c.Auth = func(context.Context, string, Access) (string, string, error) { return "", "ghs_wrongWrongWrong", nil }
	})
	_, err = bad.Mirror(t.Context(), url)
	if !errors.Is(err, ErrAuth) || strings.Contains(err.Error(), "wrongWrong") {
		t.Errorf("wrong token: %v", err)
	}
	asked := 0
	quiet := newStore(t, func(c *Config) { c.HTTP = counter{&asked} })
	for _, u := range []string{
		"https://user:ghs_inUrl@example.com/a/b", "http://example.com/a/b", "git@example.com:a/b.git", "file:///etc", "ext::sh -c id",
		"https://example.com/../../x", "https://example.com/", "--upload-pack=id", "https://example.com/a/b?x=1",
	} {
		if _, err := quiet.Mirror(t.Context(), u); err == nil || strings.Contains(err.Error(), "ghs_inUrl") {
			t.Errorf("mirror of %q: %v, want a refusal without the credentials", u, err)
		}
	}
	if asked > 0 {
		t.Errorf("%d requests were made for addresses that are refused", asked)
	}
}

func TestRedirectToAnotherHostGetsNoToken(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var leaked []string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		leaked = append(leaked, r.URL.String())
	}))
	defer thief.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL+r.URL.Path+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
	}))
	defer srv.Close()
	_, err := newStore(t, nil).Mirror(t.Context(), srv.URL+"/a/b")
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "another host") {
		t.Errorf("redirect to another host: %v, want an outage", err)
	}
	if len(leaked) > 0 {
		t.Errorf("requests reached the other host: %v", leaked)
	}
}

// TestOddAnswersOfARemote: a redirect without an end, and a status that says neither that it worked
// nor why not, are outages.
func TestOddAnswersOfARemote(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"loop":         func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) },
		"page":         func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
		"not modified": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
		"no content":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000")
		},
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000")
		},
	} {
		srv := httptest.NewServer(h)
		if _, err := newStore(t, nil).Mirror(t.Context(), srv.URL+"/a/b"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v, want an outage", name, err)
		}
		srv.Close()
	}
}

func TestRenamedRepositoryIsFollowed(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	_, bare, _ := r.repo("new", map[string]string{"a": "1\n"})
	client := &rename{from: "/old.git", to: "/new.git"}
	s := newStore(t, func(c *Config) { c.HTTP = client })
	m := must(s.Mirror(t.Context(), r.url+"/old.git"))(t)
	_, head, _ := m.Default(t.Context())
	c := must(m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("a", "2\n")}}))(t)
	must(0, m.Push(t.Context(), Push{Commit: c.ID, Ref: "refs/heads/main", Old: head}))(t)
	if got := git(t, bare, "rev-parse", "main"); got != c.ID {
		t.Errorf("push to a renamed repository: %s, want %s", got, c.ID)
	}
}

// rename answers like a server on which a repository has a new name.
type rename struct{ from, to string }

func (r *rename) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(req.URL.Path, r.from) {
		return http.DefaultTransport.RoundTrip(req)
	}
	rec := httptest.NewRecorder()
	http.Redirect(rec, req, strings.Replace(req.URL.String(), r.from, r.to, 1), http.StatusMovedPermanently)
	res := rec.Result()
	res.Request = req
	return res, nil
}

func TestConcurrentUseAndProcesses(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	r := newRemote(t)
	url, _, work := r.repo("one", many(200))
	dir := filepath.Join(t.TempDir(), "mirrors")
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for i := range 8 { // each store is what another process would have
		s := newStore(t, func(c *Config) { c.Dir = dir })
		wg.Go(func() {
			m, err := s.Mirror(t.Context(), url)
			if err != nil {
				errs <- err
				return
			}
			_, head, err := m.Default(t.Context())
			errs <- err
			for j := range 4 {
				_, err = m.Checkpoint(t.Context(), Checkpoint{Parent: head, Changes: []Change{put("x", strings.Repeat("y", i*10+j))}})
				errs <- err
			}
			errs <- m.Fetch(t.Context())
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if got := r.posts.Load(); got != 1 {
		t.Errorf("the repository was downloaded %d times, want once", got)
	}
	// What another process fetched is seen here.
	a, b := newStore(t, func(c *Config) { c.Dir = dir }), newStore(t, func(c *Config) { c.Dir = dir })
	ma, mb := must(a.Mirror(t.Context(), url))(t), must(b.Mirror(t.Context(), url))(t)
	must(mb.Resolve(t.Context(), "main"))(t)
	git(t, work, "reset", "-q", "--hard", "origin/main")
	next := commitFiles(t, work, "next", map[string]string{"a": "2\n"})
	git(t, work, "push", "-q", "origin", "main")
	must(0, ma.Fetch(t.Context()))(t)
	if got := must(mb.ReadFile(t.Context(), next, "a", 0))(t); string(got) != "2\n" {
		t.Errorf("file of a commit that another store fetched: %q", got)
	}
}

func TestDeadlineIsHonored(t *testing.T) {
	t.Parallel()
	asked, left := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = w.Write([]byte("001e# service=git-upload-pack\n"))
		w.(http.Flusher).Flush()
		close(asked)
		<-r.Context().Done() // nothing more ever comes
		close(left)
	}))
	defer srv.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(context.DeadlineExceeded)
	}()
	_, err := newStore(t, nil).Mirror(ctx, srv.URL+"/a/b")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("clone from a server that stalls: %v", err)
	}
	<-left // and the connection is closed
}

func TestIndexingStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	url, _, _ := r.repo("one", many(300))
	m := mirrorOf(t, url)
	packs, _ := filepath.Glob(filepath.Join(m.dir, "objects", "pack", "*.pack"))
	f, err := os.Open(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.packs.Install(ctx, f); !errors.Is(err, context.Canceled) {
		t.Errorf("index after cancel: %v", err)
	}
	must(f.Seek(0, io.SeekStart))(t)
	if _, err := m.packs.Install(t.Context(), f); err != nil {
		t.Errorf("index: %v", err)
	}
}

func TestPackLimit(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	url, _, _ := r.repo("one", many(300))
	s := newStore(t, func(c *Config) { c.MaxPack = 2000 })
	if _, err := s.Mirror(t.Context(), url); !errors.Is(err, ErrTooLarge) {
		t.Errorf("clone over the limit: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(s.cfg.Dir, "*", "objects", "pack", "*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func hookText(t *testing.T, bare, name, script string) {
	t.Helper()
	path := filepath.Join(bare, "hooks", name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
