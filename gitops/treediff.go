package gitops

import (
	"context"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// delta is one path that differs between two trees; a side that is not there
// has the zero hash.
type delta struct {
	path     string
	from, to entry
	oldPath  string // for a rename, where it was
	score    int    // for a rename, percent alike
}

// differ walks two trees and collects the paths that differ, in tree order.
// Equal subtrees are not read.
type differ struct {
	o     *odb
	paths map[string]bool // only these paths and what is below them; empty means all
	way   map[string]bool // the directories above them
	out   []delta
}

func (o *odb) diff(ctx context.Context, from, to plumbing.Hash, paths []string) ([]delta, error) {
	d := newDiffer(o, paths)
	err := d.walk(ctx, from, to, "")
	return d.out, err
}

func newDiffer(o *odb, paths []string) *differ {
	d := &differ{o: o, paths: map[string]bool{}, way: map[string]bool{}}
	for _, p := range paths {
		p = strings.Trim(p, "/")
		d.paths[p] = true
		for i := strings.LastIndexByte(p, '/'); i > 0; i = strings.LastIndexByte(p, '/') {
			p = p[:i]
			d.way[p] = true
		}
	}
	return d
}

func (d *differ) walk(ctx context.Context, from, to plumbing.Hash, at string) error {
	if from == to {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	a, err := d.o.tree(from)
	if err != nil {
		return err
	}
	b, err := d.o.tree(to)
	if err != nil {
		return err
	}
	inB := make(map[string]entry, len(b))
	for _, e := range b {
		inB[e.name] = e
	}
	inA := make(map[string]bool, len(a))
	for _, e := range a {
		inA[e.name] = true
		if err := d.pair(ctx, e, inB[e.name], at+e.name); err != nil {
			return err
		}
	}
	for _, e := range b {
		if !inA[e.name] {
			if err := d.pair(ctx, entry{}, e, at+e.name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *differ) pair(ctx context.Context, a, b entry, path string) error {
	if a.hash == b.hash && a.mode == b.mode || !d.wanted(path) {
		return nil
	}
	var subA, subB plumbing.Hash
	if a.isDir() {
		subA, a = a.hash, entry{}
	}
	if b.isDir() {
		subB, b = b.hash, entry{}
	}
	if (!a.hash.IsZero() || !b.hash.IsZero()) && d.chosen(path) {
		d.out = append(d.out, delta{path: path, from: a, to: b})
	}
	return d.walk(ctx, subA, subB, path+"/")
}

// wanted tells whether path is on the way to, at, or below a chosen path.
func (d *differ) wanted(path string) bool { return d.way[path] || d.chosen(path) }

func (d *differ) chosen(path string) bool {
	if len(d.paths) == 0 || d.paths[""] {
		return true
	}
	for {
		if d.paths[path] {
			return true
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[:i]
	}
}

const (
	renameSize  = 1 << 20 // larger files are matched only when identical
	renamePairs = 4096    // deleted × created pairs that are compared
	renameScore = 50      // percent alike, as git has it
)

// pairing looks for files among the created ones that were deleted ones.
type pairing struct {
	o          *odb
	list       []delta
	gone, came []int       // indexes of deleted and created files
	match      map[int]int // created to deleted
	score      map[int]int // of a created file, percent alike
	used       map[int]bool
}

// renames joins deleted and created files of which the content is the same,
// or at least half alike.
func (o *odb) renames(ctx context.Context, list []delta) ([]delta, error) {
	p := &pairing{o: o, list: list, match: map[int]int{}, score: map[int]int{}, used: map[int]bool{}}
	for i, d := range list {
		switch {
		case isFile(d.from) && d.to.hash.IsZero():
			p.gone = append(p.gone, i)
		case isFile(d.to) && d.from.hash.IsZero():
			p.came = append(p.came, i)
		}
	}
	if len(p.gone) == 0 || len(p.came) == 0 {
		return list, nil
	}
	p.identical()
	if len(p.gone)*len(p.came) <= renamePairs {
		if err := p.similar(ctx); err != nil {
			return nil, err
		}
	}
	out := make([]delta, 0, len(list))
	for i, d := range list {
		if g, ok := p.match[i]; ok {
			d.from, d.oldPath, d.score = list[g].from, list[g].path, p.score[i]
		} else if p.used[i] {
			continue
		}
		out = append(out, d)
	}
	return out, nil
}

func (p *pairing) identical() {
	byHash := map[plumbing.Hash][]int{}
	for _, g := range p.gone {
		h := p.list[g].from.hash
		byHash[h] = append(byHash[h], g)
	}
	for _, c := range p.came {
		h := p.list[c].to.hash
		if same := byHash[h]; len(same) > 0 {
			p.match[c], p.score[c], p.used[same[0]] = same[0], 100, true
			byHash[h] = same[1:]
		}
	}
}

func isFile(e entry) bool {
	return !e.hash.IsZero() && (e.mode.IsRegular() || e.mode == filemode.Executable)
}
