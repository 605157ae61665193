package gitops

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/sergi/go-diff/diffmatchpatch"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxDiffFile  = 4 << 20 // larger files are shown as changed, without lines
	maxDiffLines = 200_000
	diffTime     = 5 * time.Second // after it a diff is larger than it need be, and still right
)

// span is a change of lines: a[A:AEnd] becomes b[B:BEnd].
type span struct{ A, AEnd, B, BEnd int }

// lines cuts text after each newline.
func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	list := strings.SplitAfter(string(text), "\n")
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// compare gives the spans in which two lists of lines differ, in order.
func compare(a, b []string) []span {
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	ma, mb := a[pre:len(a)-post], b[pre:len(b)-post]
	switch {
	case len(ma) == 0 && len(mb) == 0:
		return nil
	case len(ma) == 0 || len(mb) == 0 || len(ma)+len(mb) > maxDiffLines:
		return []span{{pre, pre + len(ma), pre, pre + len(mb)}}
	}
	var in interner
	ra, rb := in.runes(ma), in.runes(mb)
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = diffTime
	var list []span
	x, y := pre, pre
	for _, d := range dmp.DiffMainRunes(ra, rb, false) {
		n := len([]rune(d.Text))
		if d.Type == diffmatchpatch.DiffEqual {
			x, y = x+n, y+n
			continue
		}
		if k := len(list) - 1; k < 0 || list[k].AEnd != x || list[k].BEnd != y {
			list = append(list, span{x, x, y, y})
		}
		if d.Type == diffmatchpatch.DiffDelete {
			x += n
		} else {
			y += n
		}
		list[len(list)-1].AEnd, list[len(list)-1].BEnd = x, y
	}
	return list
}

// interner gives each distinct line a rune, which is what the library
// compares. Surrogates are no runes and left out.
type interner struct{ known map[string]rune }

func (in *interner) runes(list []string) []rune {
	if in.known == nil {
		in.known = map[string]rune{}
	}
	out := make([]rune, len(list))
	for i, line := range list {
		r, ok := in.known[line]
		if !ok {
			r = rune(len(in.known) + 1)
			if r >= 0xd800 {
				r += 0x800
			}
			in.known[line] = r
		}
		out[i] = r
	}
	return out
}

// isBinary is git's own guess: a NUL in the first 8000 bytes.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// similar finds deleted files of which at least half is in a created one.
func (p *pairing) similar(ctx context.Context) error {
	profiles := map[plumbing.Hash]*profile{}
	get := func(e entry) *profile {
		f, ok := profiles[e.hash]
		if !ok {
			f = p.o.profile(e.hash)
			profiles[e.hash] = f
		}
		return f
	}
	for _, c := range p.came {
		if _, ok := p.match[c]; ok {
			continue
		}
		best, from := renameScore-1, -1
		for _, g := range p.gone {
			if err := ctx.Err(); err != nil {
				return err
			}
			if p.used[g] {
				continue
			}
			if s := alike(get(p.list[g].from), get(p.list[c].to)); s > best {
				best, from = s, g
			}
		}
		if from >= 0 {
			p.match[c], p.score[c], p.used[from] = from, best, true
		}
	}
	return nil
}

// profile counts the bytes of each distinct line of a file.
type profile struct {
	size  int
	bytes map[string]int
}

func (o *odb) profile(h plumbing.Hash) *profile {
	data, err := o.read(plumbing.BlobObject, h, renameSize)
	if err != nil || isBinary(data) {
		return nil
	}
	p := &profile{size: len(data), bytes: map[string]int{}}
	for _, l := range lines(data) {
		p.bytes[l] += len(l)
	}
	return p
}

// alike is the share of the larger file that is in both, in percent, below
// 100.
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
