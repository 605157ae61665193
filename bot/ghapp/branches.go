package ghapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-github/v62/github"
)

// branchAt returns the head commit of a branch, or "" if the branch does not exist.
func (c *Client) branchAt(ctx context.Context, branch string) (string, error) {
	at, err := c.Head(ctx, branch)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	return at, err
}

// Protected reports whether push rules protect a branch. A missing branch has none.
func Protected(ctx context.Context, c *Client, branch string) (bool, error) {
	b, res, err := c.gh.Repositories.GetBranch(ctx, c.owner, c.repo, branch, 1)
	if res != nil && res.StatusCode == http.StatusNotFound { // the library returns its own error type for this
		return false, nil
	}
	return b.GetProtected(), c.readError("read branch "+branch, err)
}

// deleteBranch deletes a branch if it is still at w.Commit. A missing branch is no
// error. A branch that was moved by another push holds foreign work: it stays, and the
// error is of kind Permanent.
func deleteBranch(ctx context.Context, c *Client, w Write) (Ref, error) {
	const op = "delete branch"
	at, err := c.branchAt(ctx, w.Branch)
	switch {
	case err != nil || at == "":
		return Ref{}, err
	case at != w.Commit: //control:review-branch-of-others
		return Ref{}, &Error{
			Op:  op,
			Err: fmt.Errorf("%s is at %.7s, not at %.7s: others pushed to it, so it stays", w.Branch, at, w.Commit),
		}
	}
	_, err = c.gh.Git.DeleteRef(ctx, c.owner, c.repo, "heads/"+w.Branch)
	var refused *github.ErrorResponse
	if errors.As(err, &refused) {
		if now, rerr := c.branchAt(ctx, w.Branch); rerr == nil && now == "" {
			return Ref{}, nil // deleted in the meantime: GitHub answers 422
		}
	}
	return Ref{}, c.writeError(op, err)
}

func isGone(ctx context.Context, c *Client, w Write) (Ref, bool, error) {
	at, err := c.branchAt(ctx, w.Branch)
	return Ref{}, err == nil && at == "", err
}

// MadeCommit is a commit made by GitHub. Signature is empty if GitHub did not sign it.
type MadeCommit struct{ ID, Payload, Signature string }

// MakeCommit has GitHub create and sign a commit in the bot's name, from an existing
// tree and existing parents. It moves no branch, so repeating it is harmless.
func MakeCommit(ctx context.Context, c *Client, tree, message string, parents []string) (MadeCommit, error) {
	spec := &github.Commit{Message: &message, Tree: &github.Tree{SHA: &tree}}
	for _, p := range parents {
		spec.Parents = append(spec.Parents, &github.Commit{SHA: &p})
	}
	made, _, err := c.gh.Git.CreateCommit(ctx, c.owner, c.repo, spec, nil)
	v := made.GetVerification()
	return MadeCommit{made.GetSHA(), v.GetPayload(), v.GetSignature()}, c.readError("make commit", err)
}
