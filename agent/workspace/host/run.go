package host

import (
	"math"
	"regexp/syntax"
	"unicode"
)

// class is a set of bytes.
type class [4]uint64

func (c *class) add(b byte)      { c[b>>6] |= 1 << (b & 63) }
func (c *class) has(b byte) bool { return c[b>>6]>>(b&63)&1 == 1 }

// bits returns the information in a byte of the class: about 8 bits for a single rare
// byte, near 0 if the class covers most of a text.
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

// maxRun is the maximum number of places in a [run], one for each bit of a word.
const maxRun = 64

// minBits is the minimum information in a run: n bits match at one in 2^n offsets.
const minBits = 3

// places is a sequence of byte sets.
type places []class

func (p places) bits() (sum float64) {
	for i := range p {
		sum += p[i].bits()
	}
	return sum
}

// run finds a sequence of bytes, each from the set of its place.
type run struct {
	in   [256]uint64 // by byte: bit i is set if it is allowed at place i
	size int
}

// runOf returns a sequence that every match of an expression contains within one line.
// It returns nil if that is unknown or too common.
func runOf(re *syntax.Regexp) *run {
	p := partOf(re).best
	if p.bits() < minBits {
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

// at returns the offset of the first run at or after from, or -1. It tracks in one bit
// for each place whether the preceding bytes match up to it.
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

// part describes all texts that a part of an expression matches, up to the length of a
// run.
type part struct {
	whole      bool   // begin is the complete text, or as much as fits
	begin, end places // common prefix and suffix
	best       places // most specific common substring
}

func exactly(p places) part { return part{whole: true, begin: p, end: p, best: p} }

// partOf analyzes an expression. Unknown operators may match anything.
func partOf(re *syntax.Regexp) part {
	switch re.Op {
	case syntax.OpEmptyMatch,
		syntax.OpBeginLine,
		syntax.OpEndLine,
		syntax.OpBeginText,
		syntax.OpEndText,
		syntax.OpWordBoundary,
		syntax.OpNoWordBoundary:
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
		return repeat(partOf(re.Sub[0]), 1, -1)
	case syntax.OpRepeat:
		return repeat(partOf(re.Sub[0]), re.Min, re.Max)
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

// then returns the part for a followed by b.
func (a part) then(b part) part {
	out := part{begin: a.begin, end: b.end, best: a.best}
	if a.whole {
		out.begin = concat(a.begin, b.begin)
		out.begin = out.begin[:min(len(out.begin), maxRun)]
	}
	if b.whole {
		out.end = concat(a.end, b.end)
		out.end = out.end[max(0, len(out.end)-maxRun):]
	}
	out.whole = a.whole && b.whole
	for _, p := range []places{b.best, concat(a.end, b.begin)} {
		if p = p[:min(len(p), maxRun)]; p.bits() > out.best.bits() {
			out.best = p
		}
	}
	return out
}

// or returns the part for either a or b.
func (a part) or(b part) part {
	n := min(len(a.end), len(b.end))
	return part{
		whole: a.whole && b.whole && len(a.begin) == len(b.begin),
		begin: union(a.begin, b.begin),
		end:   union(a.end[len(a.end)-n:], b.end[len(b.end)-n:]),
		best:  union(a.best, b.best),
	}
}

// repeat returns the part for low to high repetitions; high -1 means unlimited.
func repeat(a part, low, high int) part {
	if low == 0 {
		return part{}
	}
	out := a
	for range min(low, maxRun) - 1 {
		out = out.then(a)
	}
	out.whole = out.whole && low == high
	return out
}

// concat returns a followed by b, in new memory.
func concat(a, b places) places {
	out := make(places, 0, len(a)+len(b))
	out = append(append(out, a...), b...)
	return out
}

// union returns the union of two sequences, place by place.
func union(a, b places) places {
	out := make(places, min(len(a), len(b)))
	for i := range out {
		for k := range out[i] {
			out[i][k] = a[i][k] | b[i][k]
		}
	}
	return out
}

// literal returns the part for a literal, unknown if it folds to non-ASCII letters.
func literal(re *syntax.Regexp) part {
	var out places
	for _, r := range re.Rune {
		if re.Flags&syntax.FoldCase != 0 {
			c, ok := foldCase(r)
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

// foldCase returns a letter in both cases; ok is false if one of them is not ASCII.
func foldCase(r rune) (c class, ok bool) {
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

// classOf returns a class of runes; ok is false if one of them is not ASCII, because it
// takes several bytes.
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
