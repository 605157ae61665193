package ghapp

import (
	"context"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/thread"
)

// clockSlack is how far the bot's clock and GitHub's may be apart when a
// look-up is limited by time.
const clockSlack = 10 * time.Minute

// FindByMarker returns the bot's own comment on a thread that ends with the
// marker of key. Comments from before since are not looked at; the zero time
// means all are.
func (c *Client) FindByMarker(ctx context.Context, ref thread.Ref, key string, since time.Time) (Comment, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Comment{}, false, err
	}
	if !since.IsZero() {
		since = since.Add(-clockSlack)
	}
	list, err := c.ListComments(ctx, ref, since)
	if err != nil {
		return Comment{}, false, err
	}
	for _, cm := range list {
		if strings.EqualFold(cm.Author, self) && marked(cm.Body, key) {
			return cm, true, nil
		}
	}
	return Comment{}, false, nil
}

func (c *Client) findReply(ctx context.Context, w Write) (Ref, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Ref{}, false, err
	}
	list, err := c.ListDiffComments(ctx, w.Thread)
	for _, cm := range list {
		if strings.EqualFold(cm.Author, self) && marked(cm.Body, w.Key) {
			return Ref{ID: cm.ID, URL: cm.URL}, true, nil
		}
	}
	return Ref{}, false, err
}

func (c *Client) findReaction(ctx context.Context, w Write) (Ref, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Ref{}, false, err
	}
	var found Ref
	ok := false
	err = pages(func(o github.ListOptions) (*github.Response, error) {
		var list []*github.Reaction
		var resp *github.Response
		var err error
		switch {
		case w.Target.Comment == 0:
			list, resp, err = c.gh.Reactions.ListIssueReactions(ctx, c.owner, c.repo, w.Thread.Number, &o)
		case w.Target.Diff:
			list, resp, err = c.gh.Reactions.ListPullRequestCommentReactions(ctx, c.owner, c.repo, w.Target.Comment, &o)
		default:
			list, resp, err = c.gh.Reactions.ListIssueCommentReactions(ctx, c.owner, c.repo, w.Target.Comment, &o)
		}
		for _, r := range list {
			if r.GetContent() == w.Body && strings.EqualFold(r.GetUser().GetLogin(), self) {
				found, ok = Ref{ID: r.GetID()}, true
			}
		}
		return resp, c.readError("list reactions", err)
	})
	return found, ok, err
}

func (c *Client) findIssue(ctx context.Context, w Write) (Ref, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Ref{}, false, err
	}
	var found Ref
	ok := false
	err = pages(func(o github.ListOptions) (*github.Response, error) {
		opt := &github.IssueListByRepoOptions{State: "all", Creator: self, ListOptions: o}
		if !w.Since.IsZero() {
			opt.Since = w.Since.Add(-clockSlack)
		}
		list, resp, err := c.gh.Issues.ListByRepo(ctx, c.owner, c.repo, opt)
		for _, is := range list {
			if marked(is.GetBody(), w.Key) && strings.EqualFold(is.GetUser().GetLogin(), self) {
				found, ok = Ref{ID: is.GetID(), Number: is.GetNumber(), URL: is.GetHTMLURL()}, true
			}
		}
		return resp, c.readError("list issues", err)
	})
	return found, ok, err
}

// findPull takes the open pull request from the head for the one that was
// meant: GitHub allows one, and there is one per thread.
func (c *Client) findPull(ctx context.Context, w Write) (Ref, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Ref{}, false, err
	}
	list, _, err := c.gh.PullRequests.List(ctx, c.owner, c.repo, &github.PullRequestListOptions{
		State: "all", Head: c.owner + ":" + w.Pull.Head, ListOptions: github.ListOptions{PerPage: 100}})
	for _, p := range list {
		mine := strings.EqualFold(p.GetUser().GetLogin(), self) && marked(p.GetBody(), w.Key)
		open := p.GetState() == "open" && p.GetBase().GetRef() == w.Pull.Base
		if p.GetHead().GetRef() == w.Pull.Head && (mine || open) {
			return Ref{ID: p.GetID(), Number: p.GetNumber(), URL: p.GetHTMLURL()}, true, nil
		}
	}
	return Ref{}, false, c.readError("find pull request", err)
}

func (c *Client) findReviewers(ctx context.Context, w Write) (Ref, bool, error) {
	list, _, err := c.gh.PullRequests.ListReviewers(ctx, c.owner, c.repo, w.Thread.Number, nil)
	if err != nil {
		return Ref{}, false, c.readError("list reviewers", err)
	}
	var have []string
	for _, u := range list.Users {
		have = append(have, u.GetLogin())
	}
	var teams []string
	for _, t := range list.Teams {
		teams = append(teams, t.GetSlug())
	}
	reviews, err := c.ListReviews(ctx, w.Thread) // who has reviewed is no longer on the list
	for _, r := range reviews {
		if !w.Since.IsZero() && !r.Submitted.Before(w.Since) {
			have = append(have, r.Author)
		}
	}
	return Ref{}, err == nil && containsAll(have, w.Reviewers) && containsAll(teams, w.Teams), err
}

func (c *Client) findReview(ctx context.Context, w Write) (Ref, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Ref{}, false, err
	}
	list, err := c.ListReviews(ctx, w.Thread)
	for _, r := range list {
		if strings.EqualFold(r.Author, self) && marked(r.Body, w.Key) {
			return Ref{ID: r.ID, URL: r.URL}, true, nil
		}
	}
	return Ref{}, false, err
}
