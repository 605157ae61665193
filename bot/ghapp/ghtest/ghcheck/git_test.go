package ghcheck

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// clone is a working copy that speaks git with one token.
type clone struct {
	dir, url, token string
}

func (c clone) git(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if c.token != "" {
		cmd.Env = append(cmd.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic "+
			base64.StdEncoding.EncodeToString([]byte("x-access-token:"+c.token)))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c clone) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.git(t, args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

// commit writes a file and commits it.
func (c clone) commit(t *testing.T, path, text string) {
	t.Helper()
	full := filepath.Join(c.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c.must(t, "add", "-A")
	c.must(t, "commit", "-q", "-m", "change "+path)
}

// checkout clones with an installation token of the app.
func checkout(t *testing.T, s *Server, opts *github.InstallationTokenOptions) clone {
	t.Helper()
	c := clone{dir: filepath.Join(t.TempDir(), "w"), url: s.URL() + "/acme/widget.git", token: installationToken(t, s, opts)}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c.must(t, "clone", "-q", c.url, ".")
	return c
}

func TestPush(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := start(t)
	c := checkout(t, s, nil)
	c.commit(t, "src/b.go", "package a\n")
	big := make([]byte, 3<<20) // over 1 MiB, so git sends it in chunks
	for i := range big {
		big[i] = byte(i * 2654435761 >> 13)
	}
	c.commit(t, "big.bin", string(big))
	c.must(t, "push", "-q", "origin", "HEAD:refs/heads/agent/1")
	if got := s.Branch(testRepo, "agent/1"); got != strings.TrimSpace(c.must(t, "rev-parse", "HEAD")) {
		t.Errorf("branch = %q", got)
	}
	if text, err := s.File(testRepo, "agent/1", "src/b.go"); err != nil || text != "package a\n" {
		t.Errorf("file = %q, %v", text, err)
	}
	ref, err := s.OpenPull(testRepo, "kim", NewPull{Title: "A change", Head: "agent/1"})
	if err != nil {
		t.Fatal(err)
	}
	c.must(t, "fetch", "-q", "origin", "refs/pull/1/head")
	c.commit(t, "src/c.go", "package a\n")
	c.must(t, "push", "-q", "origin", "HEAD:refs/heads/agent/1")
	if got, want := s.Thread(ref).Pull.HeadSHA, s.Branch(testRepo, "agent/1"); got != want {
		t.Errorf("the pull request is at %s, its branch at %s", got, want)
	}
	c.must(t, "push", "-q", "origin", ":refs/heads/agent/1")
	if st := s.Thread(ref).State; st != "closed" {
		t.Errorf("with its branch deleted the pull request is %s", st)
	}
	if out, err := c.git(t, "push", "-q", "origin", "HEAD:refs/pull/1/head"); err == nil {
		t.Errorf("refs/pull could be pushed: %s", out)
	}
}

// TestPushesAtOnce: every push is told once, whoever else pushes.
func TestPushesAtOnce(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	s := start(t)
	const n = 4
	clones := make([]clone, n)
	for i := range clones {
		clones[i] = checkout(t, s, nil)
		clones[i].commit(t, fmt.Sprintf("f%d.txt", i), "x")
	}
	var mu sync.Mutex
	told := map[string]int{}
	s.SetWebhook(serve(t, &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var p struct{ Ref string }
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		told[p.Ref]++
	})}))
	var wg sync.WaitGroup
	for i, c := range clones {
		wg.Go(func() {
			if out, err := c.git(t, "push", "-q", "origin", fmt.Sprintf("HEAD:refs/heads/b%d", i)); err != nil {
				t.Errorf("push %d: %v: %s", i, err, out)
			}
		})
	}
	for i := range n { // and by the API meanwhile
		if _, err := s.Push(testRepo, fmt.Sprintf("p%d", i), "kim", map[string]string{"p": "p"}); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for i := range n {
		for _, b := range []string{"b", "p"} {
			if got := told[fmt.Sprintf("refs/heads/%s%d", b, i)]; got != 1 {
				t.Errorf("%s%d was told %d times", b, i, got)
			}
		}
	}
}

func TestPushRules(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	tests := []struct {
		name  string
		rule  map[string]Protection
		opts  *github.InstallationTokenOptions
		file  string
		amend bool // push over a history that has moved on, with force
		to    string
		want  string // part of the refusal, empty for success
	}{
		{name: "plain", file: "x.txt", to: "topic"},
		{name: "default branch, no rule", file: "x.txt", to: "main"},
		{name: "pull request required", rule: map[string]Protection{"main": {RequirePull: true}}, file: "x.txt", to: "main", want: "Protected branch"},
		{name: "rule for another branch", rule: map[string]Protection{"main": {RequirePull: true}}, file: "x.txt", to: "topic"},
		{name: "force without a rule", file: "x.txt", amend: true, to: "topic"},
		{name: "force on a protected branch", rule: map[string]Protection{"topic": {}}, file: "x.txt", amend: true, to: "topic", want: "Cannot force-push"},
		{name: "force with a rule for all", rule: map[string]Protection{"*": {}}, file: "x.txt", amend: true, to: "topic", want: "Cannot force-push"},
		{name: "workflow", file: ".github/workflows/ci.yml", to: "topic", want: "without `workflows` permission"},
		{name: "read-only token", opts: &github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Contents: github.String("read")}},
			file: "x.txt", to: "topic", want: "403"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t)
			c := checkout(t, s, tt.opts)
			if tt.amend {
				if _, err := s.Push(testRepo, tt.to, "kim", map[string]string{"other.txt": "y"}); err != nil {
					t.Fatal(err)
				}
			}
			for b, p := range tt.rule {
				if err := s.Protect(testRepo, b, p); err != nil {
					t.Fatal(err)
				}
			}
			before := s.Branch(testRepo, tt.to)
			c.commit(t, tt.file, "x")
			out, err := c.git(t, "push", "--force", "origin", "HEAD:refs/heads/"+tt.to)
			if tt.want == "" {
				if err != nil || s.Branch(testRepo, tt.to) == before {
					t.Errorf("push was refused: %v\n%s", err, out)
				}
				return
			}
			if err == nil || !strings.Contains(out, tt.want) || s.Branch(testRepo, tt.to) != before {
				t.Errorf("err %v, want a refusal with %q:\n%s", err, tt.want, out)
			}
		})
	}
}

func TestNonFastForwardIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := checkout(t, s, nil)
	sha, err := s.Push(testRepo, "main", "kim", map[string]string{"other.txt": "y"})
	if err != nil {
		t.Fatal(err)
	}
	c.commit(t, "x.txt", "x")
	if out, err := c.git(t, "push", "origin", "HEAD:refs/heads/main"); err == nil || s.Branch(testRepo, "main") != sha {
		t.Errorf("a push over newer work went through: %s", out)
	}
}

func TestGitAccess(t *testing.T) {
	t.Parallel()
	s := start(t)
	if _, err := s.AddRepo("acme", "secret", ghtest.Source{Files: map[string]string{"a": "b"}, Private: true}); err != nil {
		t.Fatal(err)
	}
	widget := installationToken(t, s, &github.InstallationTokenOptions{Repositories: []string{"widget"}})
	all := installationToken(t, s, nil)
	rae, err := s.Token("rae")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, repo, token string
		ok                bool
	}{
		{"public, no token", "widget", "", true},
		{"private, no token", "secret", "", false},
		{"private, token of all", "secret", all, true},
		{"private, token of another repository", "secret", widget, false},
		{"private, stranger", "secret", rae, false},
		{"public, wrong token", "widget", "ghs_wrong", false},
		{"no such repository", "none", all, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := clone{dir: t.TempDir(), token: tt.token}
			out, err := c.git(t, "ls-remote", s.URL()+"/acme/"+tt.repo+".git")
			if (err == nil) != tt.ok {
				t.Errorf("err = %v:\n%s", err, out)
			}
		})
	}
	c := clone{dir: t.TempDir(), token: rae}
	c.must(t, "clone", "-q", s.URL()+"/acme/widget", "w")
	c.dir = filepath.Join(c.dir, "w")
	c.commit(t, "x", "x")
	if out, err := c.git(t, "push", "origin", "HEAD:refs/heads/x"); err == nil {
		t.Errorf("a stranger pushed: %s", out)
	}
}

func TestMergeAndClone(t *testing.T) {
	t.Parallel()
	s := start(t)
	if _, err := s.Push(testRepo, "topic", "kim", map[string]string{"x.txt": "x\n"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remove(testRepo, "topic", "kim", "README.md"); err != nil {
		t.Fatal(err)
	}
	ref, err := s.OpenPull(testRepo, "kim", NewPull{Title: "Topic", Head: "topic", Base: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Merge(ref, "kim"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.File(testRepo, "main", "README.md"); err == nil {
		t.Error("the removed file is still there")
	}
	if th := s.Thread(ref); !th.Pull.Merged || th.State != "closed" {
		t.Errorf("thread = %+v", th)
	}
	log, err := s.Log(testRepo, "main")
	if err != nil || len(log) != 4 || !strings.HasPrefix(log[0], "Merge pull request #1") {
		t.Errorf("log = %q, %v", log, err)
	}
	dir := t.TempDir()
	clone{dir: dir}.must(t, "clone", "-q", s.URL()+"/acme/widget", "w")
	if _, err := s.AddRepo("acme", "copy", ghtest.Source{Path: filepath.Join(dir, "w")}); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Branch("acme/copy", "main"), s.Branch(testRepo, "main"); got != want {
		t.Errorf("the copy is at %s, want %s", got, want)
	}
	if s.Thread(thread.Ref{Owner: "acme", Repo: "widget", Number: 99}).Ref.Number != 0 || s.Branches(testRepo)["topic"] == "" {
		t.Error("threads or branches are wrong")
	}
	if err := s.Wait(canceled(), func(*ghtest.Server) bool { return false }); err == nil {
		t.Error("Wait ignored its context")
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
