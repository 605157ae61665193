package ghapp

import (
	"context"
	"errors"
	"strings"

	"github.com/google/go-github/v62/github"
)

// replaceNotice writes a text in the place of w.Notice. ok is false if there is no such comment.
func replaceNotice(ctx context.Context, c *Client, w Write) (ref Ref, ok bool, err error) {
	if w.Notice == (Target{}) {
		return ref, false, nil
	}
	w.Target = w.Notice
	ref, err = editComment(ctx, c, w)
	return ref, !errors.Is(err, ErrNotFound), err
}

func createComment(ctx context.Context, c *Client, w Write) (Ref, error) {
	if ref, ok, err := replaceNotice(ctx, c, w); ok {
		return ref, err
	}
	body, err := c.mark(w, w.Body)
	if err != nil {
		return Ref{}, err
	}
	cm, _, err := c.gh.Issues.CreateComment(ctx, c.owner, c.repo, w.Thread.Number, &github.IssueComment{Body: &body})
	return Ref{ID: cm.GetID(), URL: cm.GetHTMLURL()}, c.writeError("create comment", err)
}

func findComment(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	list, err := c.listComments(ctx, w.Thread, w.since())
	if err != nil {
		return Ref{}, false, err
	}
	return c.findOwn(ctx, w.Key, postsOf(list))
}

func editComment(ctx context.Context, c *Client, w Write) (Ref, error) {
	const op = "edit comment"
	body, err := c.mark(w, w.Body)
	if err != nil {
		return Ref{}, err
	}
	if w.Target.Diff {
		cm, _, err := c.gh.PullRequests.EditComment(
			ctx,
			c.owner,
			c.repo,
			w.Target.Comment,
			&github.PullRequestComment{Body: &body},
		)
		return Ref{ID: cm.GetID(), URL: cm.GetHTMLURL()}, c.writeError(op, err)
	}
	cm, _, err := c.gh.Issues.EditComment(ctx, c.owner, c.repo, w.Target.Comment, &github.IssueComment{Body: &body})
	return Ref{ID: cm.GetID(), URL: cm.GetHTMLURL()}, c.writeError(op, err)
}

// commentIs reports whether a comment already has the text of w.
func commentIs(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	cm, err := c.GetComment(ctx, w.Target)
	want, _ := c.mark(w, w.Body)
	return Ref{ID: cm.ID, URL: cm.URL}, err == nil && sameText(cm.Body, want), err
}

func reply(ctx context.Context, c *Client, w Write) (Ref, error) {
	if ref, ok, err := replaceNotice(ctx, c, w); ok {
		return ref, err
	}
	body, err := c.mark(w, w.Body)
	if err != nil {
		return Ref{}, err
	}
	cm, _, err := c.gh.PullRequests.CreateCommentInReplyTo(ctx, c.owner, c.repo, w.Thread.Number, body, w.Target.Comment)
	return Ref{ID: cm.GetID(), URL: cm.GetHTMLURL()}, c.writeError("reply to comment", err)
}

func findReply(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	list, err := c.ListDiffComments(ctx, w.Thread)
	if err != nil {
		return Ref{}, false, err
	}
	return c.findOwn(ctx, w.Key, postsOf(list))
}

func react(ctx context.Context, c *Client, w Write) (Ref, error) {
	var r *github.Reaction
	var err error
	switch {
	case w.Target.Comment == 0:
		r, _, err = c.gh.Reactions.CreateIssueReaction(ctx, c.owner, c.repo, w.Thread.Number, w.Body)
	case w.Target.Diff:
		r, _, err = c.gh.Reactions.CreatePullRequestCommentReaction(ctx, c.owner, c.repo, w.Target.Comment, w.Body)
	default:
		r, _, err = c.gh.Reactions.CreateIssueCommentReaction(ctx, c.owner, c.repo, w.Target.Comment, w.Body)
	}
	return Ref{ID: r.GetID()}, c.writeError("react", err)
}

func findReaction(ctx context.Context, c *Client, w Write) (found Ref, ok bool, err error) {
	self, err := c.Self(ctx)
	if err != nil {
		return Ref{}, false, err
	}
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
