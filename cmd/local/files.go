package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// base returns the first commit of the work: head, or a snapshot of the files if the user
// wants uncommitted changes included.
func (s *Session) base(ctx context.Context, w Wish, tree WorkTree, head string) (string, error) {
	if tree.dir == "" {
		if w.Include {
			return "", door.Usage("--include-changes needs git, and files that are checked out")
		}
		return head, nil
	}
	changed, err := tree.changed(ctx)
	if err != nil && !w.Include {
		s.term.Say(
			"! It cannot be told which changes are not committed, so the work begins at the last commit: %s",
			untrusted.EscapeLine(err.Error()),
		)
		return head, nil
	}
	if err != nil || len(changed) == 0 {
		return head, err
	}
	what := fmt.Sprintf("changes that are not committed (%s)", firstFiles(changed))
	if !w.Include && w.Person {
		if w.Include, err = s.term.Confirm(ctx, "There are "+what+". Work on them too?"); err != nil {
			return "", err
		}
	}
	if !w.Include {
		s.term.Say("Left out: %s.", what)
		s.term.Say("The work begins at the last commit; --include-changes takes them in.")
		return head, nil
	}
	by := s.by
	if by == (gitops.Signature{}) {
		by = agentFor(by)
	}
	dir, end, err := TempDir() // one that the next start sweeps
	if err != nil {
		return "", fmt.Errorf("take in the changes that are not committed: %w", err)
	}
	commit, left, err := tree.snapshot(ctx, dir, head, by)
	if err = errors.Join(err, end()); err != nil {
		return "", fmt.Errorf("take in the changes that are not committed: %w", err)
	}
	if len(left) > 0 {
		s.term.Say("Left out: %s, repositories of their own. Only the commits of a submodule are taken in.", firstFiles(left))
	}
	s.term.Say("The work begins with your %s.", what)
	return commit, nil
}

// firstFiles names the first few of a list of files.
func firstFiles(files []string) string {
	const most = 5
	text := untrusted.EscapeLine(strings.Join(files[:min(len(files), most)], ", "))
	if more := len(files) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// errFit adds a remedy if a result does not fit the files.
func (r *result) errFit(ctx context.Context, err error) error {
	dir := r.tree.dir
	var c *conflict
	if !errors.As(err, &c) {
		return err
	}
	said := untrusted.EscapeLine(cmp.Or(strings.Join(c.Said[:min(len(c.Said), 3)], "; "), "it does not fit"))
	if c.Sparse {
		return fmt.Errorf(
			"nothing was changed, because files of the change are not checked out in %s (%s): bring their directories with `git sparse-checkout add DIR`, and try again",
			dir,
			said,
		)
	}
	if changed, err := r.tree.changed(ctx); err == nil && len(changed) == 0 {
		return fmt.Errorf(
			"nothing was changed, because commits in %s changed the same places (%s): `git merge %s` brings both together",
			dir,
			said,
			r.run.State.Branch,
		)
	}
	return fmt.Errorf(
		"nothing was changed, because your files in %s have other changes in the same places (%s): commit them, or put them aside with `git stash`, and try again",
		dir,
		said,
	)
}
