package ghtest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/thread"
)

// Protection is a rule for a branch. With a rule, the branch can be neither
// deleted nor force-pushed; RequirePull also refuses direct pushes.
type Protection struct{ RequirePull bool }

// Source is what a new repository contains: a clone of the git repository at
// Path, or one commit with Files. Branch is the default branch, empty for
// "main".
type Source struct {
	Path    string
	Files   map[string]string
	Branch  string
	Private bool
}

// AddUser adds a person with this role on every repository that does not say
// otherwise: admin, maintain, write, triage, read, or empty for a stranger. A
// login that ends in "[bot]" is a bot.
func (s *Server) AddUser(login, role string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	s.addUser(login, kind).role = role
}

// AddTeam adds a team of an organization.
func (s *Server) AddTeam(org, slug string, logins ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	team := map[string]bool{}
	for _, l := range logins {
		team[strings.ToLower(l)] = true
	}
	s.teams[strings.ToLower(org+"/"+slug)] = team
}

// UserID returns the numeric id of a user, 0 for one that does not exist.
func (s *Server) UserID(login string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.users[strings.ToLower(login)]; u != nil {
		return u.id
	}
	return 0
}

// AddRepo makes a repository, installs the app on its owner and returns the
// id of the installation. The owner is an organization unless AddUser made it
// a user before.
func (s *Server) AddRepo(owner, name string, src Source) (int64, error) {
	if err := thread.ValidateRepository(owner, name); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.makeRepo(owner, name, src)
	if err != nil {
		return 0, err
	}
	in := s.installFor(r.owner)
	if in == nil {
		in = &installation{id: s.nextID(), account: r.owner}
		s.installs[in.id] = in
	}
	s.touch()
	return in.id, nil
}

func (s *Server) makeRepo(owner, name string, src Source) (*repo, error) {
	if s.findRepo(owner, name) != nil {
		return nil, fmt.Errorf("add repository %s/%s: it exists", owner, name)
	}
	if src.Branch == "" {
		src.Branch = "main"
	}
	dir, err := initRepo(filepath.Join(s.root, "repos", owner, name+".git"), src.Branch)
	if err != nil {
		return nil, err
	}
	r := &repo{id: s.nextID(), owner: s.addUser(owner, "Organization"), name: name, dir: dir, private: src.Private,
		defaultBranch: src.Branch, roles: map[string]string{}, issues: map[int]*issue{}, labels: map[string]*label{},
		protected: map[string]Protection{}, created: s.now()}
	switch {
	case src.Path != "":
		from, err := filepath.Abs(src.Path)
		if err != nil {
			return nil, fmt.Errorf("find source: %w", err)
		}
		if _, err := dir.run(nil, "fetch", "--quiet", from, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
			return nil, err
		}
	case len(src.Files) > 0:
		_, err := dir.commit(change{branch: src.Branch, author: owner, message: "Initial commit\n", files: src.Files}, s.now().Unix())
		if err != nil {
			return nil, err
		}
	}
	r.heads = dir.heads()
	s.repos[strings.ToLower(r.full())] = r
	return r, nil
}

// Fork makes a fork of a repository under another owner.
func (s *Server) Fork(name, owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := s.findRepo(splitRepo(name))
	if parent == nil {
		return fmt.Errorf("fork %s: no such repository", name)
	}
	f, err := s.makeRepo(owner, parent.name, Source{Path: parent.dir.path, Branch: parent.defaultBranch, Private: parent.private})
	if err != nil {
		return err
	}
	f.parent = parent
	return nil
}

// Grant gives a person a role on one repository; "none" takes all away, also
// on a public one.
func (s *Server) Grant(name, login, role string) error {
	if _, ok := roleRank[role]; !ok {
		return fmt.Errorf("grant role: %q is not a role", role)
	}
	return s.as(login, name, func(r *repo, u *user) error {
		r.roles[strings.ToLower(u.login)] = role
		return nil
	})
}

// Uninstall takes a repository out of the app's installation, or with yes
// false puts it back.
func (s *Server) Uninstall(name string, yes bool) error {
	return s.as("", name, func(r *repo, _ *user) error {
		r.uninstalled = yes
		return nil
	})
}

// Suspend suspends an installation, or with yes false ends that.
func (s *Server) Suspend(id int64, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in := s.installs[id]; in != nil {
		in.suspended = yes
	}
}

// Protect puts a rule on a branch; "*" means every branch.
func (s *Server) Protect(name, branch string, rule Protection) error {
	return s.as("", name, func(r *repo, _ *user) error {
		r.protected[branch] = rule
		return nil
	})
}

// Token returns a new personal access token of a user. A workflow's token is
// one of "github-actions[bot]".
func (s *Server) Token(login string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[strings.ToLower(login)]
	if u == nil {
		return "", fmt.Errorf("make token: no user %q", login)
	}
	return s.newToken(u, "ghp_").value, nil
}

// RevokeTokens makes every installation token invalid at once, as when keys
// are rotated.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v, t := range s.tokens {
		if t.inst != nil {
			delete(s.tokens, v)
		}
	}
}

// ManifestCode returns a code that the app-manifest flow exchanges for the
// app's secrets, once.
func (s *Server) ManifestCode() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := strings.ReplaceAll(guid(), "-", "")
	s.manifests[code] = true
	return code
}

var errUnknownUser = errors.New("no such user; add it first")

// as runs f under the lock with a repository and a user; login may be empty.
func (s *Server) as(login, repo string, f func(*repo, *user) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.findRepo(splitRepo(repo))
	if r == nil {
		return fmt.Errorf("find repository %s: it does not exist", repo)
	}
	var u *user
	if login != "" {
		if u = s.users[strings.ToLower(login)]; u == nil {
			return fmt.Errorf("find user %s: %w", login, errUnknownUser)
		}
	}
	err := f(r, u)
	s.touch()
	return err
}

// on runs f under the lock with the issue or pull request of a thread.
func (s *Server) on(ref thread.Ref, login string, f func(*issue, *user) error) error {
	return s.as(login, ref.Repository(), func(r *repo, u *user) error {
		is := r.issues[ref.Number]
		if is == nil {
			return fmt.Errorf("find thread %s: it does not exist", ref)
		}
		return f(is, u)
	})
}

// Push commits files to a branch as a person would. A branch that is not
// there starts at the default branch. It returns the new commit.
func (s *Server) Push(name, branch, login string, files map[string]string) (string, error) {
	return s.commitAs(name, login, change{branch: branch, files: files})
}

// Remove deletes files on a branch as a person would. It returns the new
// commit.
func (s *Server) Remove(name, branch, login string, paths ...string) (string, error) {
	return s.commitAs(name, login, change{branch: branch, remove: paths})
}

func (s *Server) commitAs(name, login string, c change) (string, error) {
	var sha string
	err := s.as(login, name, func(r *repo, u *user) error {
		before := r.dir.branch(c.branch)
		c.parent = before
		if before == "" {
			c.parent = r.dir.branch(r.defaultBranch)
		}
		c.author, c.message = u.login, "Change "+c.branch+"\n"
		var err error
		sha, err = r.dir.commit(c, s.now().Unix())
		if err != nil {
			return err
		}
		s.branchMoved(move{r, c.branch, before, sha, u})
		return nil
	})
	return sha, err
}

// RenameBranch renames a branch, as in a repository's settings. A default
// branch stays the default.
func (s *Server) RenameBranch(name, from, to string) error {
	return s.as("", name, func(r *repo, _ *user) error {
		if _, err := r.dir.run(nil, "branch", "-m", from, to); err != nil {
			return err
		}
		if r.defaultBranch == from {
			r.defaultBranch = to
		}
		r.heads = r.dir.heads()
		return nil
	})
}

// Branch returns the commit of a branch, empty when there is none.
func (s *Server) Branch(name, branch string) string {
	var sha string
	if err := s.as("", name, func(r *repo, _ *user) error { sha = r.dir.branch(branch); return nil }); err != nil {
		return ""
	}
	return sha
}

// Branches returns all branches of a repository and their commits.
func (s *Server) Branches(name string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.findRepo(splitRepo(name)); r != nil {
		return r.dir.heads()
	}
	return nil
}

// File returns the text of a file at a branch, tag or commit.
func (s *Server) File(name, ref, path string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.findRepo(splitRepo(name))
	if r == nil {
		return "", fmt.Errorf("read %s: no repository %s", path, name)
	}
	return r.dir.run(nil, "cat-file", "blob", r.dir.resolve(ref)+":"+path)
}

// Log returns the messages of the commits of a branch, newest first.
func (s *Server) Log(name, ref string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.findRepo(splitRepo(name))
	if r == nil {
		return nil, fmt.Errorf("read log: no repository %s", name)
	}
	out, err := r.dir.run(nil, "log", "--format=%B%x00", r.dir.resolve(ref))
	if err != nil {
		return nil, err
	}
	var list []string
	for _, m := range strings.Split(out, "\x00") {
		if m = strings.TrimSpace(m); m != "" {
			list = append(list, m)
		}
	}
	return list, nil
}

// Ping sends the event that GitHub sends when a webhook is set up.
func (s *Server) Ping(ctx context.Context) (Delivery, error) {
	return s.Deliver(ctx, "ping", fmt.Appendf(nil, `{"zen":"Keep it logically awesome.","hook_id":42,"hook":{"type":"App","id":42,"app_id":%d,"active":true,"events":["*"],"created_at":%q}}`,
		s.App().ID, s.clock().UTC().Format(time.RFC3339)))
}
