package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/storetest"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// bareRepo makes an empty bare repository with git itself and serves it over
// HTTP with git's own server. It returns its path and its address.
func bareRepo(t *testing.T) (path, address string) {
	t.Helper()
	root := t.TempDir()
	path = filepath.Join(root, "r.git")
	gitRun(t, "init", "--quiet", "--bare", path)
	gitRun(t, "-C", path, "config", "http.receivepack", "true")
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(gitRun(t, "--exec-path")), "git-http-backend"),
		Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=bot"},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // CGI wants a Content-Length
		if err != nil {
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return path, srv.URL + "/r.git"
}

func gitRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// ok runs a verb that must succeed.
func ok(t *testing.T, args ...string) string {
	t.Helper()
	code, out := verb(t, "", args...)
	if code != 0 {
		t.Fatalf("%v ends with %d: %s", args, code, out)
	}
	return out
}

// TestRoundTrip carries the log of every earlier version from SQLite to
// PostgreSQL, to a ref of a repository reached by path and by HTTP, to a file
// and back to SQLite. Each place verifies it, and the end is the beginning.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	goldens, err := filepath.Glob("../../bot/store/storetest/testdata/golden-*.jsonl")
	must(t, err)
	if len(goldens) == 0 {
		t.Fatal("no golden logs")
	}
	path, address := bareRepo(t)
	server := storetest.StartPostgres(t, false)
	for i, golden := range append(goldens, sampleLog(t)) {
		t.Run(filepath.Base(golden), func(t *testing.T) {
			want, err := os.ReadFile(golden)
			must(t, err)
			id, events, err := threadref.ReadText(want)
			must(t, err)
			dir := t.TempDir()
			first, last, file := filepath.Join(dir, "first.db"), filepath.Join(dir, "last.db"), filepath.Join(dir, "log")
			pg := server.Database(t)
			git := []string{"git:" + path, "git:" + address}[i%2]
			verified := func(what string, args ...string) {
				t.Helper()
				out := ok(t, append([]string{"audit", "verify"}, args...)...)
				if !strings.Contains(out, id) || !strings.Contains(out, fmt.Sprintf("%d events: ok", len(events))) {
					t.Errorf("%s: %s", what, out)
				}
			}
			ok(t, "sessions", "import", golden, "--database", first)
			verified("SQLite", "--database", first)
			must(t, os.WriteFile(file, []byte(ok(t, "sessions", "export", id, "--database", first)), 0o600))
			ok(t, "sessions", "import", file, "--database", pg)
			verified("PostgreSQL", "--database", pg)
			ok(t, "sessions", "export", id, "--database", pg, "--to", git)
			verified("git", git)
			if code, out := verb(t, "", "sessions", "export", id, "--database", pg, "--to", git); code != 1 || !strings.Contains(out, "already") {
				t.Errorf("a second export to the ref ends with %d: %s", code, out)
			}
			ok(t, "sessions", "import", git+"#"+id, "--database", last)
			verified("SQLite again", "--database", last)
			ok(t, "sessions", "export", id, "--database", last, "-o", file)
			verified("file", file)
			got, err := os.ReadFile(file)
			must(t, err)
			if !bytes.Equal(got, want) {
				t.Errorf("the log changed on its way:\n%s\nwant\n%s", got, want)
			}
			if out := ok(t, "replay", git+"#"+id); out != ok(t, "replay", golden) {
				t.Errorf("the ref tells another story:\n%s", out)
			}
		})
	}
	if code, out := verb(t, "", "replay", "git:"+path+"#nosuch"); code != exitUsage || !strings.Contains(out, "holds no session nosuch") {
		t.Errorf("replay of no session ends with %d: %s", code, out)
	}
	for _, place := range []string{"git:", "git:/nonexistent", "git:ssh://host/x", "git:https://user:hunter2@host/x"} {
		if code, out := verb(t, "", "sessions", "import", place, "--database", filepath.Join(t.TempDir(), "x.db")); code != exitUsage || strings.Contains(out, "hunter2") {
			t.Errorf("%s: ends with %d: %s", place, code, out)
		}
	}
}

// TestRefIsRedacted exports a log with a secret of the environment.
func TestRefIsRedacted(t *testing.T) {
	t.Setenv("DEPLOY_TOKEN", "correct-horse-battery-staple")
	var m session.Memory
	task := session.Task{Session: "s9", Text: "use correct-horse-battery-staple to deploy", Mode: "code"}
	must(t, m.Append(t.Context(), session.NewEvent(session.TypeOpened, 0, session.Opened{Task: task}),
		session.NewEvent(session.TypeAnswer, 1, session.Answer{Content: "I will look."})))
	events, err := m.Events(t.Context(), 0)
	must(t, err)
	var b bytes.Buffer
	must(t, store.WriteLog(&b, "s9", events))
	file, db := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "a.db")
	must(t, os.WriteFile(file, b.Bytes(), 0o600))
	ok(t, "sessions", "import", file, "--database", db)
	path, _ := bareRepo(t)
	ok(t, "sessions", "export", "s9", "--database", db, "--to", "git:"+path)
	out := ok(t, "replay", "git:"+path, "--json")
	if strings.Contains(out, "correct-horse") || !strings.Contains(out, "to deploy") || !strings.Contains(out, "I will look.") {
		t.Errorf("the ref holds\n%s", out)
	}
	ok(t, "audit", "verify", "git:"+path)
}

// TestRefHasOneWriter lets two writers, each with its own copy, race for one
// ref, over and over. One wins each time; the other is told, reads again and
// goes on from what the first wrote. Nothing is lost.
func TestRefHasOneWriter(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	path, address := bareRepo(t)
	for name, at := range map[string]string{"by path": path, "by HTTP": address} {
		t.Run(name, func(t *testing.T) {
			const rounds = 6
			ref := threadref.Prefix + strings.ReplaceAll(name, " ", "-") // the same files on the same parent would be the same commit
			writers := []*threadref.Repository{openRepository(t, at), openRepository(t, at)}
			moved := 0
			defer func() { t.Logf("%d writes won, %d were told that the ref had moved", 2*rounds, moved) }()
			_, start, err := writers[0].ReadRef(t.Context(), ref)
			must(t, err)
			for round := range rounds {
				moved += race(t, writers, ref, round, start)
				_, start, err = writers[0].ReadRef(t.Context(), ref)
				must(t, err)
			}
			files, _, err := writers[1].ReadRef(t.Context(), ref)
			must(t, err)
			for round := range rounds {
				for w := range writers {
					if key := fmt.Sprint("r", round, "w", w); string(files[key]) != key {
						t.Errorf("%s is lost", key)
					}
				}
			}
			if moved != rounds {
				t.Errorf("%d writes of %d rounds were told that the ref had moved", moved, rounds)
			}
			_, err = writers[0].WriteRef(t.Context(), ref, files, strings.Repeat("1", 40))
			if err == nil {
				t.Error("wrote over a ref that is elsewhere")
			}
		})
	}
}

// openRepository opens a repository as the verbs do, with a copy of its own.
func openRepository(t *testing.T, address string) *threadref.Repository {
	t.Helper()
	r, err := threadref.OpenRepository(t.Context(), threadref.ArchiveConfig{}, threadref.GitAddress+address)
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	return r
}

// race has both writers add a file to what they saw at start, at once. The
// one that loses reads again and tries again, maybe more than once: it can be
// told while the other one still writes. It returns how many lost.
func race(t *testing.T, writers []*threadref.Repository, ref string, round int, start string) (moved int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, w := range writers {
		wg.Go(func() {
			err := addFile(t.Context(), w, ref, fmt.Sprint("r", round, "w", i), &start)
			if errors.Is(err, threadref.ErrMoved) {
				mu.Lock()
				moved++
				mu.Unlock()
			}
			for try := 0; errors.Is(err, threadref.ErrMoved) && try < 100; try++ {
				err = addFile(t.Context(), w, ref, fmt.Sprint("r", round, "w", i), nil)
			}
			if err != nil {
				t.Errorf("round %d, writer %d: %v", round, i, err)
			}
		})
	}
	wg.Wait()
	return moved
}

// addFile adds a file to a ref that is believed to be at a commit, or is
// where it is.
func addFile(ctx context.Context, w *threadref.Repository, ref, name string, at *string) error {
	files, now, err := w.ReadRef(ctx, ref)
	if err != nil {
		return err
	}
	if at != nil && now != *at {
		return fmt.Errorf("already at %s: %w", now, threadref.ErrMoved)
	}
	next := map[string][]byte{name: []byte(name)}
	for k, v := range files {
		next[k] = v
	}
	_, err = w.WriteRef(ctx, ref, next, now)
	return err
}
