package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// SafePush is work that must reach a branch without loss: one of the remote, or of a
// local clone.
type SafePush struct {
	Commit string // full id of the newest commit
	Base   string // full id of the commit that the work starts from
	Ref    string // the branch, "refs/heads/…"
	Tries  int    // maximum number of rebases if the branch keeps moving; 0 means 3
	// Origin is the commit where all of the work began; empty means Base. If a rewrite of the
	// branch dropped Base, the commits after Origin with the trailer Session: Session are
	// replayed, too.
	Origin  string
	Session string
	Exists  bool // the branch should exist: creating it is reported
	Closed  bool // never push to the branch itself, but to one beside it
	// Guarded reports whether a file needs an approval of its exact content; nil means that
	// none does. Such a file is never merged by lines, and a change of it that a rewrite of
	// the branch dropped is not replayed.
	Guarded func(path string) bool
	Sign    Signer // for replayed commits; nil disables signing
	Merges  bool   // Commit is a merge, which must not be split
}

// Results of a [SafePush].
const (
	HowPushed   = "pushed"   // unchanged
	howRebased  = "rebased"  // after a rebase onto other pushes
	howRestored = "restored" // to a branch that had been deleted
	howFallback = "fallback" // to another branch, since this one could not take it
	HowPatch    = "patch"    // not pushed: the work is in Patch
	howLeftOut  = "held"     // it has only workflow files that the token may not push
)

// Pushed is the result of a [SafePush].
type Pushed struct {
	How       string
	Commit    string     // commit at Ref on the remote; if not pushed, the local commit
	Ref       string     // empty if nothing was pushed
	Workflows []FileStat // workflow files that were split out
	Split     string     // their changes, as a patch
	Patch     string     // the work as a patch, if it was not pushed
	Conflicts []string   // paths that a rebase could not merge
	Causes    []error    // causes of failed attempts, in order
}

// workflowDir is the directory of files that need a permission of their own.
const workflowDir = ".github/workflows"

// PushSafe pushes without ever losing work. A rejected push is rebased and retried. If
// that conflicts, or a rule declines the push, the work goes to a new branch "<ref>-2"
// (up to "-9"); if another branch is in the way of the name, to one without directories. If
// nothing can be pushed, it is returned as a patch. Workflow files that the token may not change
// are moved to Split, and the rest is pushed.
//
// It returns an error only for temporary failures ([ErrUnavailable], a full disk, an
// ended context): the work is unchanged, and the caller can retry. Pushed.Commit is then the commit
// that was sent last, and has arrived if only the answer was lost.
func (m *Mirror) PushSafe(ctx context.Context, p SafePush) (Pushed, error) {
	if err := (Push{Commit: p.Commit, Ref: p.Ref}).check(); err != nil {
		return Pushed{}, fmt.Errorf("push: %w", err)
	}
	if p.Base != "" && !objects.IsID(p.Base) || p.Commit == "" || !strings.HasPrefix(p.Ref, "refs/heads/") {
		return Pushed{}, fmt.Errorf("push: want a commit, its base and a branch, got %q, %q and %q", p.Commit, p.Base, p.Ref)
	}
	if p.Tries <= 0 {
		p.Tries = 3
	}
	if p.Origin == "" {
		p.Origin = p.Base
	}
	s := &pushing{m: m, p: p, out: Pushed{How: HowPushed, Commit: p.Commit}}
	if err := s.direct(ctx); err == nil || s.done {
		return s.out, err
	}
	if err := s.fallback(ctx); err == nil || s.done {
		return s.out, err
	}
	return s.patch(ctx)
}

// pushing is a [Mirror.PushSafe] in progress. done means that out is final.
type pushing struct {
	m    *Mirror
	p    SafePush
	out  Pushed
	done bool
}

// direct pushes to the branch itself, and rebases as needed.
func (s *pushing) direct(ctx context.Context) error {
	if s.p.Closed { //control:closed-branch
		s.out.Causes = append(s.out.Causes, ErrClosed)
		return ErrClosed
	}
	for try := 0; ; try++ {
		err := s.push(ctx, Push{Commit: s.p.Commit, Ref: s.p.Ref})
		if err == nil || s.done {
			return err
		}
		if !errors.Is(err, ErrRejected) || try == s.p.Tries {
			return err
		}
		if err := s.rebase(ctx); err != nil || s.done {
			return err
		}
	}
}

// push is one attempt. It splits workflow files out if required, and sets done after a
// success or a temporary failure.
func (s *pushing) push(ctx context.Context, p Push) error {
	if s.p.Base != s.p.Origin {
		p.after = s.p.Base //control:rewound-branch
	}
	send := s.m.push
	if s.m.url == "" {
		send = s.m.move
	}
	made, err := send(ctx, p)
	var declined *RemoteError
	if errors.Is(err, ErrWorkflowScope) && s.p.Merges && errors.As(err, &declined) { //control:merge-is-not-split
		err = &RemoteError{Kind: ErrAuth, Reason: declined.Reason, Output: declined.Output}
	} else if errors.Is(err, ErrWorkflowScope) && s.out.Split == "" {
		s.out.Causes = append(s.out.Causes, err)
		if serr := s.split(ctx); serr != nil {
			s.done = true
			return serr
		}
		if s.p.Commit == s.p.Base {
			s.done, s.out.How, s.out.Commit = true, howLeftOut, s.p.Base
			return nil
		}
		p.Commit = s.p.Commit
		made, err = send(ctx, p)
	}
	if err == nil {
		s.done, s.out.Commit, s.out.Ref = true, p.Commit, p.Ref
		if made && s.p.Exists && p.Ref == s.p.Ref { //control:restored-branch
			s.out.How = howRestored
		}
		return nil
	}
	err = fmt.Errorf("push %s: %w", p.Ref, err)
	s.out.Causes = append(s.out.Causes, err)
	if s.done = !isFinal(err); s.done {
		s.out.Commit = p.Commit //control:sent-as
	}
	return err
}

// isFinal reports whether the remote declined, as opposed to being unreachable.
func isFinal(err error) bool {
	var declined *RemoteError
	return errors.As(err, &declined) || errors.Is(err, ErrAuth) || errors.Is(err, ErrNotFound)
}

// rebase replays the work on top of the branch's current commit.
func (s *pushing) rebase(ctx context.Context) error {
	onto, err := s.m.Tip(ctx, s.p.Ref)
	if err != nil {
		s.out.Causes = append(s.out.Causes, err)
		s.done = !isFinal(err)
		return err
	}
	if onto == "" {
		return nil // the branch is gone: the next attempt creates it again
	}
	if there, err := s.has(ctx, onto); there || err != nil {
		s.done, s.out.Commit, s.out.Ref = true, onto, s.p.Ref
		return err
	}
	c, err := s.replay(ctx, onto)
	var conflict *conflict
	switch {
	case err == nil:
		s.p.Commit, s.p.Base, s.p.Origin, s.out.How = c.ID, onto, onto, howRebased
		return nil
	case errors.As(err, &conflict):
		s.out.Conflicts = conflict.Paths
		s.out.Causes = append(s.out.Causes, err)
	default:
		s.done = true
	}
	return err
}

// has reports whether onto contains the work: an earlier push succeeded, but its answer
// was lost. Later commits of others are kept.
func (s *pushing) has(ctx context.Context, onto string) (there bool, err error) {
	err = s.m.pool.Use(ctx, func(o *objects.DB) (err error) {
		there, err = objects.Descends(ctx, o, plumbing.NewHash(onto), plumbing.NewHash(s.p.Commit)) //control:pushed-before
		return err
	})
	return there, err
}

// replay replays the work on onto, with earlier commits of the session that a rewrite of
// the branch dropped. Commits that onto has under other ids have no changes left and
// disappear.
func (s *pushing) replay(ctx context.Context, onto string) (c Commit, err error) {
	err = s.m.pool.Use(ctx, func(o *objects.DB) error {
		var off []string
		r := rebase{
			onto:  onto,
			base:  s.p.Base,
			head:  s.p.Commit,
			sign:  s.p.Sign,
			guard: guard{Guarded: s.p.Guarded, Kept: &off},
		}
		descends, err := objects.Descends(ctx, o, plumbing.NewHash(onto), plumbing.NewHash(s.p.Base))
		if err != nil {
			return err
		}
		dropped := !descends && s.p.Origin != s.p.Base && s.p.Session != ""
		if dropped {
			r.base, r.pick = s.p.Origin, s.ours //control:dropped-by-a-rewrite
			r.KeepOurs = s.p.Guarded != nil
		}
		c, err = r.run(ctx, o)
		if conflict := (*conflict)(nil); dropped && errors.As(err, &conflict) { //control:rewrite-wins
			r.base, r.pick, r.KeepOurs, off = s.p.Base, nil, false, nil
			if c, err = r.run(ctx, o); err == nil {
				s.out.Causes = append(
					s.out.Causes,
					fmt.Errorf(
						"the branch was rewritten: earlier work of this session stays off it, because it does not fit the new %s",
						strings.Join(conflict.Paths, ", "),
					),
				)
			}
		}
		if err == nil && len(off) > 0 {
			slices.Sort(off)
			off = slices.Compact(off)
			s.out.Causes = append(
				s.out.Causes,
				fmt.Errorf(
					"the branch was rewritten: its lost changes of %s stay off it, because each of them needs its own approval",
					strings.Join(off, ", "),
				),
			)
		}
		return err
	})
	return c, err
}

// ours reports whether a commit is the new one, or one of the session's.
func (s *pushing) ours(c *object.Commit) bool {
	return c.Hash.String() == s.p.Commit ||
		len(c.ParentHashes) < 2 && trailerValue(c.Message, TrailerSession) == s.p.Session
}

// besideName returns the name of the n-th candidate branch; the first is ref itself.
func besideName(ref string, n int) string {
	if n == 1 {
		return ref
	}
	return fmt.Sprintf("%s-%d", ref, n)
}

// flatName returns the name of a branch without directories: refs/heads/a/b is refs/heads/a-b.
func flatName(ref string) string {
	name, _ := strings.CutPrefix(ref, "refs/heads/")
	return "refs/heads/" + strings.ReplaceAll(name, "/", "-")
}

// fallback pushes to a branch beside the intended one.
func (s *pushing) fallback(ctx context.Context) error {
	last := s.out.Causes[len(s.out.Causes)-1]
	if errors.Is(last, ErrAuth) || errors.Is(last, ErrNotFound) {
		return last
	}
	ref, first := s.p.Ref, 2
	if errors.Is(last, errInTheWay) { //control:flat-branch
		ref, first = flatName(ref), 1
	}
	var err error
	for n := first; n <= 9; n++ { //control:fallback-branch
		s.out.How = howFallback
		err = s.push(ctx, Push{Commit: s.p.Commit, Ref: besideName(ref, n), Create: true})
		if err == nil || s.done || !errors.Is(err, ErrRejected) {
			return err
		}
	}
	return err
}

// patch returns the work as a patch.
func (s *pushing) patch(ctx context.Context) (Pushed, error) {
	text, _, err := s.m.Diff(ctx, s.p.Base, s.p.Commit, DiffOptions{Binary: true})
	out := s.out
	out.How, out.Ref, out.Commit, out.Patch = HowPatch, "", s.p.Commit, text
	return out, err
}

// split removes workflow files from the work.
func (s *pushing) split(ctx context.Context) error {
	patch, left, err := s.m.Diff(ctx, s.p.Base, s.p.Commit, DiffOptions{Paths: []string{workflowDir}, Binary: true})
	if err != nil {
		return err
	}
	var c Commit
	err = s.m.pool.Use(ctx, func(o *objects.DB) (err error) {
		c, err = rebase{
			onto: s.p.Base,
			base: s.p.Base,
			head: s.p.Commit,
			sign: s.p.Sign,
			sel:  except([]string{workflowDir}),
		}.run(
			ctx,
			o,
		)
		return err
	})
	if err != nil {
		return fmt.Errorf("split workflow files out: %w", err)
	}
	s.out.Workflows, s.out.Split, s.p.Commit = left, patch, c.ID
	return nil
}
