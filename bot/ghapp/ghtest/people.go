package ghtest

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/thread"
)

// Comment is one comment as a person sees it. Path and Line are set for a
// comment on a diff.
type Comment struct {
	ID        int64
	Author    string
	Body      string
	Created   time.Time
	Updated   time.Time
	Reactions []Reaction
	Path      string
	Line      int
	InReplyTo int64
}

// Reaction is one reaction.
type Reaction struct{ Author, Content string }

// Review is a submitted review; State is APPROVED, CHANGES_REQUESTED or
// COMMENTED.
type Review struct {
	ID     int64
	Author string
	Body   string
	State  string
	Commit string
}

// Pull is what makes a thread a pull request.
type Pull struct {
	HeadRepo, HeadRef, HeadSHA string
	BaseRef, BaseSHA           string
	Draft, Merged              bool
	Reviewers                  []string
	Teams                      []string // asked to review, as "org/slug"
	Reviews                    []Review
	Comments                   []Comment // on the diff
}

// Thread is an issue or pull request as a person sees it.
type Thread struct {
	Ref       thread.Ref
	Title     string
	Body      string
	Author    string
	State     string // open or closed
	Labels    []string
	Assignees []string
	Reactions []Reaction
	Comments  []Comment
	Pull      *Pull // nil for an issue
}

// Check is a check run.
type Check struct {
	ID                         int64
	Name, SHA                  string
	Status, Conclusion         string
	Title, Summary, ExternalID string
	Annotations                int
}

// OpenIssue opens an issue as a person and returns its thread.
func (s *Server) OpenIssue(repoName, author, title, body string) (thread.Ref, error) {
	var ref thread.Ref
	err := s.as(author, repoName, func(r *repo, u *user) error {
		is := s.newIssue(r, u, title, body)
		ref = is.ref()
		s.emitIssue("opened", is, u, nil)
		return nil
	})
	return ref, err
}

func (is *issue) ref() thread.Ref {
	return thread.Ref{Owner: is.repo.owner.login, Repo: is.repo.name, Number: is.number}
}

// NewPull is a pull request to open. Head is a branch, or "owner:branch" of a
// fork; an empty Base is the default branch.
type NewPull struct {
	Title, Body string
	Head, Base  string
	Draft       bool
}

// OpenPull opens a pull request as a person.
func (s *Server) OpenPull(repoName, author string, p NewPull) (thread.Ref, error) {
	var ref thread.Ref
	err := s.as(author, repoName, func(r *repo, u *user) error {
		if p.Base == "" {
			p.Base = r.defaultBranch
		}
		is, err := s.openPull(r, u, newPull{Title: p.Title, Body: p.Body, Head: p.Head, Base: p.Base, Draft: p.Draft})
		if err == nil {
			ref = is.ref()
		}
		return err
	})
	return ref, err
}

// Comment comments as a person.
func (s *Server) Comment(ref thread.Ref, author, body string) (Comment, error) {
	var out Comment
	err := s.on(ref, author, func(is *issue, u *user) error {
		cm := s.newComment(is, u, body)
		is.comments = append(is.comments, cm)
		out = cm.view()
		s.emitComment("created", cm, u, "")
		return nil
	})
	return out, err
}

// EditComment changes a comment as a person, on an issue or on a diff.
func (s *Server) EditComment(ref thread.Ref, id int64, by, body string) error {
	return s.on(ref, by, func(is *issue, u *user) error {
		cm := s.findComment(is.repo, id)
		if cm == nil {
			cm = s.findReviewComment(is.repo, id)
		}
		if cm == nil {
			return fmt.Errorf("edit comment %d: it does not exist", id)
		}
		s.edit(cm, body, u)
		return nil
	})
}

// DeleteComment deletes a comment as a person.
func (s *Server) DeleteComment(ref thread.Ref, id int64, by string) error {
	return s.on(ref, by, func(is *issue, u *user) error {
		cm := s.findComment(is.repo, id)
		if cm == nil {
			return fmt.Errorf("delete comment %d: it does not exist", id)
		}
		s.removeComment(cm, u)
		return nil
	})
}

// Label puts a label on a thread as a person.
func (s *Server) Label(ref thread.Ref, by, name string) error {
	return s.on(ref, by, func(is *issue, u *user) error {
		if s.label(is, name) {
			s.emitIssue("labeled", is, u, object{"label": s.filled("label", s.labelShape(is.repo, name))})
		}
		return nil
	})
}

// Assign assigns a thread to someone as a person.
func (s *Server) Assign(ref thread.Ref, by, login string) error {
	return s.on(ref, by, func(is *issue, u *user) error {
		a := s.users[strings.ToLower(login)]
		if a == nil {
			return fmt.Errorf("assign %s: %w", login, errUnknownUser)
		}
		is.assignees = append(is.assignees, a)
		s.emitIssue("assigned", is, u, object{"assignee": s.filled("simple-user", s.userShape(a))})
		return nil
	})
}

// CloseThread closes a thread as a person.
func (s *Server) CloseThread(ref thread.Ref, by string) error {
	return s.on(ref, by, func(is *issue, u *user) error {
		s.setState(is, "closed", u)
		return nil
	})
}

// Inline is a comment on a line of the diff.
type Inline struct {
	Path string
	Line int
	Body string
}

// NewReview is a review to submit; Event is APPROVE, REQUEST_CHANGES or
// COMMENT.
type NewReview struct {
	Event    string
	Body     string
	Comments []Inline
}

// Review submits a review as a person.
func (s *Server) Review(ref thread.Ref, by string, nr NewReview) (Review, error) {
	var out Review
	err := s.on(ref, by, func(is *issue, u *user) error {
		if is.pull == nil {
			return fmt.Errorf("review %s: it is not a pull request", ref)
		}
		d := draftReview{Event: nr.Event, Body: nr.Body}
		for _, c := range nr.Comments {
			d.Comments = append(d.Comments, draftComment{Path: c.Path, Line: c.Line, Body: c.Body})
		}
		rv, err := s.addReview(is, u, d)
		if err == nil {
			out = rv.view()
		}
		return err
	})
	return out, err
}

// Dismiss dismisses a review as a person.
func (s *Server) Dismiss(ref thread.Ref, id int64, by string) error {
	return s.on(ref, by, func(is *issue, u *user) error {
		if is.pull != nil {
			for _, rv := range is.pull.reviews {
				if rv.id == id && (rv.state == "APPROVED" || rv.state == "CHANGES_REQUESTED") {
					rv.state = "DISMISSED"
					s.emitReview("dismissed", is, rv, u)
					return nil
				}
			}
		}
		return fmt.Errorf("dismiss review %d of %s: there is none that decides", id, ref)
	})
}

// Retarget changes the base of a pull request as a person.
func (s *Server) Retarget(ref thread.Ref, by, base string) error {
	return s.on(ref, by, func(is *issue, u *user) error {
		if is.pull == nil || is.repo.dir.branch(base) == "" {
			return fmt.Errorf("retarget %s to %s: no such pull request or branch", ref, base)
		}
		before := is.pull.baseRef
		is.pull.baseRef, is.pull.baseSHA = base, is.repo.dir.branch(base)
		s.emitPull("edited", is, u, object{"changes": object{"base": object{"ref": object{"from": before}, "sha": object{"from": is.pull.baseSHA}}}})
		return nil
	})
}

// Merge merges a pull request as a person, with a merge commit.
func (s *Server) Merge(ref thread.Ref, by string) error {
	return s.on(ref, by, func(is *issue, u *user) error {
		p := is.pull
		if p == nil || is.state != "open" {
			return fmt.Errorf("merge %s: it is not an open pull request", ref)
		}
		base := is.repo.dir.branch(p.baseRef)
		tree, err := is.repo.dir.line("merge-tree", "--write-tree", base, p.headSHA)
		if err != nil {
			return fmt.Errorf("merge %s: %w", ref, err)
		}
		sha, err := is.repo.dir.line("commit-tree", tree, "-p", base, "-p", p.headSHA, "-m", fmt.Sprintf("Merge pull request #%d", is.number))
		if err != nil {
			return err
		}
		if _, err := is.repo.dir.run(nil, "update-ref", "refs/heads/"+p.baseRef, sha); err != nil {
			return err
		}
		now := s.now()
		p.merged, p.mergedBy, p.mergeSHA = &now, u, sha
		s.setState(is, "closed", u)
		s.branchMoved(move{is.repo, p.baseRef, base, sha, u})
		return nil
	})
}

// Result is how a CI job ended; Log is what it wrote.
type Result struct{ Name, Conclusion, Log string }

// RunCheck reports a finished check of the repository's CI on a commit. The
// check's id is the job's id too.
func (s *Server) RunCheck(repoName, sha string, res Result) (int64, error) {
	var id int64
	err := s.as("", repoName, func(r *repo, _ *user) error {
		now := s.now()
		cr := &checkRun{id: s.nextID(), repo: r, name: res.Name, sha: sha, status: "completed", conclusion: res.Conclusion,
			started: now, completed: &now, text: res.Log}
		r.checks = append(r.checks, cr)
		id = cr.id
		by := s.addUser("github-actions[bot]", "Bot")
		s.emitCheck("completed", cr, by)
		s.emit(r, event{"check_suite", "completed", by}, object{"check_suite": s.suiteShape(cr)})
		return nil
	})
	return id, err
}

// Checks returns the check runs of a repository, oldest first.
func (s *Server) Checks(repoName string) []Check {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.findRepo(splitRepo(repoName))
	if r == nil {
		return nil
	}
	var out []Check
	for _, c := range r.checks {
		out = append(out, Check{ID: c.id, Name: c.name, SHA: c.sha, Status: c.status, Conclusion: c.conclusion,
			Title: c.title, Summary: c.summary, ExternalID: c.externalID, Annotations: len(c.annotations)})
	}
	return out
}

// Thread returns a thread as a person sees it; the zero Thread when there is
// none.
func (s *Server) Thread(ref thread.Ref) Thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.findRepo(ref.Owner, ref.Repo)
	if r == nil || r.issues[ref.Number] == nil {
		return Thread{}
	}
	return r.issues[ref.Number].view()
}

// Threads returns every issue and pull request of a repository by number.
func (s *Server) Threads(repoName string) []Thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Thread
	if r := s.findRepo(splitRepo(repoName)); r != nil {
		for _, is := range r.sorted() {
			out = append(out, is.view())
		}
	}
	return out
}

func (is *issue) view() Thread {
	t := Thread{Ref: is.ref(), Title: is.title, Body: is.body, Author: is.author.login, State: is.state,
		Labels: slices.Clone(is.labels), Assignees: logins(is.assignees), Reactions: views(is.reactions)}
	for _, c := range is.comments {
		t.Comments = append(t.Comments, c.view())
	}
	p := is.pull
	if p == nil {
		return t
	}
	t.Pull = &Pull{HeadRef: p.headRef, HeadSHA: p.headSHA, BaseRef: p.baseRef, BaseSHA: p.baseSHA, Draft: p.draft,
		Merged: p.merged != nil, Reviewers: logins(p.reviewers), Teams: slices.Clone(p.teams)}
	if p.headRepo != nil {
		t.Pull.HeadRepo = p.headRepo.full()
	}
	for _, rv := range p.reviews {
		t.Pull.Reviews = append(t.Pull.Reviews, rv.view())
	}
	for _, c := range p.comments {
		t.Pull.Comments = append(t.Pull.Comments, c.view())
	}
	return t
}

func (rv *review) view() Review {
	return Review{ID: rv.id, Author: rv.author.login, Body: rv.body, State: rv.state, Commit: rv.commit}
}

func (c *comment) view() Comment {
	return Comment{ID: c.id, Author: c.author.login, Body: c.body, Created: c.created, Updated: c.updated,
		Reactions: views(c.reactions), Path: c.path, Line: c.line, InReplyTo: c.inReplyTo}
}

func views(list []*reaction) []Reaction {
	var out []Reaction
	for _, r := range list {
		out = append(out, Reaction{Author: r.author.login, Content: r.content})
	}
	return out
}

func logins(users []*user) []string {
	var out []string
	for _, u := range users {
		out = append(out, u.login)
	}
	return out
}

var pageTemplate = template.Must(template.New("thread").Parse(`<!doctype html><meta charset="utf-8"><title>{{.Title}}</title>
<h1>{{.Title}} <small>{{.Ref}}</small></h1><p><b>{{.Author}}</b></p><pre>{{.Body}}</pre>
{{range .Comments}}<hr><p id="issuecomment-{{.ID}}"><b>{{.Author}}</b>{{range .Reactions}} [{{.Content}}]{{end}}</p><pre>{{.Body}}</pre>
{{end}}`))

// servePage shows a thread to a browser, so that links in comments lead
// somewhere in the demo.
func (s *Server) servePage(w http.ResponseWriter, path string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) >= 4 && (parts[2] == "issues" || parts[2] == "pull") {
		if ref, err := thread.Parse(parts[0] + "/" + parts[1] + "#" + parts[3]); err == nil {
			if t := s.Thread(ref); t.Ref.Number != 0 {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				if err := pageTemplate.Execute(w, t); err != nil {
					s.log.Debug("write page", "err", err)
				}
				return
			}
		}
	}
	http.Error(w, "Not Found", http.StatusNotFound)
}
