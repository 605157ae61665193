package ghtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/policy/pattern"
)

const maxPack = 512 << 20

// gitHTTP serves git's smart HTTP protocol through git upload-pack and git receive-pack.
type gitHTTP struct{ s *Server }

func newGitHTTP(s *Server) (*gitHTTP, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, fmt.Errorf("find git: %w; install git", err)
	}
	return &gitHTTP{s: s}, nil
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
	service := strings.TrimPrefix(rest, "git-")
	if rest == "info/refs" {
		service = strings.TrimPrefix(r.URL.Query().Get("service"), "git-")
	}
	if service != "upload-pack" && service != "receive-pack" { // what a client before git 1.6.6 asks for
		http.Error(w, "Please upgrade your git client.", http.StatusForbidden)
		return
	}
	cmd := bare.Command(rp.Dir.Path, service, "--stateless-rpc")
	cmd.Env = append(cmd.Env, g.env(rp, who)...)
	protocol := r.Header.Get("Git-Protocol")
	if protocol != "" {
		cmd.Env = append(cmd.Env, "GIT_PROTOCOL="+protocol)
	}
	header, out := http.Header{"Cache-Control": {"no-cache, max-age=0, must-revalidate"}}, &bytes.Buffer{}
	if rest == "info/refs" {
		header.Set("Content-Type", "application/x-git-"+service+"-advertisement")
		if !slices.Contains(strings.Split(protocol, ":"), "version=2") {
			line := "# service=git-" + service + "\n"
			fmt.Fprintf(out, "%04x%s0000", len(line)+4, line)
		}
		cmd.Args = append(cmd.Args, "--http-backend-info-refs")
	} else {
		body, err := gitBody(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		header.Set("Content-Type", "application/x-git-"+service+"-result")
		cmd.Stdin = bytes.NewReader(body)
	}
	cmd.Args, cmd.Stdout = append(cmd.Args, "."), out
	_ = cmd.Run()                   // the answer says what went wrong
	if rest == "git-receive-pack" { // its events are queued before its client goes on
		g.emitPushes(rp, who)
	}
	g.s.write(w, response{status: http.StatusOK, header: header, body: out.Bytes()})
}

// gitBody returns the body of a request, which git compresses if it is long.
func gitBody(r *http.Request) ([]byte, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = z
	}
	return io.ReadAll(io.LimitReader(body, maxPack))
}

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

// env returns the hook's rules.
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
	return []string{"GHTEST_WORKFLOWS=" + workflows, "GHTEST_PROTECTED=" + strings.Join(pulls, " "), "GHTEST_NOFORCE=" + strings.Join(noForce, " ")}
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
