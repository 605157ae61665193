package gitops

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// CommitTreeOf commits the tree of the commit saved on top of another parent
// ("" for none). It is how a state that was saved privately becomes a
// checkpoint on a branch. A tree equal to the parent's makes no commit, see
// [Commit].
func (m *Mirror) CommitTreeOf(ctx context.Context, saved, parent string, meta Meta) (Commit, error) {
	var c Commit
	err := m.use(func(o *odb) error {
		s, err := o.commit(saved)
		if err != nil {
			return err
		}
		c, err = o.finish(ctx, s.TreeHash, plumbing.NewHash(parent), meta)
		return err
	})
	if err != nil {
		return Commit{}, fmt.Errorf("commit saved state: %w", err)
	}
	return c, nil
}

// CommitPathsOf commits, on top of parent, what saved holds at the given
// paths and nothing else of it. A path that saved does not have as a file is
// gone. It is how a part of a state is shown by itself.
func (m *Mirror) CommitPathsOf(ctx context.Context, saved, parent string, paths []string, meta Meta) (Commit, error) {
	var c Commit
	err := m.use(func(o *odb) error {
		s, err := o.commit(saved)
		if err != nil {
			return err
		}
		base, err := o.commit(parent)
		if err != nil {
			return err
		}
		root := &edit{}
		for _, p := range paths {
			parts, err := splitPath(p)
			if err != nil {
				return err
			}
			e := root.at(parts)
			e.set = true
			e.to, err = o.find(s.TreeHash, p)
			switch {
			case errors.Is(err, ErrNotFound), err == nil && e.to.isDir():
				e.to = entry{}
			case err != nil:
				return err
			}
		}
		tree, err := o.apply(ctx, base.TreeHash, root, "")
		if err != nil {
			return err
		}
		c, err = o.finish(ctx, tree, base.Hash, meta)
		return err
	})
	if err != nil {
		return Commit{}, fmt.Errorf("commit a part of a saved state: %w", err)
	}
	return c, nil
}
