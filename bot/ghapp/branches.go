package ghapp

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-github/v62/github"
)

// branchAt returns the commit that a branch is at, "" when there is no such
// branch.
func (c *Client) branchAt(ctx context.Context, branch string) (string, error) {
	ref, _, err := c.gh.Git.GetRef(ctx, c.owner, c.repo, "heads/"+branch)
	if err != nil {
		if err = c.readError("read branch", err); errors.Is(err, ErrNotFound) {
			return "", nil
		}
		return "", err
	}
	return ref.GetObject().GetSHA(), nil
}

// deleteBranch deletes a branch while it is at commit. One that is gone is
// fine; one that somebody else moved is left alone, which is an error of kind
// Permanent: it holds their work.
func (c *Client) deleteBranch(ctx context.Context, branch, commit string) error {
	const op = "delete branch"
	at, err := c.branchAt(ctx, branch)
	switch {
	case err != nil || at == "":
		return err
	case at != commit: //control:review-branch-of-others
		return &Error{Op: op, Err: fmt.Errorf("%s is at %.7s, not at %.7s: somebody else pushed to it, so it stays", branch, at, commit)}
	}
	_, err = c.gh.Git.DeleteRef(ctx, c.owner, c.repo, "heads/"+branch)
	var refused *github.ErrorResponse
	if errors.As(err, &refused) {
		if now, rerr := c.branchAt(ctx, branch); rerr == nil && now == "" {
			return nil // gone meanwhile: GitHub answers 422 for that
		}
	}
	return c.writeError(op, err)
}
