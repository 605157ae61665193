package gitops

import (
	"context"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// rebase replays the commits after base up to head, along first parents, on top of onto.
// It keeps authors, dates, messages and the other parents of a merge, and drops commits
// without remaining changes. If both sides changed the same lines, it is a [conflict].
type rebase struct {
	onto, base, head string
	sel              selection                 // selects changes
	pick             func(*object.Commit) bool // selects commits; nil means all
	sign             Signer                    // nil disables signing
	guard                                      // Stay is for all commits but head
}

// run makes the commits. It moves no ref. Files of the result are the changes relative to
// onto.
func (r rebase) run(ctx context.Context, o *objects.DB) (Commit, error) {
	chain, err := o.Chain(ctx, r.base, r.head)
	if err != nil {
		return Commit{}, err
	}
	start, err := o.Commit(r.onto)
	if err != nil {
		return Commit{}, err
	}
	at, tree := start.Hash, start.TreeHash
	for _, c := range slices.Backward(chain) {
		if r.pick != nil && !r.pick(c) {
			continue
		}
		from, err := o.ParentTree(c)
		if err != nil {
			return Commit{}, err
		}
		g := r.guard
		g.KeepOurs = g.KeepOurs && c.Hash.String() != r.head
		next, err := trees(ctx, o, [3]plumbing.Hash{from, tree, c.TreeHash}, r.sel, g)
		if err == nil {
			next, err = o.Root(next)
		}
		if err != nil {
			return Commit{}, err
		}
		parents, err := replayedParents(ctx, o, at, c)
		if err != nil {
			return Commit{}, err
		}
		if next == tree && len(parents) == 1 {
			continue
		}
		tree = next
		at, err = r.sign.write(
			ctx,
			o,
			object.Commit{TreeHash: tree, ParentHashes: parents, Author: c.Author, Committer: c.Committer, Message: c.Message},
		)
		if err != nil {
			return Commit{}, err
		}
	}
	out := Commit{ID: at.String(), Tree: tree.String(), Parent: r.onto, Empty: at == start.Hash}
	out.Files, err = stats(ctx, o, start.TreeHash, tree)
	return out, err
}

// replayedParents returns the parents of a commit that is replayed on top of at: at and the merged
// parents, except those that at contains.
func replayedParents(ctx context.Context, o *objects.DB, at plumbing.Hash, c *object.Commit) ([]plumbing.Hash, error) {
	out := objects.Parents(at.String())
	for i, p := range c.ParentHashes {
		if i == 0 {
			continue
		}
		there, err := objects.Descends(ctx, o, at, p)
		if err != nil {
			return nil, err
		}
		if !there { //control:merge-stays-a-merge
			out = append(out, p)
		}
	}
	return out, nil
}
