package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/gitops"
)

// Propose implements agent.Proposer: one commit with the held paths as they
// were saved, on top of what is on the branch. Nobody sees it yet.
func (c *checkpoints) Propose(ctx context.Context, p agent.Proposal) (session.Review, error) {
	ref, err := thread.Parse(c.job.task.Thread)
	if err != nil {
		return session.Review{}, err
	}
	commit, err := c.job.repo.CommitPathsOf(ctx, p.Saved, p.Parent, p.Paths, c.meta(p.Subject, p.Turn))
	if err != nil {
		return session.Review{}, err
	}
	// What is reviewed is what will be published: the two hold the same at
	// these paths, byte for byte and mode for mode.
	_, rest, err := c.job.repo.Diff(ctx, commit.ID, p.Saved, gitops.DiffOptions{Paths: p.Paths, MaxBytes: 1})
	if err != nil || len(rest) > 0 || commit.Empty {
		return session.Review{}, err
	}
	return session.Review{Commit: commit.ID, Branch: bot.ReviewBranch(ref, p.ID), Base: c.branch}, nil
}

// proposer is set where sensitive edits are reviewed: on a server, where the
// configuration says so.
func (e *engine) proposer(j job, c *checkpoints) agent.Proposer {
	if !j.review || !e.config.ByReview() {
		return nil
	}
	return c
}

// Offer implements bot.Offerer.
func (r *serveRunner) Offer(ctx context.Context, at bot.Thread, o bot.Offer) (string, error) {
	m, err := r.mirror(ctx, at)
	if err != nil {
		return "", err
	}
	if _, err := m.Resolve(ctx, o.Commit); err != nil {
		if errors.Is(err, gitops.ErrNotFound) {
			return "", bot.ErrGone
		}
		return "", err
	}
	base := "refs/heads/" + o.Base
	if _, err := m.Resolve(ctx, base); errors.Is(err, gitops.ErrNotFound) {
		if why, err := refusedPush(m.Push(ctx, gitops.Push{Commit: o.Parent, Ref: base, Create: true})); why != "" || err != nil {
			return why, err
		}
	} else if err != nil {
		return "", err
	}
	return refusedPush(m.Push(ctx, gitops.Push{Commit: o.Commit, Ref: "refs/heads/" + o.Branch, Create: true}))
}

// refusedPush tells what a remote will never take from what may pass.
func refusedPush(err error) (string, error) {
	var refused *gitops.RemoteError
	if errors.As(err, &refused) || errors.Is(err, gitops.ErrAuth) {
		return fmt.Sprintf("its branch could not be pushed (%v)", err), nil
	}
	return "", err
}

// mergedByHand says whether head is the session's last published state with
// just the edit that was put up for review: somebody merged it themselves.
func mergedByHand(ctx context.Context, m *gitops.Mirror, head, reviewed string) (bool, error) {
	if reviewed == "" {
		return false, nil
	}
	_, stats, err := m.Diff(ctx, reviewed, head, gitops.DiffOptions{MaxBytes: 1})
	if errors.Is(err, gitops.ErrNotFound) {
		return false, nil // made on another machine, and squashed: nobody can tell
	}
	return err == nil && len(stats) == 0, err
}
