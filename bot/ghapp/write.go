package ghapp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/untrusted"
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
	WriteEditIssue   WriteKind = "edit_issue"   // Body; one that was closed is open then
	WriteLabels      WriteKind = "labels"       // Labels, Off
	WritePull        WriteKind = "pull"         // Pull
	WriteEditPull    WriteKind = "edit_pull"    // Pull (Title, Body)
	WriteClosePull   WriteKind = "close_pull"   // without merging it
	WriteBranchGone  WriteKind = "branch_gone"  // Branch, Commit
	WriteReviewers   WriteKind = "reviewers"    // Reviewers, Teams
	WriteReview      WriteKind = "review"       // Review
	WriteResolve     WriteKind = "resolve"      // Target.Talk
	WriteCheck       WriteKind = "check"        // Check
	WriteEditCheck   WriteKind = "edit_check"   // Check with its ID
)

// Target is a comment of a thread, or with Comment 0 its first post. Diff
// says that the comment is on the diff. Talk is the node id of a review thread.
type Target struct {
	Comment int64
	Diff    bool
	Talk    string `json:",omitempty"`
}

// Write is an intent: one effect on GitHub, complete before it is tried, so
// that it can be recorded, tried, looked up and tried again. The JSON form is
// stable.
type Write struct {
	Key       string           `json:"key"` // unique for the effect, see [Client.Perform]
	Kind      WriteKind        `json:"kind"`
	Thread    thread.Ref       `json:"thread"` // number 0 for an issue to be opened
	Since     time.Time        `json:"since"`  // when it was intended; limits the look-up, may be zero
	Target    Target           `json:"target,omitzero"`
	Title     string           `json:"title,omitempty"`
	Body      string           `json:"body,omitempty"`
	Folds     []untrusted.Fold `json:"folds,omitempty"`    // stand below Body until a reader opens them
	Mentions  []string         `json:"mentions,omitempty"` // accounts and teams ("org/team") that GitHub tells of it; for comments
	Labels    []string         `json:"labels,omitempty"`
	Off       []string         `json:"off,omitempty"` // labels to take off
	Reviewers []string         `json:"reviewers,omitempty"`
	Teams     []string         `json:"teams,omitempty"`  // slugs in the repository's organization
	Branch    string           `json:"branch,omitempty"` // to delete, while it is at Commit
	Commit    string           `json:"commit,omitempty"`
	Pull      *PullSpec        `json:"pull,omitempty"`
	Review    *ReviewSpec      `json:"review,omitempty"`
	Check     *CheckSpec       `json:"check,omitempty"`
	First     bool             `json:"first,omitempty"`    // it may use the reserve of the budget, see [quota.First]
	Outsider  bool             `json:"outsider,omitempty"` // it is for somebody without rights
}

// Ref is what a write made or changed. Number is set for issues and pull
// requests.
type Ref struct {
	ID     int64    `json:"id,omitempty"`
	Number int      `json:"number,omitempty"`
	URL    string   `json:"url,omitempty"`
	Said   PullText `json:"said,omitzero"` // of a pull request: what was written
}

// operation is how writes of one kind are done, and found again.
type operation struct {
	lacks   func(w Write) (field string) // that must be set; nil for none
	perform func(ctx context.Context, c *Client, w Write) (Ref, error)
	find    func(ctx context.Context, c *Client, w Write) (Ref, bool, error)
}

func operations() map[WriteKind]operation {
	return map[WriteKind]operation{
		WriteComment:     {nil, createComment, findComment},
		WriteEditComment: {lacksTarget, editComment, commentIs},
		WriteReply:       {lacksTarget, reply, findReply},
		WriteReaction:    {nil, react, findReaction},
		WriteIssue:       {nil, createIssue, findIssue},
		WriteEditIssue:   {nil, editIssue, issueIs},
		WriteLabels:      {nil, setLabels, hasLabels},
		WritePull:        {lacksPull, createPull, findPull},
		WriteEditPull:    {lacksPull, editPull, pullIs},
		WriteClosePull:   {nil, closePull, isClosed},
		WriteBranchGone:  {lacksBranch, deleteBranch, isGone},
		WriteReviewers:   {nil, requestReviewers, hasReviewers},
		WriteReview:      {lacksReview, createReview, findReview},
		WriteResolve:     {lacksTalk, resolve, never},
		WriteCheck:       {lacksCheck, createCheck, findCheck},
		WriteEditCheck:   {lacksCheck, updateCheck, checkIs},
	}
}

// lacksIf names a field that is not set.
func lacksIf(unset bool, field string) string {
	if unset {
		return field
	}
	return ""
}

func lacksTarget(w Write) string { return lacksIf(w.Target.Comment == 0, "Target") }
func lacksTalk(w Write) string   { return lacksIf(w.Target.Talk == "", "Target.Talk") }
func lacksPull(w Write) string   { return lacksIf(w.Pull == nil, "Pull") }
func lacksReview(w Write) string { return lacksIf(w.Review == nil, "Review") }
func lacksCheck(w Write) string  { return lacksIf(w.Check == nil, "Check") }
func lacksBranch(w Write) string {
	return lacksIf(w.Branch == "" || w.Commit == "", "Branch or Commit")
}

// operation checks a write for this client and returns how it is done.
func (c *Client) operation(w Write) (operation, error) {
	op := "check write " + string(w.Kind)
	if err := checkKey(w.Key); err != nil {
		return operation{}, &Error{Op: op, Err: err}
	}
	if err := c.own(op, w.Thread); err != nil {
		return operation{}, err
	}
	d, ok := operations()[w.Kind]
	if !ok {
		return operation{}, &Error{Op: op, Err: errors.New("there is no such kind of write")}
	}
	if d.lacks == nil {
		return d, nil
	}
	if field := d.lacks(w); field != "" {
		return operation{}, &Error{Op: op, Err: fmt.Errorf("the field %s is not set", field)}
	}
	return d, nil
}

// Perform carries a write out, once. Bodies get the key as a hidden marker at
// the end. An error of kind Unknown means that it may have happened: ask Find
// after the settle time before trying again. Edits, labels, reactions,
// reviewers, closing and deleting are idempotent by nature; performing them
// twice does no harm.
func (c *Client) Perform(ctx context.Context, w Write) (Ref, error) {
	d, err := c.operation(w)
	if err != nil {
		return Ref{}, err
	}
	w = c.outgoing(w) //control:github-gate
	return d.perform(context.WithValue(ctx, classKey{}, w.class()), c, w)
}

// Find reports whether a write has happened, and what it made. It believes
// only what the bot itself wrote: anyone can copy a marker into a comment.
// Since a write may become visible late, a false right after an error of kind
// Unknown is not final.
func (c *Client) Find(ctx context.Context, w Write) (Ref, bool, error) {
	d, err := c.operation(w)
	if err != nil {
		return Ref{}, false, err
	}
	return d.find(ctx, c, c.outgoing(w))
}

// sameText compares bodies as GitHub may have stored them.
func sameText(a, b string) bool { return normal(a) == normal(b) }

func normal(s string) string { return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), " \t\n") }

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool {
		return !slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, w) })
	})
}
