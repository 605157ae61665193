package objects

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Entry is one line of a tree object. It replaces go-git's type: its decoder changes the
// modes of unmodified files and cannot find paths with control characters.
type Entry struct {
	Name string
	Mode filemode.FileMode
	Hash plumbing.Hash // zero if the entry does not exist
}

// IsDir reports whether e is a directory.
func (e Entry) IsDir() bool { return e.Mode == filemode.Dir }

// Tree reads the entries of a tree in stored order. The zero hash is the empty tree.
func (o *DB) Tree(h plumbing.Hash) ([]Entry, error) {
	if h.IsZero() {
		return nil, nil
	}
	data, err := o.Read(plumbing.TreeObject, h, maxTree)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, 0, len(data)/36+1)
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
		e := Entry{Name: string(data[sp+1 : nul]), Mode: mode}
		copy(e.Hash[:], data[nul+1:])
		list = append(list, e)
		data = data[nul+21:]
	}
	return list, nil
}

// WriteTree stores entries as a tree in git's sort order. It returns the zero hash if
// there are no entries.
func (o *DB) WriteTree(list []Entry) (plumbing.Hash, error) {
	if len(list) == 0 {
		return plumbing.ZeroHash, nil
	}
	key := func(e Entry) string {
		if e.IsDir() {
			return e.Name + "/"
		}
		return e.Name
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(key(a), key(b)) })
	var buf bytes.Buffer
	for _, e := range list {
		fmt.Fprintf(&buf, "%o %s", uint32(e.Mode), e.Name)
		buf.WriteByte(0)
		buf.Write(e.Hash[:])
	}
	return o.Write(plumbing.TreeObject, buf.Bytes())
}

// Root stores the empty tree if h is zero, because a commit needs a tree.
func (o *DB) Root(h plumbing.Hash) (plumbing.Hash, error) {
	if h.IsZero() {
		return o.Write(plumbing.TreeObject, nil)
	}
	return h, nil
}

// Find returns the entry at a path of a tree. An empty path is the tree itself.
func (o *DB) Find(root plumbing.Hash, path string) (Entry, error) {
	e := Entry{Mode: filemode.Dir, Hash: root}
	if path == "" || path == "." {
		return e, nil
	}
	parts, err := SplitPath(strings.TrimSuffix(path, "/"))
	if err != nil {
		return e, err
	}
	for _, p := range parts {
		var list []Entry
		if e.IsDir() {
			if list, err = o.Tree(e.Hash); err != nil {
				return e, err
			}
		}
		i := slices.IndexFunc(list, func(sub Entry) bool { return sub.Name == p })
		if i < 0 {
			return e, fmt.Errorf("find %q: %w", path, ErrNotFound)
		}
		e = list[i]
	}
	return e, nil
}

// IsFile reports whether e is a regular file.
func (e Entry) IsFile() bool {
	return !e.Hash.IsZero() && (e.Mode.IsRegular() || e.Mode == filemode.Executable)
}

// Edit is a change of a tree, at a path or below it.
type Edit struct {
	set   bool  // the path itself changes
	to    Entry // new entry; the zero hash deletes
	below map[string]*Edit
}

// Put sets the entry at a path; the zero entry deletes the path.
func (e *Edit) Put(parts []string, to Entry) {
	for _, p := range parts {
		if e.below == nil {
			e.below = map[string]*Edit{}
		}
		if e.below[p] == nil {
			e.below[p] = &Edit{}
		}
		e = e.below[p]
	}
	e.set, e.to = true, to
}

// writes reports whether anything below is created or modified.
func (e *Edit) writes() bool {
	for _, sub := range e.below {
		if sub.set && !sub.to.Hash.IsZero() || sub.writes() {
			return true
		}
	}
	return false
}

// Apply applies an edit to base. It returns the resulting tree, and the submodules
// that the edit would have changed, which stay unchanged. It reads only trees on the
// way to a change.
func (o *DB) Apply(ctx context.Context, base plumbing.Hash, e *Edit) (plumbing.Hash, []string, error) {
	ed := &editor{o: o}
	h, err := ed.apply(ctx, base, e, "")
	return h, ed.submodules, err
}

// editor is the state of a [DB.Apply].
type editor struct {
	o          *DB
	submodules []string
}

// apply applies an edit to the tree base. The path at ends in "/" or is empty.
func (ed *editor) apply(ctx context.Context, base plumbing.Hash, e *Edit, at string) (plumbing.Hash, error) {
	if err := ctx.Err(); err != nil {
		return base, err
	}
	old, err := ed.o.Tree(base)
	if err != nil {
		return base, err
	}
	list := make([]Entry, 0, len(old)+len(e.below))
	here := make(map[string]Entry, len(e.below))
	for _, x := range old {
		if e.below[x.Name] == nil {
			list = append(list, x)
		} else {
			here[x.Name] = x
		}
	}
	for name, sub := range e.below {
		next, err := ed.entry(ctx, here[name], sub, at+name)
		if err != nil {
			return base, err
		}
		if !next.Hash.IsZero() {
			next.Name = name
			list = append(list, next)
		}
	}
	return ed.o.WriteTree(list)
}

// entry applies an edit to one entry; a zero hash in the result deletes it.
func (ed *editor) entry(ctx context.Context, old Entry, e *Edit, path string) (Entry, error) {
	if e.set {
		old = e.to
	}
	if len(e.below) == 0 {
		return old, nil
	}
	writes := e.writes()
	switch {
	case !old.IsDir() && !old.Hash.IsZero() && !writes:
		return old, nil // a file now, so the deleted files below are gone already
	case e.set && !old.Hash.IsZero() && writes:
		return old, fmt.Errorf("%w: %q is given both as a file and as a directory", ErrPath, path)
	case old.Mode == filemode.Submodule && writes: //control:submodule-inside
		ed.submodules = append(ed.submodules, path)
		return old, nil
	}
	base := plumbing.ZeroHash
	if old.IsDir() {
		base = old.Hash
	}
	h, err := ed.apply(ctx, base, e, path+"/")
	return Entry{Mode: filemode.Dir, Hash: h}, err
}

// IsID reports whether s is a full object id.
func IsID(s string) bool { return len(s) == 40 && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// SplitPath validates a path and splits it into components. Paths are relative, clean
// and separated by slashes; names may contain any byte but NUL.
func SplitPath(path string) ([]string, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 || len(path) > 4096 {
		return nil, fmt.Errorf("%w: %q", ErrPath, path)
	}
	parts := strings.Split(path, "/")
	for _, p := range parts {
		if p == "" || p == "." || p == ".." || len(p) > 255 {
			return nil, fmt.Errorf("%w: %q", ErrPath, path)
		}
	}
	return parts, nil
}
