package gitops

import (
	"container/heap"
	"context"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// maxStops bounds how many refs of a remote are looked at for what it has.
// More would cost time; fewer only mean that more is sent.
const maxStops = 1000

// stops lists commits that the remote has, branches first.
func (o *odb) stops(ctx context.Context, remote map[string]plumbing.Hash) []plumbing.Hash {
	names := make([]string, 0, len(remote))
	for name := range remote {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := boolInt(strings.HasPrefix(b, "refs/heads/")) - boolInt(strings.HasPrefix(a, "refs/heads/")); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var list []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	for _, name := range names {
		h := remote[name]
		if seen[h] || !o.has(h) {
			continue
		}
		seen[h] = true
		if id, err := o.peel(ctx, h); err == nil {
			list = append(list, plumbing.NewHash(id))
		}
		if len(list) == maxStops {
			break
		}
	}
	return list
}

// between lists the commits in the history of head and not in that of any of
// stops, newest first. It walks both by date, so what is shared is not read
// to its beginning.
func (o *odb) between(ctx context.Context, head plumbing.Hash, stops []plumbing.Hash) ([]*commitObject, error) {
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
		n := heap.Pop(&w.queue).(*node)
		n.queued = false
		if !n.shared {
			w.open--
			if !n.listed {
				n.listed = true
				list = append(list, n)
			}
		}
		for _, p := range n.ParentHashes {
			if err := w.push(p, n.shared); err != nil {
				return nil, err
			}
		}
	}
	var out []*commitObject
	for _, n := range list {
		if !n.shared { // it may have been found to be shared later
			out = append(out, n.commitObject)
		}
	}
	return out, nil
}

type node struct {
	*commitObject
	shared, queued, listed bool
}

type walk struct {
	o     *odb
	known map[plumbing.Hash]*node
	queue byDate
	open  int // queued nodes that are not shared
}

func (w *walk) push(h plumbing.Hash, shared bool) error {
	n := w.known[h]
	if n != nil && (n.shared || !shared) {
		return nil
	}
	if n == nil {
		c, err := w.o.commit(h.String())
		if err != nil {
			return err
		}
		n = &node{commitObject: c, shared: shared}
		w.known[h] = n
	} else { // known, and now found to be shared
		n.shared = true
		if n.queued {
			w.open--
			return nil
		}
	}
	if !shared {
		w.open++
	}
	n.queued = true
	heap.Push(&w.queue, n)
	return nil
}

// byDate is a heap with the newest commit on top.
type byDate []*node

func (q byDate) Len() int           { return len(q) }
func (q byDate) Less(i, j int) bool { return q[i].Committer.When.After(q[j].Committer.When) }
func (q byDate) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push is for package heap.
func (q *byDate) Push(x any) { *q = append(*q, x.(*node)) }

// Pop is for package heap.
func (q *byDate) Pop() any {
	old := *q
	n := old[len(old)-1]
	*q = old[:len(old)-1]
	return n
}
