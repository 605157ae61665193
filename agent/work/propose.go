package work

import (
	"context"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
)

// Propose implements agent.Proposer: one commit with the held paths as they
// were saved, on top of what is on the branch. Nobody sees it yet.
func (c *checkpoints) Propose(ctx context.Context, p agent.Proposal) (session.Review, error) {
	commit, err := c.job.Repo.CommitPathsOf(ctx, p.Saved, p.Parent, p.Paths, c.meta(p.Subject, p.Turn))
	if err != nil {
		return session.Review{}, err
	}
	// What is reviewed is what will be published: the two hold the same at
	// these paths, byte for byte and mode for mode.
	_, rest, err := c.job.Repo.Diff(ctx, commit.ID, p.Saved, gitops.DiffOptions{Paths: p.Paths, MaxBytes: 1})
	if err != nil || len(rest) > 0 || commit.Empty {
		return session.Review{}, err
	}
	return session.Review{Commit: commit.ID, Branch: c.job.ReviewBranch(p.ID), Base: c.branch}, nil
}

// proposer is set where sensitive edits are reviewed: on a server, where the
// configuration says so.
func (e *Engine) proposer(j Job, c *checkpoints) agent.Proposer {
	if j.ReviewBranch == nil || !e.cfg.Rules.ByReview() {
		return nil
	}
	return c
}
