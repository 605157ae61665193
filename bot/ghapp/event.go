package ghapp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/thread"
)

// User is an account in an event.
type User struct {
	ID    int64
	Login string
	Bot   bool
}

// Event is the bot's view of a webhook payload of any kind. Fields that a kind does not
// have are zero. All text in it is untrusted.
type Event struct {
	Kind         string // GitHub's event name; empty if the bot does not use the event
	Action       string
	Installation int64
	Sender       User
	Thread       thread.Ref // number 0 if the event is about the repository

	EventRepo
	EventPost
	EventPush
	EventTrigger

	Comment EventComment
	Review  EventReview
	Pull    EventPull
	Check   EventCheck

	Added, Removed []thread.Ref // installation_repositories, installation
	From           thread.Ref   // repository renamed, transferred: the old name
	To             thread.Ref   // issues transferred: the new location
}

// EventRepo is the repository of an event.
type EventRepo struct {
	RepoID        int64
	DefaultBranch string
	Private       bool
}

// EventPost is the first post of an event's thread.
type EventPost struct {
	IsPull    bool // the thread is a pull request
	Title     string
	Body      string
	Author    User
	State     string
	Labels    []string
	Updated   time.Time
	OldBody   string // edited: the previous text
	Label     string // labeled, unlabeled
	Assignee  string // assigned, unassigned
	Requested string // review_requested: the requested reviewer
	AppID     int64  // the App that wrote the newest text; 0 if it was none
	Moved     bool   // opened: transferred from another repository
}

// EventPush is the ref update of a push or synchronize event. For a workflow_dispatch,
// Ref is the ref of the run.
type EventPush struct {
	Ref           string // full ref name
	Before, After string
	Deleted       bool
}

// EventTrigger is the input of a workflow event.
type EventTrigger struct {
	Payload  json.RawMessage // repository_dispatch: client_payload; workflow_dispatch: inputs
	Schedule string          // schedule: the cron expression
}

// EventComment is the comment of an event. Diff marks a comment on the diff.
type EventComment struct {
	ID          int64
	Body        string
	Author      User
	Association string // delayed, and wrong for private members: never base a decision on it
	Created     time.Time
	Updated     time.Time
	URL         string
	Diff        bool
	Path        string
	Line        int
	Hunk        string
	Commit      string
	InReplyTo   int64
	ReviewID    int64
}

// EventReview is the review of an event. State is in upper case.
type EventReview struct {
	ID        int64
	Body      string
	State     string
	Author    User
	Commit    string
	Submitted time.Time
}

// EventPull is the pull request of an event. GitHub omits it from issue_comment events;
// there it must be read separately.
type EventPull struct {
	Head, HeadSHA, HeadRepo string
	Base, BaseSHA           string
	Fork, Draft, Merged     bool
}

// EventCheck is the check run, check suite, workflow run or commit status of an event.
type EventCheck struct {
	ID         int64
	Suite      int64
	Name       string
	SHA        string
	Branches   []string // branches whose head is SHA
	Status     string   // "completed" if it has ended
	Conclusion string
	ExternalID string
	AppID      int64
	Pulls      []int // open pull requests of this repository with this head
}

// Dashboard is the name of the events of the dashboard. GitHub sends none of that name,
// and no webhook may bring one.
const Dashboard = "handrail_dashboard"

// Part is the name of the events that begin a session with the part of another session in
// this repository. It is the bot's own, as [Dashboard] is.
const Part = "handrail_part"

// FromSession returns the payload of a [Part]: a task of an account for a thread.
func FromSession(at thread.Ref, installation int64, by User, task any, when time.Time) ([]byte, error) {
	payload := ownPayload(at, installation, by, when)
	payload["inputs"] = task
	return json.Marshal(payload)
}

// FromDashboard returns the payload of a text that an account wrote in the dashboard for a
// thread.
func FromDashboard(at thread.Ref, installation int64, by User, text string, when time.Time) ([]byte, error) {
	payload := ownPayload(at, installation, by, when)
	payload["action"] = "created"
	payload["comment"] = map[string]any{"body": text, "user": payload["sender"]}
	return json.Marshal(payload)
}

// ownPayload is the part that all payloads of the bot's own events have.
func ownPayload(at thread.Ref, installation int64, by User, when time.Time) map[string]any {
	type object map[string]any
	return object{
		"installation": object{"id": installation},
		"sender":       object{"id": by.ID, "login": by.Login, "type": "User"},
		"repository":   object{"full_name": at.Repository()},
		"issue":        object{"number": at.Number, "updated_at": when.UTC().Format(time.RFC3339)},
	}
}

// EventKind is a kind of events: a row of the table [EventKinds].
type EventKind struct {
	Name string // GitHub's event name
	way  way
	Use  Use

	// Has lists the fields that tell a payload of the kind from those of the rows below, behind
	// a "!" a field that it lacks. It is empty if no fields do.
	Has string
}

// way is the way on which events of a kind come. The zero value means that they are not heard.
type way int

const (
	unheard    way = iota
	subscribed     // an App subscribes to them
	onRequest      // an operator may subscribe the App to them
	always         // every App gets them
	inRuns         // workflow runs alone have them
	own            // the bot itself makes them
)

// Use is the use of the events of a kind.
type Use int

// Uses of events. The zero value means events about a repository, a branch or a commit.
const (
	States Use = iota
	Says       // a comment, a review, or a thread with its first post
	Checks     // a check of a commit, of which a workflow run has to look for its pull request
	Starts     // a task: a dispatch, or the clock of a workflow
)

// EventKinds returns the table of the kinds of events: all that the program knows about one by
// its name.
func EventKinds() []EventKind {
	return []EventKind{
		{"issue_comment", subscribed, Says, "comment issue"},
		{"pull_request_review_comment", subscribed, Says, "comment pull_request"},
		{"pull_request_review_thread", unheard, States, "thread pull_request"},
		{"pull_request_review", subscribed, Says, "review pull_request"},
		{"check_run", subscribed, Checks, "check_run"},
		{"check_suite", subscribed, Checks, "check_suite"},
		{"workflow_run", subscribed, Checks, "workflow_run"},
		{"workflow_job", unheard, States, "workflow_job"},
		{"issues", subscribed, Says, "issue"},
		{"pull_request", subscribed, Says, "pull_request"},
		{"pull_request_target", inRuns, Says, ""},
		{"status", subscribed, States, "sha context state branches"},
		{"repository_dispatch", subscribed, Starts, "client_payload"},
		{"workflow_dispatch", onRequest, Starts, "workflow inputs"},
		{"schedule", inRuns, Starts, ""},
		{"push", subscribed, States, "ref before after"},
		{"repository", subscribed, States, ""},
		{"ping", always, States, "zen hook"},
		{"installation_repositories", always, States, "repositories_added installation"},
		{"installation", always, States, "installation action !repository"},
		{Dashboard, own, States, ""},
		{Part, own, States, ""},
	}
}

// eventKind returns the row of an event name; the zero value means an unknown one.
func eventKind(name string) EventKind {
	all := EventKinds()
	if i := slices.IndexFunc(all, func(k EventKind) bool { return k.Name == name }); i >= 0 {
		return all[i]
	}
	return EventKind{}
}

// UseOf returns the use of the events of a name.
func UseOf(name string) Use { return eventKind(name).Use }

// Hears reports whether events of this name can hold a command or a review with an answer,
// or begin work without one.
func Hears(name string) bool {
	k := eventKind(name)
	return k.way == subscribed || k.way == onRequest
}

// Subscriptions returns the events to which an App subscribes.
func Subscriptions() (names []string) {
	for _, k := range EventKinds() {
		if k.way == subscribed {
			names = append(names, k.Name)
		}
	}
	return names
}

// ParseEvent parses a payload whose signature was verified. An event that the bot does
// not use yields an Event with an empty Kind and no error: it still counts as received.
// An error means that the payload is malformed.
func ParseEvent(event string, payload []byte) (Event, error) {
	if eventKind(event).way == unheard {
		return Event{}, nil
	}
	var raw rawEvent
	if err := json.Unmarshal(payload, &raw); err != nil {
		return Event{}, fmt.Errorf("read %s event: %w", event, err)
	}
	e := Event{
		Kind:         event,
		Action:       raw.Action,
		Installation: raw.Installation.ID,
		Sender:       raw.Sender.user(),
		EventPush:    raw.EventPush,
		EventRepo:    EventRepo{raw.Repository.ID, raw.Repository.DefaultBranch, raw.Repository.Private},
		EventPost: EventPost{
			OldBody:   raw.Changes.Body.From,
			Label:     raw.Label.Name,
			Assignee:  raw.Assignee.Login,
			Requested: raw.RequestedReviewer.Login,
		},
		EventTrigger: EventTrigger{Payload: raw.ClientPayload, Schedule: raw.Schedule},
	}
	if event == "workflow_dispatch" || event == Part {
		e.Payload = raw.Inputs
	}
	if err := raw.repository(&e); err != nil {
		return Event{}, fmt.Errorf("read %s event: %w", event, err)
	}
	if err := raw.moved(&e); err != nil {
		return Event{}, fmt.Errorf("read %s event: %w", event, err)
	}
	raw.post(&e)
	raw.comment(&e)
	raw.review(&e)
	raw.check(&e)
	if event == "status" {
		return e, e.status(payload)
	}
	return e, nil
}

// rawEvent holds the parsed parts of a payload. Every field is optional. Times are
// parsed leniently, because even GitHub's own examples contain invalid ones.
type rawEvent struct {
	Action       string
	Installation struct{ ID int64 }
	Sender       rawUser
	Repository   struct {
		ID            int64
		FullName      string `json:"full_name"`
		DefaultBranch string `json:"default_branch"`
		Private       bool
	}
	Issue       *rawPost
	PullRequest *rawPost `json:"pull_request"`
	Comment     *rawComment
	Review      *rawReview
	rawChecks
	rawMoves
	EventPush
	Label             struct{ Name string }
	Assignee          rawUser
	RequestedReviewer rawUser `json:"requested_reviewer"`
	Changes           struct {
		Body    struct{ From string }
		Issue   json.RawMessage `json:"old_issue"`
		OldRepo json.RawMessage `json:"old_repository"`
		rawPlaces
	}
	ClientPayload json.RawMessage `json:"client_payload"`
	Inputs        json.RawMessage
	Schedule      string
}

type rawChecks struct {
	CheckRun    *rawCheck `json:"check_run"`
	CheckSuite  *rawCheck `json:"check_suite"`
	WorkflowRun *rawCheck `json:"workflow_run"`
}

// rawMoves are the repositories added to or removed from an installation.
type rawMoves struct {
	Repositories        []rawName
	RepositoriesAdded   []rawName `json:"repositories_added"`
	RepositoriesRemoved []rawName `json:"repositories_removed"`
}

// rawPlaces is the old and the new location of a repository or an issue.
type rawPlaces struct {
	Repository struct{ Name struct{ From string } }
	Owner      struct {
		From struct{ User, Organization rawUser }
	}
	NewIssue struct{ Number int } `json:"new_issue"`
	NewRepo  rawName              `json:"new_repository"`
}

type rawName struct {
	FullName string `json:"full_name"`
}

type rawUser struct {
	ID    int64
	Login string
	Type  string
}

func (u rawUser) user() User {
	return User{ID: u.ID, Login: u.Login, Bot: u.Type == "Bot" || strings.HasSuffix(u.Login, "[bot]")}
}

type rawBranch struct {
	Ref, SHA string
	Repo     *struct {
		ID       int64
		FullName string `json:"full_name"`
	}
}

type rawPost struct {
	Number      int
	Title, Body string
	State       string
	User        rawUser
	Labels      []struct{ Name string }
	UpdatedAt   looseTime `json:"updated_at"`
	PullRequest *struct {
		URL string
	} `json:"pull_request"`
	ViaApp     struct{ ID int64 } `json:"performed_via_github_app"`
	Head, Base rawBranch
	Draft      bool
	Merged     bool
}

type rawComment struct {
	ID          int64
	Body        string
	User        rawUser
	Association string    `json:"author_association"`
	CreatedAt   looseTime `json:"created_at"`
	UpdatedAt   looseTime `json:"updated_at"`
	HTMLURL     string    `json:"html_url"`
	Path        string
	Line        int
	DiffHunk    string             `json:"diff_hunk"`
	CommitID    string             `json:"commit_id"`
	InReplyTo   int64              `json:"in_reply_to_id"`
	ReviewID    int64              `json:"pull_request_review_id"`
	ViaApp      struct{ ID int64 } `json:"performed_via_github_app"`
}

type rawReview struct {
	ID          int64
	Body, State string
	User        rawUser
	CommitID    string             `json:"commit_id"`
	SubmittedAt looseTime          `json:"submitted_at"`
	ViaApp      struct{ ID int64 } `json:"performed_via_github_app"`
}

type rawCheck struct {
	ID                 int64
	Name               string
	HeadSHA            string `json:"head_sha"`
	HeadBranch         string `json:"head_branch"`
	Status, Conclusion string
	ExternalID         string `json:"external_id"`
	App                struct{ ID int64 }
	CheckSuite         struct {
		ID         int64
		HeadBranch string `json:"head_branch"`
	} `json:"check_suite"`
	SuiteID      int64 `json:"check_suite_id"`
	PullRequests []struct {
		Number int
		Base   struct{ Repo struct{ ID int64 } }
	} `json:"pull_requests"`
}

// looseTime decodes every invalid time as the zero time.
type looseTime struct{ time.Time }

func (t *looseTime) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			t.Time = at.UTC()
		}
		return nil
	}
	var n int64
	if json.Unmarshal(b, &n) == nil && n > 0 {
		t.Time = time.Unix(n, 0).UTC()
	}
	return nil
}

func parseName(full string) (thread.Ref, error) {
	owner, repo, _ := strings.Cut(full, "/")
	return thread.Ref{Owner: owner, Repo: repo}, thread.ValidateRepository(owner, repo)
}

func (raw *rawEvent) repository(e *Event) error {
	if raw.Repository.FullName != "" {
		var err error
		if e.Thread, err = parseName(raw.Repository.FullName); err != nil {
			return err
		}
	}
	added := slices.Concat(raw.RepositoriesAdded, raw.Repositories)
	if e.Kind == "installation" && (e.Action == "deleted" || e.Action == "suspend") {
		added, raw.RepositoriesRemoved = nil, added
	}
	for _, l := range []struct {
		from []rawName
		to   *[]thread.Ref
	}{{added, &e.Added}, {raw.RepositoriesRemoved, &e.Removed}} {
		for _, n := range l.from {
			ref, err := parseName(n.FullName)
			if err != nil {
				return err
			}
			*l.to = append(*l.to, ref)
		}
	}
	return nil
}

func (raw *rawEvent) moved(e *Event) (err error) {
	was := raw.Changes
	switch what := e.Kind + " " + e.Action; {
	case what == "repository renamed":
		e.From, err = parseName(e.Thread.Owner + "/" + was.Repository.Name.From)
	case what == "repository transferred":
		e.From, err = parseName(cmp.Or(was.Owner.From.Organization.Login, was.Owner.From.User.Login) + "/" + e.Thread.Repo)
	case what == "issues transferred" && was.NewRepo.FullName != "":
		e.To, err = parseName(was.NewRepo.FullName)
		e.To.Number = max(0, was.NewIssue.Number)
	}
	return err
}

func (raw *rawEvent) post(e *Event) {
	p := raw.Issue
	if raw.PullRequest != nil {
		p = raw.PullRequest
	}
	if p == nil {
		return
	}
	e.Thread.Number = max(0, p.Number)
	e.IsPull = raw.PullRequest != nil || p.PullRequest != nil
	e.Title, e.Body, e.State, e.Author, e.Updated = p.Title, p.Body, p.State, p.User.user(), p.UpdatedAt.Time
	e.AppID, e.Moved = p.ViaApp.ID, len(raw.Changes.Issue)+len(raw.Changes.OldRepo) > 0
	for _, l := range p.Labels {
		e.Labels = append(e.Labels, l.Name)
	}
	if raw.PullRequest == nil {
		return
	}
	e.Pull = EventPull{
		Head:    p.Head.Ref,
		HeadSHA: p.Head.SHA,
		Base:    p.Base.Ref,
		BaseSHA: p.Base.SHA,
		Draft:   p.Draft,
		Merged:  p.Merged,
	}
	e.Pull.Fork = true // a deleted or unknown head counts as foreign
	if p.Head.Repo != nil {
		e.Pull.HeadRepo = p.Head.Repo.FullName
		e.Pull.Fork = p.Base.Repo == nil || p.Head.Repo.ID != p.Base.Repo.ID
	}
}

func (raw *rawEvent) comment(e *Event) {
	c := raw.Comment
	if c == nil {
		return
	}
	e.AppID = c.ViaApp.ID
	e.Comment = EventComment{ID: c.ID, Body: c.Body, Author: c.User.user(), Association: c.Association,
		Created: c.CreatedAt.Time, Updated: c.UpdatedAt.Time, URL: c.HTMLURL, Diff: e.Kind == "pull_request_review_comment",
		Path: c.Path, Line: c.Line, Hunk: c.DiffHunk, Commit: c.CommitID, InReplyTo: c.InReplyTo, ReviewID: c.ReviewID}
}

func (raw *rawEvent) review(e *Event) {
	if r := raw.Review; r != nil {
		e.AppID = r.ViaApp.ID
		e.Review = EventReview{ID: r.ID, Body: r.Body, State: strings.ToUpper(r.State), Author: r.User.user(),
			Commit: r.CommitID, Submitted: r.SubmittedAt.Time}
	}
}

func (raw *rawEvent) check(e *Event) {
	for _, c := range []*rawCheck{raw.CheckRun, raw.CheckSuite, raw.WorkflowRun} {
		if c == nil {
			continue
		}
		e.Check = EventCheck{ID: c.ID, Suite: cmp.Or(c.SuiteID, c.CheckSuite.ID), Name: c.Name, SHA: c.HeadSHA,
			Status: c.Status, Conclusion: c.Conclusion, ExternalID: c.ExternalID, AppID: c.App.ID}
		if branch := cmp.Or(c.HeadBranch, c.CheckSuite.HeadBranch); branch != "" {
			e.Check.Branches = []string{branch}
		}
		for _, p := range c.PullRequests {
			if of := p.Base.Repo.ID; of == 0 || of == raw.Repository.ID { //control:checks-of-pulls-here
				e.Check.Pulls = append(e.Check.Pulls, p.Number)
			}
		}
		return
	}
}

// status reads a commit status, whose fields are at the top level of the payload.
func (e *Event) status(payload []byte) error {
	var raw struct {
		SHA, State, Context string
		Branches            []struct {
			Name   string
			Commit struct{ SHA string }
		}
	}
	if err := json.Unmarshal(payload, &raw); err != nil {
		return fmt.Errorf("read status event: %w", err)
	}
	e.Check = EventCheck{
		Name:       raw.Context,
		SHA:        raw.SHA,
		Status:     map[bool]string{true: "pending", false: "completed"}[raw.State == "pending"],
		Conclusion: raw.State,
	}
	for _, b := range raw.Branches {
		if b.Commit.SHA == raw.SHA {
			e.Check.Branches = append(e.Check.Branches, b.Name)
		}
	}
	return nil
}
