package patch

import (
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// key returns the FNV-1a hash of the normal form of s. It is the same in every
// run.
func key(s string, level int) uint64 {
	if level >= compare.Spacing && plain(s, level) {
		return collapsedKey(s)
	}
	h := uint64(fnvStart)
	n := compare.Normal(s, level)
	for i := range len(n) {
		h = (h ^ uint64(n[i])) * fnvPrime
	}
	return h
}

const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
)

// plain reports whether normal changes nothing but white space in s.
func plain(s string, level int) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || s[i] == '&' && level == compare.Spelling {
			return false
		}
	}
	return true
}

// collapsedKey returns the key of collapse(s) without building that string.
func collapsedKey(s string) uint64 {
	h := uint64(fnvStart)
	gap, begun := false, false
	for i := range len(s) {
		c := s[i]
		if c == ' ' || c >= '\t' && c <= '\r' {
			gap = begun
			continue
		}
		if gap {
			h = (h ^ ' ') * fnvPrime
			gap = false
		}
		h, begun = (h^uint64(c))*fnvPrime, true
	}
	return h
}

func keysOf(lines []line, level int) []uint64 {
	out := make([]uint64, len(lines))
	for i, l := range lines {
		out[i] = key(l.text, level)
	}
	return out
}

// find returns every index at which want stands in d, in linear time.
func (d *document) find(want []string, level int) []int {
	if len(want) == 0 || len(want) > len(d.lines) {
		return nil
	}
	if d.keys[level] == nil {
		d.keys[level] = keysOf(d.lines, level)
	}
	text := d.keys[level]
	pattern := make([]uint64, len(want))
	for i, w := range want {
		pattern[i] = key(w, level)
	}
	var out []int
	back := failure(pattern)
	k := 0
	for i, t := range text {
		for k > 0 && (k == len(pattern) || pattern[k] != t) {
			k = back[k-1]
		}
		if pattern[k] == t {
			k++
		}
		if k == len(pattern) {
			out = append(out, i-k+1)
		}
	}
	return out
}

// failure returns the table that the search of Knuth, Morris and Pratt needs.
func failure(p []uint64) []int {
	back := make([]int, len(p))
	for i, k := 1, 0; i < len(p); i++ {
		for k > 0 && p[i] != p[k] {
			k = back[k-1]
		}
		if p[i] == p[k] {
			k++
		}
		back[i] = k
	}
	return back
}

// at reports whether want stands at index i.
func (d *document) at(i int, want []string, level int) bool {
	if i < 0 || i+len(want) > len(d.lines) {
		return false
	}
	for j, w := range want {
		if compare.Normal(d.lines[i+j].text, level) != compare.Normal(w, level) {
			return false
		}
	}
	return true
}

// nearest returns the region of d that is most like want, for error messages: the
// one with the most lines of want at the same offsets. n is 0 when nothing is
// alike.
func (d *document) nearest(want []string) (from, n int) {
	if d.keys[compare.Spacing] == nil {
		d.keys[compare.Spacing] = keysOf(d.lines, compare.Spacing)
	}
	where := map[uint64][]int{}
	for j, w := range want {
		if compare.Collapse(w) != "" {
			k := key(w, compare.Spacing)
			if len(where[k]) < 8 {
				where[k] = append(where[k], j)
			}
		}
	}
	votes := map[int]int{}
	best, most := 0, 0
	for i, k := range d.keys[compare.Spacing] {
		for _, j := range where[k] {
			at := i - j
			votes[at]++
			if v := votes[at]; v > most || v == most && at == best {
				best, most = at, v
			}
		}
	}
	if most == 0 {
		return 0, 0
	}
	from = max(0, best)
	return from, min(len(want), len(d.lines)-from)
}
