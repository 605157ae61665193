package ghcheck

import (
	"crypto/rand"
	"maps"
	"time"

	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// Protection is a rule for a branch, see [hub.Protection].
type Protection = hub.Protection

// AddTeam adds a team of an organization.
func (s *Server) AddTeam(org, slug string, logins ...string) {
	team := map[string]bool{}
	for _, l := range logins {
		team[strings.ToLower(l)] = true
	}
	s.Do(func() { s.Teams[strings.ToLower(org+"/"+slug)] = team })
}

// UserID returns the numeric id of a user, 0 for one that does not exist.
func (s *Server) UserID(login string) int64 {
	var id int64
	s.Do(func() {
		if u := s.Users[strings.ToLower(login)]; u != nil {
			id = u.ID
		}
	})
	return id
}

// Fork makes a fork of a repository under another owner.
func (s *Server) Fork(name, owner string) error {
	return s.As("", name, func(parent *hub.Repo, _ *hub.User) error {
		f, err := s.MakeRepo(owner, parent.Name, hub.Source{Path: parent.Dir.Path, Branch: parent.DefaultBranch, Private: parent.Private})
		if err == nil {
			f.Parent = parent
		}
		return err
	})
}

// Grant gives a person a role on one repository; "none" takes all away, also
// on a public one.
func (s *Server) Grant(name, login, role string) error {
	if _, ok := hub.RoleRank[role]; !ok {
		return fmt.Errorf("grant role: %q is not a role", role)
	}
	return s.As(login, name, func(r *hub.Repo, u *hub.User) error {
		r.Roles[strings.ToLower(u.Login)] = role
		return nil
	})
}

// Uninstall takes a repository out of the app's installation, or with yes
// false puts it back.
func (s *Server) Uninstall(name string, yes bool) error {
	return s.As("", name, func(r *hub.Repo, _ *hub.User) error {
		r.Uninstalled = yes
		return nil
	})
}

// Suspend suspends an installation, or with yes false ends that.
func (s *Server) Suspend(id int64, yes bool) {
	s.Do(func() {
		if in := s.Installs[id]; in != nil {
			in.Suspended = yes
		}
	})
}

// Protect puts a rule on a branch; "*" means every branch.
func (s *Server) Protect(name, branch string, rule Protection) error {
	return s.As("", name, func(r *hub.Repo, _ *hub.User) error {
		r.Protected[branch] = rule
		return nil
	})
}

// Push commits files to a branch as a person would. A branch that is not
// there starts at the default branch. It returns the new commit.
func (s *Server) Push(name, branch, login string, files map[string]string) (string, error) {
	return s.commitAs(name, login, bare.Change{Branch: branch, Files: files})
}

// remove deletes files on a branch as a person would. It returns the new
// commit.
func (s *Server) remove(name, branch, login string, paths ...string) (string, error) {
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
		c.Author, c.Message = u.Login, "Change "+c.Branch+"\n"
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

// RenameBranch renames a branch, as in a repository's settings. A default
// branch stays the default.
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

// look runs f on a repository, if there is one, and wakes nobody.
func look(s *Server, name string, f func(*hub.Repo)) {
	owner, repo, _ := strings.Cut(name, "/")
	s.Look(func() {
		if r := s.FindRepo(owner, repo); r != nil {
			f(r)
		}
	})
}

// Branch returns the commit of a branch, empty when there is none.
func (s *Server) Branch(name, branch string) (sha string) {
	look(s, name, func(r *hub.Repo) { sha = r.Dir.Branch(branch) })
	return sha
}

// Branches returns all branches of a repository and their commits, none where there is
// no repository.
func (s *Server) Branches(name string) (heads map[string]string) {
	look(s, name, func(r *hub.Repo) { heads = r.Dir.Heads() })
	return heads
}

// Token returns a new personal access token of a user. A workflow's token is
// one of "github-actions[bot]".
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

// RevokeTokens makes every installation token invalid at once, as when keys
// are rotated.
func (s *Server) RevokeTokens() {
	s.Do(func() {
		maps.DeleteFunc(s.Keys.Tokens, func(_ string, t *hub.Token) bool { return t.Inst != nil })
	})
}

// SetRateLimit gives every caller this many requests until reset.
func (s *Server) SetRateLimit(remaining int, reset time.Time) {
	s.Do(func() {
		for _, r := range s.Keys.Rates {
			*r = hub.Rate{Limit: remaining, Reset: reset}
		}
	})
}

// Attach keeps a file as the web page does when it is dropped into a text, and
// returns the address that the page puts there. One that is not public is
// served only under the signed address in the text's HTML.
func (s *Server) Attach(data []byte, public bool) string {
	a := &hub.Attachment{Data: data, Public: public, JWT: "eyJ" + rand.Text()}
	s.Do(func() {
		n := s.NextID()
		a.ID = fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n)
		s.Attachments = append(s.Attachments, a)
	})
	return s.URL() + ghtest.AttachmentPath + a.ID
}

// Dir returns the directory of a repository, for git.
func (s *Server) Dir(name string) (dir string, err error) {
	err = fmt.Errorf("find repository %s: it does not exist", name)
	look(s, name, func(r *hub.Repo) { dir, err = r.Dir.Path, nil })
	return dir, err
}
