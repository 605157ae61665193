package ghtest

import (
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Comment is a comment as users see it. Path and Line are set for a diff comment.
type Comment struct {
	ID        int64
	Author    string
	Body      string
	Created   time.Time
	Updated   time.Time
	Reactions []Reaction
	Path      string
	Line      int
	StartLine int // 0 for a single line
	Old       bool
	Commit    string
	InReplyTo int64
	Resolved  bool // the thread that it started is resolved
}

// Reaction is one reaction.
type Reaction struct{ Author, Content string }

// Review is a submitted review. State is APPROVED, CHANGES_REQUESTED or COMMENTED.
type Review struct {
	ID     int64
	Author string
	Body   string
	State  string
	Commit string
}

// Pull holds the parts of a thread that only pull requests have.
type Pull struct {
	HeadRepo, HeadRef, HeadSHA string
	BaseRef, BaseSHA           string
	Draft, Merged              bool
	Reviewers                  []string
	Teams                      []string // requested reviewers, as "org/slug"
	Reviews                    []Review
	Comments                   []Comment // diff comments
}

// Thread is an issue or pull request as users see it.
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

// OpenIssue opens an issue as a user and returns its thread.
func (s *Server) OpenIssue(repoName, author, title, body string) (thread.Ref, error) {
	var ref thread.Ref
	err := s.As(author, repoName, func(r *hub.Repo, u *hub.User) error {
		is := s.NewIssue(r, u, title, body)
		ref = is.Ref()
		s.Tell(hub.AboutIssue("opened", is, u))
		return nil
	})
	return ref, err
}

// Comment writes a comment as a user.
func (s *Server) Comment(ref thread.Ref, author, body string) (Comment, error) {
	var out Comment
	err := s.On(ref, author, func(is *hub.Issue, u *hub.User) error {
		cm := s.NewComment(is, u, body)
		is.Comments = append(is.Comments, cm)
		out = commentOf(cm)
		s.Tell(hub.AboutComment("created", cm, u))
		return nil
	})
	return out, err
}

// Thread returns a thread as users see it, or the zero Thread if there is none.
func (s *Server) Thread(ref thread.Ref) Thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.FindRepo(ref.Owner, ref.Repo)
	if r == nil || r.Issues[ref.Number] == nil {
		return Thread{}
	}
	return threadOf(r.Issues[ref.Number])
}

// Threads returns the issues and pull requests of a repository, ordered by number.
func (s *Server) Threads(repoName string) []Thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Thread
	if r := s.FindRepo(splitRepo(repoName)); r != nil {
		for _, is := range r.Sorted() {
			out = append(out, threadOf(is))
		}
	}
	return out
}

func threadOf(is *hub.Issue) Thread {
	t := Thread{Ref: is.Ref(), Title: is.Title, Body: is.Body, Author: is.Author.Login, State: is.State,
		Labels: slices.Clone(is.Labels), Assignees: logins(is.Assignees), Reactions: views(is.Reactions)}
	for _, c := range is.Comments {
		t.Comments = append(t.Comments, commentOf(c))
	}
	p := is.Pull
	if p == nil {
		return t
	}
	t.Pull = &Pull{HeadRef: p.HeadRef, HeadSHA: p.HeadSHA, BaseRef: p.BaseRef, BaseSHA: p.BaseSHA, Draft: p.Draft,
		Merged: p.Merged != nil, Reviewers: logins(p.Reviewers), Teams: slices.Clone(p.Teams)}
	if p.HeadRepo != nil {
		t.Pull.HeadRepo = p.HeadRepo.FullName()
	}
	for _, rv := range p.Reviews {
		t.Pull.Reviews = append(t.Pull.Reviews, reviewOf(rv))
	}
	for _, c := range p.Comments {
		t.Pull.Comments = append(t.Pull.Comments, commentOf(c))
	}
	return t
}

func reviewOf(rv *hub.Review) Review {
	return Review{ID: rv.ID, Author: rv.Author.Login, Body: rv.Body, State: rv.State, Commit: rv.Commit}
}

func commentOf(c *hub.Comment) Comment {
	return Comment{ID: c.ID, Author: c.Author.Login, Body: c.Body, Created: c.Created, Updated: c.Updated,
		Reactions: views(c.Reactions), Path: c.Path, Line: c.Line, InReplyTo: c.InReplyTo, StartLine: c.StartLine, Old: c.Side == "LEFT", Commit: c.Commit, Resolved: c.Resolved}
}

func views(list []*hub.Reaction) []Reaction {
	var out []Reaction
	for _, r := range list {
		out = append(out, Reaction{Author: r.Author.Login, Content: r.Content})
	}
	return out
}

func logins(users []*hub.User) []string {
	var out []string
	for _, u := range users {
		out = append(out, u.Login)
	}
	return out
}

var pageTemplate = template.Must(
	template.New("thread").Parse(`<!doctype html><meta charset="utf-8"><title>{{.Title}}</title>
<h1>{{.Title}} <small>{{.Ref}}</small></h1><p><b>{{.Author}}</b></p><pre>{{.Body}}</pre>
{{range .Comments}}<hr><p id="issuecomment-{{.ID}}"><b>{{.Author}}</b>{{range .Reactions}} [{{.Content}}]{{end}}</p><pre>{{.Body}}</pre>
{{end}}`),
)

// servePage renders a thread for browsers, so that links in comments work in the demo.
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
