// Package hub is the state of a small GitHub: users with roles, repositories, issues
// and pull requests, comments, reviews, reactions and checks, together with the rules
// for their changes. It knows nothing of HTTP except the status of a refusal, and
// reports each change as an [Event].
package hub

import (
	"log/slog"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Hub is the whole state and its rules. It is not safe for concurrent use; the caller
// holds a lock.
type Hub struct {
	Log      *slog.Logger
	Clock    func() time.Time
	Notify   func(Event)      // receives every event
	Root     string           // directory for repositories
	Users    map[string]*User // by lower-case login
	Repos    map[string]*Repo // by lower-case "owner/name"
	Installs map[int64]*Installation
	Teams    map[string]map[string]bool // "org/slug" to logins, all lower-case
	Keys     Keys

	Attachments []*Attachment
	HTML        func(body string) string // renders a text; nil means plain Markdown

	lastID int64
}

// New returns an empty hub.
func New(log *slog.Logger, clock func() time.Time, root string) *Hub {
	return &Hub{Log: log, Clock: clock, Root: root, lastID: 1000, Users: map[string]*User{}, Repos: map[string]*Repo{},
		Installs: map[int64]*Installation{}, Teams: map[string]map[string]bool{},
		Keys: Keys{Tokens: map[string]*Token{}, Rates: map[string]*Rate{}}}
}

// Now returns the time in whole seconds, GitHub's resolution.
func (h *Hub) Now() time.Time { return h.Clock().UTC().Truncate(time.Second) }

// Tell reports an event.
func (h *Hub) Tell(ev Event) { h.Notify(ev) }

// User is a user, a bot or an organization.
type User struct {
	ID    int64
	Login string
	Kind  string // User, Bot, Organization
	Role  string // default role on all repositories
}

// Installation is the app's installation on an account.
type Installation struct {
	ID        int64
	Account   *User
	Suspended bool
}

// Repo is a repository.
type Repo struct {
	ID            int64
	Owner         *User
	Name          string
	DefaultBranch string
	Dir           bare.Dir
	Private       bool
	Archived      bool
	Parent        *Repo
	Uninstalled   bool
	Roles         map[string]string
	Issues        map[int]*Issue
	lastNumber    int
	Labels        map[string]*label
	Checks        []*CheckRun
	Statuses      []*CommitStatus
	Runs          map[int64]WorkflowRun
	Protected     map[string]Protection
	Heads         map[string]string // branches as of the last event
	Created       time.Time
}

// WorkflowRun is a run of GitHub Actions.
type WorkflowRun struct {
	Attempt int
	Status  string // "in_progress" or "completed"
	Actor   int64  // id of the account that started it
}

// FullName returns "owner/name".
func (r *Repo) FullName() string { return r.Owner.Login + "/" + r.Name }

type label struct {
	ID   int64
	Name string
}

// Issue is an issue or, with Pull set, a pull request.
type Issue struct {
	ID               int64
	Repo             *Repo
	Number           int
	Title, Body      string
	Author           *User
	ViaApp           bool
	State            string
	Locked           bool
	Labels           []string
	Assignees        []*User
	Created, Updated time.Time
	Closed           *time.Time
	Comments         []*Comment
	Reactions        []*Reaction
	Pull             *pull // nil for a plain issue
}

type pull struct {
	HeadRepo         *Repo
	HeadRef, BaseRef string
	HeadSHA, BaseSHA string
	Draft            bool
	Merged           *time.Time
	MergedBy         *User
	MergeSHA         string
	Reviewers        []*User
	Teams            []string // requested reviewers, as "org/slug"
	Reviews          []*Review
	Comments         []*Comment
	NoMaintainer     bool
}

// Review is a review of a pull request.
type Review struct {
	ID        int64
	Author    *User
	Body      string
	State     string // APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED or PENDING
	Commit    string
	Submitted time.Time
}

// Comment is an issue comment, or a diff comment if Path is set.
type Comment struct {
	ID               int64
	Issue            *Issue
	Author           *User
	ViaApp           bool
	Body             string
	Created, Updated time.Time
	Reactions        []*Reaction

	Path, Side, Hunk string
	Line, StartLine  int
	Commit           string
	Review           int64
	InReplyTo        int64
	Resolved         bool // the thread that it started is resolved
	ResolvedBy       *User
}

// Reaction is one reaction of one user.
type Reaction struct {
	ID      int64
	Author  *User
	Content string
	Created time.Time
}

// CheckRun is one check of one commit.
type CheckRun struct {
	ID                 int64
	Repo               *Repo
	Name, SHA          string
	Status, Conclusion string
	ExternalID, URL    string
	Title, Summary     string
	Text               string
	Annotations        []map[string]any
	Started            time.Time
	Completed          *time.Time
	ByApp              bool
}

// CommitStatus is one status of one commit.
type CommitStatus struct {
	ID                               int64
	SHA, State, Context, Description string
	Target                           string
	Author                           *User
	Created                          time.Time
}

// NextID returns an unused id.
func (h *Hub) NextID() int64 {
	h.lastID++
	return h.lastID
}

// EnsureUser returns the user with this login, and creates it if needed.
func (h *Hub) EnsureUser(login, kind string) *User {
	key := strings.ToLower(login)
	if u := h.Users[key]; u != nil {
		return u
	}
	u := &User{ID: h.NextID(), Login: login, Kind: kind}
	h.Users[key] = u
	return u
}

// FindRepo returns a repository, or nil if there is none.
func (h *Hub) FindRepo(owner, name string) *Repo {
	return h.Repos[strings.ToLower(owner+"/"+name)]
}

// InstallFor returns the installation on an account, or nil if there is none.
func (h *Hub) InstallFor(owner *User) *Installation {
	for _, in := range h.Installs {
		if in.Account == owner {
			return in
		}
	}
	return nil
}

// Installed returns the installation that covers r, or nil if there is none.
func (h *Hub) Installed(r *Repo) *Installation {
	if r.Uninstalled {
		return nil
	}
	return h.InstallFor(r.Owner)
}

// FindComment returns an issue comment, or nil if there is none.
func (h *Hub) FindComment(r *Repo, id int64) *Comment {
	for _, is := range r.Issues {
		for _, c := range is.Comments {
			if c.ID == id {
				return c
			}
		}
	}
	return nil
}

// FindReviewComment returns a diff comment, or nil if there is none.
func (h *Hub) FindReviewComment(r *Repo, id int64) *Comment {
	for _, is := range r.Issues {
		if is.Pull == nil {
			continue
		}
		for _, c := range is.Pull.Comments {
			if c.ID == id {
				return c
			}
		}
	}
	return nil
}

// RoleOn returns the role of u on r, as GitHub's permission API reports it.
func (r *Repo) RoleOn(u *User) string {
	if u == nil {
		return r.publicRole()
	}
	if role, ok := r.Roles[strings.ToLower(u.Login)]; ok && role != "" {
		return role
	}
	if r.Owner == u {
		return "admin"
	}
	if u.Role != "" {
		return u.Role
	}
	return r.publicRole()
}

func (r *Repo) publicRole() string {
	if r.Private {
		return "none"
	}
	return "read"
}

// Explicit reports whether u was given a role on r.
func (r *Repo) Explicit(u *User) bool {
	return u != nil && (r.Roles[strings.ToLower(u.Login)] != "" || u.Role != "")
}

// RoleRank orders the roles.
var RoleRank = map[string]int{"none": 0, "read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}

// PermissionOf maps a role to the older four-valued permission.
func PermissionOf(role string) string {
	switch role {
	case "maintain":
		return "write"
	case "triage":
		return "read"
	case "admin", "write", "read":
		return role
	}
	return "none"
}

// Ref returns the thread.
func (is *Issue) Ref() thread.Ref {
	return thread.Ref{Owner: is.Repo.Owner.Login, Repo: is.Repo.Name, Number: is.Number}
}
