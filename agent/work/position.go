package work

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// Adopt returns the events by which a session continues on the commits of others on its
// branch, and the files that differ. There are none if the branch is as the session left
// it, or if the session has work that is not on it: then the push takes the commits in.
func Adopt(
	ctx context.Context,
	repo *gitops.Mirror,
	at *session.State,
) ([]*session.Event, []session.FileChange, error) {
	head, err := HeadOf(ctx, repo, at.Branch)
	waits := slices.ContainsFunc(at.Requests, func(r *session.Request) bool { return r.Approval.IsPending() })
	if err != nil || head == "" || head == at.Published || at.Saved != at.Published || waits { //control:adopted-branch
		return nil, nil, err
	}
	files, err := wholeChanges(ctx, repo, at.Published, head)
	if err != nil {
		return nil, nil, err
	}
	whole, err := wholeChanges(ctx, repo, at.Base, head)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	text := "Others changed the branch since your last turn, and your files are as they left them."
	if len(names) > 0 {
		text += " Read these again before you rely on them: " + joinPaths(names) + "."
	}
	return []*session.Event{
		session.NewEvent(session.TypeCheckpoint, at.Turns, session.Checkpoint{Commit: head, Parent: head, Whole: whole}),
		session.NewEvent(session.TypeNote, at.Turns, session.Note{Kind: session.NoteReminder, Text: text}),
	}, files, nil
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
