package gitops

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/objects"
)

const (
	largeBlob = 4 << 20 // above it a blob goes by way of a file
	testUser  = "x-access-token"
	testToken = "ghs_canaryCanaryCanaryCanaryCanaryCanary12"
)

// remote is git's own HTTP server over bare repositories in a directory.
type remote struct {
	t      testing.TB
	dir    string
	url    string
	posts  atomic.Int64 // POST requests served
	sent   atomic.Int64 // bytes of their bodies
	before func(r *http.Request)
}

// newRemote serves bare repositories with basic authentication.
func newRemote(t testing.TB) *remote {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatalf("git is needed for these tests: %v", err)
	}
	rem := &remote{t: t, dir: t.TempDir()}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:  append(gitEnv(), "GIT_PROJECT_ROOT="+rem.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=bot"),
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		if user != testUser || pass != testToken {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		if rem.before != nil {
			rem.before(r)
		}
		body, err := io.ReadAll(r.Body) // CGI wants a Content-Length
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if r.Method == http.MethodPost {
			rem.posts.Add(1)
			rem.sent.Add(int64(len(body)))
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	rem.url = srv.URL
	return rem
}

// gitEnv keeps the machine's git settings out.
func gitEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_AUTHOR_DATE=1700000000 +0100",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com", "GIT_COMMITTER_DATE=1700000000 +0100",
	}
}

// git runs git in a directory and gives what it prints, trimmed.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return gitIn(t, dir, "", args...)
}

func gitIn(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	out, err := gitTry(t, dir, stdin, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimRight(out, "\n")
}

func gitTry(t testing.TB, dir, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, gitEnv(), strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// repo makes a bare repository on the remote and a work tree that pushes to
// it by path, with the given files committed on main.
func (r *remote) repo(name string, files map[string]string) (url, bare, work string) {
	r.t.Helper()
	bare = filepath.Join(r.dir, name+".git")
	git(r.t, r.dir, "init", "-q", "--bare", "-b", "main", bare)
	for _, kv := range [][2]string{{"http.receivepack", "true"}, {"uploadpack.allowAnySHA1InWant", "true"}} {
		git(r.t, bare, "config", kv[0], kv[1])
	}
	work = filepath.Join(r.t.TempDir(), "work")
	git(r.t, r.dir, "init", "-q", "-b", "main", work)
	git(r.t, work, "remote", "add", "origin", bare)
	if len(files) > 100 {
		bulk(r.t, bare, files)
		git(r.t, work, "fetch", "-q", "origin", "main:refs/remotes/origin/main")
		return r.url + "/" + name + ".git", bare, work
	}
	if len(files) > 0 {
		commitFiles(r.t, work, "first", files)
		git(r.t, work, "push", "-q", "origin", "main")
	}
	return r.url + "/" + name + ".git", bare, work
}

// commitFiles writes files in a work tree and commits them; "" deletes.
func commitFiles(t testing.TB, work, message string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(work, name)
		if text == "" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, work, "add", "-A")
	git(t, work, "commit", "-q", "-m", message)
	return git(t, work, "rev-parse", "HEAD")
}

// newStore opens a store that knows the token.
func newStore(t testing.TB, mutate func(*Config)) *Store {
	t.Helper()
	cfg := Config{Dir: filepath.Join(t.TempDir(), "mirrors"), Auth: tokenAuth}
	if mutate != nil {
		mutate(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// mirrorOf clones a repository of the remote.
func mirrorOf(t testing.TB, url string) *Mirror {
	t.Helper()
	m, err := newStore(t, nil).Mirror(t.Context(), url)
	if err != nil {
		t.Fatalf("mirror %s: %v", url, err)
	}
	return m
}

// fsck checks a repository with git.
func fsck(t *testing.T, dir string) {
	t.Helper()
	out, err := gitTry(t, dir, "", "fsck", "--strict", "--full", "--no-dangling")
	if err != nil || strings.Contains(out, "error") || strings.Contains(out, "missing") {
		t.Errorf("git fsck %s: %v\n%s", dir, err, out)
	}
}

// must gives a value or ends the test.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// many makes n small files in directories.
func many(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("d%02d/e%02d/f%05d.txt", i%20, i/20%20, i)] = fmt.Sprintf("file %d\n", i)
	}
	return files
}

// bulk commits many files to main of a bare repository, fast.
func bulk(t testing.TB, bare string, files map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("commit refs/heads/main\ncommitter Ann <ann@example.com> 1700000000 +0000\ndata 4\nbulk\n")
	for name, text := range files {
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = bare, strings.NewReader(b.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git fast-import: %v\n%s", err, out)
	}
}

// down is a network that does not work.
type down struct{}

func (down) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("connection refused")
}

// counter is a network that counts what is asked of it.
type counter struct{ n *int }

func (c counter) RoundTrip(*http.Request) (*http.Response, error) {
	*c.n++
	return nil, fmt.Errorf("no network")
}

// put is a [Change] of a file to the given text.
func put(path, text string) Change {
	return Change{Path: path, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

// history lists the commits of m from head back to base, without it.
func history(m *Mirror, base, head string) (list []*object.Commit, err error) {
	err = m.pool.Use(context.Background(), func(o *objects.DB) (err error) {
		list, err = o.Chain(context.Background(), base, head)
		return err
	})
	return list, err
}

func mustHash(id string) plumbing.Hash { return plumbing.NewHash(id) }

// remoteRefs lists the refs of a bare repository.
func remoteRefs(t *testing.T, bare string) map[string]plumbing.Hash {
	t.Helper()
	refs := map[string]plumbing.Hash{}
	for line := range strings.Lines(git(t, bare, "for-each-ref", "--format=%(refname) %(objectname)")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs[name] = mustHash(id)
	}
	return refs
}
