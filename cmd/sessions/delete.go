package sessions

import (
	"context"
	"errors"
	"fmt"

	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/runs"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

type deleteCmd struct {
	Session []string `arg:"" help:"Ids of the sessions."`
}

// Run deletes sessions, or none when one of them is not there or is running.
func (c *deleteCmd) Run(ctx context.Context, w *door.Console) error {
	var list []*runs.Run
	for _, id := range c.Session {
		r, err := runs.Read(id)
		if err != nil {
			return err
		}
		if r.Running {
			return door.Usage("session %s is running: interrupt it first", id)
		}
		list = append(list, r)
	}
	for _, r := range list {
		if err := r.Delete(); err != nil {
			return err
		}
		said := "deleted session " + r.ID
		task := r.State.Task
		if err := forget(ctx, task.Clone.Path, r.ID); err != nil {
			said += fmt.Sprintf(" (what it had saved of half-done work stays in %s: %v)", task.Clone.Path, err)
		}
		if task.Branch != "" {
			said += "; branch " + task.Branch + ", if it made one, stays"
		}
		if _, err := fmt.Fprintln(w.Out, untrusted.EscapeLine(said)); err != nil {
			return err
		}
	}
	return nil
}

// forget takes from a clone what the session saved there beside its branch.
func forget(ctx context.Context, clone, id string) (err error) {
	if clone == "" {
		return nil
	}
	repo, err := gitops.OpenLocal(clone)
	if errors.Is(err, gitops.ErrNotFound) { // the clone is gone, and all of it with it
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	return work.Forget(ctx, repo, id)
}
