package ghtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Source is the initial content of a repository, see [hub.Source].
type Source = hub.Source

// AddUser adds a user with a default role for all repositories: admin, maintain, write,
// triage, read, or empty for an outsider. A login that ends in "[bot]" is a bot.
func (s *Server) AddUser(login, role string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	s.EnsureUser(login, kind).Role = role
}

// AddRepo creates a repository, installs the app for its owner and returns the id of
// the installation. An unknown owner becomes an organization.
func (s *Server) AddRepo(owner, name string, src Source) (int64, error) {
	if err := thread.ValidateRepository(owner, name); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.MakeRepo(owner, name, src)
	if err != nil {
		return 0, err
	}
	in := s.InstallFor(r.Owner)
	if in == nil {
		in = &hub.Installation{ID: s.NextID(), Account: r.Owner}
		s.Installs[in.ID] = in
	}
	s.touch()
	return in.ID, nil
}

// ErrUnknownUser is returned for an unknown login.
var ErrUnknownUser = errors.New("no such user; add it first")

// Look runs f under the lock, without waking waiters. f must change nothing.
func (s *Server) Look(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Do runs f under the lock and wakes the waiters for a change.
func (s *Server) Do(f func()) { s.Look(func() { f(); s.touch() }) }

// As is Do with a repository, "owner/name", and a user. An empty login means a nil
// user.
func (s *Server) As(login, repo string, f func(*hub.Repo, *hub.User) error) (err error) {
	s.Do(func() {
		r, u := s.FindRepo(splitRepo(repo)), s.Users[strings.ToLower(login)]
		switch {
		case r == nil:
			err = fmt.Errorf("find repository %s: it does not exist", repo)
		case login != "" && u == nil:
			err = fmt.Errorf("find user %s: %w", login, ErrUnknownUser)
		default:
			err = f(r, u)
		}
	})
	return err
}

// On is As for the issue or pull request of a thread.
func (s *Server) On(ref thread.Ref, login string, f func(*hub.Issue, *hub.User) error) error {
	return s.As(login, ref.Repository(), func(r *hub.Repo, u *hub.User) error {
		is := r.Issues[ref.Number]
		if is == nil {
			return fmt.Errorf("find thread %s: it does not exist", ref)
		}
		return f(is, u)
	})
}

// File returns the content of a file at a branch, tag or commit.
func (s *Server) File(name, ref, path string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.FindRepo(splitRepo(name))
	if r == nil {
		return "", fmt.Errorf("read %s: no repository %s", path, name)
	}
	return r.Dir.Run(nil, "cat-file", "blob", r.Dir.Resolve(ref)+":"+path)
}

// Log returns the commit messages of a branch, newest first.
func (s *Server) Log(name, ref string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.FindRepo(splitRepo(name))
	if r == nil {
		return nil, fmt.Errorf("read log: no repository %s", name)
	}
	out, err := r.Dir.Run(nil, "log", "--format=%B%x00", r.Dir.Resolve(ref))
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
