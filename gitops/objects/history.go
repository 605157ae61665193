package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Parents returns the parents of a commit on top of id. An empty or zero id means
// that there is no parent.
func Parents(id string) []plumbing.Hash {
	if h := plumbing.NewHash(id); !h.IsZero() {
		return []plumbing.Hash{h}
	}
	return nil
}

// Raw returns a commit as git stores it.
func (o *DB) Raw(id plumbing.Hash) ([]byte, error) {
	e, err := o.EncodedObject(plumbing.CommitObject, id)
	if err != nil {
		return nil, err
	}
	r, err := e.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// Fork returns the merge base of two histories, or the zero hash if they have none.
func (o *DB) Fork(ctx context.Context, ours, theirs plumbing.Hash) (plumbing.Hash, error) {
	list, err := between(ctx, o, ours, []plumbing.Hash{theirs})
	if err != nil || len(list) == 0 {
		return ours, err
	}
	mine := map[plumbing.Hash]bool{}
	for _, c := range list {
		mine[c.Hash] = true
	}
	var best *object.Commit
	for _, c := range list {
		for _, p := range c.ParentHashes {
			if mine[p] || best != nil && best.Hash == p {
				continue
			}
			found, err := o.Commit(p.String())
			if err != nil {
				return p, err
			}
			older := false
			if best != nil {
				if older, err = Descends(ctx, o, best.Hash, p); err != nil {
					return p, err
				}
			}
			if !older && (best == nil || found.Committer.When.After(best.Committer.When)) {
				best = found
			}
		}
	}
	if best == nil {
		return plumbing.ZeroHash, nil
	}
	return best.Hash, nil
}

const maxChain = 2000

// Chain lists the commits from head back to base, without base, newest first.
func (o *DB) Chain(ctx context.Context, base, head string) ([]*object.Commit, error) {
	var list []*object.Commit
	for id := head; id != base; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := o.Commit(id)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
		if len(c.ParentHashes) == 0 && base == "" {
			break
		}
		if len(c.ParentHashes) == 0 || len(list) > maxChain {
			return nil, fmt.Errorf("%s is not among the last %d commits of %s", base, maxChain, head)
		}
		id = c.ParentHashes[0].String()
	}
	return list, nil
}

// Same reports whether two commits have the same tree, parents and message.
func Same(a, b *object.Commit) bool {
	return a.TreeHash == b.TreeHash && slices.Equal(a.ParentHashes, b.ParentHashes) &&
		strings.TrimSpace(a.Message) == strings.TrimSpace(b.Message)
}

// maxTwinDepth is the maximum number of commits searched for a twin; others may have
// pushed in the meantime.
const maxTwinDepth = 100

// Twin searches the first-parent history of head for a signed commit that otherwise
// equals the unsigned one, and returns its raw content. It returns nil if there is none.
func (o *DB) Twin(ctx context.Context, head string, want *object.Commit) ([]byte, error) {
	for range maxTwinDepth {
		c, err := o.Commit(head)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		if c.PGPSignature != "" && Same(c, want) {
			return o.Raw(c.Hash)
		}
		if len(c.ParentHashes) == 0 || slices.Contains(want.ParentHashes, c.Hash) {
			return nil, nil
		}
		head = c.ParentHashes[0].String()
	}
	return nil, nil
}
