package ghapp

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"github.com/google/go-github/v62/github"
)

func createIssue(ctx context.Context, c *Client, w Write) (Ref, error) {
	body, err := c.mark(w, w.Body)
	if err != nil {
		return Ref{}, err
	}
	labels := append([]string{}, w.Labels...) // not nil: JSON null is refused
	is, _, err := c.gh.Issues.Create(
		ctx,
		c.owner,
		c.repo,
		&github.IssueRequest{Title: &w.Title, Body: &body, Labels: &labels},
	)
	return Ref{ID: is.GetID(), Number: is.GetNumber(), URL: is.GetHTMLURL()}, c.writeError("create issue", err)
}

func findIssue(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Ref{}, false, err
	}
	var all []post
	err = pages(func(o github.ListOptions) (*github.Response, error) {
		opt := &github.IssueListByRepoOptions{State: "all", Creator: self, Since: w.since(), ListOptions: o}
		list, resp, err := c.gh.Issues.ListByRepo(ctx, c.owner, c.repo, opt)
		for _, is := range list {
			all = append(
				all,
				post{is.GetUser().GetLogin(), is.GetBody(), Ref{ID: is.GetID(), Number: is.GetNumber(), URL: is.GetHTMLURL()}},
			)
		}
		return resp, c.readError("list issues", err)
	})
	if err != nil {
		return Ref{}, false, err
	}
	return c.findOwn(ctx, w.Key, all)
}

func editIssue(ctx context.Context, c *Client, w Write) (Ref, error) {
	body, err := c.mark(w, w.Body)
	if err != nil {
		return Ref{}, err
	}
	is, _, err := c.gh.Issues.Edit(
		ctx,
		c.owner,
		c.repo,
		w.Thread.Number,
		&github.IssueRequest{Body: &body, State: github.String("open")},
	)
	return Ref{ID: is.GetID(), Number: is.GetNumber(), URL: is.GetHTMLURL()}, c.writeError("edit issue", err)
}

// issueIs reports whether an issue already has the text of w.
func issueIs(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	is, _, err := c.gh.Issues.Get(ctx, c.owner, c.repo, w.Thread.Number)
	if err != nil {
		return Ref{}, false, c.readError("read issue", err)
	}
	_, key := c.app.Written(is.GetBody())
	return Ref{ID: is.GetID(), Number: is.GetNumber(), URL: is.GetHTMLURL()}, key == w.Key, nil
}

func setLabels(ctx context.Context, c *Client, w Write) (Ref, error) {
	if len(w.Labels) > 0 {
		if _, _, err := c.gh.Issues.AddLabelsToIssue(ctx, c.owner, c.repo, w.Thread.Number, w.Labels); err != nil {
			return Ref{}, c.writeError("add labels", err)
		}
	}
	for _, name := range w.Off {
		_, err := c.gh.Issues.RemoveLabelForIssue(ctx, c.owner, c.repo, w.Thread.Number, url.PathEscape(name)) //control:labels-are-no-paths
		if err = c.writeError("remove label", err); err != nil && !errors.Is(err, ErrNotFound) {               // already removed
			return Ref{}, err
		}
	}
	return Ref{}, nil
}

func hasLabels(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	is, err := c.Issue(ctx, w.Thread)
	has := func(name string) bool { return containsAll(is.Labels, []string{name}) }
	return Ref{}, err == nil && containsAll(is.Labels, w.Labels) && !slices.ContainsFunc(w.Off, has), err
}
