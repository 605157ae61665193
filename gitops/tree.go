package gitops

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// entry is one line of a tree object.
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
	sort.Slice(list, func(i, j int) bool { return key(list[i]) < key(list[j]) })
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

// edit is a change of a tree: what is to be at a path, or below it.
type edit struct {
	set   bool  // the path itself changes
	to    entry // what it becomes; the zero hash deletes it
	below map[string]*edit
	stays *[]string // gets the submodules that the edit reaches into: they stay as they are
}

// at gives the edit for a path, making the way there.
func (e *edit) at(parts []string) *edit {
	for _, p := range parts {
		if e.below == nil {
			e.below = map[string]*edit{}
		}
		if e.below[p] == nil {
			e.below[p] = &edit{stays: e.stays}
		}
		e = e.below[p]
	}
	return e
}

// puts tells whether anything below is created or modified.
func (e *edit) puts() bool {
	for _, sub := range e.below {
		if sub.set && !sub.to.hash.IsZero() || sub.puts() {
			return true
		}
	}
	return false
}

// apply makes the tree that base becomes under an edit. Only trees on the way
// to a change are read.
func (o *odb) apply(ctx context.Context, base plumbing.Hash, e *edit, at string) (plumbing.Hash, error) {
	if err := ctx.Err(); err != nil {
		return base, err
	}
	list, err := o.tree(base)
	if err != nil {
		return base, err
	}
	kept := make([]entry, 0, len(list)+len(e.below))
	seen := make(map[string]bool, len(e.below))
	add := func(old entry, sub *edit, name string) error {
		next, err := o.applyEntry(ctx, old, sub, at+name)
		if err == nil && !next.hash.IsZero() {
			next.name = name
			kept = append(kept, next)
		}
		return err
	}
	for _, old := range list {
		sub := e.below[old.name]
		if sub == nil {
			kept = append(kept, old)
			continue
		}
		seen[old.name] = true
		if err := add(old, sub, old.name); err != nil {
			return base, err
		}
	}
	for name, sub := range e.below {
		if !seen[name] {
			if err := add(entry{}, sub, name); err != nil {
				return base, err
			}
		}
	}
	return o.writeTree(kept)
}

// applyEntry says what one entry becomes; a zero hash means it goes.
func (o *odb) applyEntry(ctx context.Context, old entry, e *edit, path string) (entry, error) {
	if e.set {
		old = e.to
	}
	if len(e.below) == 0 {
		return old, nil
	}
	puts := e.puts()
	switch {
	case !old.isDir() && !old.hash.IsZero() && !puts:
		return old, nil // files below it go because it is a file now
	case e.set && !old.hash.IsZero() && puts:
		return old, fmt.Errorf("%w: %q is given both as a file and as a directory", ErrPath, path)
	case old.mode == filemode.Submodule && puts:
		if e.stays == nil { //control:submodule-inside
			return old, fmt.Errorf("%w: %q is a submodule: commit to its own repository", ErrPath, path)
		}
		*e.stays = append(*e.stays, path)
		return old, nil
	}
	base := plumbing.ZeroHash
	if old.isDir() {
		base = old.hash
	}
	h, err := o.apply(ctx, base, e, path+"/")
	return entry{mode: filemode.Dir, hash: h}, err
}

// find gives the entry at a path of a tree.
func (o *odb) find(root plumbing.Hash, path string) (entry, error) {
	e := entry{mode: filemode.Dir, hash: root}
	if path == "" || path == "." {
		return e, nil
	}
	parts, err := splitPath(strings.TrimSuffix(path, "/"))
	if err != nil {
		return e, err
	}
next:
	for _, p := range parts {
		if !e.isDir() {
			return e, fmt.Errorf("find %q: %w", path, ErrNotFound)
		}
		list, err := o.tree(e.hash)
		if err != nil {
			return e, err
		}
		for _, sub := range list {
			if sub.name == p {
				e = sub
				continue next
			}
		}
		return e, fmt.Errorf("find %q: %w", path, ErrNotFound)
	}
	return e, nil
}
