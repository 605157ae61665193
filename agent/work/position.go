package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/gitops"
)

// position is where a session's log ends.
type position struct {
	saved     string // commit of the last saved state
	published string // commit of the last checkpoint on the branch, or the base
	branch    string // that has it
	reviewed  string // commit of the edit that was last put up for review
	last      session.Checkpoint
	ended     *session.Outcome
}

// locate reads where a session stands: what to open a workspace on, and
// whether there is anything to do.
func locate(ctx context.Context, log session.Log, task session.Task) (position, error) {
	events, err := log.Events(ctx, 0)
	if err != nil {
		return position{}, fmt.Errorf("read log: %w", err)
	}
	st, err := session.Fold(events)
	if err != nil {
		return position{}, err
	}
	if len(events) == 0 { // the first run records the task
		return position{saved: task.Base, published: task.Base, branch: task.Branch}, nil
	}
	at := position{saved: st.Saved, published: st.Published, branch: st.Branch, ended: st.Outcome}
	if st.Newest != nil {
		at.last = *st.Newest
	}
	if n := len(st.Requests); n > 0 && st.Requests[n-1].Review != nil && st.Requests[n-1].Head == st.Published {
		at.reviewed = st.Requests[n-1].Review.Commit
	}
	return at, nil
}

// Foreign returns the head of the session's branch when somebody else put it
// there, else "". An approval is for the branch as it was shown; a push by
// somebody else makes it stale.
func Foreign(ctx context.Context, repo *gitops.Mirror, log session.Log, task session.Task) (string, error) {
	at, err := locate(ctx, log, task)
	if err != nil {
		return "", err
	}
	head, err := repo.Resolve(ctx, "refs/heads/"+at.branch)
	if errors.Is(err, gitops.ErrNotFound) || head == at.published {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	// A push of ours that was cut off before it was noted is nobody else's:
	// it holds what was saved, and nothing more.
	_, stats, err := repo.Diff(ctx, at.saved, head, gitops.DiffOptions{MaxBytes: 1})
	if err != nil || len(stats) == 0 {
		return "", err
	}
	if ours, err := mergedByHand(ctx, repo, head, at.reviewed); ours || err != nil {
		return "", err
	}
	return head, nil
}

// mergedByHand reports whether head is the session's last published state with
// just the edit that was put up for review: somebody merged it themselves.
func mergedByHand(ctx context.Context, repo *gitops.Mirror, head, reviewed string) (bool, error) {
	if reviewed == "" {
		return false, nil
	}
	_, stats, err := repo.Diff(ctx, reviewed, head, gitops.DiffOptions{MaxBytes: 1})
	if errors.Is(err, gitops.ErrNotFound) {
		return false, nil // made on another machine, and squashed: nobody can tell
	}
	return err == nil && len(stats) == 0, err
}
