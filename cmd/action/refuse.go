package action

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/gitops"
)

// inBase are the events that run with the base's rights, even for changes of strangers.
var inBase = map[string]string{"pull_request_target": "pull_request", "workflow_run": "workflow_run"}

// CheckIsolation returns an error if commands would run beside the job's token in a public
// repository.
func (r Run) CheckIsolation() error {
	var ev struct {
		Repository struct{ Private bool }
	}
	if err := json.Unmarshal(r.Payload, &ev); err != nil {
		return errors.New("read the event: the file that GITHUB_EVENT_PATH names is no JSON object")
	}
	if r.Inputs.Workspace == "local" && !ev.Repository.Private { //control:local-is-private
		return errors.New(
			"workspace: local is refused in a public repository: code of strangers would run beside the job's token; use docker or bwrap",
		)
	}
	return nil
}

// Webhook returns the event's name in webhooks, or an error with the reason if the event
// is refused. getenv reads the runner's environment.
func (r Run) Webhook(ctx context.Context, getenv func(string) string) (event string, err error) {
	as, ok := inBase[r.Event]
	if all := runEvents(); !slices.Contains(all, r.Event) {
		return "", fmt.Errorf(
			"the agent does nothing on %q: take it out of \"on:\" in the workflow, which may have %s",
			r.Event,
			strings.Join(all, ", "),
		)
	}
	if !ok {
		return r.Event, nil
	}
	trees, err := checkouts(getenv("GITHUB_WORKSPACE"))
	if err != nil {
		return "", fmt.Errorf("%s runs with the rights of the base, and the checkout cannot be read: %w", r.Event, err)
	}
	for _, dir := range trees {
		if head, at := headOf(ctx, dir), getenv("GITHUB_SHA"); head != "" && head != at { //control:base-tree-only
			return "", fmt.Errorf(
				"%s runs with the rights of the base, and the work tree in %s is at %s, not at the base commit %s: a proposed change could run with these rights. Take the checkout out of the job: the agent needs none",
				r.Event,
				dir,
				head,
				at,
			)
		}
	}
	return as, nil
}

// checkouts returns the checkouts in a job's work space: the work space itself and those
// below it. A submodule is part of its parent.
func checkouts(workspace string) (all []string, err error) {
	if workspace == "" {
		return nil, nil
	}
	err = filepath.WalkDir(workspace, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist): // an unreadable directory cannot be run either
			return nil
		case err != nil || d.Name() != ".git":
			return err
		}
		if dir := filepath.Dir(name); d.IsDir() || dir == filepath.Clean(workspace) { //control:checkouts-below
			all = append(all, dir)
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return all, err
}

// Reads returns why the run's token is read only, or "": for a fork of a public
// repository, GitHub gives no other token.
func (r Run) Reads() string {
	ev, err := ghapp.ParseEvent(r.Event, r.Payload)
	if err != nil || !ev.Pull.Fork || ev.Private || r.Event == "pull_request_target" {
		return ""
	}
	return r.Event + ": the pull request is from a fork, so GitHub gives this run a token that can only read, and no secrets. Write /agent in a comment on it (issue_comment), or use pull_request_target without a checkout."
}

// headOf returns the commit that is checked out in a directory, "" for an empty
// repository, and "?" if the commit cannot be read.
func headOf(ctx context.Context, dir string) string {
	m, err := gitops.OpenLocal(dir)
	if err != nil {
		return "?"
	}
	_, head, err := m.Default(ctx)
	err = errors.Join(err, m.Close())
	if errors.Is(err, gitops.ErrEmpty) {
		return ""
	}
	return cmp.Or(head, "?")
}
