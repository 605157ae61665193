package objects

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// maxStops is the maximum number of remote refs taken into account. More would take
// time; fewer only cause redundant objects to be sent.
const maxStops = 1000

// stops lists commits that the remote has, branches first.
func stops(o *DB, remote map[string]plumbing.Hash) []plumbing.Hash {
	names := slices.SortedFunc(maps.Keys(remote), func(a, b string) int {
		if branch := strings.HasPrefix(a, "refs/heads/"); branch != strings.HasPrefix(b, "refs/heads/") {
			if branch {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	var list []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	for _, name := range names {
		h := remote[name]
		if len(list) == maxStops || seen[h] || !o.Has(h) {
			continue
		}
		seen[h] = true
		if commit, err := o.Peel(h); err == nil {
			list = append(list, commit)
		}
	}
	return list
}

// between lists the commits reachable from head but from none of stops, newest first.
// It walks both by date, so that it does not read shared history to its beginning.
func between(ctx context.Context, o *DB, head plumbing.Hash, stops []plumbing.Hash) ([]*object.Commit, error) {
	w := &walk{o: o, known: map[plumbing.Hash]*node{}}
	if err := w.push(head, false); err != nil {
		return nil, err
	}
	for _, h := range stops {
		if err := w.push(h, true); err != nil {
			return nil, err
		}
	}
	var list []*node
	for w.open > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		n.queued = false
		if !n.shared {
			w.open--
			list = append(list, n)
		}
		for _, p := range n.ParentHashes {
			if err := w.push(p, n.shared); err != nil {
				return nil, err
			}
		}
	}
	var out []*object.Commit
	for _, n := range list {
		if !n.shared { // may have turned out to be shared later
			out = append(out, n.Commit)
		}
	}
	return out, nil
}

// Descends reports whether old is in the history of h.
func Descends(ctx context.Context, o *DB, h, old plumbing.Hash) (bool, error) {
	if _, err := object.GetCommit(o, old); err != nil {
		return false, nil // missing, or not a commit
	}
	list, err := between(ctx, o, old, []plumbing.Hash{h})
	return len(list) == 0, err
}

type node struct {
	*object.Commit
	turn           time.Time // queue order, newest first
	shared, queued bool
}

type walk struct {
	o     *DB
	known map[plumbing.Hash]*node
	queue []*node // sorted by turn, the next node last
	open  int     // number of queued nodes that are not shared
}

func (w *walk) push(h plumbing.Hash, shared bool) error {
	n := w.known[h]
	switch {
	case n == nil:
		c, err := w.o.Commit(h.String())
		if err != nil {
			return err
		}
		n = &node{Commit: c}
		w.known[h] = n
	case n.shared || !shared:
		return nil
	case n.queued: // queued as unshared, now found to be shared
		n.shared = true
		w.open--
		return nil
	}
	n.shared, n.queued, n.turn = shared, true, n.Committer.When
	if shared {
		n.turn = n.turn.Add(24 * time.Hour) // takes precedence, to allow for clock skew
	} else {
		w.open++
	}
	i, _ := slices.BinarySearchFunc(w.queue, n, func(a, b *node) int { return a.turn.Compare(b.turn) })
	w.queue = slices.Insert(w.queue, i, n)
	return nil
}

// Unsent lists the objects in the history of head that the remote does not have, by
// comparing trees with those of parents. A head without a parent replaces the commit
// now, so its tree is compared with that of now.
func Unsent(ctx context.Context, o *DB, head, now plumbing.Hash, remote map[string]plumbing.Hash) ([]Packed, error) {
	commits, err := between(ctx, o, head, stops(o, remote))
	if err != nil {
		return nil, err
	}
	c := &Collector{Tree: o.Tree}
	for _, commit := range commits {
		c.Add(plumbing.CommitObject, commit.Hash)
		var old []plumbing.Hash
		before := commit.ParentHashes
		if commit.Hash == head && len(before) == 0 && !now.IsZero() && o.Has(now) { //control:parts-are-sent-once
			before = []plumbing.Hash{now}
		}
		for _, p := range before {
			tree, err := o.TreeOf(p.String())
			if err != nil {
				return nil, err
			}
			old = append(old, tree)
		}
		if err := c.Walk(ctx, commit.TreeHash, old...); err != nil {
			return nil, err
		}
	}
	return c.List, nil
}

// Collector lists objects, each once.
type Collector struct {
	List []Packed
	Tree func(h plumbing.Hash) ([]Entry, error)
	Has  func(h plumbing.Hash) bool // reports objects to leave out with everything below; nil means none
	seen map[plumbing.Hash]bool
}

// Add adds an object. It reports false if that is in the list, or left out of it.
func (c *Collector) Add(t plumbing.ObjectType, h plumbing.Hash) bool {
	if c.seen[h] || c.Has != nil && c.Has(h) {
		return false
	}
	if c.seen == nil {
		c.seen = map[plumbing.Hash]bool{}
	}
	c.seen[h] = true
	c.List = append(c.List, Packed{t, h})
	return true
}

// Walk adds the objects of a tree that are in none of the old ones.
func (c *Collector) Walk(ctx context.Context, h plumbing.Hash, old ...plumbing.Hash) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if slices.Contains(old, h) || !c.Add(plumbing.TreeObject, h) {
		return nil
	}
	was := map[string][]plumbing.Hash{}
	for _, p := range old {
		list, err := c.Tree(p)
		if err != nil {
			return err
		}
		for _, e := range list {
			was[e.Name] = append(was[e.Name], e.Hash)
		}
	}
	list, err := c.Tree(h)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := c.entry(ctx, e, was[e.Name]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Collector) entry(ctx context.Context, e Entry, was []plumbing.Hash) error {
	switch {
	case e.Mode == filemode.Submodule || slices.Contains(was, e.Hash):
		return nil
	case e.IsDir():
		var trees []plumbing.Hash
		for _, h := range was {
			if _, err := c.Tree(h); err == nil {
				trees = append(trees, h)
			} else if !errors.Is(err, plumbing.ErrObjectNotFound) {
				return err
			}
		}
		return c.Walk(ctx, e.Hash, trees...)
	}
	c.Add(plumbing.BlobObject, e.Hash)
	return nil
}
