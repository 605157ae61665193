package gitops

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// TakeIn describes a merge. Meta.Merges is the commit to merge.
type TakeIn struct {
	Head  string    // commit of the branch, the first parent
	From  string    // commit with unpublished changes, merged in place of Head; empty means Head
	Names [2]string // labels of both sides for conflict markers
	Meta
}

// Merge commits the merge, and returns the conflicting paths: texts have both sides
// between markers, see [markedTree]. If the branch contains the commit already, the
// error is [ErrNothing]. It moves no ref.
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
	tree, conflicts, err := markedTree(ctx, o, trees, t.Names)
	if err != nil {
		return c, nil, err
	}
	c, err = makeCommit(ctx, o, tree, t.Head, t.Meta)
	return c, conflicts, err
}

// Unsettled returns the paths at which commit has conflict markers that none of the
// others has.
func Unsettled(
	ctx context.Context,
	m *Mirror,
	commit string,
	paths []string,
	others ...string,
) (out []string, err error) {
	read := func(id, path string) ([]string, error) {
		data, err := m.ReadFile(ctx, id, path, maxBytes)
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

// withoutMerges returns the commits that are not merges.
func withoutMerges(list []*object.Commit) (out []*object.Commit) {
	for _, c := range list {
		if len(c.ParentHashes) < 2 {
			out = append(out, c)
		}
	}
	return out
}
