package ghcheck

import (
	"cmp"
	"crypto/rand"
	"maps"
	"time"

	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// Protection is a branch protection rule, see [hub.Protection].
type Protection = hub.Protection

// AddTeam adds a team to an organization.
func (s *Server) AddTeam(org, slug string, logins ...string) {
	team := map[string]bool{}
	for _, l := range logins {
		team[strings.ToLower(l)] = true
	}
	s.Do(func() { s.Teams[strings.ToLower(org+"/"+slug)] = team })
}

// UserID returns the numeric id of a user, or 0 if the user does not exist.
func (s *Server) UserID(login string) int64 {
	var id int64
	s.Do(func() {
		if u := s.Users[strings.ToLower(login)]; u != nil {
			id = u.ID
		}
	})
	return id
}

// Fork forks a repository to another owner.
func (s *Server) Fork(name, owner string) error {
	return s.As("", name, func(parent *hub.Repo, _ *hub.User) error {
		f, err := s.MakeRepo(
			owner,
			parent.Name,
			hub.Source{Path: parent.Dir.Path, Branch: parent.DefaultBranch, Private: parent.Private},
		)
		if err == nil {
			f.Parent = parent
		}
		return err
	})
}

// Grant sets the role of a user on one repository. "none" revokes all access, even to a
// public one.
func (s *Server) Grant(name, login, role string) error {
	if _, ok := hub.RoleRank[role]; !ok {
		return fmt.Errorf("grant role: %q is not a role", role)
	}
	return s.As(login, name, func(r *hub.Repo, u *hub.User) error {
		r.Roles[strings.ToLower(u.Login)] = role
		return nil
	})
}

// Rename gives a repository another name.
func (s *Server) Rename(name, to string) error {
	return s.As("", name, func(r *hub.Repo, _ *hub.User) error {
		delete(s.Repos, strings.ToLower(r.FullName()))
		r.Name = to
		s.Repos[strings.ToLower(r.FullName())] = r
		return nil
	})
}

// Hide makes a repository private; with yes false it makes it public.
func (s *Server) Hide(name string, yes bool) error {
	return s.As("", name, func(r *hub.Repo, _ *hub.User) error {
		r.Private = yes
		return nil
	})
}

// Uninstall removes a repository from the app's installation; with yes false it adds it
// back.
func (s *Server) Uninstall(name string, yes bool) error {
	return s.As("", name, func(r *hub.Repo, _ *hub.User) error {
		r.Uninstalled = yes
		return nil
	})
}

// Suspend suspends an installation; with yes false it resumes it.
func (s *Server) Suspend(id int64, yes bool) {
	s.Do(func() {
		if in := s.Installs[id]; in != nil {
			in.Suspended = yes
		}
	})
}

// Protect sets the protection rule of a branch. "*" means every branch.
func (s *Server) Protect(name, branch string, rule Protection) error {
	return s.As("", name, func(r *hub.Repo, _ *hub.User) error {
		r.Protected[branch] = rule
		return nil
	})
}

// Push commits files to a branch as a user and returns the new commit. A new branch
// starts at the default branch.
func (s *Server) Push(name, branch, login string, files map[string]string) (string, error) {
	return s.commitAs(name, login, bare.Change{Branch: branch, Files: files})
}

// PushAs is [Server.Push] with a message of the commit.
func (s *Server) PushAs(name, branch, login, message string, files map[string]string) (string, error) {
	return s.commitAs(name, login, bare.Change{Branch: branch, Files: files, Message: message + "\n"})
}

// Remove deletes files on a branch as a user and returns the new commit.
func (s *Server) Remove(name, branch, login string, paths ...string) (string, error) {
	return s.commitAs(name, login, bare.Change{Branch: branch, Remove: paths})
}

func (s *Server) commitAs(name, login string, c bare.Change) (string, error) {
	var sha string
	err := s.As(login, name, func(r *hub.Repo, u *hub.User) error {
		before := r.Dir.Branch(c.Branch)
		c.Parent = before
		if before == "" {
			c.Parent = r.Dir.Branch(r.DefaultBranch)
		}
		c.Author, c.Message = u.Login, cmp.Or(c.Message, "Change "+c.Branch+"\n")
		var err error
		sha, err = r.Dir.Commit(c, s.Now().Unix())
		if err != nil {
			return err
		}
		s.BranchMoved(hub.Move{Repo: r, Branch: c.Branch, Before: before, After: sha, By: u})
		return nil
	})
	return sha, err
}

// RenameBranch renames a branch, as the repository's settings page does. A default
// branch remains the default.
func (s *Server) RenameBranch(name, from, to string) error {
	return s.As("", name, func(r *hub.Repo, _ *hub.User) error {
		if _, err := r.Dir.Run(nil, "branch", "-m", from, to); err != nil {
			return err
		}
		if r.DefaultBranch == from {
			r.DefaultBranch = to
		}
		r.Heads = r.Dir.Heads()
		return nil
	})
}

// look runs f on a repository, if it exists, without waking waiters.
func look(s *Server, name string, f func(*hub.Repo)) {
	owner, repo, _ := strings.Cut(name, "/")
	s.Look(func() {
		if r := s.FindRepo(owner, repo); r != nil {
			f(r)
		}
	})
}

// Branch returns the commit of a branch, or "" if there is none.
func (s *Server) Branch(name, branch string) (sha string) {
	look(s, name, func(r *hub.Repo) { sha = r.Dir.Branch(branch) })
	return sha
}

// Branches returns the head commits of all branches, by name; none if the repository
// does not exist.
func (s *Server) Branches(name string) (heads map[string]string) {
	look(s, name, func(r *hub.Repo) { heads = r.Dir.Heads() })
	return heads
}

// Token creates a personal access token for a user. The token of a workflow belongs to
// "github-actions[bot]".
func (s *Server) Token(login string) (value string, err error) {
	s.Do(func() {
		u := s.Users[strings.ToLower(login)]
		if u == nil {
			err = fmt.Errorf("make token: no user %q", login)
			return
		}
		value = s.Keys.NewToken(u, "ghp_").Value
	})
	return value, err
}

// RevokeTokens invalidates all installation tokens at once, as a key rotation does.
func (s *Server) RevokeTokens() {
	s.Do(func() {
		maps.DeleteFunc(s.Keys.Tokens, func(_ string, t *hub.Token) bool { return t.Inst != nil })
	})
}

// SetRateLimit sets the rate limit of every caller so far, until reset.
func (s *Server) SetRateLimit(remaining int, reset time.Time) {
	s.Do(func() {
		for _, r := range s.Keys.Rates {
			*r = hub.Rate{Limit: remaining, Reset: reset}
		}
	})
}

// Attach stores a file as if it were dropped into a text on the web page, and returns
// the inserted address. A private file is served only under the signed address in the
// text's HTML.
func (s *Server) Attach(data []byte, public bool) string {
	a := &hub.Attachment{Data: data, Public: public, JWT: "eyJ" + rand.Text()}
	s.Do(func() {
		n := s.NextID()
		a.ID = fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n)
		s.Attachments = append(s.Attachments, a)
	})
	return s.URL() + ghtest.AttachmentPath + a.ID
}

// Dir returns the directory of a repository's git data.
func (s *Server) Dir(name string) (dir string, err error) {
	err = fmt.Errorf("find repository %s: it does not exist", name)
	look(s, name, func(r *hub.Repo) { dir, err = r.Dir.Path, nil })
	return dir, err
}
