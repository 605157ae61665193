package gitops

import (
	"context"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// merger joins two trees that come from one, file by file. Files that both
// changed are merged by lines.
type merger struct {
	o         *objects.DB
	sel       selection // theirs counts here; elsewhere ours stays
	guard               // may be zero
	conflicts []string
}

// guard is about files that somebody answers for as they are.
type guard struct {
	guarded func(path string) bool // these are not merged by lines; nil for none
	stay    bool                   // and ours stay, whatever theirs did
	stayed  *[]string              // paths at which that made a difference
}

// merge returns the tree that has the changes from the first tree to the
// third, where they count, applied to the second. Where that cannot be it is a
// [conflictError].
func merge(ctx context.Context, o *objects.DB, from [3]plumbing.Hash, sel selection, g guard) (plumbing.Hash, error) {
	m := &merger{o: o, sel: sel, guard: g}
	h, err := m.trees(ctx, from, "")
	if err == nil && len(m.conflicts) > 0 {
		slices.Sort(m.conflicts)
		err = &conflictError{paths: m.conflicts}
	}
	return h, err
}

// trees merges base, ours and theirs at a path that ends in "/" or is empty.
func (m *merger) trees(ctx context.Context, from [3]plumbing.Hash, at string) (plumbing.Hash, error) {
	base, ours, theirs := from[0], from[1], from[2]
	switch {
	case ours == theirs || base == theirs:
		return ours, nil
	case base == ours && !m.stay && m.sel.whole(strings.TrimSuffix(at, "/")):
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

func same(a, b objects.Entry) bool {
	return a.Hash == b.Hash && (a.Mode == b.Mode || a.Hash.IsZero())
}

func (m *merger) entry(ctx context.Context, from [3]objects.Entry, path string) (objects.Entry, error) {
	base, ours, theirs := from[0], from[1], from[2]
	switch {
	case same(ours, theirs) || same(base, theirs) || !m.sel.some(path):
		return ours, nil
	case m.stays(from, path): //control:dropped-stays-off
		*m.stayed = append(*m.stayed, path)
		return ours, nil
	case same(base, ours) && m.sel.whole(path) && !m.below(from):
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
	if m.sel.whole(path) && base.IsFile() && ours.IsFile() && theirs.IsFile() {
		return m.files(from, path)
	}
	m.conflicts = append(m.conflicts, path)
	return ours, nil
}

// stays reports whether ours stays at path because somebody answers for it.
func (m *merger) stays(from [3]objects.Entry, path string) bool {
	return m.stay && !from[1].IsDir() && !from[2].IsDir() && m.guarded(path)
}

// below reports whether there may be something in a directory that stays.
func (m *merger) below(from [3]objects.Entry) bool {
	return m.stay && (from[0].IsDir() || from[2].IsDir())
}

func (m *merger) files(from [3]objects.Entry, path string) (objects.Entry, error) {
	base, out, theirs := from[0], from[1], from[2]
	if m.guarded != nil && m.guarded(path) { //control:not-merged-by-lines
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
		return out, nil
	}
	var err error
	out.Hash, err = m.o.Write(plumbing.BlobObject, []byte(strings.Join(merged, "")))
	return out, err
}

// rebase replays the commits after base up to head, along first parents, on
// top of onto. Authors, dates and messages stay; commits that change nothing
// any more are dropped, and a merge becomes a plain commit. Where both sides
// changed the same lines it is a [conflictError].
type rebase struct {
	onto, base, head string
	sel              selection                 // of the changes
	pick             func(*object.Commit) bool // of the commits; nil for all
	sign             Signer                    // nil for none
	guard                                      // stay is for all commits but head
}

// run makes the commits. No ref moves. Files of the result tell what differs
// from onto.
func (r rebase) run(ctx context.Context, o *objects.DB) (Commit, error) {
	chain, err := o.Chain(ctx, r.base, r.head)
	if err != nil {
		return Commit{}, err
	}
	start, err := o.Commit(r.onto)
	if err != nil {
		return Commit{}, err
	}
	at, tree := start.Hash, start.TreeHash
	for _, c := range slices.Backward(chain) {
		if r.pick != nil && !r.pick(c) {
			continue
		}
		from, err := o.ParentTree(c)
		if err != nil {
			return Commit{}, err
		}
		g := r.guard
		g.stay = g.stay && c.Hash.String() != r.head
		next, err := merge(ctx, o, [3]plumbing.Hash{from, tree, c.TreeHash}, r.sel, g)
		if err == nil {
			next, err = o.Root(next)
		}
		if err != nil {
			return Commit{}, err
		}
		if next == tree {
			continue
		}
		tree = next
		at, err = r.sign.write(ctx, o, object.Commit{TreeHash: tree, ParentHashes: objects.Parents(at.String()), Author: c.Author, Committer: c.Committer, Message: c.Message})
		if err != nil {
			return Commit{}, err
		}
	}
	out := Commit{ID: at.String(), Tree: tree.String(), Parent: r.onto, Empty: at == start.Hash}
	out.Files, err = stats(ctx, o, start.TreeHash, tree)
	return out, err
}
