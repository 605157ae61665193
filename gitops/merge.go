package gitops

// Three-way merges of trees go file by file and line by line. They
// write objects and move no ref.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// maxBytes is the maximum size of a file that is merged line by line.
const maxBytes = 4 << 20

// conflict lists the paths that could not be merged. It is an [ErrConflict].
type conflict struct{ Paths []string }

func (e *conflict) Error() string {
	const show = 10
	if len(e.Paths) > show {
		return fmt.Sprintf("conflict in %q and %d more", e.Paths[:show], len(e.Paths)-show)
	}
	return fmt.Sprintf("conflict in %q", e.Paths)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *conflict) Is(target error) bool { return target == ErrConflict }

// merger performs a three-way merge of trees. Files changed on both sides are merged
// by lines.
type merger struct {
	o         *objects.DB
	sel       selection  // selects the changes taken from theirs; elsewhere ours is kept
	guard                // the zero value guards nothing
	names     *[2]string // labels of ours and theirs in conflict markers; nil leaves conflicts unmarked
	conflicts []string
}

// guard protects files that need approval of their exact content.
type guard struct {
	Guarded  func(path string) bool // files that are not merged by lines; nil guards none
	KeepOurs bool                   // guarded files keep ours, regardless of theirs
	Kept     *[]string              // receives the paths at which Stay changed the result
}

// trees applies the selected changes between the first and the third tree to the
// second, and returns the resulting tree. It returns a [Conflict] if they do not merge.
func trees(ctx context.Context, o *objects.DB, from [3]plumbing.Hash, sel selection, g guard) (plumbing.Hash, error) {
	m := &merger{o: o, sel: sel, guard: g}
	h, err := m.trees(ctx, from, "")
	if err == nil && len(m.conflicts) > 0 {
		slices.Sort(m.conflicts)
		err = &conflict{Paths: m.conflicts}
	}
	return h, err
}

// markedTree is like [Trees], but leaves conflicts in the result: a text gets conflict
// markers labeled with names; a binary file keeps ours, or theirs if ours was
// deleted. It returns the conflicting paths.
func markedTree(
	ctx context.Context,
	o *objects.DB,
	from [3]plumbing.Hash,
	names [2]string,
) (plumbing.Hash, []string, error) {
	m := &merger{o: o, names: &names}
	h, err := m.trees(ctx, from, "")
	slices.Sort(m.conflicts)
	return h, m.conflicts, err
}

// trees merges base, ours and theirs. The path at ends in "/" or is empty.
func (m *merger) trees(ctx context.Context, from [3]plumbing.Hash, at string) (plumbing.Hash, error) {
	base, ours, theirs := from[0], from[1], from[2]
	switch {
	case ours == theirs || base == theirs:
		return ours, nil
	case base == ours && !m.KeepOurs && m.sel.Whole(strings.TrimSuffix(at, "/")):
		return theirs, nil
	}
	if err := ctx.Err(); err != nil {
		return ours, err
	}
	sides := map[string]*[3]objects.Entry{}
	for i, h := range from {
		list, err := m.o.Tree(h)
		if err != nil {
			return ours, err
		}
		for _, e := range list {
			if sides[e.Name] == nil {
				sides[e.Name] = &[3]objects.Entry{}
			}
			sides[e.Name][i] = e
		}
	}
	if err := m.prefetch(sides); err != nil {
		return ours, err
	}
	var out []objects.Entry
	for name, side := range sides {
		e, err := m.entry(ctx, *side, at+name)
		if err != nil {
			return ours, err
		}
		if !e.Hash.IsZero() {
			e.Name = name
			out = append(out, e)
		}
	}
	return m.o.WriteTree(out)
}

// prefetch fetches the contents of all files in a directory that are merged by lines.
func (m *merger) prefetch(sides map[string]*[3]objects.Entry) error {
	var ids []plumbing.Hash
	for _, side := range sides {
		base, ours, theirs := side[0], side[1], side[2]
		if ours.IsFile() && theirs.IsFile() && ours.Hash != theirs.Hash && base.Hash != ours.Hash &&
			base.Hash != theirs.Hash {
			ids = append(ids, ours.Hash, theirs.Hash)
			if base.IsFile() {
				ids = append(ids, base.Hash)
			}
		}
	}
	return m.o.Prefetch(ids)
}

func same(a, b objects.Entry) bool { return a.Hash == b.Hash && (a.Mode == b.Mode || a.Hash.IsZero()) }

func (m *merger) entry(ctx context.Context, from [3]objects.Entry, path string) (objects.Entry, error) {
	base, ours, theirs := from[0], from[1], from[2]
	switch {
	case same(ours, theirs) || same(base, theirs) || !m.sel.Some(path):
		return ours, nil
	case m.keepsOurs(from, path): //control:dropped-stays-off
		*m.Kept = append(*m.Kept, path)
		return ours, nil
	case same(base, ours) && m.sel.Whole(path) && !m.mayKeepBelow(from):
		return theirs, nil
	}
	dirs := func(e objects.Entry) bool { return e.IsDir() || e.Hash.IsZero() }
	if dirs(ours) && dirs(theirs) {
		if !base.IsDir() {
			base.Hash = plumbing.ZeroHash
		}
		h, err := m.trees(ctx, [3]plumbing.Hash{base.Hash, ours.Hash, theirs.Hash}, path+"/")
		return objects.Entry{Mode: filemode.Dir, Hash: h}, err
	}
	if added := m.names != nil && base.Hash.IsZero(); m.sel.Whole(path) && (base.IsFile() || added) && ours.IsFile() &&
		theirs.IsFile() {
		return m.files(from, path)
	}
	m.conflicts = append(m.conflicts, path)
	if m.names != nil && ours.Hash.IsZero() {
		return theirs, nil
	}
	return ours, nil
}

// keepsOurs reports whether the guard keeps ours at path.
func (m *merger) keepsOurs(from [3]objects.Entry, path string) bool {
	return m.KeepOurs && !from[1].IsDir() && !from[2].IsDir() && m.Guarded(path)
}

// mayKeepBelow reports whether the guard may keep a file in a directory.
func (m *merger) mayKeepBelow(from [3]objects.Entry) bool {
	return m.KeepOurs && (from[0].IsDir() || from[2].IsDir())
}

func (m *merger) files(from [3]objects.Entry, path string) (objects.Entry, error) {
	base, out, theirs := from[0], from[1], from[2]
	if m.Guarded != nil && m.Guarded(path) { //control:not-merged-by-lines
		m.conflicts = append(m.conflicts, path)
		return out, nil
	}
	if base.Mode == out.Mode {
		out.Mode = theirs.Mode
	}
	switch {
	case out.Hash == theirs.Hash || base.Hash == theirs.Hash:
		return out, nil
	case base.Hash == out.Hash:
		out.Hash = theirs.Hash
		return out, nil
	}
	var side [3][]string
	for i, e := range from {
		data, text, err := content(m.o, e)
		if err != nil {
			return out, err
		}
		if !text {
			m.conflicts = append(m.conflicts, path)
			return out, nil
		}
		side[i] = lines.Split(data)
	}
	merged, ok := lines.Merge(side[0], side[1], side[2])
	if !ok {
		m.conflicts = append(m.conflicts, path)
		if m.names == nil {
			return out, nil
		}
		merged = lines.Marked(side[0], side[1], side[2], *m.names)
	}
	var err error
	out.Hash, err = m.o.Write(plumbing.BlobObject, []byte(strings.Join(merged, "")))
	return out, err
}

// content returns the content of an entry for a diff; text is false if the content is
// binary or too large.
func content(o *objects.DB, e objects.Entry) (data []byte, text bool, err error) {
	switch {
	case e.Hash.IsZero():
		return nil, true, nil
	case e.Mode == filemode.Submodule:
		return []byte("Subproject commit " + e.Hash.String() + "\n"), true, nil
	}
	data, err = o.Read(plumbing.BlobObject, e.Hash, maxBytes)
	if errors.Is(err, objects.ErrTooLarge) {
		return nil, false, nil
	}
	return data, err == nil && !lines.IsBinary(data), err
}
