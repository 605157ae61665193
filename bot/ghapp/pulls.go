package ghapp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// PullSpec is a pull request to open, or the desired state of an existing one. Head is
// a branch of the same repository.
type PullSpec struct {
	Base  string
	Head  string
	Title string
	Body  string
	Draft bool

	Folds  []untrusted.Fold `json:",omitempty"` // below Body
	Closes int              `json:",omitempty"` // the issue closed by merging it; 0 if none
	With   []string         `json:",omitempty"` // threads of other repositories that it belongs with, see [Write]
	Was    *PullText        `json:",omitempty"` // an edit changes only the parts that still match; nil edits all
}

// PullText holds digests of the title and the text of a pull request. A digest is empty
// if the bot did not write that part, or if it was edited since.
type PullText struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty"`
}

func saidOf(p *github.PullRequest) PullText {
	return PullText{Title: Digest(strings.TrimSpace(p.GetTitle())), Body: Digest(normal(p.GetBody()))}
}

// Pull is a pull request. HeadRepo is empty if the fork was deleted.
type Pull struct {
	Ref                        thread.Ref
	Title, Body, Author, State string
	HTML                       string // see [Issue]
	AuthorID                   int64
	MergedBy                   string // login of the user or bot that merged it
	Base, BaseSHA              string
	Head, HeadSHA, HeadRepo    string
	Fork, Draft, Merged        bool
	MaintainerCanModify        bool
	Labels                     []string
	URL, Node                  string // Node is the id in GraphQL
	Files, Lines               int    // changed ones; 0 in a list of pull requests
}

func (c *Client) pull(p *github.PullRequest) Pull {
	out := Pull{
		Ref:                 thread.Ref{Owner: c.owner, Repo: c.repo, Number: p.GetNumber()},
		Title:               p.GetTitle(),
		Body:                p.GetBody(),
		Author:              p.GetUser().GetLogin(),
		AuthorID:            p.GetUser().GetID(),
		State:               p.GetState(),
		Base:                p.GetBase().GetRef(),
		BaseSHA:             p.GetBase().GetSHA(),
		Head:                p.GetHead().GetRef(),
		HeadSHA:             p.GetHead().GetSHA(),
		HeadRepo:            p.GetHead().GetRepo().GetFullName(),
		Draft:               p.GetDraft(),
		Merged:              p.GetMerged() || p.MergedAt != nil,
		MergedBy:            p.GetMergedBy().GetLogin(),
		MaintainerCanModify: p.GetMaintainerCanModify(),
		URL:                 p.GetHTMLURL(),
		Node:                p.GetNodeID(),
		Files:               p.GetChangedFiles(),
		Lines:               p.GetAdditions() + p.GetDeletions(),
	}
	out.Fork = p.GetHead().GetRepo().GetID() != p.GetBase().GetRepo().GetID()
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	return out
}

// GetPull reads a pull request.
func (c *Client) GetPull(ctx context.Context, ref thread.Ref) (Pull, error) {
	const op = "read pull request"
	if err := c.own(op, ref); err != nil {
		return Pull{}, err
	}
	p, _, err := full[github.PullRequest](ctx, c, fmt.Sprintf("pulls/%d", ref.Number))
	if err != nil {
		return Pull{}, c.readError(op, err)
	}
	out := c.pull(&p.of)
	out.HTML = p.html
	return out, nil
}

// FindPull returns the newest pull request from a branch of the repository itself,
// preferring open ones. It reports whether there is one.
func (c *Client) FindPull(ctx context.Context, head string) (Pull, bool, error) {
	list, err := c.pullsFrom(ctx, head)
	if err != nil || len(list) == 0 {
		return Pull{}, false, err
	}
	open := slices.IndexFunc(list, func(p *github.PullRequest) bool { return p.GetState() == "open" })
	return c.pull(list[max(open, 0)]), true, nil
}

// pullsFrom lists the pull requests from a branch, newest first.
func (c *Client) pullsFrom(ctx context.Context, head string) ([]*github.PullRequest, error) {
	list, _, err := c.gh.PullRequests.List(ctx, c.owner, c.repo, &github.PullRequestListOptions{
		State: "all", Head: c.owner + ":" + head, ListOptions: github.ListOptions{PerPage: 100}})
	return slices.DeleteFunc(list, func(p *github.PullRequest) bool { return p.GetHead().GetRef() != head }), c.readError("find pull request", err)
}

// Review is a submitted review of a pull request.
type Review struct {
	ID        int64
	Author    string
	AuthorID  int64
	Body      string
	HTML      string // see [Issue]
	State     string // APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING
	Commit    string
	URL       string
	Submitted time.Time
}

// ListReviews returns the reviews of a pull request, oldest first.
func (c *Client) ListReviews(ctx context.Context, ref thread.Ref) ([]Review, error) {
	const op = "list reviews"
	if err := c.own(op, ref); err != nil {
		return nil, err
	}
	var out []Review
	err := pages(func(o github.ListOptions) (*github.Response, error) {
		list, resp, err := fullPage[github.PullRequestReview](ctx, c, fmt.Sprintf("pulls/%d/reviews", ref.Number), o)
		for _, one := range list {
			r := &one.of
			out = append(out, Review{
				ID:        r.GetID(),
				Author:    r.GetUser().GetLogin(),
				AuthorID:  r.GetUser().GetID(),
				Body:      r.GetBody(),
				HTML:      one.html,
				State:     r.GetState(),
				Commit:    r.GetCommitID(),
				URL:       r.GetHTMLURL(),
				Submitted: r.GetSubmittedAt().Time,
			})
		}
		return resp, c.readError(op, err)
	})
	return out, err
}

// Inline is one comment of a review. Line is a line of the new file in the diff, or of
// the old file if Left is set; StartLine is 0 for a single line.
type Inline struct {
	Path      string
	Line      int
	StartLine int
	Left      bool
	Body      string
	Key       string // marker key; empty means the key of the write
}

// ReviewSpec is a review to submit: always a comment, never an approval.
type ReviewSpec struct {
	Commit   string // the reviewed head
	Body     string
	Comments []Inline
}
