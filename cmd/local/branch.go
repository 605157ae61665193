package local

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

func refOf(branch string) string { return "refs/heads/" + branch }

// checkFree returns an error if branch exists, or is not allowed for a result.
func (s *Session) checkFree(ctx context.Context, branch string, tree WorkTree) error {
	if branch == "" {
		return nil
	}
	if err := policy.ValidateBranch(branch); err != nil {
		return door.UsageError{Err: err}
	}
	if slices.Contains([]string{"main", "master", tree.defaultBranch(ctx)}, branch) { //control:run-not-the-default
		return door.Usage("%s is the default branch: choose another one for the result", branch)
	}
	above, err := s.branchAbove(ctx, branch)
	switch {
	case err != nil:
		return err
	case above != "":
		return door.Usage("git keeps no branch %s beside %s; choose another name for the result", branch, above)
	}
	_, err = s.repo.Resolve(ctx, refOf(branch))
	switch {
	case errors.Is(err, gitops.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return s.takenError(branch)
}

// branchAbove returns the branch with the name of a directory above another branch. It is empty
// if there is none.
func (s *Session) branchAbove(ctx context.Context, branch string) (string, error) {
	for dir := path.Dir(branch); dir != "."; dir = path.Dir(dir) {
		_, err := s.repo.Resolve(ctx, refOf(dir))
		if err == nil || !errors.Is(err, gitops.ErrNotFound) {
			return dir, err
		}
	}
	return "", nil
}

// takenError returns the error for an existing branch. It names the branch's session if known.
func (s *Session) takenError(branch string) error {
	list, _ := List(50) // best effort: the session is only a hint
	for _, r := range list {
		if t := r.State.Task; t.Branch == branch && t.Clone.Path == s.Task.Clone.Path {
			return door.Usage(
				"the branch %s is that of session %s; go on with it by `%s`, or choose another name",
				branch,
				r.ID,
				terminal.Command("resume", r.ID),
			)
		}
	}
	return door.Usage("the branch %s is there already; choose another name for the result", branch)
}

// reserve creates the result branch at the base commit before any work, so that no other
// run can take it. A name from the configuration gets the first number that makes it
// unique, and no directory if a branch has that name.
func (s *Session) reserve(ctx context.Context, template string) error {
	set := func(name string) error { return s.repo.SetRef(ctx, refOf(name), s.Task.Base, "") }
	if name := s.Task.Branch; name != "" {
		err := set(name)
		if errors.Is(err, gitops.ErrStale) {
			err = s.takenError(name)
		}
		if err != nil {
			s.Task.Branch = "" // it is not ours
		}
		return err
	}
	name, err := policy.Branch(
		template,
		policy.BranchValues{Session: s.Task.Session, Title: s.Task.Text, Mode: s.Task.Mode},
	)
	if err != nil {
		return err
	}
	above, err := s.branchAbove(ctx, name)
	if err != nil {
		return err
	}
	if above != "" { //control:branch-above
		name = strings.ReplaceAll(name, "/", "-")
	}
	for n, try := 2, name; ; n++ {
		err := set(try)
		if err == nil {
			s.Task.Branch = try
			return nil
		}
		if !errors.Is(err, gitops.ErrStale) {
			return fmt.Errorf("reserve a branch: %w", err)
		}
		try = fmt.Sprintf("%s-%d", name, n)
	}
}

// release deletes the branch if the session never put a commit there.
func (s *Session) release(ctx context.Context) error {
	if s.repo == nil || s.Task.Branch == "" || s.Task.Base == "" || s.published != "" && s.published != s.Task.Base { //control:branch-of-work-stays
		return nil
	}
	at, err := s.repo.Resolve(ctx, refOf(s.Task.Branch))
	if errors.Is(err, gitops.ErrNotFound) || err == nil && at != s.Task.Base {
		return nil
	}
	if err == nil {
		err = s.repo.SetRef(ctx, refOf(s.Task.Branch), "", s.Task.Base)
	}
	return err
}
