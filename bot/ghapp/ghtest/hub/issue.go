package hub

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
)

// NewIssue adds an issue without sending an event.
func (h *Hub) NewIssue(r *Repo, author *User, title, body string) *Issue {
	r.lastNumber++
	now := h.Now()
	is := &Issue{ID: h.NextID(), Repo: r, Number: r.lastNumber, Title: title, Body: body, Author: author,
		State: "open", Created: now, Updated: now}
	r.Issues[is.Number] = is
	return is
}

// SetState opens or closes an issue or pull request.
func (h *Hub) SetState(is *Issue, state string, by *User) {
	if is.State == state {
		return
	}
	is.State = state
	now := h.Now()
	is.Updated = now
	if state == "closed" {
		is.Closed = &now
		h.Tell(AboutIssue("closed", is, by))
		return
	}
	is.Closed = nil
	h.Tell(AboutIssue("reopened", is, by))
}

// NewComment returns a comment that is not yet attached to its issue.
func (h *Hub) NewComment(is *Issue, author *User, body string) *Comment {
	now := h.Now()
	cm := &Comment{ID: h.NextID(), Issue: is, Author: author, Body: body, Created: now, Updated: now}
	return cm
}

// Edit changes the text of a comment. The update time always increases, so two edits
// within a second are distinguishable.
func (h *Hub) Edit(cm *Comment, body string, by *User) {
	before := cm.Body
	cm.Body = body
	if now := h.Now(); now.After(cm.Updated) {
		cm.Updated = now
	} else {
		cm.Updated = cm.Updated.Add(time.Second)
	}
	ev := AboutComment("edited", cm, by)
	ev.Before = before
	h.Tell(ev)
}

// RemoveComment deletes an issue comment.
func (h *Hub) RemoveComment(cm *Comment, by *User) {
	is := cm.Issue
	is.Comments = slices.DeleteFunc(is.Comments, func(o *Comment) bool { return o == cm })
	h.Tell(AboutComment("deleted", cm, by))
}

// SendLabelEvent sends the event of an added or removed label.
func (h *Hub) SendLabelEvent(action string, is *Issue, by *User, name string) {
	ev := AboutIssue(action, is, by)
	ev.Label = name
	h.Tell(ev)
}

// Label adds a label to an issue and creates it in the repository if needed. It returns
// false if the issue already has it.
func (h *Hub) Label(is *Issue, name string) bool {
	if name == "" || is.HasLabel(name) {
		return false
	}
	key := strings.ToLower(name)
	if is.Repo.Labels[key] == nil {
		is.Repo.Labels[key] = &label{ID: h.NextID(), Name: name}
	}
	is.Labels = append(is.Labels, is.Repo.Labels[key].Name)
	is.Updated = h.Now()
	return true
}

// Assign assigns the eligible users and, like GitHub, silently ignores all others.
func (h *Hub) Assign(is *Issue, logins []string) {
	for _, login := range logins {
		u := h.Users[strings.ToLower(login)]
		if u == nil || slices.Contains(is.Assignees, u) || RoleRank[is.Repo.RoleOn(u)] < RoleRank["triage"] {
			continue
		}
		is.Assignees = append(is.Assignees, u)
	}
}

// MakeRepo creates a repository with the content of src.
func (h *Hub) MakeRepo(owner, name string, src Source) (*Repo, error) {
	if h.FindRepo(owner, name) != nil {
		return nil, fmt.Errorf("add repository %s/%s: it exists", owner, name)
	}
	if src.Branch == "" {
		src.Branch = "main"
	}
	dir, err := bare.Init(filepath.Join(h.Root, "repos", owner, name+".git"), src.Branch)
	if err != nil {
		return nil, err
	}
	r := &Repo{ID: h.NextID(), Owner: h.EnsureUser(owner, "Organization"), Name: name, Dir: dir, Private: src.Private,
		DefaultBranch: src.Branch, Roles: map[string]string{}, Issues: map[int]*Issue{}, Labels: map[string]*label{},
		Protected: map[string]Protection{}, Created: h.Now()}
	switch {
	case src.Path != "":
		from, err := filepath.Abs(src.Path)
		if err != nil {
			return nil, fmt.Errorf("find source: %w", err)
		}
		if _, err := dir.Run(nil, "fetch", "--quiet", from, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
			return nil, err
		}
	case len(src.Files) > 0:
		_, err := dir.Commit(
			bare.Change{Branch: src.Branch, Author: owner, Message: "Initial commit\n", Files: src.Files},
			h.Now().Unix(),
		)
		if err != nil {
			return nil, err
		}
	}
	r.Heads = dir.Heads()
	h.Repos[strings.ToLower(r.FullName())] = r
	return r, nil
}

// Sorted returns the issues and pull requests, ordered by number.
func (r *Repo) Sorted() []*Issue {
	out := make([]*Issue, 0, len(r.Issues))
	for _, is := range r.Issues {
		out = append(out, is)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Number < out[j].Number })
	return out
}

// HasLabel reports whether the issue has the label. Case is ignored.
func (is *Issue) HasLabel(name string) bool {
	return slices.ContainsFunc(is.Labels, func(l string) bool { return strings.EqualFold(l, name) })
}

// Source is the initial content of a repository: a clone of the git repository at Path,
// or one commit with Files. Branch is the default branch; empty means "main".
type Source struct {
	Path    string
	Files   map[string]string
	Branch  string
	Private bool
}

// Protection is a branch protection rule. A protected branch cannot be deleted or
// force-pushed; RequirePull also forbids direct pushes.
type Protection struct{ RequirePull bool }

// Reword changes the title and the text. nil leaves a part unchanged.
func (is *Issue) Reword(title, body *string) error {
	resource := "Issue"
	if is.Pull != nil {
		resource = "PullRequest"
	}
	if body != nil {
		if err := CheckText(resource, *body); err != nil {
			return err
		}
		is.Body = *body
	}
	if title != nil {
		is.Title = *title
	}
	return nil
}
