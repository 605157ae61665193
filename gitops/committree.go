package gitops

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// CommitTree commits a tree that is in the repository already on top of a
// parent ("" for none). It is how a state that was saved privately becomes a
// checkpoint on a branch. A tree equal to the parent's makes no commit, see
// [Commit].
func (m *Mirror) CommitTree(ctx context.Context, tree, parent string, meta Meta) (Commit, error) {
	var c Commit
	err := m.use(func(o *odb) (err error) {
		c, err = o.finish(ctx, plumbing.NewHash(tree), plumbing.NewHash(parent), meta)
		return err
	})
	if err != nil {
		return Commit{}, fmt.Errorf("commit tree: %w", err)
	}
	return c, nil
}
