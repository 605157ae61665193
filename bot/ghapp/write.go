package ghapp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/handrail-bot/handrail/bot/thread"
)

// WriteKind says what a Write does.
type WriteKind string

// The kinds of writes, with the fields they use beside Key and Thread.
const (
	WriteComment     WriteKind = "comment"      // Body
	WriteEditComment WriteKind = "edit_comment" // Target, Body
	WriteReply       WriteKind = "reply"        // Target (a comment on the diff), Body
	WriteReaction    WriteKind = "reaction"     // Target, Body (eyes, rocket, …)
	WriteIssue       WriteKind = "issue"        // Title, Body, Labels
	WriteLabels      WriteKind = "labels"       // Labels
	WritePull        WriteKind = "pull"         // Pull
	WriteEditPull    WriteKind = "edit_pull"    // Pull (Title, Body)
	WriteClosePull   WriteKind = "close_pull"   // without merging it
	WriteBranchGone  WriteKind = "branch_gone"  // Branch, Commit
	WriteReviewers   WriteKind = "reviewers"    // Reviewers, Teams
	WriteReview      WriteKind = "review"       // Review
	WriteCheck       WriteKind = "check"        // Check
	WriteEditCheck   WriteKind = "edit_check"   // Check with its ID
)

// Target is a comment of a thread, or with Comment 0 its first post. Diff
// says that the comment is on the diff.
type Target struct {
	Comment int64
	Diff    bool
}

// Write is an intent: one effect on GitHub, complete before it is tried, so
// that it can be recorded, tried, looked up and tried again. The JSON form is
// stable.
type Write struct {
	Key       string      `json:"key"` // unique for the effect, see [Client.Perform]
	Kind      WriteKind   `json:"kind"`
	Thread    thread.Ref  `json:"thread"` // number 0 for an issue to be opened
	Since     time.Time   `json:"since"`  // when it was intended; limits the look-up, may be zero
	Target    Target      `json:"target,omitzero"`
	Title     string      `json:"title,omitempty"`
	Body      string      `json:"body,omitempty"`
	Labels    []string    `json:"labels,omitempty"`
	Reviewers []string    `json:"reviewers,omitempty"`
	Teams     []string    `json:"teams,omitempty"`  // slugs in the repository's organization
	Branch    string      `json:"branch,omitempty"` // to delete, while it is at Commit
	Commit    string      `json:"commit,omitempty"`
	Pull      *PullSpec   `json:"pull,omitempty"`
	Review    *ReviewSpec `json:"review,omitempty"`
	Check     *CheckSpec  `json:"check,omitempty"`
}

// Ref is what a write made or changed. Number is set for issues and pull
// requests.
type Ref struct {
	ID     int64  `json:"id,omitempty"`
	Number int    `json:"number,omitempty"`
	URL    string `json:"url,omitempty"`
}

func (w Write) check(c *Client) error {
	op := "check write " + string(w.Kind)
	if err := checkKey(w.Key); err != nil {
		return &Error{Op: op, Err: err}
	}
	if err := c.own(op, w.Thread); err != nil {
		return err
	}
	missing := ""
	switch w.Kind {
	case WritePull, WriteEditPull:
		if w.Pull == nil {
			missing = "Pull"
		}
	case WriteReview:
		if w.Review == nil {
			missing = "Review"
		}
	case WriteCheck, WriteEditCheck:
		if w.Check == nil {
			missing = "Check"
		}
	case WriteEditComment, WriteReply:
		if w.Target.Comment == 0 {
			missing = "Target"
		}
	case WriteBranchGone:
		if w.Branch == "" || w.Commit == "" {
			missing = "Branch or Commit"
		}
	case WriteComment, WriteReaction, WriteIssue, WriteLabels, WriteReviewers, WriteClosePull:
	default:
		return &Error{Op: op, Err: errors.New("there is no such kind of write")}
	}
	if missing != "" {
		return &Error{Op: op, Err: fmt.Errorf("the field %s is not set", missing)}
	}
	return nil
}

// Perform carries a write out, once. Bodies get the key as a hidden marker at
// the end. An error of kind Unknown means that it may have happened: ask Find
// after the settle time before trying again. Edits, labels, reactions,
// reviewers, closing and deleting are idempotent by nature; performing them
// twice does no harm.
func (c *Client) Perform(ctx context.Context, w Write) (Ref, error) {
	if err := w.check(c); err != nil {
		return Ref{}, err
	}
	w = c.outgoing(w) //control:github-gate
	switch w.Kind {
	case WriteReaction:
		return c.react(ctx, w)
	case WriteLabels:
		_, _, err := c.gh.Issues.AddLabelsToIssue(ctx, c.owner, c.repo, w.Thread.Number, w.Labels)
		return Ref{}, c.writeError("add labels", err)
	case WriteReviewers:
		_, _, err := c.gh.PullRequests.RequestReviewers(ctx, c.owner, c.repo, w.Thread.Number, github.ReviewersRequest{Reviewers: w.Reviewers, TeamReviewers: w.Teams})
		return Ref{}, c.writeError("request reviewers", err)
	case WriteClosePull:
		p, _, err := c.gh.PullRequests.Edit(ctx, c.owner, c.repo, w.Thread.Number, &github.PullRequest{State: github.String("closed")})
		return Ref{Number: p.GetNumber(), URL: p.GetHTMLURL()}, c.writeError("close pull request", err)
	case WriteBranchGone:
		return Ref{}, c.deleteBranch(ctx, w.Branch, w.Commit)
	case WriteCheck:
		return c.createCheck(ctx, w.Key, *w.Check)
	case WriteEditCheck:
		return c.updateCheck(ctx, *w.Check)
	}
	body, err := mark(w.text(), w.Key)
	if err != nil {
		return Ref{}, &Error{Op: "write " + string(w.Kind), Err: err}
	}
	return c.performText(ctx, w, body)
}

// text is the body of a write, wherever its kind keeps it.
func (w Write) text() string {
	switch w.Kind {
	case WritePull, WriteEditPull:
		return w.Pull.Body
	case WriteReview:
		return w.Review.Body
	}
	return w.Body
}

func (c *Client) performText(ctx context.Context, w Write, body string) (Ref, error) {
	switch w.Kind {
	case WriteComment:
		cm, _, err := c.gh.Issues.CreateComment(ctx, c.owner, c.repo, w.Thread.Number, &github.IssueComment{Body: &body})
		return Ref{ID: cm.GetID(), URL: cm.GetHTMLURL()}, c.writeError("create comment", err)
	case WriteEditComment:
		return c.editComment(ctx, w.Target, body)
	case WriteReply:
		return c.reply(ctx, w, body)
	case WriteIssue:
		labels := append([]string{}, w.Labels...) // not null
		is, _, err := c.gh.Issues.Create(ctx, c.owner, c.repo, &github.IssueRequest{Title: &w.Title, Body: &body, Labels: &labels})
		return Ref{ID: is.GetID(), Number: is.GetNumber(), URL: is.GetHTMLURL()}, c.writeError("create issue", err)
	case WritePull:
		p, _, err := c.gh.PullRequests.Create(ctx, c.owner, c.repo, &github.NewPullRequest{Title: &w.Pull.Title,
			Head: &w.Pull.Head, Base: &w.Pull.Base, Body: &body, Draft: &w.Pull.Draft})
		return Ref{ID: p.GetID(), Number: p.GetNumber(), URL: p.GetHTMLURL()}, c.writeError("open pull request", err)
	case WriteEditPull:
		p, _, err := c.gh.PullRequests.Edit(ctx, c.owner, c.repo, w.Thread.Number, &github.PullRequest{Title: optional(w.Pull.Title), Body: &body})
		return Ref{ID: p.GetID(), Number: p.GetNumber(), URL: p.GetHTMLURL()}, c.writeError("edit pull request", err)
	}
	return c.createReview(ctx, w.Thread, body, *w.Review)
}

func (c *Client) editComment(ctx context.Context, t Target, body string) (Ref, error) {
	const op = "edit comment"
	if t.Diff {
		cm, _, err := c.gh.PullRequests.EditComment(ctx, c.owner, c.repo, t.Comment, &github.PullRequestComment{Body: &body})
		return Ref{ID: cm.GetID(), URL: cm.GetHTMLURL()}, c.writeError(op, err)
	}
	cm, _, err := c.gh.Issues.EditComment(ctx, c.owner, c.repo, t.Comment, &github.IssueComment{Body: &body})
	return Ref{ID: cm.GetID(), URL: cm.GetHTMLURL()}, c.writeError(op, err)
}

func (c *Client) reply(ctx context.Context, w Write, body string) (Ref, error) {
	cm, _, err := c.gh.PullRequests.CreateCommentInReplyTo(ctx, c.owner, c.repo, w.Thread.Number, body, w.Target.Comment)
	return Ref{ID: cm.GetID(), URL: cm.GetHTMLURL()}, c.writeError("reply to comment", err)
}

func (c *Client) react(ctx context.Context, w Write) (Ref, error) {
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

// Find reports whether a write has happened, and what it made. It believes
// only what the bot itself wrote: anyone can copy a marker into a comment.
// Since a write may become visible late, a false right after an error of kind
// Unknown is not final.
func (c *Client) Find(ctx context.Context, w Write) (Ref, bool, error) {
	if err := w.check(c); err != nil {
		return Ref{}, false, err
	}
	w = c.outgoing(w)
	switch w.Kind {
	case WriteComment:
		cm, ok, err := c.FindByMarker(ctx, w.Thread, w.Key, w.Since)
		return Ref{ID: cm.ID, URL: cm.URL}, ok, err
	case WriteEditComment:
		cm, err := c.GetComment(ctx, w.Target)
		want, _ := mark(w.Body, w.Key)
		return Ref{ID: cm.ID, URL: cm.URL}, err == nil && sameText(cm.Body, want), err
	case WriteReply:
		return c.findReply(ctx, w)
	case WriteReaction:
		return c.findReaction(ctx, w)
	case WriteIssue:
		return c.findIssue(ctx, w)
	case WriteLabels:
		is, err := c.Issue(ctx, w.Thread)
		return Ref{}, err == nil && containsAll(is.Labels, w.Labels), err
	case WritePull:
		return c.findPull(ctx, w)
	case WriteEditPull:
		p, err := c.GetPull(ctx, w.Thread)
		want, _ := mark(w.Pull.Body, w.Key)
		same := sameText(p.Body, want) && (w.Pull.Title == "" || p.Title == w.Pull.Title)
		return Ref{Number: p.Ref.Number, URL: p.URL}, err == nil && same, err
	case WriteReviewers:
		return c.findReviewers(ctx, w)
	case WriteClosePull:
		p, err := c.GetPull(ctx, w.Thread)
		return Ref{Number: p.Ref.Number, URL: p.URL}, err == nil && p.State == "closed", err
	case WriteBranchGone:
		at, err := c.branchAt(ctx, w.Branch)
		return Ref{}, err == nil && at == "", err
	case WriteReview:
		return c.findReview(ctx, w)
	case WriteCheck:
		return c.findCheck(ctx, w.Key, *w.Check)
	}
	return c.checkIs(ctx, *w.Check)
}

// sameText compares bodies as GitHub may have stored them.
func sameText(a, b string) bool {
	norm := func(s string) string { return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), " \t\n") }
	return norm(a) == norm(b)
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool {
		return !slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, w) })
	})
}
