package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/bot/retain"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

type deleteCmd struct {
	records.Flags `embed:""`

	Session []string `arg:"" help:"Ids of the sessions."`
}

// Run deletes sessions. It deletes none if one of them is unknown or not finished.
func (c *deleteCmd) Run(ctx context.Context, w *door.Console) error {
	var here []*local.StoredRun
	var there []string
	seen := map[string]bool{}
	for _, id := range c.Session {
		if seen[id] {
			continue
		}
		seen[id] = true
		if !c.Unset() || !local.Has(id) && c.IsThere() {
			there = append(there, id)
			continue
		}
		r, err := local.Read(id)
		if err != nil {
			return err
		}
		if r.Running {
			return door.Usage("session %s is running: interrupt it first", id)
		}
		here = append(here, r)
	}
	err := local.DeleteRuns(here, func() error {
		if len(there) == 0 {
			return nil
		}
		return c.ofDatabase(ctx, w, there)
	})
	if err != nil {
		return err
	}
	return forgetAll(ctx, w, here)
}

// ofDatabase deletes sessions of a server.
func (c *deleteCmd) ofDatabase(ctx context.Context, w *door.Console, ids []string) (err error) {
	s, err := c.Open(ctx, w.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	keys, err := records.EnvironmentKeys(os.Getenv)
	if err != nil {
		return door.UsageError{Err: err}
	}
	var list []*store.Session
	for _, id := range ids {
		row, err := s.Sessions.Session(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return door.Usage("there is no session %s in the database: `handrail sessions list` shows them", id)
		case err != nil:
			return err
		case !row.State.Over():
			return door.Usage(
				"session %s is %s: have it end first, by `/agent stop` in %s",
				id,
				untrusted.EscapeLine(string(row.State)),
				untrusted.EscapeLine(row.Thread),
			)
		}
		list = append(list, row)
	}
	k := retain.Keeper{Store: s.Store, Retired: s, Key: keys.Signing, Log: w.Log}
	err = k.Delete(ctx, "handrail sessions delete", list...)
	if errors.Is(err, store.ErrNotOver) {
		return fmt.Errorf("%w: none was deleted; try again when the server has worked on it", err)
	}
	if err != nil {
		return err
	}
	for _, row := range list {
		said := "deleted session " + row.ID + " of " + row.Thread + " with its log; its texts on GitHub stay"
		if _, err := fmt.Fprintln(w.Out, untrusted.EscapeLine(said)); err != nil {
			return err
		}
	}
	return nil
}

// forgetAll removes the remains of deleted sessions of handrail run.
func forgetAll(ctx context.Context, w *door.Console, list []*local.StoredRun) error {
	for _, r := range list {
		said := "deleted session " + r.ID
		task := r.State.Task
		if err := forget(ctx, task.Clone.Path, r.ID); err != nil {
			said += fmt.Sprintf(" (its saved half-done work stays in %s: %v)", task.Clone.Path, err)
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

// forget removes the session's saved state, other than its branch, from a clone.
func forget(ctx context.Context, clone, id string) (err error) {
	if clone == "" {
		return nil
	}
	repo, err := gitops.OpenLocal(clone)
	if errors.Is(err, gitops.ErrNotFound) { // the clone was deleted, with the state
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	return work.Forget(ctx, repo, id)
}
