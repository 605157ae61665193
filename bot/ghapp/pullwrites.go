package ghapp

import (
	"cmp"
	"context"
	"strings"

	"github.com/google/go-github/v62/github"
)

func pullRef(p *github.PullRequest, said PullText) Ref {
	return Ref{ID: p.GetID(), Number: p.GetNumber(), URL: p.GetHTMLURL(), Said: said}
}

func createPull(ctx context.Context, c *Client, w Write) (Ref, error) {
	body, err := c.mark(w, w.Pull.Body)
	if err != nil {
		return Ref{}, err
	}
	p, _, err := c.gh.PullRequests.Create(ctx, c.owner, c.repo, &github.NewPullRequest{Title: &w.Pull.Title,
		Head: &w.Pull.Head, Base: &w.Pull.Base, Body: &body, Draft: &w.Pull.Draft})
	return pullRef(p, saidOf(p)), c.writeError("open pull request", err)
}

// findPull also accepts an open pull request without the marker: GitHub allows one per
// head and base, and each thread has its own head.
func findPull(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Ref{}, false, err
	}
	list, err := c.pullsFrom(ctx, w.Pull.Head)
	for _, p := range list {
		mine := strings.EqualFold(p.GetUser().GetLogin(), self) && hasMarkerOf(p.GetBody(), w.Key)
		open := p.GetState() == "open" && p.GetBase().GetRef() == w.Pull.Base
		if mine || open {
			return pullRef(p, matchingText(c, p, w)), true, nil
		}
	}
	return Ref{}, false, err
}

// matchingText returns the digests of the parts of a pull request that still match w.
func matchingText(c *Client, p *github.PullRequest, w Write) (out PullText) {
	said := saidOf(p)
	if p.GetTitle() == w.Pull.Title {
		out.Title = said.Title
	}
	if body, err := c.mark(w, w.Pull.Body); err == nil && sameText(p.GetBody(), body) {
		out.Body = said.Body
	}
	return out
}

// editPull updates the title and the text of a pull request, each only if it was not
// edited by others.
func editPull(ctx context.Context, c *Client, w Write) (Ref, error) {
	body, err := c.mark(w, w.Pull.Body)
	if err != nil {
		return Ref{}, err
	}
	edit := &github.PullRequest{Title: optional(w.Pull.Title), Body: &body}
	if w.Pull.Was != nil {
		p, _, err := c.gh.PullRequests.Get(ctx, c.owner, c.repo, w.Thread.Number)
		if err != nil {
			return Ref{}, c.readError("read pull request", err)
		}
		said := saidOf(p)
		if said.Title != w.Pull.Was.Title { //control:title-of-a-person
			edit.Title = nil
		}
		if said.Body != w.Pull.Was.Body { //control:text-of-a-person
			edit.Body = nil
		}
		if edit.Title == nil && edit.Body == nil {
			return pullRef(p, matchingText(c, p, w)), nil
		}
	}
	p, _, err := c.gh.PullRequests.Edit(ctx, c.owner, c.repo, w.Thread.Number, edit)
	return pullRef(p, matchingText(c, p, w)), c.writeError("edit pull request", err)
}

// pullIs reports whether a pull request has the text of w.
func pullIs(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	p, _, err := c.gh.PullRequests.Get(ctx, c.owner, c.repo, w.Thread.Number)
	said := matchingText(c, p, w)
	return pullRef(p, said), err == nil && said.Body != "" && (w.Pull.Title == "" || said.Title != ""), c.readError("read pull request", err)
}

func closePull(ctx context.Context, c *Client, w Write) (Ref, error) {
	p, _, err := c.gh.PullRequests.Edit(
		ctx,
		c.owner,
		c.repo,
		w.Thread.Number,
		&github.PullRequest{State: github.String("closed")},
	)
	return Ref{Number: p.GetNumber(), URL: p.GetHTMLURL()}, c.writeError("close pull request", err)
}

func isClosed(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	p, err := c.GetPull(ctx, w.Thread)
	return Ref{Number: p.Ref.Number, URL: p.URL}, err == nil && p.State == "closed", err
}

func requestReviewers(ctx context.Context, c *Client, w Write) (Ref, error) {
	_, _, err := c.gh.PullRequests.RequestReviewers(
		ctx,
		c.owner,
		c.repo,
		w.Thread.Number,
		github.ReviewersRequest{Reviewers: w.Reviewers, TeamReviewers: w.Teams},
	)
	return Ref{}, c.writeError("request reviewers", err)
}

func hasReviewers(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
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
	reviews, err := c.ListReviews(ctx, w.Thread) // reviewers leave the list by reviewing
	for _, r := range reviews {
		if !w.Since.IsZero() && !r.Submitted.Before(w.Since) {
			have = append(have, r.Author)
		}
	}
	return Ref{}, err == nil && containsAll(have, w.Reviewers) && containsAll(teams, w.Teams), err
}

func createReview(ctx context.Context, c *Client, w Write) (Ref, error) {
	spec := w.Review
	body, err := c.mark(w, spec.Body)
	if err != nil {
		return Ref{}, err
	}
	req := &github.PullRequestReviewRequest{Body: &body, Event: github.String("COMMENT")}
	if spec.Commit != "" {
		req.CommitID = &spec.Commit
	}
	for _, in := range spec.Comments {
		own := w
		own.Key = cmp.Or(in.Key, w.Key)
		if in.Body, err = c.mark(own, in.Body); err != nil {
			return Ref{}, err
		}
		d := &github.DraftReviewComment{
			Path: github.String(in.Path),
			Body: github.String(in.Body),
			Line: github.Int(in.Line),
			Side: github.String(side(in)),
		}
		if in.StartLine > 0 && in.StartLine != in.Line {
			d.StartLine, d.StartSide = github.Int(in.StartLine), github.String(side(in))
		}
		req.Comments = append(req.Comments, d)
	}
	r, _, err := c.gh.PullRequests.CreateReview(ctx, c.owner, c.repo, w.Thread.Number, req)
	if err != nil {
		return Ref{}, c.writeError("create review", err)
	}
	return Ref{ID: r.GetID(), URL: r.GetHTMLURL()}, nil
}

func findReview(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	list, err := c.ListReviews(ctx, w.Thread)
	if err != nil {
		return Ref{}, false, err
	}
	var all []post
	for _, r := range list {
		all = append(all, post{r.Author, r.Body, Ref{ID: r.ID, URL: r.URL}})
	}
	return c.findOwn(ctx, w.Key, all)
}

func side(in Inline) string {
	if in.Left {
		return "LEFT"
	}
	return "RIGHT"
}
