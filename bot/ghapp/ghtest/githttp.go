package ghtest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/policy/pattern"
)

const maxPack = 512 << 20

// gitHTTP serves git's smart HTTP protocol through git-http-backend.
type gitHTTP struct {
	s       *Server
	backend string // path of git-http-backend
	path    string // directory of the git binary
}

func newGitHTTP(s *Server) (*gitHTTP, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w; install git", err)
	}
	out, err := bare.Command("", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("find git-http-backend: %w", err)
	}
	return &gitHTTP{
		s:       s,
		backend: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		path:    filepath.Dir(git),
	}, nil
}

var gitRE = pattern.Lazy(`^/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)$`)

func gitPath(p string) (repo, rest string, ok bool) {
	m := gitRE().FindStringSubmatch(p)
	if m == nil {
		return "", "", false
	}
	return m[1] + "/" + m[2], m[3], true
}

// ServeHTTP checks access and passes the request to git.
func (g *gitHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := gitPath(r.URL.Path)
	push := rest == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	rp, who, status := g.allowed(r, name, push)
	if status != http.StatusOK {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		}
		http.Error(w, "Repository not found.", status)
		return
	}
	// The cgi package refuses chunked bodies, which git uses for pushes over 1 MiB.
	body, err := io.ReadAll(io.LimitReader(r.Body, maxPack))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	r.URL.Path = "/" + rest
	r.Header.Del("Authorization")
	h := &cgi.Handler{Path: g.backend, Root: "/", Dir: rp.Dir.Path, Env: g.env(rp, who), Stderr: io.Discard}
	if rest != "git-receive-pack" {
		h.ServeHTTP(w, r)
		return
	}
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(rec, r)
	g.emitPushes(rp, who)
	g.s.write(w, response{status: rec.status, header: rec.header, body: rec.buf.Bytes()})
}

// recorder holds an answer back until the events of the push are queued, so that the
// events are visible to a client as soon as its push succeeds.
type recorder struct {
	header http.Header
	status int
	buf    bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) { return r.buf.Write(b) }

func (g *gitHTTP) allowed(r *http.Request, name string, push bool) (*hub.Repo, *caller, int) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	who, err := g.s.authenticate(r.Header.Get("Authorization"))
	if err != nil || who.app {
		return nil, nil, http.StatusUnauthorized
	}
	rp := g.s.FindRepo(splitRepo(name))
	if rp == nil || !who.visible(g.s.Hub, rp) {
		if who.user == nil {
			return nil, nil, http.StatusUnauthorized
		}
		return nil, nil, http.StatusNotFound
	}
	if in := who.inst(); in != nil && !hasPermission(who.tok.Perms, "contents:read") && rp.Private {
		return nil, nil, http.StatusForbidden
	}
	if !push {
		return rp, who, http.StatusOK
	}
	switch {
	case who.user == nil:
		return nil, nil, http.StatusUnauthorized
	case who.inst() != nil && (!hasPermission(who.tok.Perms, "contents:write") || !who.covers(g.s.Hub, rp)),
		who.inst() == nil && hub.RoleRank[rp.RoleOn(who.user)] < hub.RoleRank["write"]:
		return nil, nil, http.StatusForbidden
	}
	return rp, who, http.StatusOK
}

// env returns the environment of git: the repository's directory, and the hook's rules.
func (g *gitHTTP) env(rp *hub.Repo, who *caller) []string {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	var pulls, noForce []string
	for branch, rule := range rp.Protected {
		ref := "refs/heads/" + branch
		if branch == "*" {
			ref = "*"
		}
		if rule.RequirePull {
			pulls = append(pulls, ref)
		}
		noForce = append(noForce, ref)
	}
	workflows := "1"
	login := ""
	if who.user != nil {
		login = who.user.Login
	}
	if who.inst() != nil && !hasPermission(who.tok.Perms, "workflows:write") || login == "github-actions[bot]" {
		workflows = "0"
	}
	return []string{"GIT_PROJECT_ROOT=" + rp.Dir.Path, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + login,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GHTEST_WORKFLOWS=" + workflows,
		"GHTEST_PROTECTED=" + strings.Join(pulls, " "), "GHTEST_NOFORCE=" + strings.Join(noForce, " "), "LC_ALL=C"}
}

// emitPushes emits events for the branches that moved since the last event. Concurrent
// pushes are reported once each.
func (g *gitHTTP) emitPushes(rp *hub.Repo, who *caller) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	now, told := rp.Dir.Heads(), maps.Clone(rp.Heads)
	for name, sha := range now {
		if told[name] != sha {
			g.s.BranchMoved(hub.Move{Repo: rp, Branch: name, Before: told[name], After: sha, By: who.user})
		}
	}
	for name, sha := range told {
		if now[name] == "" {
			g.s.BranchMoved(hub.Move{Repo: rp, Branch: name, Before: sha, After: "", By: who.user})
		}
	}
	g.s.touch()
}
