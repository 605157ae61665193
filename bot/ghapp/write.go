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

// WriteKind is the kind of effect of a Write.
type WriteKind string

// The kinds of writes, with the fields that they use in addition to Key and Thread.
const (
	WriteComment     WriteKind = "comment"      // Body
	WriteEditComment WriteKind = "edit_comment" // Target, Body
	WriteReply       WriteKind = "reply"        // Target (a comment on the diff), Body
	WriteReaction    WriteKind = "reaction"     // Target, Body (eyes, rocket, …)
	WriteIssue       WriteKind = "issue"        // Title, Body, Labels
	WriteEditIssue   WriteKind = "edit_issue"   // Body; reopens a closed issue
	WriteLabels      WriteKind = "labels"       // Labels, Off
	WritePull        WriteKind = "pull"         // Pull
	WriteEditPull    WriteKind = "edit_pull"    // Pull (Title, Body)
	WriteClosePull   WriteKind = "close_pull"   // closes without merging
	WriteReady       WriteKind = "ready"        // Commit (the head); takes a pull request out of draft
	WriteBranchGone  WriteKind = "branch_gone"  // Branch, Commit
	WriteReviewers   WriteKind = "reviewers"    // Reviewers, Teams
	WriteReview      WriteKind = "review"       // Review
	WriteResolve     WriteKind = "resolve"      // Target.Talk
	WriteCheck       WriteKind = "check"        // Check
	WriteEditCheck   WriteKind = "edit_check"   // Check with its ID
)

// Target is a comment of a thread, or its first post if Comment is 0. Diff marks a
// comment on the diff. Talk is the node id of a review thread.
type Target struct {
	Comment int64
	Diff    bool
	Talk    string `json:",omitempty"`
}

// Write is an intent: one effect on GitHub, complete before the first attempt, so that
// it can be recorded, attempted, looked up and retried. Its JSON form is stable.
type Write struct {
	Key       string           `json:"key"` // unique per effect, see [Client.Perform]
	Kind      WriteKind        `json:"kind"`
	Thread    thread.Ref       `json:"thread"` // number 0 if the write opens an issue
	Since     time.Time        `json:"since"`  // time of the intent; limits the look-up; may be zero
	Target    Target           `json:"target,omitzero"`
	Notice    Target           `json:"notice,omitzero"` // own comment that a comment or reply replaces while it exists
	Title     string           `json:"title,omitempty"`
	Body      string           `json:"body,omitempty"`
	Folds     []untrusted.Fold `json:"folds,omitempty"`    // collapsed sections below Body
	Mentions  []string         `json:"mentions,omitempty"` // accounts and teams ("org/team") to notify; comments and reviews only
	With      []string         `json:"with,omitempty"`     // threads of other repositories ("owner/name#12") to link; not in reviews
	Labels    []string         `json:"labels,omitempty"`
	Off       []string         `json:"off,omitempty"` // labels to remove
	Reviewers []string         `json:"reviewers,omitempty"`
	Teams     []string         `json:"teams,omitempty"`  // team slugs of the repository's organization
	Branch    string           `json:"branch,omitempty"` // branch to delete while it is at Commit
	Commit    string           `json:"commit,omitempty"`
	Pull      *PullSpec        `json:"pull,omitempty"`
	Review    *ReviewSpec      `json:"review,omitempty"`
	Check     *CheckSpec       `json:"check,omitempty"`
	First     bool             `json:"first,omitempty"`    // may use the budget's reserve, see [quota.First]
	Outsider  bool             `json:"outsider,omitempty"` // the write serves an unprivileged account
}

// Ref identifies the result of a write. Number is set for issues and pull requests.
type Ref struct {
	ID     int64    `json:"id,omitempty"`
	Number int      `json:"number,omitempty"`
	URL    string   `json:"url,omitempty"`
	Said   PullText `json:"said,omitzero"` // pull requests only: the written text
}

// operation implements one kind of write.
type operation struct {
	lacks   func(w Write) (field string) // returns a missing required field; nil if none is required
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
		WriteReady:       {lacksCommit, ready, isReady},
		WriteBranchGone:  {lacksBranch, deleteBranch, isGone},
		WriteReviewers:   {nil, requestReviewers, hasReviewers},
		WriteReview:      {lacksReview, createReview, findReview},
		WriteResolve:     {lacksTalk, resolve, findNever},
		WriteCheck:       {lacksCheck, createCheck, findCheck},
		WriteEditCheck:   {lacksCheck, updateCheck, checkIs},
	}
}

// lacksIf returns field if it is unset.
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
func lacksCommit(w Write) string { return lacksIf(w.Commit == "", "Commit") }
func lacksBranch(w Write) string {
	return lacksIf(w.Branch == "" || w.Commit == "", "Branch or Commit")
}

// operation validates a write and returns its implementation.
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

// Perform carries out a write once. Bodies get the key as a hidden marker at the end.
// An error of kind Unknown means that the write may have happened: call Find after the
// settle time before retrying. Edits, labels, reactions, reviewers, the end of a draft,
// closing and deleting are idempotent.
func (c *Client) Perform(ctx context.Context, w Write) (Ref, error) {
	d, err := c.operation(w)
	if err != nil {
		return Ref{}, err
	}
	w = c.outgoing(w) //control:github-gate
	return d.perform(context.WithValue(ctx, classKey{}, w.class()), c, w)
}

// Find reports whether a write has happened, and returns its result. It considers only
// the bot's own texts, because markers can be copied. A write may become visible late,
// so false right after an error of kind Unknown is not final.
func (c *Client) Find(ctx context.Context, w Write) (Ref, bool, error) {
	d, err := c.operation(w)
	if err != nil {
		return Ref{}, false, err
	}
	return d.find(ctx, c, c.outgoing(w))
}

// sameText compares bodies after normalizing them as GitHub does.
func sameText(a, b string) bool { return normal(a) == normal(b) }

func normal(s string) string { return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), " \t\n") }

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool {
		return !slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, w) })
	})
}
