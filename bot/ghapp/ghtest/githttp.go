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
	"regexp"
	"strings"
)

const maxPack = 512 << 20

// gitHTTP serves git's smart protocol through git's own program.
type gitHTTP struct {
	backend string // path of git-http-backend
	path    string // directory of the git program
}

func newGitHTTP() (gitHTTP, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return gitHTTP{}, fmt.Errorf("find git: %w; install git", err)
	}
	out, err := gitCommand("", "--exec-path").Output()
	if err != nil {
		return gitHTTP{}, fmt.Errorf("find git-http-backend: %w", err)
	}
	return gitHTTP{backend: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), path: filepath.Dir(git)}, nil
}

var gitRE = regexp.MustCompile(`^/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)$`)

func gitPath(p string) (repo, rest string, ok bool) {
	m := gitRE.FindStringSubmatch(p)
	if m == nil {
		return "", "", false
	}
	return m[1] + "/" + m[2], m[3], true
}

// serveGit checks who asks for what and hands over to git.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request, name, rest string) {
	push := rest == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	rp, who, status := s.gitAllowed(r, name, push)
	if status != http.StatusOK {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		}
		http.Error(w, "Repository not found.", status)
		return
	}
	// cgi refuses chunked bodies, which every push over 1 MiB has.
	body, err := io.ReadAll(io.LimitReader(r.Body, maxPack))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	r.URL.Path = "/" + rest
	r.Header.Del("Authorization")
	h := &cgi.Handler{Path: s.git.backend, Root: "/", Dir: rp.dir.path, Env: s.gitEnv(rp, who), Stderr: io.Discard}
	if rest != "git-receive-pack" {
		h.ServeHTTP(w, r)
		return
	}
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(rec, r)
	s.pushed(rp, who)
	s.write(w, response{status: rec.status, header: rec.header, body: rec.buf.Bytes()})
}

// recorder keeps an answer until the events of a push are queued, so that
// whoever sees the push succeed also sees what followed from it.
type recorder struct {
	header http.Header
	status int
	buf    bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.buf.Write(b) }

func (s *Server) gitAllowed(r *http.Request, name string, push bool) (*repo, *caller, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, err := s.authenticate(r.Header.Get("Authorization"))
	if err != nil || who.app {
		return nil, nil, http.StatusUnauthorized
	}
	rp := s.findRepo(splitRepo(name))
	if rp == nil || !s.visible(who, rp) {
		if who.user == nil {
			return nil, nil, http.StatusUnauthorized
		}
		return nil, nil, http.StatusNotFound
	}
	if in := who.inst(); in != nil && !granted(who.tok.perms, "contents:read") && rp.private {
		return nil, nil, http.StatusForbidden
	}
	if !push {
		return rp, who, http.StatusOK
	}
	switch {
	case who.user == nil:
		return nil, nil, http.StatusUnauthorized
	case who.inst() != nil && (!granted(who.tok.perms, "contents:write") || !s.covers(who, rp)),
		who.inst() == nil && roleRank[rp.roleOn(who.user)] < roleRank["write"]:
		return nil, nil, http.StatusForbidden
	}
	return rp, who, http.StatusOK
}

// gitEnv tells git where the repository is and the hook what the rules are.
func (s *Server) gitEnv(rp *repo, who *caller) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pulls, noForce []string
	for branch, rule := range rp.protected {
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
	if who.inst() != nil && !granted(who.tok.perms, "workflows:write") {
		workflows = "0"
	}
	login := ""
	if who.user != nil {
		login = who.user.login
	}
	return []string{"GIT_PROJECT_ROOT=" + rp.dir.path, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + login,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GHTEST_WORKFLOWS=" + workflows,
		"GHTEST_PROTECTED=" + strings.Join(pulls, " "), "GHTEST_NOFORCE=" + strings.Join(noForce, " "), "LC_ALL=C"}
}

// pushed compares the branches with what was last told about them and tells
// the difference. Pushes at the same time are each told once.
func (s *Server) pushed(rp *repo, who *caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, told := rp.dir.heads(), maps.Clone(rp.heads)
	for name, sha := range now {
		if told[name] != sha {
			s.branchMoved(move{rp, name, told[name], sha, who.user})
		}
	}
	for name, sha := range told {
		if now[name] == "" {
			s.branchMoved(move{rp, name, sha, "", who.user})
		}
	}
	s.touch()
}
