package find

import (
	"math"
	"regexp/syntax"
	"unicode"
)

// class is a set of bytes.
type class [4]uint64

func (c *class) add(b byte)      { c[b>>6] |= 1 << (b & 63) }
func (c *class) has(b byte) bool { return c[b>>6]>>(b&63)&1 == 1 }

// bits is how much is known of a byte when it is in a class: 8 for a single rare byte,
// near 0 when most of a text is in it.
func (c *class) bits() float64 {
	often := 0.0
	for b := range 256 {
		if !c.has(byte(b)) {
			continue
		}
		switch {
		case b == ' ' || b == '\t':
			often += 0.1
		case b >= 'a' && b <= 'z':
			often += 0.02
		case b > ' ' && b < 0x7F:
			often += 0.004
		default:
			often += 0.0005
		}
	}
	return -math.Log2(min(often, 1))
}

// longestRun is the number of bits that [run] has for places.
const longestRun = 64

// fewestBits is how much a run must tell: one in so many places has what looks like it.
const fewestBits = 3

// places are sets of bytes, one after the other.
type places []class

func (p places) bits() (sum float64) {
	for i := range p {
		sum += p[i].bits()
	}
	return sum
}

// run finds bytes in a text of which each is in the set of its place.
type run struct {
	in   [256]uint64 // by byte: bit i is set when it may stand at place i
	size int
}

// runOf returns what every match of an expression within a line has in it; nil when that
// is not known or tells little.
func runOf(re *syntax.Regexp) *run {
	p := partOf(re).best
	if p.bits() < fewestBits {
		return nil
	}
	r := &run{size: len(p)}
	for i := range p {
		for b := range r.in {
			if b != '\n' && p[i].has(byte(b)) {
				r.in[b] |= 1 << i
			}
		}
	}
	return r
}

// at returns where the first run begins at from or behind it, -1 when there is none. It
// keeps a bit for each place that the bytes before may have come to.
func (r *run) at(buf []byte, from int) int {
	last := uint64(1) << (r.size - 1)
	var come uint64
	for i, b := range buf[from:] {
		come = (come<<1 | 1) & r.in[b]
		if come&last != 0 {
			return from + i + 1 - r.size
		}
	}
	return -1
}

// part is what is known of all texts that a part of an expression matches: no more of it
// than a run can be long.
type part struct {
	whole      bool   // begin is all of them, or all that fits
	begin, end places // they begin and end so
	best       places // they have this in them
}

func exactly(p places) part { return part{whole: true, begin: p, end: p, best: p} }

// partOf looks at an expression. What it does not know matches anything.
func partOf(re *syntax.Regexp) part {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return exactly(nil)
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpCharClass:
		if c, ok := classOf(re.Rune); ok {
			return exactly(places{c})
		}
	case syntax.OpCapture:
		return partOf(re.Sub[0])
	case syntax.OpPlus:
		return repeated(partOf(re.Sub[0]), 1, -1)
	case syntax.OpRepeat:
		return repeated(partOf(re.Sub[0]), re.Min, re.Max)
	case syntax.OpConcat:
		all := exactly(nil)
		for _, sub := range re.Sub {
			all = all.then(partOf(sub))
		}
		return all
	case syntax.OpAlternate:
		one := partOf(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			one = one.or(partOf(sub))
		}
		return one
	}
	return part{}
}

// then is what is known of a part with another one behind it.
func (a part) then(b part) part {
	out := part{begin: a.begin, end: b.end, best: a.best}
	if a.whole {
		out.begin = joined(a.begin, b.begin)
		out.begin = out.begin[:min(len(out.begin), longestRun)]
	}
	if b.whole {
		out.end = joined(a.end, b.end)
		out.end = out.end[max(0, len(out.end)-longestRun):]
	}
	out.whole = a.whole && b.whole
	for _, p := range []places{b.best, joined(a.end, b.begin)} {
		if p = p[:min(len(p), longestRun)]; p.bits() > out.best.bits() {
			out.best = p
		}
	}
	return out
}

// or is what is known of either of two parts.
func (a part) or(b part) part {
	n := min(len(a.end), len(b.end))
	return part{
		whole: a.whole && b.whole && len(a.begin) == len(b.begin),
		begin: either(a.begin, b.begin),
		end:   either(a.end[len(a.end)-n:], b.end[len(b.end)-n:]),
		best:  either(a.best, b.best),
	}
}

// repeated is what is known of a part that comes at least low times, and at most high, -1
// for any number.
func repeated(a part, low, high int) part {
	if low == 0 {
		return part{}
	}
	out := a
	for range min(low, longestRun) - 1 {
		out = out.then(a)
	}
	out.whole = out.whole && low == high
	return out
}

// joined is places behind others.
func joined(a, b places) places {
	out := make(places, 0, len(a)+len(b))
	out = append(append(out, a...), b...)
	return out
}

// either allows at each place what one of two allows there.
func either(a, b places) places {
	out := make(places, min(len(a), len(b)))
	for i := range out {
		for k := range out[i] {
			out[i][k] = a[i][k] | b[i][k]
		}
	}
	return out
}

// literal is the bytes of a literal. One that folds to letters beyond ASCII is none.
func literal(re *syntax.Regexp) part {
	var out places
	for _, r := range re.Rune {
		if re.Flags&syntax.FoldCase != 0 {
			c, ok := folded(r)
			if !ok {
				return part{}
			}
			out = append(out, c)
			continue
		}
		for _, b := range []byte(string(r)) {
			var c class
			c.add(b)
			out = append(out, c)
		}
	}
	all := exactly(nil)
	return all.then(exactly(out))
}

// folded is a letter in both cases; ok is false when one of them is beyond ASCII.
func folded(r rune) (c class, ok bool) {
	for f := r; ; {
		if f > unicode.MaxASCII {
			return class{}, false
		}
		c.add(byte(f))
		if f = unicode.SimpleFold(f); f == r {
			return c, true
		}
	}
}

// classOf is a class of runes; ok is false when one of them is beyond ASCII, and may be
// of any number of bytes.
func classOf(ranges []rune) (c class, ok bool) {
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i+1] > unicode.MaxASCII {
			return class{}, false
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			c.add(byte(r))
		}
	}
	return c, true
}
