package lines

import (
	"sort"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Span is a change of lines: a[A:AEnd] becomes b[B:BEnd].
type Span struct{ A, AEnd, B, BEnd int }

// Compare returns the spans in which two lists of lines differ, in order. It is
// deterministic. Lines that occur once in both are anchors. The lines between two anchors
// go through Myers' algorithm, unless there are too many, so time stays near linear.
func Compare(a, b []string) []Span {
	c := comparison{a: a, b: b}
	c.between(0, len(a), 0, len(b))
	return c.spans
}

type comparison struct {
	a, b  []string
	spans []Span
}

// add records that a[a1:a2] becomes b[b1:b2]. Spans that touch are one.
func (c *comparison) add(a1, a2, b1, b2 int) {
	n := len(c.spans) - 1
	switch {
	case a1 == a2 && b1 == b2:
	case n >= 0 && c.spans[n].AEnd == a1 && c.spans[n].BEnd == b1:
		c.spans[n].AEnd, c.spans[n].BEnd = a2, b2
	default:
		c.spans = append(c.spans, Span{a1, a2, b1, b2})
	}
}

// between compares a[a1:a2] with b[b1:b2].
func (c *comparison) between(a1, a2, b1, b2 int) {
	for a1 < a2 && b1 < b2 && c.a[a1] == c.b[b1] {
		a1, b1 = a1+1, b1+1
	}
	for a1 < a2 && b1 < b2 && c.a[a2-1] == c.b[b2-1] {
		a2, b2 = a2-1, b2-1
	}
	if a1 == a2 || b1 == b2 {
		c.add(a1, a2, b1, b2)
		return
	}
	anchors := c.anchors(a1, a2, b1, b2)
	if len(anchors) == 0 {
		c.myers(a1, a2, b1, b2)
		return
	}
	for _, p := range anchors {
		c.between(a1, p[0], b1, p[1])
		a1, b1 = p[0]+1, p[1]+1
	}
	c.between(a1, a2, b1, b2)
}

// anchors returns the longest increasing sequence of lines that occur once on each side.
func (c *comparison) anchors(a1, a2, b1, b2 int) [][2]int {
	type occurrence struct{ at, times [2]int }
	seen := make(map[string]*occurrence, a2-a1)
	for side, lines := range [][]string{c.a[a1:a2], c.b[b1:b2]} {
		for i, l := range lines {
			p := seen[l]
			if p == nil {
				p = &occurrence{}
				seen[l] = p
			}
			p.at[side], p.times[side] = i, p.times[side]+1
		}
	}
	var pairs [][2]int
	for _, l := range c.a[a1:a2] {
		if p := seen[l]; p.times == [2]int{1, 1} {
			pairs = append(pairs, [2]int{a1 + p.at[0], b1 + p.at[1]})
		}
	}
	return rising(pairs)
}

// rising returns the longest subsequence with increasing second numbers, by patience
// sorting.
func rising(pairs [][2]int) [][2]int {
	back := make([]int, len(pairs))
	var tops []int
	for i, p := range pairs {
		k := sort.Search(len(tops), func(k int) bool { return pairs[tops[k]][1] >= p[1] })
		if back[i] = -1; k > 0 {
			back[i] = tops[k-1]
		}
		if k == len(tops) {
			tops = append(tops, 0)
		}
		tops[k] = i
	}
	out := make([][2]int, len(tops))
	for i, k := -1, len(tops)-1; k >= 0; k-- {
		if i < 0 {
			i = tops[k]
		}
		out[k], i = pairs[i], back[i]
	}
	return out
}

// maxPairs limits the work of Myers' algorithm between two anchors.
const maxPairs = 1 << 20

func (c *comparison) myers(a1, a2, b1, b2 int) {
	if (a2-a1)*(b2-b1) > maxPairs {
		c.add(a1, a2, b1, b2)
		return
	}
	ids := map[string]rune{}
	encode := func(lines []string) []rune {
		out := make([]rune, len(lines))
		for i, s := range lines {
			r, ok := ids[s]
			if !ok {
				r = rune(len(ids) + 1)
				if r >= 0xD800 {
					r += 0x800 // surrogates do not survive a string
				}
				ids[s] = r
			}
			out[i] = r
		}
		return out
	}
	dmp := &diffmatchpatch.DiffMatchPatch{} // no timeout: the result must not depend on the clock
	for _, d := range dmp.DiffMainRunes(encode(c.a[a1:a2]), encode(c.b[b1:b2]), false) {
		a, b, n := a1, b1, len([]rune(d.Text))
		if d.Type != diffmatchpatch.DiffInsert {
			a1 += n
		}
		if d.Type != diffmatchpatch.DiffDelete {
			b1 += n
		}
		if d.Type != diffmatchpatch.DiffEqual {
			c.add(a, a1, b, b1)
		}
	}
}
