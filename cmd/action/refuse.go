package action

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/gitops"
)

// inBase are the events whose runs have the base's rights, whoever made the change.
var inBase = map[string]string{"pull_request_target": "pull_request", "workflow_run": "workflow_run"}

// Walled returns an error for a run whose commands would run beside the job's token,
// in a repository where strangers may write.
func (r Run) Walled() error {
	var ev struct {
		Repository struct{ Private bool }
	}
	if err := json.Unmarshal(r.Payload, &ev); err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	if r.Inputs.Workspace == "local" && !ev.Repository.Private { //control:local-is-private
		return errors.New("workspace: local is refused in a public repository: what strangers write there would run beside the job's token; use docker or bwrap")
	}
	return nil
}

// Webhook returns the name of the event as webhooks have it, or an error for one that is
// not worked on, and why. Getenv is the environment of the runner.
func (r Run) Webhook(ctx context.Context, getenv func(string) string) (event string, err error) {
	as, ok := inBase[r.Event]
	if all := slices.Concat(heard, begun, checks); !slices.Contains(all, r.Event) {
		return "", fmt.Errorf("the agent does nothing on %q: take it out of \"on:\" in the workflow, which may have %s", r.Event, strings.Join(all, ", "))
	}
	if !ok {
		return r.Event, nil
	}
	if head, at := headOf(ctx, getenv("GITHUB_WORKSPACE")), getenv("GITHUB_SHA"); head != "" && head != at { //control:base-tree-only
		return "", fmt.Errorf("%s runs with the rights of the base, and the work tree is at %s, not at the base commit %s: what somebody proposed could be run with these rights. Take the checkout out of the job: the agent needs none", r.Event, head, at)
	}
	return as, nil
}

// Reads returns why the token of the run can only read, "" where it may write: GitHub
// gives no other to what a fork starts in a public repository.
func (r Run) Reads() string {
	ev, err := ghapp.ParseEvent(r.Event, r.Payload)
	if err != nil || !ev.Pull.Fork || ev.Private || r.Event == "pull_request_target" {
		return ""
	}
	return r.Event + ": the pull request is from a fork, so GitHub gives this run a token that can only read, and no secrets. Write /agent in a comment on it (issue_comment), or use pull_request_target without a checkout."
}

// headOf returns the commit that is checked out in a directory, "" for none, and "?"
// where that cannot be read.
func headOf(ctx context.Context, dir string) string {
	if dir == "" {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); errors.Is(err, os.ErrNotExist) {
		return ""
	}
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
