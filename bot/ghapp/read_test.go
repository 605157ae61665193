package ghapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestReads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	c := w.client

	is, err := c.Issue(ctx, w.issue)
	must(t, err)
	if is.Title != "It breaks" || is.Author != "rae" || is.AuthorID != w.gh.UserID("rae") || is.IsPull || is.State != "open" {
		t.Errorf("issue = %+v", is)
	}
	if p, err := c.Issue(ctx, w.pull); err != nil || !p.IsPull {
		t.Errorf("a pull request as an issue = %+v, %v", p, err)
	}
	r, err := c.Repo(ctx)
	must(t, err)
	if r.DefaultBranch != "main" || r.CloneURL != w.gh.URL()+"/acme/widget.git" {
		t.Errorf("repository = %+v", r)
	}
	if head, err := c.Head(ctx, "fix"); err != nil || head != w.gh.Branch(repo, "fix") {
		t.Errorf("head = %s, %v", head, err)
	}
	if b, err := c.FileAt(ctx, "main", ".github/agent.yml"); err != nil || string(b) != "mode: code\n" {
		t.Errorf("file = %q, %v", b, err)
	}
	if _, err := c.FileAt(ctx, "main", "none.txt"); !errors.Is(err, ghapp.ErrNotFound) {
		t.Errorf("missing file: %v, want ErrNotFound", err)
	}
	if _, err := c.FileAt(ctx, "main", "src"); err == nil {
		t.Error("a directory was read as a file")
	}
	self, err := c.Self(ctx)
	if err != nil || self != "handrail[bot]" {
		t.Errorf("self = %q, %v", self, err)
	}
	found, err := w.app.For(ctx, w.issue, 0)
	if err != nil || found != c {
		t.Errorf("For without an installation = %p, %v; want the client of installation %d", found, err, w.inst)
	}
}

func TestPullReads(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	w := newWorld(t)
	p, err := w.client.GetPull(ctx, w.pull)
	must(t, err)
	if p.Head != "fix" || p.HeadSHA != w.gh.Branch(repo, "fix") || p.Base != "main" || p.Fork || p.HeadRepo != repo {
		t.Errorf("pull = %+v", p)
	}
	if got, ok, err := w.client.FindPull(ctx, "fix"); err != nil || !ok || got.Ref != w.pull {
		t.Errorf("FindPull = %+v, %v, %v", got, ok, err)
	}
	if _, ok, err := w.client.FindPull(ctx, "main"); err != nil || ok {
		t.Errorf("FindPull(main) = %v, %v", ok, err)
	}
	must(t, w.gh.Fork(repo, "rae"))
	_, err = w.gh.Push("rae/widget", "patch", "rae", map[string]string{"x.txt": "x\n"})
	must(t, err)
	ref, err := w.gh.OpenPull(repo, "rae", ghcheck.NewPull{Title: "From outside", Head: "rae:patch", Base: "main"})
	must(t, err)
	p, err = w.client.GetPull(ctx, ref)
	if err != nil || !p.Fork || p.HeadRepo != "rae/widget" {
		t.Errorf("fork pull = %+v, %v", p, err)
	}
	before := p.HeadSHA
	sha, err := w.gh.Push("rae/widget", "patch", "rae", map[string]string{"x.txt": "y\n"})
	must(t, err)
	if p, err = w.client.GetPull(ctx, ref); err != nil || p.HeadSHA != sha || sha == before {
		t.Errorf("after a push the head is %s, %v; want %s", p.HeadSHA, err, sha)
	}
	_, err = w.gh.Review(w.pull, "max", ghcheck.NewReview{Event: "REQUEST_CHANGES", Body: "please add a test"})
	must(t, err)
	rs, err := w.client.ListReviews(ctx, w.pull)
	if err != nil || len(rs) != 1 || rs[0].State != "CHANGES_REQUESTED" || rs[0].Author != "max" || rs[0].AuthorID != w.gh.UserID("max") {
		t.Errorf("reviews = %+v, %v", rs, err)
	}
}

// TestPermission plays every role through every way the call can end. Only
// Found may carry a permission.
func TestPermission(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	for _, role := range []string{"admin", "maintain", "write", "triage", "read", "none"} {
		w.gh.AddUser("u-"+role, "")
		must(t, w.gh.Grant(repo, "u-"+role, role))
		p, err := w.client.Actor(ctx, "u-"+role)
		want := policy.Actor{Login: "u-" + role, ID: w.gh.UserID("u-" + role), Permission: role, Lookup: policy.Found}
		if d := cmp.Diff(want, p); err != nil || d != "" {
			t.Errorf("role %s: %v, %s", role, err, d)
		}
	}
	p, err := w.client.Actor(ctx, "nobody")
	if err != nil || p.Lookup != policy.NotFound || p.Permission != "" {
		t.Errorf("unknown person: %+v, %v", p, err)
	}
	w.gh.SetFaults(ghcheck.Faults{BadGateway: 1})
	p, err = w.client.Actor(ctx, "kim")
	if err == nil || p.Lookup != policy.Failed || p.Permission != "" || ghapp.KindOf(err) != ghapp.Temporary {
		t.Errorf("with GitHub down: %+v, %v", p, err)
	}
	w.gh.SetFaults(ghcheck.Faults{})
	w.gh.Suspend(w.inst, true)
	p, err = w.client.Actor(ctx, "kim")
	if ghapp.KindOf(err) != ghapp.Temporary || p.Lookup != policy.Failed || p.Permission != "" {
		t.Errorf("suspended: %+v, %v", p, err)
	}
	w.gh.Suspend(w.inst, false)
	w.gh.AddTeam("acme", "core", "kim")
	if in, err := w.client.InTeam(ctx, "acme", "core", "kim"); err != nil || !in {
		t.Errorf("InTeam(kim) = %v, %v", in, err)
	}
	if in, err := w.client.InTeam(ctx, "acme", "core", "rae"); err != nil || in {
		t.Errorf("InTeam(rae) = %v, %v", in, err)
	}
}

// TestPermissionIsNeverStale: a role that was taken away a moment ago is gone.
func TestPermissionIsNeverStale(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	for i, role := range []string{"write", "write", "none", "none", "admin"} {
		must(t, w.gh.Grant(repo, "kim", role))
		if p, err := w.client.Actor(ctx, "kim"); err != nil || p.Permission != role {
			t.Fatalf("reading %d: role = %q, %v; want %q", i, p.Permission, err, role)
		}
	}
}

func TestListCommentsPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	for i := range 230 {
		_, err := w.gh.Comment(w.issue, "rae", fmt.Sprintf("comment %d", i))
		must(t, err)
	}
	list, err := ghapp.ListComments(w.client, ctx, w.issue, time.Time{})
	if err != nil || len(list) != 230 || list[229].Body != "comment 229" {
		t.Fatalf("got %d comments, %v", len(list), err)
	}
	cm, err := w.client.GetComment(ctx, ghapp.Target{Comment: list[7].ID})
	if err != nil || cm != list[7] {
		t.Errorf("GetComment = %+v, %v; want %+v", cm, err, list[7])
	}
	list, err = ghapp.ListComments(w.client, ctx, w.issue, time.Now().Add(time.Hour))
	if err != nil || len(list) != 0 {
		t.Errorf("comments from the future: %d, %v", len(list), err)
	}
}

// TestGitAuth pushes with the credentials that are given out, and sees that
// they are given out for one address only.
func TestGitAuth(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	ctx := context.Background()
	w := newWorld(t)
	url := w.gh.URL() + "/acme/widget.git"
	user, token, err := w.client.GitAuth(ctx, url, ghapp.GitPush)
	must(t, err)
	if user != "x-access-token" || !strings.HasPrefix(token, "ghs_") {
		t.Errorf("user = %q", user)
	}
	dir := filepath.Join(t.TempDir(), "c")
	run := func(args ...string) error {
		cmd := exec.Command("git", args...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader",
			"GIT_CONFIG_VALUE_0=Authorization: Basic "+basic(user, token))
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("git %v: %w: %s", args, err, out)
		}
		return nil
	}
	must(t, run("clone", "-q", url, dir))
	must(t, run("-C", dir, "commit", "-q", "--allow-empty", "-m", "empty"))
	must(t, run("-C", dir, "push", "-q", "origin", "HEAD:refs/heads/pushed"))
	if w.gh.Branch(repo, "pushed") == "" {
		t.Error("the branch did not arrive")
	}
	host := strings.TrimPrefix(w.gh.URL(), "http://")
	for _, bad := range []string{"http://evil.test/acme/widget.git", w.gh.URL() + "/acme/other.git", "https://" + host + "/acme/widget.git",
		"http://" + host + "@evil.test/acme/widget", "http://" + host + ".evil.test/acme/widget", "http://x:y@" + host + "/acme/widget.git",
		w.gh.URL() + "/acme/widget/../../evil/x.git", "ssh://" + host + "/acme/widget.git", "::"} {
		if _, tok, err := w.client.GitAuth(ctx, bad, ghapp.GitPush); err == nil || tok != "" {
			t.Errorf("GitAuth(%q) gave a token", bad)
		}
	}
}

// TestTokenIsForOneRepository: what is given out for one repository opens no
// other of the same installation.
func TestTokenIsForOneRepository(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t)
	_, err := w.gh.AddRepo("acme", "secret", ghtest.Source{Files: map[string]string{"a": "b"}, Private: true})
	must(t, err)
	secret := thread.Ref{Owner: "acme", Repo: "secret"}
	_, token, err := w.client.GitAuth(ctx, w.gh.URL()+"/acme/widget.git", ghapp.GitPush)
	must(t, err)
	stolen, err := ghapp.New(ghapp.Config{APIURL: w.gh.URL(), Token: token, Login: "x", Transport: w.rt})
	must(t, err)
	c, err := stolen.For(ctx, secret, 0)
	must(t, err)
	if _, err := c.Repo(ctx); !errors.Is(err, ghapp.ErrNotFound) {
		t.Errorf("the token of one repository read another: %v", err)
	}
	own, err := w.app.For(ctx, secret, w.inst)
	must(t, err)
	if r, err := own.Repo(ctx); err != nil || !r.Private {
		t.Errorf("its own client: %+v, %v", r, err)
	}
}

// TestTokenStaysHome: neither an address nor a redirect brings the token to
// another host. The other host here is another port of loopback.
func TestTokenStaysHome(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var seen []string
	evil := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
	}))
	defer evil.Close()
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/access_tokens") {
			rw.WriteHeader(http.StatusCreated)
			must(t, json.NewEncoder(rw).Encode(map[string]any{"token": "ghs_canary", "expires_at": time.Now().Add(time.Hour)}))
			return
		}
		http.Redirect(rw, r, evil.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer front.Close()
	w := newWorld(t)
	for name, cfg := range map[string]ghapp.Config{
		"app":   {AppID: w.gh.App().ID, PrivateKey: w.gh.App().Key},
		"token": {Token: "ghp_canary", Login: "bot"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.APIURL, cfg.Spacing, cfg.Backoff = front.URL, -1, time.Millisecond
			app, err := ghapp.New(cfg)
			must(t, err)
			c, err := app.For(ctx, w.issue, 1)
			must(t, err)
			if _, err := c.Issue(ctx, w.issue); ghapp.KindOf(err) != ghapp.Temporary {
				t.Errorf("a read was redirected to another host: %v, want an outage", err)
			}
			_, err = c.Perform(ctx, ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: w.issue, Body: "x"})
			if err == nil || ghapp.KindOf(err) == ghapp.Temporary {
				t.Errorf("a write was redirected to another host: %v", err)
			}
			if _, err := app.Deliveries(ctx, time.Time{}); err == nil {
				t.Error("the app's own token was redirected without an error")
			}
		})
	}
	if len(seen) != 0 {
		t.Errorf("the other host saw %q", seen)
	}
}

func TestOtherRepositoryIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := thread.Ref{Owner: "acme", Repo: "secret", Number: 1}
	if _, err := w.client.Issue(context.Background(), other); err == nil {
		t.Error("a client read another repository")
	}
	_, err := w.client.Perform(context.Background(), ghapp.Write{Key: "k", Kind: ghapp.WriteComment, Thread: other, Body: "x"})
	if err == nil || ghapp.KindOf(err) != ghapp.Permanent {
		t.Errorf("a client wrote into another repository: %v", err)
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]ghapp.Config{
		"nothing":       {},
		"both":          {Token: "x", AppID: 1},
		"key not PEM":   {AppID: 1, PrivateKey: []byte("secretish")},
		"bad address":   {Token: "x", APIURL: "ftp://x"},
		"user in URL":   {Token: "x", APIURL: "https://u:p@host/"},
		"relative path": {Token: "x", APIURL: "api/v3"},
	} {
		if _, err := ghapp.New(cfg); err == nil || strings.Contains(err.Error(), "secretish") {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}
