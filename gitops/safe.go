package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// SafePush is work to bring to a branch of the remote, come what may.
type SafePush struct {
	Commit string // full id of the newest commit
	Base   string // full id of the commit that the work starts from; what comes after it is ours
	Ref    string // the branch, "refs/heads/…"
	Tries  int    // rebases when the branch keeps moving; 0 means 3
}

// How a [SafePush] ended.
const (
	HowPushed   = "pushed"   // as it was
	HowRebased  = "rebased"  // after a rebase onto what others pushed
	HowFallback = "fallback" // to another branch, since this one could not take it
	HowPatch    = "patch"    // not at all: the work is in Patch
	HowHeld     = "held"     // all of it is workflow files that the token may not push
)

// Pushed says where the work is now.
type Pushed struct {
	How       string
	Commit    string     // what is on the remote at Ref; the work here if it is not there
	Ref       string     // "" when nothing was pushed
	Held      []FileStat // workflow files that were split out
	HeldPatch string     // their changes
	Patch     string     // the work as a patch, when it was not pushed
	Conflicts []string   // paths that a rebase could not merge
	Causes    []error    // what was in the way, in order
}

// workflowDir is where files lie that need a permission of their own.
const workflowDir = ".github/workflows"

// PushSafe pushes so that work is never lost. A rejected push is rebased and
// tried again; when that conflicts, or a rule declines, the work goes to a
// new branch "<ref>-2" (to "-9"); when nothing can be pushed it comes back as
// a patch. Workflow files that the token may not change are split out into
// HeldPatch and the rest is pushed.
//
// The error is for what may pass by itself (no connection, the server is
// down, the context ended): the result then has the patch, and the same call
// may be made again.
func (m *Mirror) PushSafe(ctx context.Context, p SafePush) (Pushed, error) {
	if err := (Push{Commit: p.Commit, Ref: p.Ref}).check(); err != nil {
		return Pushed{}, fmt.Errorf("push: %w", err)
	}
	if p.Base != "" && !isID(p.Base) || p.Commit == "" || !strings.HasPrefix(p.Ref, "refs/heads/") {
		return Pushed{}, fmt.Errorf("push: want a commit, its base and a branch, got %q, %q and %q", p.Commit, p.Base, p.Ref)
	}
	if p.Tries <= 0 {
		p.Tries = 3
	}
	s := &saver{m: m, p: p, out: Pushed{How: HowPushed, Commit: p.Commit}}
	if err := s.direct(ctx); err == nil || s.done {
		return s.out, err
	}
	if err := s.fallback(ctx); err == nil || s.done {
		return s.out, err
	}
	return s.patch(ctx)
}

// saver is one PushSafe under way. done tells that out is final.
type saver struct {
	m    *Mirror
	p    SafePush
	out  Pushed
	done bool
}

// direct pushes to the branch itself, rebasing as needed.
func (s *saver) direct(ctx context.Context) error {
	for try := 0; ; try++ {
		err := s.push(ctx, Push{Commit: s.p.Commit, Ref: s.p.Ref})
		if err == nil || s.done {
			return err
		}
		if !errors.Is(err, ErrRejected) || try == s.p.Tries {
			return err
		}
		if err := s.rebase(ctx); err != nil {
			return err
		}
	}
}

// push is one try. It splits workflow files out when it must, and tells
// apart what may pass from what will not.
func (s *saver) push(ctx context.Context, p Push) error {
	err := s.m.Push(ctx, p)
	if errors.Is(err, ErrWorkflowScope) && s.out.HeldPatch == "" {
		s.out.Causes = append(s.out.Causes, err)
		if serr := s.split(ctx); serr != nil {
			return serr
		}
		if s.p.Commit == s.p.Base {
			s.done, s.out.How, s.out.Commit = true, HowHeld, s.p.Base
			return nil
		}
		p.Commit = s.p.Commit
		err = s.m.Push(ctx, p)
	}
	if err == nil {
		s.done, s.out.Commit, s.out.Ref = true, p.Commit, p.Ref
		return nil
	}
	s.out.Causes = append(s.out.Causes, err)
	var declined *RemoteError
	if errors.As(err, &declined) || errors.Is(err, ErrAuth) {
		return err
	}
	out, _ := s.patch(context.WithoutCancel(ctx))
	s.done, s.out = true, out
	return err
}

// rebase brings the work on top of where the branch is now.
func (s *saver) rebase(ctx context.Context) error {
	err := s.m.Fetch(ctx)
	if err == nil {
		var onto string
		if onto, err = s.m.Resolve(ctx, s.p.Ref); isNotFound(err) {
			return nil // the branch is gone: the next try makes it again
		}
		if err == nil {
			var c Commit
			if c, err = s.m.Rebase(ctx, onto, s.p.Base, s.p.Commit); err == nil {
				s.p.Commit, s.p.Base, s.out.How = c.ID, onto, HowRebased
				return nil
			}
		}
	}
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		s.out.Conflicts = conflict.Paths
	}
	s.out.Causes = append(s.out.Causes, err)
	return err
}

// fallback pushes to a branch beside the one that was meant.
func (s *saver) fallback(ctx context.Context) error {
	last := s.out.Causes[len(s.out.Causes)-1]
	if errors.Is(last, ErrAuth) {
		return last
	}
	var err error
	for n := 2; n <= 9; n++ {
		s.out.How = HowFallback
		err = s.push(ctx, Push{Commit: s.p.Commit, Ref: fmt.Sprintf("%s-%d", s.p.Ref, n), Create: true})
		if err == nil || s.done || !errors.Is(err, ErrRejected) {
			return err
		}
	}
	return err
}

// patch gives up on pushing.
func (s *saver) patch(ctx context.Context) (Pushed, error) {
	text, _, err := s.m.Diff(ctx, s.p.Base, s.p.Commit, DiffOptions{})
	out := s.out
	out.How, out.Ref, out.Commit, out.Patch = HowPatch, "", s.p.Commit, text
	return out, err
}

// split takes workflow files out of the work.
func (s *saver) split(ctx context.Context) error {
	patch, held, err := s.m.Diff(ctx, s.p.Base, s.p.Commit, DiffOptions{Paths: []string{workflowDir}})
	if err != nil {
		return err
	}
	var c Commit
	err = s.m.use(func(o *odb) (err error) {
		c, err = o.replay(ctx, s.p.Base, s.p.Base, s.p.Commit, []string{workflowDir})
		return err
	})
	if err != nil {
		return fmt.Errorf("split workflow files out: %w", err)
	}
	s.out.Held, s.out.HeldPatch, s.p.Commit = held, patch, c.ID
	return nil
}
