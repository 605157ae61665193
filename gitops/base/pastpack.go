package base

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/handrail-bot/handrail/gitops/objects"
)

// collector collects the objects of a pack.
type collector struct {
	r       reader
	had     *objects.DB
	seen    map[plumbing.Hash]bool
	list    []objects.Packed
	made    map[plumbing.Hash][]byte
	bounded bool
	left    int64 // bytes of further blobs, if bounded
}

func (c *collector) add(kind plumbing.ObjectType, id plumbing.Hash) bool {
	if c.seen[id] {
		return false
	}
	c.seen[id] = true
	if !c.had.Has(id) {
		c.list = append(c.list, objects.Packed{Kind: kind, Hash: id})
	}
	return true
}

// tree adds a tree, recursively.
func (c *collector) tree(ctx context.Context, id plumbing.Hash) error {
	if id.IsZero() {
		id = emptyTree
		c.made[id] = nil
	}
	if !c.add(plumbing.TreeObject, id) || id == emptyTree {
		return nil
	}
	list, err := c.r.tree(id)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	for _, e := range list {
		switch {
		case e.Mode == filemode.Submodule:
		case e.IsDir():
			if err := c.tree(ctx, e.Hash); err != nil {
				return err
			}
		case c.add(plumbing.BlobObject, e.Hash) && c.bounded:
			size, err := c.r.repo.EncodedObjectSize(e.Hash)
			if err != nil {
				return err
			}
			if c.left -= size; c.left < 0 {
				return errCut
			}
		}
	}
	return nil
}

// prefetch fetches the missing contents of the commits of a partial mirror in one
// request. It returns the commits within the limit.
func (c *collector) prefetch(ctx context.Context, steps []step) ([]step, error) {
	if !c.r.repo.Partial() {
		return steps, nil
	}
	left := *c.r.left
	all := &collector{r: c.r, had: c.had, seen: map[plumbing.Hash]bool{}, made: map[plumbing.Hash][]byte{}}
	all.r.left = &left
	var ids []plumbing.Hash
	former := 0
	for i, st := range steps {
		err := all.tree(ctx, st.tree)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		lacks := c.r.repo.Missing(objects.Contents(all.list))
		all.list = nil
		if i > 0 {
			former += len(lacks)
		}
		if i > 0 && (err != nil || former > pastBrought) {
			steps = steps[:i]
			break
		}
		ids = append(ids, lacks...)
	}
	return steps, c.r.repo.Prefetch(ids)
}

// emptyTree is the id of the empty tree.
var emptyTree = plumbing.NewHash("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

// commits adds the commits. A commit with a changed tree or parents becomes a new commit
// without a signature, which would be invalid.
func (c *collector) commits(steps []step, a *pastAbout) {
	by := map[plumbing.Hash]step{}
	for _, st := range steps {
		by[st.id] = st
	}
	shown := map[plumbing.Hash]plumbing.Hash{}
	var show func(st step) plumbing.Hash
	show = func(st step) plumbing.Hash {
		if id, ok := shown[st.id]; ok {
			return id
		}
		parents, whole := slices.Clone(st.parents), true
		for i, p := range st.parents {
			if before, ok := by[p]; ok {
				parents[i] = show(before)
			} else {
				whole = false
			}
		}
		id := c.commit(st, parents)
		shown[st.id] = id
		a.Commits[st.id.String()] = id.String()
		if !whole {
			a.Shallow = append(a.Shallow, id.String())
		}
		return id
	}
	for _, st := range steps {
		show(st)
	}
	slices.Sort(a.Shallow)
}

func (c *collector) commit(st step, parents []plumbing.Hash) plumbing.Hash {
	tree := st.tree
	if tree.IsZero() {
		tree = emptyTree
	}
	raw := rewrite(st.raw, tree, st.parents, parents)
	id := plumbing.ComputeHash(plumbing.CommitObject, raw)
	c.made[id] = raw
	c.add(plumbing.CommitObject, id)
	return id
}

// rewrite returns a commit with another tree and other parents. An unchanged commit keeps
// its signature.
func rewrite(raw []byte, tree plumbing.Hash, from, to []plumbing.Hash) []byte {
	head, text, _ := bytes.Cut(raw, []byte("\n\n"))
	if bytes.HasPrefix(head, []byte("tree "+tree.String()+"\n")) && slices.Equal(from, to) {
		return raw
	}
	var out bytes.Buffer
	out.WriteString("tree " + tree.String() + "\n")
	for _, p := range to {
		out.WriteString("parent " + p.String() + "\n")
	}
	keep := false
	for line := range bytes.Lines(append(head, '\n')) {
		if line[0] != ' ' {
			name, _, _ := bytes.Cut(line, []byte(" "))
			keep = slices.Contains([]string{"author", "committer", "encoding"}, string(name))
		}
		if keep {
			out.Write(line)
		}
	}
	out.WriteByte('\n')
	out.Write(text)
	return out.Bytes()
}

func (c *collector) open(x objects.Packed) (io.ReadCloser, int64, error) {
	if raw, ok := c.made[x.Hash]; ok {
		return io.NopCloser(bytes.NewReader(raw)), int64(len(raw)), nil
	}
	r, size, err := c.r.repo.Open(x.Kind, x.Hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) && x.Kind == plumbing.TreeObject {
		if r, size, ownErr := c.r.own.Open(x.Kind, x.Hash); ownErr == nil {
			return r, size, nil
		}
	}
	return r, size, err
}

// files lists the files for the git index in the workspace.
func (c *collector) files(ctx context.Context, root plumbing.Hash) (list []*index.Entry, err error) {
	var walk func(h plumbing.Hash, at string) error
	walk = func(h plumbing.Hash, at string) error {
		entries, err := c.r.tree(h)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		for _, e := range entries {
			switch {
			case c.r.refused(e.Name):
			case e.IsDir():
				err = walk(e.Hash, at+e.Name+"/")
			default:
				if e.Mode == filemode.Deprecated {
					e.Mode = filemode.Regular
				}
				list = append(list, &index.Entry{Name: at + e.Name, Mode: e.Mode, Hash: e.Hash})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if !root.IsZero() {
		err = walk(root, "")
	}
	slices.SortFunc(list, func(a, b *index.Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

func writeFiles(name string, list []*index.Entry) error {
	var out bytes.Buffer
	if err := index.NewEncoder(&out).Encode(&index.Index{Version: 2, Entries: list}); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}
