package gitops

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// entry is one line of a tree object. go-git's own is not used: its decoder
// changes the modes of files that an edit does not touch, and it finds no path
// with a control character in it.
type entry struct {
	name string
	mode filemode.FileMode
	hash plumbing.Hash
}

func (e entry) isDir() bool { return e.mode == filemode.Dir }

// tree reads the entries of a tree in the order they are stored. The zero
// hash is the empty tree.
func (o *odb) tree(h plumbing.Hash) ([]entry, error) {
	if h.IsZero() {
		return nil, nil
	}
	data, err := o.read(plumbing.TreeObject, h, maxTree)
	if err != nil {
		return nil, err
	}
	list := make([]entry, 0, len(data)/36+1)
	for len(data) > 0 {
		sp := bytes.IndexByte(data, ' ')
		nul := bytes.IndexByte(data, 0)
		if sp < 1 || nul < sp+2 || len(data) < nul+21 {
			return nil, fmt.Errorf("read tree %s: malformed entry", h)
		}
		mode, err := filemode.New(string(data[:sp]))
		if err != nil {
			return nil, fmt.Errorf("read tree %s: malformed mode", h)
		}
		e := entry{name: string(data[sp+1 : nul]), mode: mode}
		copy(e.hash[:], data[nul+1:])
		list = append(list, e)
		data = data[nul+21:]
	}
	return list, nil
}

// writeTree stores entries as a tree, sorted the way git wants it. No
// entries give the zero hash.
func (o *odb) writeTree(list []entry) (plumbing.Hash, error) {
	if len(list) == 0 {
		return plumbing.ZeroHash, nil
	}
	key := func(e entry) string {
		if e.isDir() {
			return e.name + "/"
		}
		return e.name
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(key(a), key(b)) })
	var buf bytes.Buffer
	for _, e := range list {
		fmt.Fprintf(&buf, "%o %s", uint32(e.mode), e.name)
		buf.WriteByte(0)
		buf.Write(e.hash[:])
	}
	return o.write(plumbing.TreeObject, buf.Bytes())
}

// root stores a tree even when it is empty, as a commit needs one.
func (o *odb) root(h plumbing.Hash) (plumbing.Hash, error) {
	if h.IsZero() {
		return o.write(plumbing.TreeObject, nil)
	}
	return h, nil
}

// find returns the entry at a path of a tree, "" for the tree itself.
func (o *odb) find(root plumbing.Hash, path string) (entry, error) {
	e := entry{mode: filemode.Dir, hash: root}
	if path == "" || path == "." {
		return e, nil
	}
	parts, err := splitPath(strings.TrimSuffix(path, "/"))
	if err != nil {
		return e, err
	}
	for _, p := range parts {
		var list []entry
		if e.isDir() {
			if list, err = o.tree(e.hash); err != nil {
				return e, err
			}
		}
		i := slices.IndexFunc(list, func(sub entry) bool { return sub.name == p })
		if i < 0 {
			return e, fmt.Errorf("find %q: %w", path, ErrNotFound)
		}
		e = list[i]
	}
	return e, nil
}

// edit is a change of a tree: what is to be at a path, or below it.
type edit struct {
	set   bool  // the path itself changes
	to    entry // what it becomes; the zero hash deletes it
	below map[string]*edit
}

// put says what is to be at a path.
func (e *edit) put(parts []string, to entry) {
	for _, p := range parts {
		if e.below == nil {
			e.below = map[string]*edit{}
		}
		if e.below[p] == nil {
			e.below[p] = &edit{}
		}
		e = e.below[p]
	}
	e.set, e.to = true, to
}

// writes reports whether anything below is created or modified.
func (e *edit) writes() bool {
	for _, sub := range e.below {
		if sub.set && !sub.to.hash.IsZero() || sub.writes() {
			return true
		}
	}
	return false
}

// editor applies edits to trees. Only trees on the way to a change are read.
type editor struct {
	o          *odb
	submodules []string // that edits reach into: they stay as they are
}

// apply returns the tree that base, at a path that ends in "/" or is empty,
// becomes under an edit.
func (ed *editor) apply(ctx context.Context, base plumbing.Hash, e *edit, at string) (plumbing.Hash, error) {
	if err := ctx.Err(); err != nil {
		return base, err
	}
	old, err := ed.o.tree(base)
	if err != nil {
		return base, err
	}
	list := make([]entry, 0, len(old)+len(e.below))
	here := make(map[string]entry, len(e.below))
	for _, x := range old {
		if e.below[x.name] == nil {
			list = append(list, x)
		} else {
			here[x.name] = x
		}
	}
	for name, sub := range e.below {
		next, err := ed.entry(ctx, here[name], sub, at+name)
		if err != nil {
			return base, err
		}
		if !next.hash.IsZero() {
			next.name = name
			list = append(list, next)
		}
	}
	return ed.o.writeTree(list)
}

// entry returns what one entry becomes; a zero hash means it goes.
func (ed *editor) entry(ctx context.Context, old entry, e *edit, path string) (entry, error) {
	if e.set {
		old = e.to
	}
	if len(e.below) == 0 {
		return old, nil
	}
	writes := e.writes()
	switch {
	case !old.isDir() && !old.hash.IsZero() && !writes:
		return old, nil // files below it go because it is a file now
	case e.set && !old.hash.IsZero() && writes:
		return old, fmt.Errorf("%w: %q is given both as a file and as a directory", errPath, path)
	case old.mode == filemode.Submodule && writes: //control:submodule-inside
		ed.submodules = append(ed.submodules, path)
		return old, nil
	}
	base := plumbing.ZeroHash
	if old.isDir() {
		base = old.hash
	}
	h, err := ed.apply(ctx, base, e, path+"/")
	return entry{mode: filemode.Dir, hash: h}, err
}
