package gitops

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// ReadFile returns the content of a file of a commit, at most limit bytes (0 means 16
// MiB); a larger one is [ErrTooLarge]. For a symlink it returns the target. A missing
// file is [ErrNotFound].
func (m *Mirror) ReadFile(ctx context.Context, commit, path string, limit int64) (data []byte, err error) {
	err = m.at(ctx, commit, path, func(o *objects.DB, tree plumbing.Hash, e objects.Entry) error {
		if e.IsDir() || e.Mode == filemode.Submodule {
			return fmt.Errorf("%q is a directory or submodule", path)
		}
		if err := o.PrefetchNear(tree, path, e.Hash); err != nil {
			return err
		}
		data, err = o.Read(plumbing.BlobObject, e.Hash, cmp.Or(limit, 16<<20))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	return data, nil
}

// at calls fn with the tree of a commit, and the entry at a path in it.
func (m *Mirror) at(
	ctx context.Context,
	commit, path string,
	fn func(o *objects.DB, tree plumbing.Hash, e objects.Entry) error,
) error {
	id, err := m.Resolve(ctx, commit)
	if err != nil {
		return err
	}
	return m.pool.Use(ctx, func(o *objects.DB) error {
		tree, err := o.TreeOf(id)
		if err != nil {
			return err
		}
		e, err := o.Find(tree, path)
		if err != nil {
			return err
		}
		return fn(o, tree, e)
	})
}

// Kinds of a [TreeEntry] other than a plain file.
const (
	IsSymlink   = "symlink"
	IsDir       = "dir"
	IsSubmodule = "submodule"
)

// TreeEntry is an entry of a directory.
type TreeEntry struct {
	Path string // from the root
	Kind string // "file", "exec", "symlink", "dir" or "submodule"
	ID   string // of its object in git, in hex
}

// maxList is the maximum number of entries of a [Mirror.List].
const maxList = 100_000

// List returns the entries of a directory of a commit ("" is the root), in git's order.
// If recursive, it lists files at any depth instead of directories. Too many entries are
// [ErrTooLarge].
func (m *Mirror) List(ctx context.Context, commit, dir string, recursive bool) (list []TreeEntry, err error) {
	err = m.at(ctx, commit, dir, func(o *objects.DB, _ plumbing.Hash, e objects.Entry) error {
		if !e.IsDir() {
			return fmt.Errorf("%q is not a directory", dir)
		}
		at := ""
		if dir != "" {
			at = dir + "/"
		}
		l := &lister{o: o, recursive: recursive}
		err := l.walk(ctx, e.Hash, at)
		list = l.out
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list tree: %w", err)
	}
	return list, nil
}

type lister struct {
	o         *objects.DB
	recursive bool
	seen      int
	out       []TreeEntry
}

func (l *lister) walk(ctx context.Context, h plumbing.Hash, at string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	list, err := l.o.Tree(h)
	if err != nil {
		return err
	}
	for _, e := range list {
		if l.seen++; l.seen > maxList {
			return fmt.Errorf("%w: more than %d entries", ErrTooLarge, maxList)
		}
		if e.IsDir() && l.recursive {
			if err := l.walk(ctx, e.Hash, at+e.Name+"/"); err != nil {
				return err
			}
			continue
		}
		l.out = append(l.out, TreeEntry{Path: at + e.Name, Kind: kindOf(e), ID: e.Hash.String()})
	}
	return nil
}

func kindOf(e objects.Entry) string {
	switch e.Mode {
	case filemode.Dir:
		return IsDir
	case filemode.Submodule:
		return IsSubmodule
	case filemode.Symlink:
		return IsSymlink
	case filemode.Executable:
		return "exec"
	}
	return "file"
}
