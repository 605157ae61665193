package gitops

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Checkpoint says what to commit.
type Checkpoint struct {
	Parent  string // full commit id; "" for the first commit of a repository
	Changes []Change
	Meta
	MaxBytes int64 // of one file; 0 means 100 MiB
}

// Change is what happened to one path: it is gone, or it has new content.
type Change struct {
	Path    string // relative to the root, with slashes
	Delete  bool   // the file, or everything below the directory
	Exec    bool   // a file that may be executed
	Symlink bool   // Open gives the target
	Open    func() (io.ReadCloser, error)
}

// Commit is a commit that was made, or (Empty) the parent because nothing
// differs from it.
type Commit struct {
	ID, Tree, Parent string
	Files            []FileStat // what differs from the parent
	Empty            bool       // no commit was made; ID is the parent
	Refused          []string   // paths left out: ".git" in any spelling, ".gitmodules"
	Submodules       []string   // submodules with changes inside, which stay as they are
}

// Checkpoint commits changes on top of a parent. It reads the trees on the
// way to the changed paths and nothing else, so its cost grows with the
// change. No ref moves: see [Mirror.SetRef].
//
// Content equal to the parent's is no change. Paths with a git directory in
// them, and the list of submodules, are left out and listed in Refused; a
// path that is absolute or climbs is an [ErrPath]. Files inside a submodule
// belong to another repository: they are left out, and the submodule is
// listed in Submodules.
func (m *Mirror) Checkpoint(ctx context.Context, cp Checkpoint) (Commit, error) {
	blobs, refused, err := m.storeChanges(ctx, cp)
	if err != nil {
		return Commit{}, fmt.Errorf("make checkpoint: %w", err)
	}
	var c Commit
	err = m.use(func(o *odb) (err error) {
		*blobs.stays = nil
		parent, base := plumbing.ZeroHash, plumbing.ZeroHash
		if cp.Parent != "" {
			p, err := o.commit(cp.Parent)
			if err != nil {
				return err
			}
			parent, base = p.Hash, p.TreeHash
		}
		tree, err := o.apply(ctx, base, blobs, "")
		if err != nil {
			return err
		}
		c, err = o.finish(ctx, tree, parent, cp.Meta)
		return err
	})
	if err != nil {
		return Commit{}, fmt.Errorf("make checkpoint: %w", err)
	}
	c.Refused, c.Submodules = refused, *blobs.stays
	return c, nil
}

// storeChanges writes the blobs and gives the edit of the tree.
func (m *Mirror) storeChanges(ctx context.Context, cp Checkpoint) (*edit, []string, error) {
	limit := cp.MaxBytes
	if limit <= 0 {
		limit = maxBlob
	}
	root, refused := &edit{stays: new([]string)}, []string(nil)
	o := m.pool.get()
	defer m.pool.put(o)
	for _, ch := range cp.Changes {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		parts, err := splitPath(ch.Path)
		if err != nil {
			return nil, nil, err
		}
		if unsafePath(parts) { //control:git-paths
			refused = append(refused, ch.Path)
			continue
		}
		e := root.at(parts)
		e.set = true
		if ch.Delete {
			e.to = entry{}
			continue
		}
		if e.to, err = o.store(ch, limit); err != nil {
			return nil, nil, fmt.Errorf("store %q: %w", ch.Path, err)
		}
	}
	return root, refused, nil
}

func (o *odb) store(ch Change, limit int64) (entry, error) {
	e := entry{mode: filemode.Regular}
	switch {
	case ch.Symlink:
		e.mode, limit = filemode.Symlink, 4096
	case ch.Exec:
		e.mode = filemode.Executable
	}
	if ch.Open == nil {
		return e, fmt.Errorf("no content given")
	}
	r, err := ch.Open()
	if err != nil {
		return e, err
	}
	defer r.Close()
	e.hash, err = o.writeBlob(r, limit)
	return e, err
}

// finish commits a tree, or tells that it is the parent's.
func (o *odb) finish(ctx context.Context, tree, parent plumbing.Hash, meta Meta) (Commit, error) {
	base := plumbing.ZeroHash
	c := Commit{}
	if !parent.IsZero() {
		p, err := o.commit(parent.String())
		if err != nil {
			return c, err
		}
		base, c.Parent = p.TreeHash, parent.String()
	}
	tree, err := o.root(tree)
	if err != nil {
		return c, err
	}
	c.Tree = tree.String()
	if tree == base || parent.IsZero() && isEmptyTree(tree) {
		c.ID, c.Empty = c.Parent, true
		return c, nil
	}
	id, err := o.writeCommit(tree, parent, meta)
	if err != nil {
		return c, err
	}
	c.ID = id.String()
	c.Files, err = o.stats(ctx, base, tree, nil)
	return c, err
}

func isEmptyTree(h plumbing.Hash) bool {
	return h.IsZero() || h == plumbing.ComputeHash(plumbing.TreeObject, nil)
}

// Text is a [Change] of a file to the given text.
func Text(path, text string) Change {
	return Change{Path: path, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}
