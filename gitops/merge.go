package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// merger joins two trees that come from one, file by file. Files that both
// changed are merged by lines.
type merger struct {
	o         *odb
	conflicts []string
}

// merge gives the tree that has the changes from base to theirs applied to
// ours, and the paths where that cannot be.
func (o *odb) merge(ctx context.Context, base, ours, theirs plumbing.Hash) (plumbing.Hash, []string, error) {
	m := &merger{o: o}
	h, err := m.trees(ctx, base, ours, theirs, "")
	slices.Sort(m.conflicts)
	return h, m.conflicts, err
}

func (m *merger) trees(ctx context.Context, base, ours, theirs plumbing.Hash, at string) (plumbing.Hash, error) {
	switch {
	case ours == theirs || base == theirs:
		return ours, nil
	case base == ours:
		return theirs, nil
	}
	if err := ctx.Err(); err != nil {
		return ours, err
	}
	var sides [3]map[string]entry
	names := map[string]bool{}
	for i, h := range []plumbing.Hash{base, ours, theirs} {
		list, err := m.o.tree(h)
		if err != nil {
			return ours, err
		}
		sides[i] = make(map[string]entry, len(list))
		for _, e := range list {
			sides[i][e.name] = e
			names[e.name] = true
		}
	}
	var out []entry
	for name := range names {
		e, err := m.entry(ctx, sides[0][name], sides[1][name], sides[2][name], at+name)
		if err != nil {
			return ours, err
		}
		if !e.hash.IsZero() {
			e.name = name
			out = append(out, e)
		}
	}
	return m.o.writeTree(out)
}

func same(a, b entry) bool {
	return a.hash == b.hash && (a.mode == b.mode || a.hash.IsZero())
}

func (m *merger) entry(ctx context.Context, base, ours, theirs entry, path string) (entry, error) {
	switch {
	case same(ours, theirs) || same(base, theirs):
		return ours, nil
	case same(base, ours):
		return theirs, nil
	}
	dirs := func(e entry) bool { return e.isDir() || e.hash.IsZero() }
	if dirs(ours) && dirs(theirs) {
		from := plumbing.ZeroHash
		if base.isDir() {
			from = base.hash
		}
		h, err := m.trees(ctx, from, ours.hash, theirs.hash, path+"/")
		return entry{mode: filemode.Dir, hash: h}, err
	}
	if isFile(base) && isFile(ours) && isFile(theirs) {
		return m.files(base, ours, theirs, path)
	}
	m.conflicts = append(m.conflicts, path)
	return ours, nil
}

func (m *merger) files(base, ours, theirs entry, path string) (entry, error) {
	out := ours
	if base.mode == ours.mode {
		out.mode = theirs.mode
	}
	switch {
	case ours.hash == theirs.hash || base.hash == theirs.hash:
		return out, nil
	case base.hash == ours.hash:
		out.hash = theirs.hash
		return out, nil
	}
	var text [3][]string
	for i, e := range []entry{base, ours, theirs} {
		list, ok, err := m.o.content(e)
		if err != nil {
			return out, err
		}
		if !ok {
			m.conflicts = append(m.conflicts, path)
			return ours, nil
		}
		text[i] = list
	}
	merged, ok := mergeLines(text[0], text[1], text[2])
	if !ok {
		m.conflicts = append(m.conflicts, path)
		return ours, nil
	}
	var err error
	out.hash, err = m.o.write(plumbing.BlobObject, []byte(strings.Join(merged, "")))
	return out, err
}

// mergeLines applies what changed from base to ours and from base to theirs.
// Changes that overlap or touch must be equal, or there is no merge.
func mergeLines(base, ours, theirs []string) ([]string, bool) {
	a, b := compare(base, ours), compare(base, theirs)
	var out []string
	pos := 0
	for len(a) > 0 || len(b) > 0 {
		lo := len(base)
		if len(a) > 0 {
			lo = a[0].A
		}
		if len(b) > 0 {
			lo = min(lo, b[0].A)
		}
		hi, na, nb := lo, 0, 0
		for grown := true; grown; {
			grown = false
			for na < len(a) && a[na].A <= hi {
				hi, grown = max(hi, a[na].AEnd), true
				na++
			}
			for nb < len(b) && b[nb].A <= hi {
				hi, grown = max(hi, b[nb].AEnd), true
				nb++
			}
		}
		out = append(out, base[pos:lo]...)
		mine, yours := rebuild(base[:hi], lo, ours, a[:na]), rebuild(base[:hi], lo, theirs, b[:nb])
		switch {
		case nb == 0 || slices.Equal(mine, yours):
			out = append(out, mine...)
		case na == 0:
			out = append(out, yours...)
		default:
			return nil, false
		}
		pos, a, b = hi, a[na:], b[nb:]
	}
	return append(out, base[pos:]...), true
}

// rebuild gives what base became from line lo on, on one side.
func rebuild(base []string, lo int, side []string, spans []span) []string {
	var out []string
	for _, s := range spans {
		out = append(out, base[lo:s.A]...)
		out = append(out, side[s.B:s.BEnd]...)
		lo = s.AEnd
	}
	return append(out, base[lo:]...)
}

// Rebase replays the commits after base up to head, along first parents, on
// top of onto. Authors, dates and messages stay; commits that change nothing
// any more are dropped, and a merge becomes a plain commit. Where both sides
// changed the same lines it is a [ConflictError]. No ref moves. Files of the
// result tell what differs from onto.
func (m *Mirror) Rebase(ctx context.Context, onto, base, head string) (Commit, error) {
	var c Commit
	err := m.use(func(o *odb) (err error) {
		c, err = o.replay(ctx, replay{onto: onto, base: base, head: head})
		return err
	})
	if err != nil {
		return Commit{}, fmt.Errorf("rebase: %w", err)
	}
	return c, nil
}

// replay is a [Mirror.Rebase]. keep lists directories that stay as they are
// in onto; only, when not nil, picks the commits that are replayed.
type replay struct {
	onto, base, head string
	keep             []string
	only             func(*commitObject) bool
}

func (o *odb) replay(ctx context.Context, r replay) (Commit, error) {
	chain, err := o.chain(ctx, r.base, r.head)
	if err != nil {
		return Commit{}, err
	}
	start, err := o.commit(r.onto)
	if err != nil {
		return Commit{}, err
	}
	at, tree := start.Hash, start.TreeHash
	for _, c := range slices.Backward(chain) {
		if r.only != nil && !r.only(c) {
			continue
		}
		from, err := o.parentTree(c)
		if err != nil {
			return Commit{}, err
		}
		next, conflicts, err := o.merge(ctx, from, tree, c.TreeHash)
		if err != nil {
			return Commit{}, err
		}
		if len(conflicts) > 0 {
			return Commit{}, &ConflictError{Paths: conflicts}
		}
		if next, err = o.restore(ctx, next, start.TreeHash, r.keep); err != nil {
			return Commit{}, err
		}
		if next, err = o.root(next); err != nil {
			return Commit{}, err
		}
		if next == tree {
			continue
		}
		author, committer := Signature{c.Author.Name, c.Author.Email}, Signature{c.Committer.Name, c.Committer.Email}
		at, err = o.writeRaw(rawCommit{next, at, author.header(c.Author.When), committer.header(c.Committer.When), c.Message})
		if err != nil {
			return Commit{}, err
		}
		tree = next
	}
	out := Commit{ID: at.String(), Tree: tree.String(), Parent: r.onto, Empty: at == start.Hash}
	out.Files, err = o.stats(ctx, start.TreeHash, tree, nil)
	return out, err
}

// restore puts paths of a tree back to what they are in another.
func (o *odb) restore(ctx context.Context, tree, from plumbing.Hash, paths []string) (plumbing.Hash, error) {
	root := &edit{}
	for _, p := range paths {
		parts, err := splitPath(strings.Trim(p, "/"))
		if err != nil {
			return tree, err
		}
		was, err := o.find(from, strings.Trim(p, "/"))
		if err != nil && !isNotFound(err) {
			return tree, err
		}
		if err != nil {
			was = entry{}
		}
		e := root.at(parts)
		e.set, e.to, e.below = true, was, nil
	}
	if len(root.below) == 0 {
		return tree, nil
	}
	return o.apply(ctx, tree, root, "")
}

const maxChain = 2000

// chain lists the commits from head back to base, without base, newest first.
func (o *odb) chain(ctx context.Context, base, head string) ([]*commitObject, error) {
	var list []*commitObject
	for id := head; id != base; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := o.commit(id)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
		if len(c.ParentHashes) == 0 && base == "" {
			break
		}
		if len(c.ParentHashes) == 0 || len(list) > maxChain {
			return nil, fmt.Errorf("%s is not among the last %d commits of %s", base, maxChain, head)
		}
		id = c.ParentHashes[0].String()
	}
	return list, nil
}

func (o *odb) parentTree(c *commitObject) (plumbing.Hash, error) {
	if len(c.ParentHashes) == 0 {
		return plumbing.ZeroHash, nil
	}
	p, err := o.commit(c.ParentHashes[0].String())
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return p.TreeHash, nil
}
