package ghtest

import (
	"crypto/rsa"
	"strconv"
	"strings"
	"time"
)

// state is everything the fake remembers. Server.mu guards it.
type state struct {
	app       App
	appPublic *rsa.PublicKey
	perms     map[string]string
	lastID    int64
	users     map[string]*user // by lower-case login
	repos     map[string]*repo // by lower-case "owner/name"
	installs  map[int64]*installation
	tokens    map[string]*token
	teams     map[string]map[string]bool // "org/slug" to logins, all lower-case
	hooks     hookState
	rate      map[string]*rateState // by who calls
	manifests map[string]bool       // codes of the manifest flow not yet used

	attachments []*attachment
}

type user struct {
	id    int64
	login string
	kind  string // User, Bot, Organization
	role  string // on every repository that does not say otherwise
}

type installation struct {
	id        int64
	account   *user
	suspended bool
}

type token struct {
	value   string
	user    *user
	inst    *installation // nil for a person's token
	perms   map[string]string
	repos   map[int64]bool // nil for all of the installation
	expires time.Time      // zero for never
}

type repo struct {
	id            int64
	owner         *user
	name          string
	defaultBranch string
	dir           gitDir
	private       bool
	parent        *repo
	uninstalled   bool
	roles         map[string]string
	issues        map[int]*issue
	lastNumber    int
	labels        map[string]*label
	checks        []*checkRun
	statuses      []*commitStatus
	protected     map[string]Protection
	heads         map[string]string // the branches as the last event told them
	created       time.Time
}

func (r *repo) full() string { return r.owner.login + "/" + r.name }

type label struct {
	id   int64
	name string
}

type issue struct {
	id               int64
	repo             *repo
	number           int
	title, body      string
	author           *user
	viaApp           bool
	state            string
	labels           []string
	assignees        []*user
	created, updated time.Time
	closed           *time.Time
	comments         []*comment
	reactions        []*reaction
	pull             *pull // nil for a plain issue
}

type pull struct {
	headRepo         *repo
	headRef, baseRef string
	headSHA, baseSHA string
	draft            bool
	merged           *time.Time
	mergedBy         *user
	mergeSHA         string
	reviewers        []*user
	teams            []string // asked to review, as "org/slug"
	reviews          []*review
	comments         []*comment
	noMaintainer     bool
}

type review struct {
	id        int64
	author    *user
	body      string
	state     string // APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING
	commit    string
	submitted time.Time
}

// comment is a comment on an issue, or with path set one on a diff.
type comment struct {
	id               int64
	issue            *issue
	author           *user
	viaApp           bool
	body             string
	created, updated time.Time
	reactions        []*reaction

	path, side, hunk string
	line, startLine  int
	commit           string
	review           int64
	inReplyTo        int64
}

type reaction struct {
	id      int64
	author  *user
	content string
	created time.Time
}

type checkRun struct {
	id                 int64
	repo               *repo
	name, sha          string
	status, conclusion string
	externalID, url    string
	title, summary     string
	text               string
	annotations        []object
	started            time.Time
	completed          *time.Time
	byApp              bool
}

type commitStatus struct {
	id                               int64
	sha, state, context, description string
	target                           string
	author                           *user
	created                          time.Time
}

func defaultPermissions() map[string]string {
	return map[string]string{"metadata": "read", "contents": "write", "issues": "write",
		"pull_requests": "write", "checks": "write", "statuses": "write", "actions": "read", "members": "read"}
}

func newState(cfg Config) state {
	slug := cfg.AppSlug
	if slug == "" {
		slug = "handrail"
	}
	secret := cfg.WebhookSecret
	if secret == "" {
		secret = "ghtest-webhook-secret"
	}
	perms := cfg.Permissions
	if perms == nil {
		perms = defaultPermissions()
	}
	st := state{perms: perms, lastID: 1000,
		users: map[string]*user{}, repos: map[string]*repo{}, installs: map[int64]*installation{},
		tokens: map[string]*token{}, teams: map[string]map[string]bool{}, rate: map[string]*rateState{},
		manifests: map[string]bool{}}
	st.hooks = hookState{url: cfg.WebhookURL, wake: make(chan struct{}, 1)}
	st.app = App{ID: 77, Slug: slug, Login: slug + "[bot]", ClientID: "Iv1.ghtest", WebhookSecret: secret}
	st.addUser(st.app.Login, "Bot")
	return st
}

func (st *state) nextID() int64 {
	st.lastID++
	return st.lastID
}

func (st *state) addUser(login, kind string) *user {
	key := strings.ToLower(login)
	if u := st.users[key]; u != nil {
		return u
	}
	u := &user{id: st.nextID(), login: login, kind: kind}
	st.users[key] = u
	return u
}

func (st *state) findRepo(owner, name string) *repo {
	return st.repos[strings.ToLower(owner+"/"+name)]
}

func (st *state) installFor(owner *user) *installation {
	for _, in := range st.installs {
		if in.account == owner {
			return in
		}
	}
	return nil
}

// installed returns the installation that covers r, or nil.
func (st *state) installed(r *repo) *installation {
	if r.uninstalled {
		return nil
	}
	return st.installFor(r.owner)
}

func (st *state) findComment(r *repo, id int64) *comment {
	for _, is := range r.issues {
		for _, c := range is.comments {
			if c.id == id {
				return c
			}
		}
	}
	return nil
}

func (st *state) findReviewComment(r *repo, id int64) *comment {
	for _, is := range r.issues {
		if is.pull == nil {
			continue
		}
		for _, c := range is.pull.comments {
			if c.id == id {
				return c
			}
		}
	}
	return nil
}

// roleOn returns the role name of u on r as the permission call reports it.
func (r *repo) roleOn(u *user) string {
	if u == nil {
		return r.anyone()
	}
	if r.owner == u {
		return "admin"
	}
	if role, ok := r.roles[strings.ToLower(u.login)]; ok && role != "" {
		return role
	}
	if u.role != "" {
		return u.role
	}
	return r.anyone()
}

func (r *repo) anyone() string {
	if r.private {
		return "none"
	}
	return "read"
}

// explicit reports whether u was given a role on r.
func (r *repo) explicit(u *user) bool {
	return u != nil && (r.roles[strings.ToLower(u.login)] != "" || u.role != "")
}

var roleRank = map[string]int{"none": 0, "read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}

// permissionOf maps a role to the older four-valued permission.
func permissionOf(role string) string {
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

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func stampPtr(t *time.Time) any {
	if t == nil {
		return nil
	}
	return stamp(*t)
}
