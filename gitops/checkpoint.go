package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

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
// path that is absolute or climbs is an error. Files inside a submodule
// belong to another repository: they are left out, and the submodule is
// listed in Submodules.
func (m *Mirror) Checkpoint(ctx context.Context, cp Checkpoint) (Commit, error) {
	var c Commit
	root, refused, err := m.storeChanges(ctx, cp)
	if err == nil {
		err = m.use(func(o *odb) (err error) {
			c, err = o.commitEdit(ctx, cp.Parent, root, cp.Meta)
			return err
		})
	}
	if err != nil {
		return Commit{}, fmt.Errorf("make checkpoint: %w", err)
	}
	c.Refused = refused
	return c, nil
}

// storeChanges writes the blobs and returns the edit of the tree.
func (m *Mirror) storeChanges(ctx context.Context, cp Checkpoint) (*edit, []string, error) {
	root, refused := &edit{}, []string(nil)
	o := m.pool.get()
	defer m.pool.put(o)
	for _, ch := range cp.Changes {
		parts, err := splitPath(ch.Path)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, nil, err
		}
		if unsafePath(parts) { //control:git-paths
			refused = append(refused, ch.Path)
			continue
		}
		e := entry{}
		if !ch.Delete {
			if e, err = o.store(ch, cmp.Or(cp.MaxBytes, maxBlob)); err != nil {
				return nil, nil, fmt.Errorf("store %q: %w", ch.Path, err)
			}
		}
		root.put(parts, e)
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

// commitEdit commits an edit of a parent's tree on top of it.
func (o *odb) commitEdit(ctx context.Context, parent string, root *edit, meta Meta) (Commit, error) {
	base, err := o.treeOf(parent)
	if err != nil {
		return Commit{}, err
	}
	ed := &editor{o: o}
	tree, err := ed.apply(ctx, base, root, "")
	if err != nil {
		return Commit{}, err
	}
	c, err := o.commitTree(ctx, tree, parent, meta)
	c.Submodules = ed.submodules
	return c, err
}

// treeOf returns the tree of a commit, the zero hash for "".
func (o *odb) treeOf(id string) (plumbing.Hash, error) {
	if id == "" {
		return plumbing.ZeroHash, nil
	}
	c, err := o.commit(id)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return c.TreeHash, nil
}

// commitTree commits a tree, unless it is the parent's.
func (o *odb) commitTree(ctx context.Context, tree plumbing.Hash, parent string, meta Meta) (Commit, error) {
	c := Commit{Parent: parent}
	base, err := o.treeOf(parent)
	if err != nil {
		return c, err
	}
	if tree, err = o.root(tree); err != nil {
		return c, err
	}
	c.Tree = tree.String()
	if tree == base || parent == "" && tree == plumbing.ComputeHash(plumbing.TreeObject, nil) {
		c.ID, c.Empty = parent, true
		return c, nil
	}
	id, err := o.writeCommit(tree, plumbing.NewHash(parent), meta)
	if err != nil {
		return c, err
	}
	c.ID = id.String()
	c.Files, err = o.stats(ctx, base, tree)
	return c, err
}

// CommitTreeOf commits the tree of the commit saved on top of another parent
// ("" for none). It is how a state that was saved privately becomes a
// checkpoint on a branch. A tree equal to the parent's makes no commit, see
// [Commit].
func (m *Mirror) CommitTreeOf(ctx context.Context, saved, parent string, meta Meta) (c Commit, err error) {
	err = m.use(func(o *odb) error {
		tree, err := o.treeOf(saved)
		if err == nil {
			c, err = o.commitTree(ctx, tree, parent, meta)
		}
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
func (m *Mirror) CommitPathsOf(ctx context.Context, saved, parent string, paths []string, meta Meta) (c Commit, err error) {
	err = m.use(func(o *odb) error {
		tree, err := o.treeOf(saved)
		if err != nil {
			return err
		}
		root := &edit{}
		for _, p := range paths {
			parts, err := splitPath(p)
			if err != nil {
				return err
			}
			e, err := o.find(tree, p)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			if err != nil || e.isDir() {
				e = entry{}
			}
			root.put(parts, e)
		}
		c, err = o.commitEdit(ctx, parent, root, meta)
		if err == nil && len(c.Submodules) > 0 {
			err = fmt.Errorf("%w: %q are submodules: commit to their own repositories", errPath, c.Submodules)
		}
		return err
	})
	if err != nil {
		return Commit{}, fmt.Errorf("commit a part of a saved state: %w", err)
	}
	return c, nil
}
