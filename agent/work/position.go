package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
)

// stateOf returns the state of a session from its log. For an empty log, it is the
// state at the beginning of the task.
func stateOf(ctx context.Context, log session.Log, task session.Task) (*session.State, error) {
	events, err := log.Events(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	if len(events) == 0 { // the first run records the task
		events = append(events, *session.NewEvent(session.TypeOpened, 0, session.Opened{Task: task}))
	}
	return session.Fold(events)
}

// HeadOf returns the head of a branch, or "" if the branch is missing.
func HeadOf(ctx context.Context, repo *gitops.Mirror, branch string) (string, error) {
	head, err := repo.Resolve(ctx, "refs/heads/"+branch)
	if errors.Is(err, gitops.ErrNotFound) {
		return "", nil
	}
	return head, err
}

// reviewCommit returns the commit of the last edit proposed for review, or "" if there is
// none on top of the present branch.
func reviewCommit(at *session.State) string {
	if n := len(at.Requests); n > 0 && at.Requests[n-1].Review != nil && at.Requests[n-1].Head == at.Published {
		return at.Requests[n-1].Review.Commit
	}
	return ""
}

// Foreign returns the head of the session's branch if another author pushed it, else
// "". Such a push makes approvals stale: they hold for the branch as it was shown.
func Foreign(ctx context.Context, repo *gitops.Mirror, log session.Log, task session.Task) (string, error) {
	at, err := stateOf(ctx, log, task)
	if err != nil {
		return "", err
	}
	head, err := repo.Resolve(ctx, "refs/heads/"+at.Branch)
	if errors.Is(err, gitops.ErrNotFound) || head == at.Published {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	// A head with exactly the saved content is our own push, interrupted before it was
	// logged.
	_, stats, err := repo.Diff(ctx, at.Saved, head, gitops.DiffOptions{MaxBytes: 1})
	if err != nil || len(stats) == 0 {
		return "", err
	}
	if ours, err := isManualMerge(ctx, repo, head, reviewCommit(at)); ours || err != nil {
		return "", err
	}
	return head, nil
}

// isManualMerge reports whether a reviewer merged the proposed edit: then head is the
// last published state plus exactly that edit.
func isManualMerge(ctx context.Context, repo *gitops.Mirror, head, edit string) (bool, error) {
	if edit == "" {
		return false, nil
	}
	_, stats, err := repo.Diff(ctx, edit, head, gitops.DiffOptions{MaxBytes: 1})
	if errors.Is(err, gitops.ErrNotFound) {
		return false, nil // proposed on another machine and squashed: undecidable here
	}
	return err == nil && len(stats) == 0, err
}
