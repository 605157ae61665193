package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// maxReverted is the maximum size in bytes of a reverted file.
const maxReverted = 100 << 20

// Revert implements agent.Checkpointer. It removes anything that blocks a path: a
// directory, or a symlink to elsewhere.
func (c *checkpoints) Revert(ctx context.Context, to string, paths []string) error {
	_, stats, err := c.job.Repo.Diff(ctx, "", to, gitops.DiffOptions{Paths: paths, MaxBytes: 1})
	if err != nil {
		return fmt.Errorf("look up what to restore: %w", err)
	}
	for _, p := range slices.Sorted(slices.Values(paths)) { // parents before their entries
		c.clear(ctx, p)
	}
	for _, s := range stats {
		if !slices.Contains(paths, s.Path) {
			continue // below a path that is a directory in to
		}
		data, err := c.job.Repo.ReadFile(ctx, to, s.Path, maxReverted)
		if err == nil {
			err = c.ws.Write(ctx, c.at(s.Path), data)
		}
		if err != nil {
			return fmt.Errorf("restore %s: %w", s.Path, err)
		}
		if c.restored == nil {
			c.restored = map[string]string{}
		}
		c.restored[s.Path] = s.Object
	}
	return nil
}

// clear removes the entry at p, and non-directories among its parents. Errors are
// ignored: a following write reports them.
func (c *checkpoints) clear(ctx context.Context, p string) {
	for i, r := range p {
		if r == '/' {
			_ = c.ws.Remove(ctx, c.at(p[:i])) // fails for a non-empty directory
		}
	}
	if err := c.ws.Remove(ctx, c.at(p)); err == nil || errors.Is(err, workspace.ErrNotExist) {
		return
	}
	list, _ := c.ws.List(ctx, c.at(p), true, 0) // a directory: remove its entries first
	for _, e := range slices.Backward(list.Entries) {
		_ = c.ws.Remove(ctx, strings.TrimSuffix(e.Path, "/"))
	}
	_ = c.ws.Remove(ctx, c.at(p))
}

// at returns the path of a repository's file in the workspace.
func (c *checkpoints) at(p string) string { return path.Join(c.within, p) }

// restoreMode gives a reverted file its mode on the branch, which the workspace cannot
// set.
func (c *checkpoints) restoreMode(path string, ch *gitops.Change) {
	mode, id, was := strings.Cut(c.restored[path], " ")
	if !was {
		return
	}
	r, err := ch.Open()
	if err != nil {
		return // saving reports the error
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxReverted+1))
	if err == nil && policy.BlobID(string(data)) == id {
		ch.Exec, ch.Symlink = mode == "100755", mode == "120000"
	}
}

// discard resets the workspace to the last saved state. A review changes nothing, and the
// leftovers of its tests must not become work if the session continues in another mode.
// Hidden paths are never written. After a failure, this workspace saves nothing any more.
func (c *checkpoints) discard(ctx context.Context, found []workspace.Change) error {
	var paths []string
	for _, f := range found {
		switch {
		case f.Path == ".":
			c.spoiled = f.Why
		case agent.Scratch(f.Path):
		case c.hidden.covers(f) || c.hidden.outside(f):
			c.clear(ctx, f.Path)
		default:
			paths = append(paths, f.Path)
		}
	}
	if len(paths) == 0 || c.spoiled != "" {
		return nil
	}
	if err := c.Revert(ctx, cmp.Or(c.saved, c.base), paths); err != nil {
		c.spoiled = err.Error()
	}
	return ctx.Err()
}
