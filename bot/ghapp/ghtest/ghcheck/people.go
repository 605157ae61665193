package ghcheck

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Check is a check run.
type Check struct {
	ID                         int64
	Name, SHA                  string
	Status, Conclusion         string
	Title, Summary, ExternalID string
	Annotations                int
}

// NewPull is a pull request to open. Head is a branch, or "owner:branch" of a fork; an
// empty Base means the default branch.
type NewPull struct {
	Title, Body string
	Head, Base  string
	Draft       bool
}

// OpenPull opens a pull request as a user.
func (s *Server) OpenPull(repoName, author string, p NewPull) (thread.Ref, error) {
	var ref thread.Ref
	err := s.As(author, repoName, func(r *hub.Repo, u *hub.User) error {
		if p.Base == "" {
			p.Base = r.DefaultBranch
		}
		is, err := s.Hub.OpenPull(r, u, hub.NewPull{Title: p.Title, Body: p.Body, Head: p.Head, Base: p.Base, Draft: p.Draft})
		if err == nil {
			ref = is.Ref()
		}
		return err
	})
	return ref, err
}

// EditComment edits an issue comment or a diff comment as a user.
func (s *Server) EditComment(ref thread.Ref, id int64, by, body string) error {
	return s.On(ref, by, func(is *hub.Issue, u *hub.User) error {
		cm := s.FindComment(is.Repo, id)
		if cm == nil {
			cm = s.FindReviewComment(is.Repo, id)
		}
		if cm == nil {
			return fmt.Errorf("edit comment %d: it does not exist", id)
		}
		s.Edit(cm, body, u)
		return nil
	})
}

// DeleteComment deletes a comment as a user.
func (s *Server) DeleteComment(ref thread.Ref, id int64, by string) error {
	return s.On(ref, by, func(is *hub.Issue, u *hub.User) error {
		cm := s.FindComment(is.Repo, id)
		if cm == nil {
			return fmt.Errorf("delete comment %d: it does not exist", id)
		}
		s.RemoveComment(cm, u)
		return nil
	})
}

// Label adds a label to a thread as a user.
func (s *Server) Label(ref thread.Ref, by, name string) error {
	return s.On(ref, by, func(is *hub.Issue, u *hub.User) error {
		if s.Hub.Label(is, name) {
			s.SendLabelEvent("labeled", is, u, name)
		}
		return nil
	})
}

// Assign assigns a thread to login as the user by.
func (s *Server) Assign(ref thread.Ref, by, login string) error {
	return s.On(ref, by, func(is *hub.Issue, u *hub.User) error {
		a := s.Users[strings.ToLower(login)]
		if a == nil {
			return fmt.Errorf("assign %s: %w", login, ghtest.ErrUnknownUser)
		}
		is.Assignees = append(is.Assignees, a)
		ev := hub.AboutIssue("assigned", is, u)
		ev.User = a
		s.Tell(ev)
		return nil
	})
}

// CloseThread closes a thread as a user.
func (s *Server) CloseThread(ref thread.Ref, by string) error {
	return s.On(ref, by, func(is *hub.Issue, u *hub.User) error {
		s.SetState(is, "closed", u)
		return nil
	})
}

// Lock locks or unlocks a thread. Apps cannot comment on a locked thread.
func (s *Server) Lock(ref thread.Ref, yes bool) error {
	return s.On(ref, "", func(is *hub.Issue, _ *hub.User) error {
		is.Locked = yes
		return nil
	})
}

// Inline is a comment on a line of the diff.
type Inline struct {
	Path string
	Line int
	Body string
}

// NewReview is a review to submit. Event is APPROVE, REQUEST_CHANGES or COMMENT.
type NewReview struct {
	Event    string
	Body     string
	Comments []Inline
}

// Review submits a review as a user.
func (s *Server) Review(ref thread.Ref, by string, nr NewReview) (ghtest.Review, error) {
	var out ghtest.Review
	err := s.On(ref, by, func(is *hub.Issue, u *hub.User) error {
		if is.Pull == nil {
			return fmt.Errorf("review %s: it is not a pull request", ref)
		}
		d := hub.DraftReview{Event: nr.Event, Body: nr.Body}
		for _, c := range nr.Comments {
			d.Comments = append(d.Comments, hub.DraftComment{Path: c.Path, Line: c.Line, Body: c.Body})
		}
		rv, err := s.AddReview(is, u, d)
		if err == nil {
			out = ghtest.Review{ID: rv.ID, Author: rv.Author.Login, Body: rv.Body, State: rv.State, Commit: rv.Commit}
		}
		return err
	})
	return out, err
}

// Resolve resolves the review thread that starts with a comment, as a user.
func (s *Server) Resolve(ref thread.Ref, comment int64, by string) error {
	return s.On(ref, by, func(is *hub.Issue, u *hub.User) error {
		cm := s.FindReviewComment(is.Repo, comment)
		if cm == nil || cm.InReplyTo != 0 {
			return fmt.Errorf("resolve %d of %s: no thread begins there", comment, ref)
		}
		cm.Resolved, cm.ResolvedBy = true, u
		return nil
	})
}

// Dismiss dismisses a review as a user.
func (s *Server) Dismiss(ref thread.Ref, id int64, by string) error {
	return s.On(ref, by, func(is *hub.Issue, u *hub.User) error {
		if is.Pull != nil {
			for _, rv := range is.Pull.Reviews {
				if rv.ID == id && (rv.State == "APPROVED" || rv.State == "CHANGES_REQUESTED") {
					rv.State = "DISMISSED"
					s.Tell(hub.AboutReview("dismissed", is, rv, u))
					return nil
				}
			}
		}
		return fmt.Errorf("dismiss review %d of %s: there is none that decides", id, ref)
	})
}

// Retarget changes the base of a pull request as a user.
func (s *Server) Retarget(ref thread.Ref, by, base string) error {
	return s.On(ref, by, func(is *hub.Issue, u *hub.User) error {
		if is.Pull == nil || is.Repo.Dir.Branch(base) == "" {
			return fmt.Errorf("retarget %s to %s: no such pull request or branch", ref, base)
		}
		before := is.Pull.BaseRef
		is.Pull.BaseRef, is.Pull.BaseSHA = base, is.Repo.Dir.Branch(base)
		ev := hub.AboutIssue("edited", is, u)
		ev.Before = before
		s.Tell(ev)
		return nil
	})
}

// Merge merges a pull request with a merge commit, as a user.
func (s *Server) Merge(ref thread.Ref, by string) error {
	return s.On(ref, by, func(is *hub.Issue, u *hub.User) error {
		p := is.Pull
		if p == nil || is.State != "open" {
			return fmt.Errorf("merge %s: it is not an open pull request", ref)
		}
		base := is.Repo.Dir.Branch(p.BaseRef)
		tree, err := is.Repo.Dir.Line("merge-tree", "--write-tree", base, p.HeadSHA)
		if err != nil {
			return fmt.Errorf("merge %s: %w", ref, err)
		}
		sha, err := is.Repo.Dir.Line(
			"commit-tree", tree, "-p", base, "-p", p.HeadSHA, "-m",
			fmt.Sprintf("Merge pull request #%d", is.Number),
		)
		if err != nil {
			return err
		}
		if _, err := is.Repo.Dir.Run(nil, "update-ref", "refs/heads/"+p.BaseRef, sha); err != nil {
			return err
		}
		now := s.Now()
		p.Merged, p.MergedBy, p.MergeSHA = &now, u, sha
		s.SetState(is, "closed", u)
		s.BranchMoved(hub.Move{Repo: is.Repo, Branch: p.BaseRef, Before: base, After: sha, By: u})
		return nil
	})
}

// Result is the result of a CI job. Log is its output.
type Result struct {
	ID                    int64 // also of the job; 0 means the next free one
	Name, Conclusion, Log string
}

// RunCheck reports a finished CI check on a commit, and returns its id.
func (s *Server) RunCheck(repoName, sha string, res Result) (int64, error) {
	var id int64
	err := s.As("", repoName, func(r *hub.Repo, _ *hub.User) error {
		now := s.Now()
		cr := &hub.CheckRun{
			ID:         cmp.Or(res.ID, s.NextID()),
			Repo:       r,
			Name:       res.Name,
			SHA:        sha,
			Status:     "completed",
			Conclusion: res.Conclusion,
			Started:    now,
			Completed:  &now,
			Text:       res.Log,
		}
		r.Checks = append(r.Checks, cr)
		id = cr.ID
		by := s.EnsureUser("github-actions[bot]", "Bot")
		s.Tell(hub.AboutCheck("check_run", "completed", cr, by))
		s.Tell(hub.AboutCheck("check_suite", "completed", cr, by))
		return nil
	})
	return id, err
}

// Checks returns the check runs of a repository, oldest first; none if it does not
// exist.
func (s *Server) Checks(repoName string) (out []Check) {
	look(s, repoName, func(r *hub.Repo) {
		for _, c := range r.Checks {
			out = append(out, Check{ID: c.ID, Name: c.Name, SHA: c.SHA, Status: c.Status, Conclusion: c.Conclusion,
				Title: c.Title, Summary: c.Summary, ExternalID: c.ExternalID, Annotations: len(c.Annotations)})
		}
	})
	return out
}
