package work

import (
	"context"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
)

// Propose implements agent.Proposer. It makes one commit on top of the branch, with the
// saved state of the paths that need approval. The commit is not yet visible to others.
func (c *checkpoints) Propose(ctx context.Context, p agent.Proposal) (session.Review, error) {
	commit, err := c.job.Repo.CommitPathsOf(ctx, p.Saved, p.Parent, p.Paths, c.meta(p.Subject, p.Turn))
	if err != nil {
		return session.Review{}, err
	}
	// The review must show exactly the published content: both commits are equal at these
	// paths, byte for byte and mode for mode.
	_, rest, err := c.job.Repo.Diff(ctx, commit.ID, p.Saved, gitops.DiffOptions{Paths: p.Paths, MaxBytes: 1})
	if err != nil || len(rest) > 0 || commit.Empty {
		return session.Review{}, err
	}
	return session.Review{Commit: commit.ID, Branch: c.job.ReviewBranch(p.ID), Base: c.branch}, nil
}

// proposer returns c if sensitive edits are approved by review, else nil. Reviews need
// a server, and must be enabled in the configuration.
func (e *Engine) proposer(j Job, c *checkpoints) agent.Proposer {
	if j.ReviewBranch == nil || !e.cfg.Rules.ByReview() {
		return nil
	}
	return c
}
