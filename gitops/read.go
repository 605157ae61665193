package gitops

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// ReadFile gives the content of a file of a commit, of at most limit bytes
// (0 for 16 MiB); a larger one is [ErrTooLarge]. Of a symlink it gives the
// target. What is not there is [ErrNotFound].
func (m *Mirror) ReadFile(ctx context.Context, commit, path string, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = 16 << 20
	}
	id, err := m.Resolve(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	var data []byte
	err = m.use(func(o *odb) error {
		e, err := o.entry(id, path)
		if err != nil {
			return err
		}
		if e.isDir() || e.mode == filemode.Submodule {
			return fmt.Errorf("%q is a directory or submodule", path)
		}
		data, err = o.read(plumbing.BlobObject, e.hash, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	return data, nil
}

func (o *odb) entry(id, path string) (entry, error) {
	c, err := o.commit(id)
	if err != nil {
		return entry{}, err
	}
	return o.find(c.TreeHash, path)
}

// The kinds of a [TreeEntry].
const (
	IsFile      = "file"
	IsExec      = "exec"
	IsSymlink   = "symlink"
	IsDir       = "dir"
	IsSubmodule = "submodule"
)

// TreeEntry is one line of a directory.
type TreeEntry struct {
	Path string // from the root
	Kind string // "file", "exec", "symlink", "dir" or "submodule"
	ID   string // of the object
}

// List gives what is in a directory of a commit ("" for the root), in git's
// order. With recursive it lists files at any depth instead of directories.
// More than limit entries (0 for 100,000) is [ErrTooLarge].
func (m *Mirror) List(ctx context.Context, commit, dir string, recursive bool, limit int) ([]TreeEntry, error) {
	if limit <= 0 {
		limit = 100_000
	}
	id, err := m.Resolve(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("list tree: %w", err)
	}
	l := &lister{recursive: recursive, max: limit}
	err = m.use(func(o *odb) error {
		l.o, l.out = o, nil
		e, err := o.entry(id, dir)
		if err != nil {
			return err
		}
		if !e.isDir() {
			return fmt.Errorf("%q is not a directory", dir)
		}
		at := dir
		if at != "" {
			at += "/"
		}
		return l.walk(ctx, e.hash, at)
	})
	if err != nil {
		return nil, fmt.Errorf("list tree: %w", err)
	}
	return l.out, nil
}

type lister struct {
	o         *odb
	recursive bool
	max       int
	seen      int
	out       []TreeEntry
}

func (l *lister) walk(ctx context.Context, h plumbing.Hash, at string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	list, err := l.o.tree(h)
	if err != nil {
		return err
	}
	for _, e := range list {
		if l.seen++; l.seen > l.max {
			return fmt.Errorf("%w: more than %d entries", ErrTooLarge, l.max)
		}
		if e.isDir() && l.recursive {
			if err := l.walk(ctx, e.hash, at+e.name+"/"); err != nil {
				return err
			}
			continue
		}
		l.out = append(l.out, TreeEntry{Path: at + e.name, Kind: kindOf(e), ID: e.hash.String()})
	}
	return nil
}

func kindOf(e entry) string {
	switch e.mode {
	case filemode.Dir:
		return IsDir
	case filemode.Submodule:
		return IsSubmodule
	case filemode.Symlink:
		return IsSymlink
	case filemode.Executable:
		return IsExec
	}
	return IsFile
}
