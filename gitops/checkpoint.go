package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/objects"
)

const maxBlob = 100 << 20 // maximum bytes of a file in a checkpoint, GitHub's limit

// Checkpoint describes a commit to make.
type Checkpoint struct {
	Parent  string // full commit id; empty for the first commit of a repository
	Changes []Change
	Meta
	MaxBytes int64 // per file; 0 means 100 MiB
	// Last is the tree saved before; empty means the parent's. A path that is left out keeps
	// its entry in Last.
	Last string
	// Skip reports whether to leave out a path with an unreadable content. If nil, such a
	// path is an error.
	Skip func(error) bool
}

// Change is a change of one path: a deletion, or new content.
type Change struct {
	Path    string // relative to the root, with slashes
	Keep    bool   // state unknown: keep the entry in Last
	Delete  bool   // the file, or everything below the directory
	Exec    bool   // an executable file
	Symlink bool   // Open returns the target's path
	Open    func() (io.ReadCloser, error)
}

// Commit is a new commit or, if Empty, the unchanged parent.
type Commit struct {
	ID, Tree, Parent string
	Files            []FileStat // changes relative to the parent
	Empty            bool       // no commit was made; ID is the parent
	Refused          []string   // paths left out: ".git" in any spelling, ".gitmodules"
	LeftOut          []LeftOut  // paths with unreadable content
	Submodules       []string   // submodules with changes inside; they are not updated
	LFS              []string   // paths whose contents are in the clone's storage of Git LFS
	Unfiltered       []string   // paths whose contents git would have changed by one of [Settings.Filters]
	// Alike are changed paths that the owner's disk cannot hold beside others that differ only
	// in upper and lower case, if [Settings.Caseless].
	Alike []string
}

// LeftOut is a path that keeps its entry in [Checkpoint.Last], and the reason.
type LeftOut struct {
	Path string
	Err  error
}

// Checkpoint commits changes on top of a parent. It reads only the trees on the way to
// the changed paths, so its cost grows with the change. It moves no ref, see
// [Mirror.SetRef].
//
// Contents are converted as .gitattributes asks, see [conversion], and go to Git
// LFS if a local clone uses it for them. Content equal to the parent's is no change. Paths with a
// git directory in them, and the list of submodules, are left out and listed in Refused. A path that is absolute, or
// leaves the root, is an error. Files inside a submodule belong to another repository:
// they are left out, and the submodule is listed in Submodules.
func (m *Mirror) Checkpoint(ctx context.Context, cp Checkpoint) (Commit, error) {
	var c Commit
	var root *objects.Edit
	var left Commit
	var tree plumbing.Hash
	err := m.pool.Use(ctx, func(o *objects.DB) (err error) {
		tree, err = o.TreeOf(cp.Parent)
		return err
	})
	if err == nil {
		err = m.pool.Do(ctx, func(o *objects.DB) (err error) { // Once: the content of a Change can be read only once
			root, err = storeChanges(ctx, newConverter(m, o, tree), cp, &left)
			return err
		})
	}
	if err == nil {
		err = m.pool.Use(ctx, func(o *objects.DB) (err error) {
			if c, err = commitEdit(ctx, o, cp.Parent, root, cp.Meta); err == nil && m.settings.Caseless { //control:alike-is-told
				c.Alike, err = besideAlike(o, plumbing.NewHash(c.Tree), c.Files)
			}
			return err
		})
	}
	if err != nil {
		return Commit{}, fmt.Errorf("make checkpoint: %w", err)
	}
	c.Refused, c.LeftOut, c.LFS, c.Unfiltered = left.Refused, left.LeftOut, left.LFS, left.Unfiltered
	return c, nil
}

// storeChanges writes the blobs and returns the edit of the tree. It records omitted
// paths in left.
func storeChanges(ctx context.Context, conv *converter, cp Checkpoint, left *Commit) (*objects.Edit, error) {
	root := &objects.Edit{}
	for _, ch := range conv.learn(cp.Changes) {
		parts, err := objects.SplitPath(ch.Path)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		if unsafePath(parts) { //control:git-paths
			left.Refused = append(left.Refused, ch.Path)
			continue
		}
		e := objects.Entry{}
		if !ch.Delete && !ch.Keep {
			var lfs bool
			if e, lfs, err = store(conv, cp, ch); lfs {
				left.LFS = append(left.LFS, ch.Path)
			}
		}
		var unread *unreadable
		if cp.Skip != nil && errors.As(err, &unread) && cp.Skip(unread.err) {
			left.LeftOut = append(left.LeftOut, LeftOut{ch.Path, unread.err})
			ch.Keep, err = true, nil
		}
		if err == nil && ch.Keep {
			e, err = cp.last(conv.o, ch.Path)
		}
		if err != nil {
			return nil, fmt.Errorf("store %q: %w", ch.Path, err)
		}
		root.Put(parts, e)
	}
	left.Unfiltered = conv.unfiltered
	return root, nil
}

// last returns the last saved entry of a path, the zero entry if there is none.
func (cp Checkpoint) last(o *objects.DB, path string) (objects.Entry, error) {
	tree := plumbing.NewHash(cp.Last)
	if cp.Last == "" {
		var err error
		if tree, err = o.TreeOf(cp.Parent); err != nil {
			return objects.Entry{}, err
		}
	}
	e, err := o.Find(tree, path) //control:keep-what-is-left-out
	if errors.Is(err, ErrNotFound) {
		return objects.Entry{}, nil
	}
	return e, err
}

// unreadable is an error of a change's source, not of the repository.
type unreadable struct{ err error }

// Error implements error.
func (u *unreadable) Error() string { return u.err.Error() }

// Unwrap returns the cause.
func (u *unreadable) Unwrap() error { return u.err }

// source records read errors, to tell them from write errors.
type source struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// store writes the content of a change. lfs reports whether Git LFS has it.
func store(conv *converter, cp Checkpoint, ch Change) (e objects.Entry, lfs bool, err error) {
	e.Mode = filemode.Regular
	limit := cmp.Or(cp.MaxBytes, maxBlob)
	switch {
	case ch.Symlink:
		e.Mode, limit = filemode.Symlink, 4096
	case ch.Exec:
		e.Mode = filemode.Executable
	}
	if ch.Open == nil {
		return e, false, fmt.Errorf("no content given")
	}
	r, err := ch.Open()
	if err != nil {
		return e, false, &unreadable{err}
	}
	defer r.Close()
	from := &source{Reader: r}
	if ch.Symlink {
		e.Hash, err = conv.o.WriteBlob(from, limit)
	} else {
		e.Hash, lfs, err = conv.write(ch.Path, from, limit, func() ([]byte, error) { return cp.lastContent(conv.o, ch.Path) })
	}
	if from.err != nil || errors.Is(err, ErrTooLarge) || errors.As(err, new(*Unstorable)) {
		err = &unreadable{err}
	}
	return e, lfs, err
}

// lastContent returns the last saved content of a file, nil if there is none of a text's
// size.
func (cp Checkpoint) lastContent(o *objects.DB, path string) ([]byte, error) {
	e, err := cp.last(o, path)
	if err != nil || !e.IsFile() {
		return nil, err
	}
	data, err := o.Read(plumbing.BlobObject, e.Hash, maxConverted)
	if errors.Is(err, ErrTooLarge) {
		return nil, nil
	}
	return data, err
}

// commitEdit commits an edit of a parent's tree on top of it.
func commitEdit(ctx context.Context, o *objects.DB, parent string, root *objects.Edit, meta Meta) (Commit, error) {
	base, err := o.TreeOf(parent)
	if err != nil {
		return Commit{}, err
	}
	tree, submodules, err := o.Apply(ctx, base, root)
	if err != nil {
		return Commit{}, err
	}
	c, err := makeCommit(ctx, o, tree, parent, meta)
	c.Submodules = submodules
	return c, err
}

// besideAlike returns the changed paths of a tree that have another one beside them, or beside a
// directory above them, with a name that differs only in upper and lower case.
func besideAlike(o *objects.DB, tree plumbing.Hash, changed []FileStat) (out []string, err error) {
	for _, f := range changed {
		if f.Kind == KindDelete {
			continue
		}
		at := tree
		for name := range strings.SplitSeq(f.Path, "/") {
			list, err := o.Tree(at)
			if err != nil {
				return nil, err
			}
			same := func(e objects.Entry) bool { return e.Name != name && strings.EqualFold(e.Name, name) }
			if slices.ContainsFunc(list, same) {
				out = append(out, f.Path)
				break
			}
			if i := slices.IndexFunc(list, func(e objects.Entry) bool { return e.Name == name }); i >= 0 {
				at = list[i].Hash
			}
		}
	}
	return out, nil
}

// makeCommit commits a tree, unless it is the parent's.
func makeCommit(ctx context.Context, o *objects.DB, tree plumbing.Hash, parent string, meta Meta) (Commit, error) {
	c := Commit{Parent: parent}
	base, err := o.TreeOf(parent)
	if err != nil {
		return c, err
	}
	if tree, err = o.Root(tree); err != nil {
		return c, err
	}
	c.Tree = tree.String()
	parents := objects.Parents(parent)
	if meta.Merges != "" { //control:second-parent
		parents = append(parents, plumbing.NewHash(meta.Merges))
	} else if tree == base || parent == "" && tree == plumbing.ComputeHash(plumbing.TreeObject, nil) {
		c.ID, c.Empty = parent, true
		return c, nil
	}
	id, err := writeCommit(ctx, o, object.Commit{TreeHash: tree, ParentHashes: parents}, meta)
	if err != nil {
		return c, err
	}
	c.ID = id.String()
	c.Files, err = stats(ctx, o, base, tree)
	return c, err
}

// CommitTreeOf commits the tree of the commit saved on top of another parent, or as a
// first commit if parent is empty. It turns a privately saved state into a checkpoint on
// a branch. If the tree equals the parent's, it makes no commit, see [Commit].
func (m *Mirror) CommitTreeOf(ctx context.Context, saved, parent string, meta Meta) (c Commit, err error) {
	err = m.pool.Use(ctx, func(o *objects.DB) error {
		tree, err := o.TreeOf(saved)
		if err == nil {
			c, err = makeCommit(ctx, o, tree, parent, meta)
		}
		return err
	})
	if err != nil {
		return Commit{}, fmt.Errorf("commit saved state: %w", err)
	}
	return c, nil
}

// CommitPathsOf commits only the given paths of saved on top of parent. A path that is
// not a file in saved is deleted. It shows a part of a state by itself.
func (m *Mirror) CommitPathsOf(
	ctx context.Context,
	saved, parent string,
	paths []string,
	meta Meta,
) (c Commit, err error) {
	err = m.pool.Use(ctx, func(o *objects.DB) error {
		tree, err := o.TreeOf(saved)
		if err != nil {
			return err
		}
		root := &objects.Edit{}
		for _, p := range paths {
			parts, err := objects.SplitPath(p)
			if err != nil {
				return err
			}
			e, err := o.Find(tree, p)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			if err != nil || e.IsDir() {
				e = objects.Entry{}
			}
			root.Put(parts, e)
		}
		c, err = commitEdit(ctx, o, parent, root, meta)
		if err == nil && len(c.Submodules) > 0 {
			err = fmt.Errorf("%w: %q are submodules: commit to their own repositories", objects.ErrPath, c.Submodules)
		}
		return err
	})
	if err != nil {
		return Commit{}, fmt.Errorf("commit a part of a saved state: %w", err)
	}
	return c, nil
}
