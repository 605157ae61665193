package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// Limits of workflows: bytes of one, and their number. Beyond them, any name counts.
const maxWorkflow, maxWorkflows = 1 << 20, 500

// remoteOf returns the actions that a push can start, from the workflows of the target
// branch and of the base branch.
func remoteOf(ctx context.Context, repo *gitops.Mirror, commits ...string) (policy.Remote, error) {
	var out policy.Remote
	for _, commit := range slices.Compact(commits) {
		if commit == "" {
			continue
		}
		r := workflows{repo: repo, commit: commit, into: &out}
		if err := r.read(ctx); err != nil {
			return out, fmt.Errorf("read workflows: %w", err)
		}
	}
	return out, nil
}

// workflows reads the workflows of one commit.
type workflows struct {
	repo   *gitops.Mirror
	commit string
	into   *policy.Remote
	count  int
}

// read reads the CI configuration and the local actions that it uses.
func (w *workflows) read(ctx context.Context) error {
	var files []string
	for _, dir := range []string{"", ".github", ".circleci", ".gitlab", ".buildkite"} {
		list, err := w.repo.List(ctx, w.commit, dir, dir != "")
		if err != nil && !errors.Is(err, gitops.ErrNotFound) {
			if dir != "" {
				continue // dir is a file
			}
			return err
		}
		for _, e := range list {
			if e.Kind != gitops.IsDir && e.Kind != gitops.IsSubmodule && policy.RunsOnPush(e.Path) {
				files = append(files, e.Path)
			}
		}
	}
	for len(files) > 0 {
		file := files[0]
		files = files[1:]
		actions, err := w.file(ctx, file)
		if err != nil {
			return err
		}
		for _, dir := range actions {
			if slices.Contains(w.into.Actions, dir) || dir == "." || strings.HasPrefix(dir, "../") {
				continue
			}
			w.into.Actions = append(w.into.Actions, dir)
			files = append(files, dir+"/action.yml", dir+"/action.yaml")
		}
	}
	return nil
}

// file reads one file and returns the directories of its local actions.
func (w *workflows) file(ctx context.Context, name string) (actions []string, err error) {
	data, err := w.repo.ReadFile(ctx, w.commit, name, maxWorkflow)
	w.count++
	switch {
	case errors.Is(err, gitops.ErrNotFound):
		return nil, nil
	case errors.Is(err, gitops.ErrTooLarge) || w.count > maxWorkflows:
		w.into.Unread = true
		return nil, nil
	case err != nil:
		return nil, err
	}
	words, actions := policy.WorkflowWords(string(data))
	w.into.Words = append(w.into.Words, words...)
	return actions, nil
}
