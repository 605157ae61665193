package ghapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy"
)

// maxBody is GitHub's maximum length of a comment, an issue or a pull request, in
// characters. Writes add a marker of at most [markerRoom].
const maxBody = 65536

// Client reads and writes one repository. It is safe for concurrent use.
type Client struct {
	app         *App
	gh          *github.Client
	source      tokenSource
	owner, repo string

	installation int64
}

// own refuses a thread of another repository: the token is not valid there, and a
// mix-up must not post to the wrong repository.
func (c *Client) own(op string, ref thread.Ref) error {
	if !strings.EqualFold(ref.Owner, c.owner) || !strings.EqualFold(ref.Repo, c.repo) {
		return &Error{Op: op, Err: fmt.Errorf("thread %s is not in %s/%s", ref, c.owner, c.repo)}
	}
	return nil
}

func (c *Client) readError(op string, err error) error  { return c.app.fail(op, false, err) }
func (c *Client) writeError(op string, err error) error { return c.app.fail(op, true, err) }

// Self returns the bot's own login, "handrail[bot]" for an App.
func (c *Client) Self(ctx context.Context) (string, error) { return c.app.whoami(ctx) }

// Issue is the first post of an issue or pull request.
type Issue struct {
	Ref       thread.Ref
	ID        int64
	Title     string
	Body      string
	HTML      string // GitHub's rendering of Body; empty if not requested or not supported by the server
	Author    string
	AuthorID  int64
	Relation  string // author association: OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE, …
	State     string // open or closed
	Comments  int
	Labels    []string
	Assignees []string
	IsPull    bool
	Locked    bool // GitHub accepts no App comments there
	URL       string
	Created   time.Time
	Updated   time.Time
}

// Issue reads the first post of a thread.
func (c *Client) Issue(ctx context.Context, ref thread.Ref) (Issue, error) {
	const op = "read issue"
	if err := c.own(op, ref); err != nil {
		return Issue{}, err
	}
	is, _, err := full[github.Issue](ctx, c, fmt.Sprintf("issues/%d", ref.Number))
	if err != nil {
		return Issue{}, c.readError(op, err)
	}
	out := c.issue(&is.of)
	out.HTML = is.html
	return out, nil
}

func (c *Client) issue(is *github.Issue) Issue {
	out := Issue{
		Ref:      thread.Ref{Owner: c.owner, Repo: c.repo, Number: is.GetNumber()},
		ID:       is.GetID(),
		Title:    is.GetTitle(),
		Body:     is.GetBody(),
		Author:   is.GetUser().GetLogin(),
		AuthorID: is.GetUser().GetID(),
		State:    is.GetState(),
		Relation: is.GetAuthorAssociation(),
		Comments: is.GetComments(),
		IsPull:   is.IsPullRequest(),
		Locked:   is.GetLocked(),
		URL:      is.GetHTMLURL(),
		Created:  is.GetCreatedAt().Time,
		Updated:  is.GetUpdatedAt().Time,
	}
	for _, l := range is.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	for _, u := range is.Assignees {
		out.Assignees = append(out.Assignees, u.GetLogin())
	}
	return out
}

// Comment is a comment on a thread, or on its diff if Path is set.
type Comment struct {
	ID        int64
	Author    string
	AuthorID  int64
	Bot       bool // the author is a bot
	Body      string
	HTML      string // see [Issue]
	URL       string
	Created   time.Time
	Updated   time.Time
	Path      string
	Line      int
	Hunk      string
	Commit    string
	ReviewID  int64
	InReplyTo int64
}

func issueComment(cm *github.IssueComment) Comment {
	return Comment{ID: cm.GetID(), Author: cm.GetUser().GetLogin(), AuthorID: cm.GetUser().GetID(),
		Bot: cm.GetUser().GetType() == "Bot", Body: cm.GetBody(), URL: cm.GetHTMLURL(),
		Created: cm.GetCreatedAt().Time, Updated: cm.GetUpdatedAt().Time}
}

func diffComment(cm *github.PullRequestComment) Comment {
	return Comment{ID: cm.GetID(), Author: cm.GetUser().GetLogin(), AuthorID: cm.GetUser().GetID(),
		Bot: cm.GetUser().GetType() == "Bot", Body: cm.GetBody(), URL: cm.GetHTMLURL(), Created: cm.GetCreatedAt().Time,
		Updated: cm.GetUpdatedAt().Time, Path: cm.GetPath(), Line: cm.GetLine(), Hunk: cm.GetDiffHunk(),
		Commit: cm.GetCommitID(), ReviewID: cm.GetPullRequestReviewID(), InReplyTo: cm.GetInReplyTo()}
}

// listComments returns the comments of a thread created or edited at or after since,
// oldest first. The zero time means all comments.
func (c *Client) listComments(ctx context.Context, ref thread.Ref, since time.Time) ([]Comment, error) {
	const op = "list comments"
	if err := c.own(op, ref); err != nil {
		return nil, err
	}
	var out []Comment
	err := pages(func(o github.ListOptions) (*github.Response, error) {
		opt := &github.IssueListCommentsOptions{ListOptions: o}
		if !since.IsZero() {
			opt.Since = &since
		}
		list, resp, err := c.gh.Issues.ListComments(ctx, c.owner, c.repo, ref.Number, opt)
		for _, cm := range list {
			out = append(out, issueComment(cm))
		}
		return resp, c.readError(op, err)
	})
	return out, err
}

// ListDiffComments returns the diff comments of a pull request, oldest first.
func (c *Client) ListDiffComments(ctx context.Context, ref thread.Ref) ([]Comment, error) {
	const op = "list review comments"
	if err := c.own(op, ref); err != nil {
		return nil, err
	}
	var out []Comment
	err := pages(func(o github.ListOptions) (*github.Response, error) {
		list, resp, err := fullPage[github.PullRequestComment](ctx, c, fmt.Sprintf("pulls/%d/comments", ref.Number), o)
		for _, cm := range list {
			one := diffComment(&cm.of)
			one.HTML = cm.html
			out = append(out, one)
		}
		return resp, c.readError(op, err)
	})
	return out, err
}

// GetComment reads one comment. t.Diff selects diff comments.
func (c *Client) GetComment(ctx context.Context, t Target) (Comment, error) {
	const op = "read comment"
	if t.Diff {
		cm, _, err := c.gh.PullRequests.GetComment(ctx, c.owner, c.repo, t.Comment)
		return diffComment(cm), c.readError(op, err)
	}
	cm, _, err := c.gh.Issues.GetComment(ctx, c.owner, c.repo, t.Comment)
	return issueComment(cm), c.readError(op, err)
}

// Repository is the repository metadata that the bot needs.
type Repository struct {
	ID            int64
	DefaultBranch string
	CloneURL      string
	URL           string
	Private       bool
	Name          string // "owner/name", at present
	Reach         Reach
	Fork          bool
	Archived      bool
}

// Identity is the number of the repository, which it keeps when it is renamed or moved.
func (r Repository) Identity() string { return strconv.FormatInt(r.ID, 10) }

// Reach is the circle of those who can read a repository, the widest first.
type Reach int

// The circles: everyone, the members of an enterprise, and invited accounts.
const (
	Public Reach = iota
	ofEnterprise
	ofInvited
)

// reachOf returns the reach of a repository. In doubt it is the narrowest.
func reachOf(r *github.Repository) Reach {
	switch {
	case !r.GetPrivate() && (r.GetVisibility() == "" || r.GetVisibility() == "public"):
		return Public
	case r.GetVisibility() == "internal":
		return ofEnterprise
	}
	return ofInvited
}

// Repo reads the repository's metadata.
func (c *Client) Repo(ctx context.Context) (Repository, error) {
	r, _, err := c.gh.Repositories.Get(ctx, c.owner, c.repo)
	if err != nil {
		return Repository{}, c.readError("read repository", err)
	}
	return Repository{ID: r.GetID(), DefaultBranch: r.GetDefaultBranch(), CloneURL: r.GetCloneURL(), URL: r.GetHTMLURL(),
		Private: r.GetPrivate(), Fork: r.GetFork(), Archived: r.GetArchived(), Name: r.GetFullName(), Reach: reachOf(r)}, nil
}

// Head returns the head commit of a branch.
func (c *Client) Head(ctx context.Context, branch string) (string, error) {
	ref, _, err := c.gh.Git.GetRef(ctx, c.owner, c.repo, "heads/"+branch)
	if err != nil {
		return "", c.readError("read branch "+branch, err)
	}
	return ref.GetObject().GetSHA(), nil
}

const maxFile = 1 << 20

// FileAt returns the content of a file at a branch, tag or commit; an empty ref means
// the default branch. A missing file is [ErrNotFound]. Files over a megabyte are
// refused.
func (c *Client) FileAt(ctx context.Context, ref, path string) ([]byte, error) {
	op := "read file " + path
	file, dir, _, err := c.gh.Repositories.GetContents(
		ctx,
		c.owner,
		c.repo,
		path,
		&github.RepositoryContentGetOptions{Ref: ref},
	)
	switch {
	case err != nil:
		return nil, c.readError(op, err)
	case dir != nil || file == nil || file.GetType() != "file":
		return nil, &Error{Op: op, Err: errors.New("it is not a file")}
	case file.GetSize() > maxFile:
		return nil, &Error{Op: op, Err: fmt.Errorf("it has %d bytes, more than %d", file.GetSize(), maxFile)}
	}
	text, err := file.GetContent()
	if err != nil {
		return nil, &Error{Op: op, Err: err}
	}
	return []byte(text), nil
}

// ActorByID is [Client.Actor] for the number of an account, which outlasts a change of its
// name. It fails with [ErrNotFound] if there is no such account.
func (c *Client) ActorByID(ctx context.Context, id int64) (policy.Actor, error) {
	u, _, err := c.gh.Users.GetByID(ctx, id)
	if err != nil {
		return policy.Actor{Lookup: policy.Failed}, c.readError(fmt.Sprintf("read account %d", id), err)
	}
	return c.Actor(ctx, u.GetLogin())
}

// Actor looks up an account and its current permission in the repository. A non-nil
// error means that the lookup failed: then nothing is known and nothing may be granted.
func (c *Client) Actor(ctx context.Context, login string) (policy.Actor, error) {
	op := "read permission of " + login
	out := policy.Actor{Login: login, Lookup: policy.Failed}
	req, err := c.gh.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/collaborators/%s/permission",
		c.owner, c.repo, url.PathEscape(login)), nil)
	if err != nil {
		return out, &Error{Op: op, Err: err}
	}
	var got struct {
		Permission string       `json:"permission"`
		RoleName   string       `json:"role_name"`
		User       *github.User `json:"user"`
	}
	_, err = c.gh.Do(ctx, req, &got)
	err = c.readError(op, err)
	var e *Error
	switch {
	case errors.Is(err, ErrNotFound):
		if err := c.app.confirmAPI(ctx); err != nil { //control:nobody-is-not-nowhere
			return out, err
		}
		out.Lookup = policy.NotFound
		return out, nil
	case errors.As(err, &e) && e.Kind == Permanent && errors.Is(err, errForbidden):
		out.Lookup = policy.Forbidden
		return out, nil
	case err != nil:
		return out, err
	case got.User == nil || !strings.EqualFold(got.User.GetLogin(), login):
		return out, &Error{Op: op, Kind: Temporary, Err: errors.New("the answer is about another account")}
	}
	out = policy.Actor{
		Login: got.User.GetLogin(), ID: got.User.GetID(), Bot: got.User.GetType() == "Bot",
		Permission: got.Permission, Lookup: policy.Found,
	}
	if slices.Contains([]string{"admin", "maintain", "write", "triage", "read"}, got.RoleName) { // not a custom role
		out.Permission = got.RoleName
	}
	return out, nil
}

// InTeam reports whether an account is an active member of a team.
func (c *Client) InTeam(ctx context.Context, org, slug, login string) (bool, error) {
	m, _, err := c.gh.Teams.GetTeamMembershipBySlug(ctx, org, slug, login)
	err = c.readError("read team "+org+"/"+slug, err)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && m.GetState() == "active", err
}

// Ask is a read request to the client's repository.
type Ask struct {
	Op       string     // for errors, such as "list files"
	Thread   thread.Ref // the thread in question; zero if there is none
	Path     string     // relative to the repository, with query: "pulls/5/files?page=2"
	Accept   string     // media type; empty for JSON
	MaxBytes int        // maximum number of bytes to read
}

// Answer is the answer to an [Ask].
type Answer struct {
	Body []byte
	Cut  bool // the answer is longer than Most
	Next int  // next page; 0 if there is none
}

func (c *Client) ask(a Ask) (*http.Request, error) {
	if a.Thread != (thread.Ref{}) {
		if err := c.own(a.Op, a.Thread); err != nil { //control:reads-own
			return nil, err
		}
	}
	if strings.Contains(strings.ReplaceAll(a.Path, "...", ""), "..") || // "..." separates commits
		strings.HasPrefix(a.Path, "/") {
		return nil, &Error{Op: a.Op, Err: fmt.Errorf("%q is not a path below a repository", a.Path)}
	}
	req, err := c.gh.NewRequest(
		http.MethodGet,
		strings.TrimSuffix(fmt.Sprintf("repos/%s/%s/%s", c.owner, c.repo, a.Path), "/"),
		nil,
	)
	if err != nil {
		return nil, &Error{Op: a.Op, Err: err}
	}
	if a.Accept != "" {
		req.Header.Set("Accept", a.Accept)
	}
	return req, nil
}

// Ask sends the request and reads at most a.Most bytes of the answer.
func (c *Client) Ask(ctx context.Context, a Ask) (Answer, error) {
	req, err := c.ask(a)
	if err != nil {
		return Answer{}, err
	}
	resp, err := c.gh.BareDo(ctx, req)
	if err != nil {
		return Answer{}, c.readError(a.Op, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(a.MaxBytes)+1))
	if err != nil {
		return Answer{}, c.readError(a.Op, err)
	}
	return Answer{body[:min(len(body), a.MaxBytes)], len(body) > a.MaxBytes, resp.NextPage}, nil
}

// Git is the purpose of a git credential.
type Git int

// Purposes of git credentials.
const (
	GitFetch         Git = iota // list and fetch
	GitPush                     // everything except workflow files
	GitPushWorkflows            // needs the workflows permission
)

// GitAuth returns the user name and password for git over HTTP at rawURL. It refuses
// every address except that of the client's own repository.
func (c *Client) GitAuth(ctx context.Context, rawURL string, use Git) (user, token string, err error) {
	const op = "authorize git"
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", "", &Error{Op: op, Err: errors.New("the address cannot be read")}
	}
	host := c.app.site.host
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	if u.Host != host || u.Scheme != c.app.api.Scheme || u.User != nil || !strings.EqualFold(path, c.owner+"/"+c.repo) {
		return "", "", &Error{
			Op:  op,
			Err: fmt.Errorf("%w: %s is not %s/%s at %s", errOtherHost, u.Redacted(), c.owner, c.repo, host),
		}
	}
	err = repeat(ctx, c.app.cfg.Backoff, func(bool) (again bool, err error) {
		token, err = c.source.token(ctx, [...]permissions{fetching, pushing, pushingWorkflows}[use])
		return worthRepeating(err), err
	})
	if err != nil {
		return "", "", c.readError(op, err)
	}
	return "x-access-token", token, nil
}
