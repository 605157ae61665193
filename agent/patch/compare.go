package patch

import (
	"html"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// byteOrderMark is the optional mark at the start of a text.
const byteOrderMark = "\uFEFF"

// Levels of line comparison, from exact to tolerant.
const (
	exactly  = iota
	trailing // ignores trailing white space
	spacing  // also ignores the amount of white space
	spelling // also ignores typographic quotes, dashes and HTML entities
	levels   // number of levels
)

// normal returns the normal form of a line at a level. Lines are compared by it.
func normal(s string, level int) string {
	if level == exactly {
		return s
	}
	s = strings.TrimPrefix(s, byteOrderMark)
	switch level {
	case trailing:
		return strings.TrimRightFunc(s, unicode.IsSpace)
	case spacing:
		return collapse(s)
	}
	if strings.Contains(s, "&") {
		s = html.UnescapeString(s)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		s = strings.Map(plainSign, s)
	}
	return collapse(s)
}

// collapse replaces each run of white space in s with one space.
func collapse(s string) string {
	s = strings.TrimSpace(s)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == ' ' && s[i+1] == ' ' {
			return strings.Join(strings.Fields(s), " ")
		}
	}
	return s // the common case
}

// indentOf returns the leading white space of a line.
func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// plainSign returns the plain form of a typographic quote or dash, -1 for an
// invisible character, and any other rune unchanged.
func plainSign(r rune) rune {
	switch r {
	case '\u2018', '\u2019', '\u201A', '\u201B', '\u2032':
		return '\''
	case '\u201C', '\u201D', '\u201E', '\u201F', '\u2033':
		return '"'
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2212':
		return '-'
	case '\u200B', '\u200C', '\u200D', '\uFEFF':
		return -1
	}
	return r
}

// run is a range of lines that stay (' '), are deleted ('-') or are added ('+'). from
// and to index the old lines, or the new lines if op is '+'.
type run struct {
	op       byte
	from, to int
}

// of returns the lines of r.
func (r run) of(old, add []string) []string {
	if r.op == '+' {
		return add[r.from:r.to]
	}
	return old[r.from:r.to]
}

// compareLines compares two texts line by line. It is deterministic. Lines that occur
// once in both are anchors. The lines between two anchors go through Myers'
// algorithm, unless there are too many, so time stays near linear.
func compareLines(old, add []string) []run {
	d := differ{old: old, add: add}
	d.between(0, len(old), 0, len(add))
	return d.runs
}

type differ struct {
	old, add []string
	runs     []run
}

func (d *differ) put(op byte, from, to int) {
	if from >= to {
		return
	}
	if n := len(d.runs); n > 0 && d.runs[n-1].op == op && d.runs[n-1].to == from {
		d.runs[n-1].to = to
		return
	}
	if n := len(d.runs); op == '-' && n > 0 && d.runs[n-1].op == '+' && (n < 2 || d.runs[n-2].op != '-') {
		ins := d.runs[n-1]
		d.runs = append(d.runs[:n-1], run{op, from, to}, ins)
		return
	}
	if n := len(d.runs); op == '-' && n > 1 && d.runs[n-1].op == '+' && d.runs[n-2].op == '-' && d.runs[n-2].to == from {
		d.runs[n-2].to = to
		return
	}
	d.runs = append(d.runs, run{op, from, to})
}

// between compares old[a1:a2] with add[b1:b2].
func (d *differ) between(a1, a2, b1, b2 int) {
	head := 0
	for a1+head < a2 && b1+head < b2 && d.old[a1+head] == d.add[b1+head] {
		head++
	}
	d.put(' ', a1, a1+head)
	a1, b1 = a1+head, b1+head
	tail := 0
	for a2-tail > a1 && b2-tail > b1 && d.old[a2-tail-1] == d.add[b2-tail-1] {
		tail++
	}
	a2, b2 = a2-tail, b2-tail
	switch {
	case a1 == a2 || b1 == b2:
		d.put('-', a1, a2)
		d.put('+', b1, b2)
	default:
		pairs := d.unique(a1, a2, b1, b2)
		if len(pairs) == 0 {
			d.myers(a1, a2, b1, b2)
			break
		}
		for _, p := range pairs {
			d.between(a1, p[0], b1, p[1])
			d.put(' ', p[0], p[0]+1)
			a1, b1 = p[0]+1, p[1]+1
		}
		d.between(a1, a2, b1, b2)
	}
	d.put(' ', a2, a2+tail)
}

// unique returns the longest increasing sequence of lines that occur once on each
// side.
func (d *differ) unique(a1, a2, b1, b2 int) [][2]int {
	type occurrence struct{ at, times [2]int }
	seen := make(map[string]*occurrence, a2-a1)
	for side, lines := range [][]string{d.old[a1:a2], d.add[b1:b2]} {
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
	for _, l := range d.old[a1:a2] {
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

// tooMuch limits the work of Myers' algorithm between two anchors.
const tooMuch = 1 << 20

func (d *differ) myers(a1, a2, b1, b2 int) {
	if (a2-a1)*(b2-b1) > tooMuch {
		d.put('-', a1, a2)
		d.put('+', b1, b2)
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
	for _, df := range dmp.DiffMainRunes(encode(d.old[a1:a2]), encode(d.add[b1:b2]), false) {
		n := len([]rune(df.Text))
		switch df.Type {
		case diffmatchpatch.DiffEqual:
			d.put(' ', a1, a1+n)
			a1, b1 = a1+n, b1+n
		case diffmatchpatch.DiffDelete:
			d.put('-', a1, a1+n)
			a1 += n
		case diffmatchpatch.DiffInsert:
			d.put('+', b1, b1+n)
			b1 += n
		}
	}
}
