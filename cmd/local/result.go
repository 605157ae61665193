package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/gitops"
)

// Diff is `handrail diff`.
type Diff struct {
	Session string `arg:"" optional:"" help:"Session of handrail run; the last one otherwise."`
	Repo    string `type:"path" placeholder:"DIR" help:"The clone, if it is no longer the session's own."`
}

// Run prints the change of a session as a patch for git apply.
func (c *Diff) Run(ctx context.Context, w *door.Console) error {
	return withResult(ctx, c.Session, c.Repo, func(r *result) error {
		patch, err := r.patch(ctx, r.run.State.Task.Base)
		if err == nil && patch == "" {
			fmt.Fprintln(w.Err, "Session "+r.run.ID+" has changed nothing.")
		}
		if look := terminal.LookOf(w.Raw); look.Width > 0 {
			patch = look.Patch(patch)
		}
		_, werr := io.WriteString(w.Raw, patch) // unfiltered: other programs read it
		return errors.Join(err, werr)
	})
}

// Apply is `handrail apply`.
type Apply struct {
	Session string `arg:"" optional:"" help:"Session of handrail run; the last one otherwise."`
	Repo    string `type:"path" placeholder:"DIR" help:"The clone, if it is no longer the session's own."`

	undo string // the command that reverts it; empty is handrail's own
}

// Run applies the change of a session to the checked out files.
func (c *Apply) Run(ctx context.Context, w *door.Console) error {
	return withResult(ctx, c.Session, c.Repo, func(r *result) error { return r.apply(ctx, w.Out, c.undo) })
}

// Unapply reverts the change of a session in the checked out files.
func Unapply(ctx context.Context, out io.Writer, id, repo string) error {
	return withResult(ctx, id, repo, func(r *result) error { return r.unapply(ctx, out) })
}

// result is the result of a session, and the files of the clone.
type result struct {
	run  *StoredRun
	repo *gitops.Mirror
	path string // of the clone
	tree WorkTree
	bare error // the reason for a missing tree
}

func withResult(ctx context.Context, id, repo string, do func(*result) error) error {
	id, err := OrLast(ctx, id)
	if err != nil {
		return err
	}
	run, err := Read(id)
	if err != nil {
		return err
	}
	path := cmp.Or(repo, run.State.Task.Clone.Path, ".")
	r := &result{run: run, path: path}
	if r.repo, err = openClone(path, run); err != nil {
		return err
	}
	r.tree, err = WorkTreeOf(ctx, path)
	if errors.Is(err, errBare) {
		r.bare, err = door.UsageError{Err: err}, nil
	}
	if err == nil || errors.Is(err, errNoGit) { // printing a patch needs no tree
		err = do(r)
	}
	return errors.Join(err, r.repo.Close())
}

// patch returns the session's changes since one of its commits.
func (r *result) patch(ctx context.Context, from string) (string, error) {
	to := r.run.State.Published
	if to == "" || from == to {
		return "", nil
	}
	text, _, err := r.repo.Diff(ctx, from, to, gitops.DiffOptions{Binary: true})
	if errors.Is(err, gitops.ErrNotFound) {
		return "", fmt.Errorf("%s does not have the commits of session %s: %w", r.path, r.run.ID, err)
	}
	return text, err
}

func (r *result) apply(ctx context.Context, out io.Writer, undo string) error {
	if r.bare != nil {
		return r.bare
	}
	base := r.run.State.Task.Base
	done, err := r.run.applied()
	if err != nil {
		return err
	}
	var first error
	for _, from := range []string{cmp.Or(done, base), base} { // the user may have removed the applied changes
		patch, err := r.patch(ctx, from)
		if err != nil {
			return err
		}
		if patch == "" {
			continue
		}
		err = r.tree.apply(ctx, patch, false)
		if err == nil {
			return errors.Join(r.run.setApplied(r.run.State.Published), r.printApplied(ctx, out, from, undo))
		}
		if !errors.As(err, new(*conflict)) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	switch {
	case done == r.run.State.Published && done != "":
		_, err = fmt.Fprintf(out, "All of session %s is in your files already.\n", r.run.ID)
		return err
	case first == nil:
		_, err = fmt.Fprintf(out, "Session %s has changed nothing.\n", r.run.ID)
		return err
	}
	return r.errFit(ctx, first)
}

func (r *result) unapply(ctx context.Context, out io.Writer) error {
	if r.bare != nil {
		return r.bare
	}
	done, err := r.run.applied()
	if err != nil {
		return err
	}
	if done == "" {
		return door.Usage(
			"nothing of session %s was applied to your files; without --applied, its last step is undone",
			r.run.ID,
		)
	}
	base := r.run.State.Task.Base
	patch, _, err := r.repo.Diff(ctx, base, done, gitops.DiffOptions{Binary: true})
	if err != nil {
		return err
	}
	if err := r.tree.apply(ctx, patch, true); err != nil {
		return r.errFit(ctx, err)
	}
	_, err = fmt.Fprintf(
		out,
		"Undone in your files in %s.\nThe branch %s still has it.\n",
		r.tree.dir,
		r.run.State.Branch,
	)
	return errors.Join(r.run.setApplied(""), err)
}

// printApplied prints the applied files, and the command that reverts them.
func (r *result) printApplied(ctx context.Context, out io.Writer, from, undo string) error {
	_, stats, err := r.repo.Diff(ctx, from, r.run.State.Published, gitops.DiffOptions{MaxBytes: 1})
	if err != nil {
		return err
	}
	var list []string
	for _, s := range stats {
		list = append(list, s.Path)
	}
	_, err = fmt.Fprintf(
		out,
		"Applied to your files in %s: %s\n  %s    undoes that\n",
		r.tree.dir,
		firstFiles(list),
		cmp.Or(undo, terminal.Command("undo", r.run.ID, "--applied")),
	)
	return err
}
