package gitops

import (
	"context"
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
