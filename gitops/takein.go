package gitops

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/gitops/merge"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// TakeIn says what to merge. Meta.Merges is the commit that is taken in.
type TakeIn struct {
	Head  string    // the branch's commit, which becomes the first parent
	From  string    // commit whose tree it is done to, with changes that are not on the branch yet; "" for Head
	Names [2]string // of the branch and of what is taken in, for the marks around conflicts
	Meta
}

// Merge makes a commit that has the work and what is taken in, and returns the paths
// that conflict: texts have both sides between marks, see [merge.Marked]. Where the
// branch has all of it already that is [ErrNothing]. No ref moves.
func (t TakeIn) Merge(ctx context.Context, m *Mirror) (c Commit, conflicts []string, err error) {
	err = m.pool.Use(ctx, func(o *objects.DB) (err error) {
		c, conflicts, err = t.run(ctx, o)
		return err
	})
	if err != nil {
		return Commit{}, nil, fmt.Errorf("take in %s: %w", t.Merges, err)
	}
	return c, conflicts, nil
}

func (t TakeIn) run(ctx context.Context, o *objects.DB) (c Commit, conflicts []string, err error) {
	head, theirs := plumbing.NewHash(t.Head), plumbing.NewHash(t.Merges)
	fork, err := o.Fork(ctx, head, theirs)
	switch {
	case err != nil:
		return c, nil, err
	case fork == theirs:
		return c, nil, ErrNothing
	case fork.IsZero():
		return c, nil, errUnrelated
	}
	if t.From == "" {
		t.From = t.Head
	}
	var trees [3]plumbing.Hash
	for i, id := range []string{fork.String(), t.From, t.Merges} {
		if trees[i], err = o.TreeOf(id); err != nil {
			return c, nil, err
		}
	}
	tree, conflicts, err := merge.Marked(ctx, o, trees, t.Names)
	if err != nil {
		return c, nil, err
	}
	c, err = makeCommit(ctx, o, tree, t.Head, t.Meta)
	return c, conflicts, err
}

// Unsettled returns those of some paths at which commit has marks around two sides
// that neither of the others has.
func Unsettled(ctx context.Context, m *Mirror, commit string, paths []string, others ...string) (out []string, err error) {
	read := func(id, path string) ([]string, error) {
		data, err := m.ReadFile(ctx, id, path, merge.MostBytes)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrTooLarge) {
			return nil, nil
		}
		return lines.Split(data), err
	}
	for _, path := range paths {
		text, err := read(commit, path)
		if err != nil {
			return nil, err
		}
		var known [][]string
		for _, id := range others {
			other, err := read(id, path)
			if err != nil {
				return nil, err
			}
			known = append(known, other)
		}
		if lines.HasMarks(text, known...) {
			out = append(out, path)
		}
	}
	return out, nil
}

// withoutMerges returns the commits that are no merges.
func withoutMerges(list []*object.Commit) (out []*object.Commit) {
	for _, c := range list {
		if len(c.ParentHashes) < 2 {
			out = append(out, c)
		}
	}
	return out
}
