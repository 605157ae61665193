package gitops

import (
	"context"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/gitops/objects"
)

// delta is a path that differs between two trees. A missing side has the zero hash.
type delta struct {
	path     string
	from, to objects.Entry
	oldPath  string // previous path of a renamed file
	score    int    // similarity of a renamed file, in percent
}

// differ walks two trees and collects the differing paths, in tree order. It skips equal
// subtrees.
type differ struct {
	o   *objects.DB
	sel selection
	out []delta
}

func diff(ctx context.Context, o *objects.DB, from, to plumbing.Hash, sel selection) ([]delta, error) {
	d := &differ{o: o, sel: sel}
	err := d.walk(ctx, from, to, "")
	return d.out, err
}

func (d *differ) walk(ctx context.Context, from, to plumbing.Hash, at string) error {
	if from == to {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	a, err := d.o.Tree(from)
	if err != nil {
		return err
	}
	b, err := d.o.Tree(to)
	if err != nil {
		return err
	}
	inB := make(map[string]objects.Entry, len(b))
	for _, e := range b {
		inB[e.Name] = e
	}
	inA := make(map[string]bool, len(a))
	for _, e := range a {
		inA[e.Name] = true
		if err := d.pair(ctx, e, inB[e.Name], at+e.Name); err != nil {
			return err
		}
	}
	for _, e := range b {
		if !inA[e.Name] {
			if err := d.pair(ctx, objects.Entry{}, e, at+e.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *differ) pair(ctx context.Context, a, b objects.Entry, path string) error {
	if a.Hash == b.Hash && a.Mode == b.Mode || !d.sel.Some(path) {
		return nil
	}
	var subA, subB plumbing.Hash
	if a.IsDir() {
		subA, a = a.Hash, objects.Entry{}
	}
	if b.IsDir() {
		subB, b = b.Hash, objects.Entry{}
	}
	if (!a.Hash.IsZero() || !b.Hash.IsZero()) && d.sel.Whole(path) {
		d.out = append(d.out, delta{path: path, from: a, to: b})
	}
	return d.walk(ctx, subA, subB, path+"/")
}

// prefetch fetches the missing contents of both sides of a diff in one request.
func prefetch(o *objects.DB, list []delta) error {
	ids := make([]plumbing.Hash, 0, 2*len(list))
	for _, d := range list {
		for _, e := range []objects.Entry{d.from, d.to} {
			if e.Mode != filemode.Submodule {
				ids = append(ids, e.Hash)
			}
		}
	}
	return o.Prefetch(ids)
}

const (
	renameSize  = 1 << 20 // larger files are matched only if identical
	renamePairs = 4096    // maximum number of deleted × created pairs to compare
	renameScore = 50      // minimum similarity in percent, git's default
)

// renames joins deleted and created files with the same blob, or with similar contents.
func renames(ctx context.Context, o *objects.DB, list []delta) ([]delta, error) {
	var gone, came []int
	same := map[plumbing.Hash][]int{} // deleted files by blob
	for i, d := range list {
		switch {
		case d.from.IsFile() && d.to.Hash.IsZero():
			gone, same[d.from.Hash] = append(gone, i), append(same[d.from.Hash], i)
		case d.to.IsFile() && d.from.Hash.IsZero():
			came = append(came, i)
		}
	}
	used := map[int]bool{}
	join := func(c, g, score int) {
		list[c].from, list[c].oldPath, list[c].score, used[g] = list[g].from, list[g].path, score, true
	}
	came = slices.DeleteFunc(came, func(c int) bool {
		from := same[list[c].to.Hash]
		if len(from) > 0 {
			join(c, from[0], 100)
			same[list[c].to.Hash] = from[1:]
		}
		return len(from) > 0
	})
	if len(gone)*len(came) > renamePairs {
		came = nil
	}
	profiles := profiles{}
	for _, c := range came {
		best, from := renameScore-1, -1
		for _, g := range gone {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if used[g] {
				continue
			}
			if s := alike(profiles.of(o, list[g].from), profiles.of(o, list[c].to)); s > best {
				best, from = s, g
			}
		}
		if from >= 0 {
			join(c, from, best)
		}
	}
	out := make([]delta, 0, len(list))
	for i, d := range list {
		if !used[i] {
			out = append(out, d)
		}
	}
	return out, nil
}

// profile counts the bytes of each distinct line of a file.
type profile struct {
	size  int
	bytes map[string]int
}

// profiles caches profiles by blob; nil means that the blob has none.
type profiles map[plumbing.Hash]*profile

func (p profiles) of(o *objects.DB, e objects.Entry) *profile {
	f, ok := p[e.Hash]
	if !ok {
		data, err := o.Read(plumbing.BlobObject, e.Hash, renameSize)
		if err == nil && !lines.IsBinary(data) {
			f = &profile{size: len(data), bytes: map[string]int{}}
			for _, l := range lines.Split(data) {
				f.bytes[l] += len(l)
			}
		}
		p[e.Hash] = f
	}
	return f
}

// alike returns the common share of the larger file, in percent, at most 99.
func alike(a, b *profile) int {
	if a == nil || b == nil || a.size == 0 || b.size == 0 || min(a.size, b.size)*2 < max(a.size, b.size) {
		return 0
	}
	same := 0
	for l, n := range a.bytes {
		same += min(n, b.bytes[l])
	}
	return min(99, same*100/max(a.size, b.size))
}
