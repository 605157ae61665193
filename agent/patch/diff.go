package patch

import (
	"fmt"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// run is a stretch of lines that stay (' '), are deleted ('-') or are added
// ('+'). from and to are indexes into the old lines; of a '+', into the new ones.
type run struct {
	op       byte
	from, to int
}

func (r run) lines(old, add []string) []string {
	if r.op == '+' {
		return add[r.from:r.to]
	}
	return old[r.from:r.to]
}

// diffLines compares two texts line by line. It is deterministic. Lines that
// occur once in both anchor the comparison. What lies between two anchors goes
// through Myers' algorithm, unless it is too much: so time stays near linear.
func diffLines(old, add []string) []run {
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

// unique returns the longest rising sequence of lines that occur once on
// each side.
func (d *differ) unique(a1, a2, b1, b2 int) [][2]int {
	type occurrence struct{ a, b, na, nb int }
	seen := make(map[string]*occurrence, a2-a1)
	for i := a1; i < a2; i++ {
		p := seen[d.old[i]]
		if p == nil {
			p = &occurrence{}
			seen[d.old[i]] = p
		}
		p.a, p.na = i, p.na+1
	}
	for i := b1; i < b2; i++ {
		if p := seen[d.add[i]]; p != nil {
			p.b, p.nb = i, p.nb+1
		}
	}
	var pairs [][2]int
	for i := a1; i < a2; i++ {
		if p := seen[d.old[i]]; p.na == 1 && p.nb == 1 {
			pairs = append(pairs, [2]int{p.a, p.b})
		}
	}
	return rising(pairs)
}

// rising returns the longest subsequence in which the second numbers rise. It
// finds it by patience sorting.
func rising(pairs [][2]int) [][2]int {
	back := make([]int, len(pairs))
	var tops []int
	for i, p := range pairs {
		lo, hi := 0, len(tops)
		for lo < hi {
			mid := (lo + hi) / 2
			if pairs[tops[mid]][1] < p[1] {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		back[i] = -1
		if lo > 0 {
			back[i] = tops[lo-1]
		}
		if lo == len(tops) {
			tops = append(tops, i)
		} else {
			tops[lo] = i
		}
	}
	out := make([][2]int, len(tops))
	if len(tops) == 0 {
		return nil
	}
	for i, k := tops[len(tops)-1], len(tops)-1; k >= 0; k-- {
		out[k] = pairs[i]
		i = back[i]
	}
	return out
}

// tooMuch limits the work of Myers' algorithm on one stretch.
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

// around is how many unchanged lines a diff shows on each side of a change.
const around = 3

// UnifiedFile returns the difference between two versions of a file as git
// shows it, "" when there is none. from and to are its names, "" where it does
// not exist.
func UnifiedFile(from, to, before, after string) string {
	if before == after && from == to {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", headerName("a/", from), headerName("b/", to))
	old, add := wholeLines(before), wholeLines(after)
	for _, h := range group(diffLines(old, add)) {
		writeHunk(&b, h, old, add)
	}
	return b.String()
}

func headerName(prefix, path string) string {
	if path == "" {
		return devNull
	}
	name := prefix + path
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// wholeLines cuts a text into lines with their endings.
func wholeLines(s string) []string {
	return strings.SplitAfter(s, "\n")[:strings.Count(s, "\n")+b2i(s != "" && s[len(s)-1] != '\n')]
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// span2 is a run with the indexes at which it begins in both texts.
type span2 struct {
	run
	a, b int
}

// group cuts runs into hunks with context.
func group(runs []run) [][]span2 {
	var out [][]span2
	var cur []span2
	a, b := 0, 0
	for i, r := range runs {
		n := r.to - r.from
		s := span2{r, a, b}
		if r.op != '+' {
			a += n
		}
		if r.op != '-' {
			b += n
		}
		if r.op != ' ' {
			cur = append(cur, s)
			continue
		}
		if cur != nil && (n <= 2*around && i < len(runs)-1) {
			cur = append(cur, s)
			continue
		}
		if cur != nil {
			out = append(out, append(cur, s.first(around)))
			cur = nil
		}
		if i < len(runs)-1 {
			cur = []span2{s.last(around)}
		}
	}
	if cur != nil {
		out = append(out, cur)
	}
	return out
}

func (s span2) first(n int) span2 {
	s.to = min(s.to, s.from+n)
	return s
}

func (s span2) last(n int) span2 {
	skip := max(0, s.to-s.from-n)
	s.from, s.a, s.b = s.from+skip, s.a+skip, s.b+skip
	return s
}

func writeHunk(b *strings.Builder, h []span2, old, add []string) {
	na, nb := 0, 0
	for _, s := range h {
		n := s.to - s.from
		if s.op != '+' {
			na += n
		}
		if s.op != '-' {
			nb += n
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", hunkRange(h[0].a, na), hunkRange(h[0].b, nb))
	for _, s := range h {
		for _, l := range s.lines(old, add) {
			b.WriteByte(s.op)
			b.WriteString(l)
			if !strings.HasSuffix(l, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
}

// hunkRange returns one half of a hunk header, such as "3,7".
func hunkRange(at, n int) string {
	if n != 0 {
		at++
	}
	if n == 1 {
		return fmt.Sprint(at)
	}
	return fmt.Sprintf("%d,%d", at, n)
}

// Count returns how many lines a change adds and removes.
func Count(before, after string) (added, removed int) {
	for _, r := range diffLines(wholeLines(before), wholeLines(after)) {
		switch r.op {
		case '+':
			added += r.to - r.from
		case '-':
			removed += r.to - r.from
		}
	}
	return added, removed
}
