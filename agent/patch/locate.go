package patch

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// applier applies the hunks of one edit in order.
type applier struct {
	doc    *document
	before []line // the file's lines before the first hunk
	index  int    // of the current hunk, from 1
	total  int
	moves  []move
	after  int // first line after the previous hunk
	notes  []string
}

// move is a shift by a number of lines for all lines with index at or greater.
type move struct{ at, by int }

// shifted returns the current index of the line that had index i before the first
// hunk was applied.
func (p *applier) shifted(i int) int {
	for _, m := range p.moves {
		if i >= m.at {
			i += m.by
		}
	}
	return i
}

// match is the place at which a hunk fits.
type match struct {
	hunk  hunk // as it fits, perhaps with less context than written
	at    int
	level int
}

// old returns the lines that the file must have.
func (h hunk) old() []string   { return h.only(" -") }
func (h hunk) fresh() []string { return h.only(" +") }

// context returns the lines that stay.
func (h hunk) context() []string { return h.only(" ") }

// only returns the lines with one of the ops.
func (h hunk) only(ops string) []string {
	out := make([]string, 0, len(h.lines))
	for _, l := range h.lines {
		if strings.IndexByte(ops, l.op) >= 0 {
			out = append(out, l.text)
		}
	}
	return out
}

func blank(lines []string) bool {
	return !slices.ContainsFunc(lines, func(s string) bool { return strings.TrimSpace(s) != "" })
}

func (p *applier) apply(h hunk) error {
	h = p.unmarked(h)
	if h.numbered != nil && len(p.doc.find(h.numbered.old(), trailing)) > 0 {
		h = *h.numbered // the numbers are part of the file
	}
	if blank(h.old()) {
		done, err := p.insert(h)
		if done || err != nil {
			return err
		}
	}
	if len(h.splits) > 0 {
		return p.applySplit(h)
	}
	if err := p.checkDefinitions(h); err != nil {
		return err
	}
	m, err := p.locate(h)
	if err != nil {
		return err
	}
	if m != nil {
		return p.applyMatch(*m)
	}
	if !h.block {
		if done, err := p.applyParts(h); done || err != nil {
			return err
		}
	}
	return p.mismatch(h)
}

// applySplit tries all readings of a block whose content has a line that looks like
// the divider. The file decides: a divider-like line in a search text that the file
// has is content.
func (p *applier) applySplit(h hunk) error {
	var found *match
	for _, reading := range h.splits {
		m, err := p.locate(reading)
		if err != nil {
			return err
		}
		if m != nil {
			found = m // keep the longest search text that is in the file
		}
	}
	if found == nil {
		return p.mismatch(h)
	}
	if n := dividers(found.hunk.fresh()); n > dividers(found.hunk.old()) {
		return fmt.Errorf(
			"apply edit: %s has a second =======; which one divides it? Send one block for each change; where the text itself has such a line, write \\======= for it",
			h.describe(p.index, p.total),
		)
	}
	return p.applyMatch(*found)
}

// dividers counts the lines that look like a block divider.
func dividers(lines []string) (n int) {
	for _, s := range lines {
		if isDivider(s) {
			n++
		}
	}
	return n
}

// insert applies a hunk without old text. done is false if the hunk has to be located
// like any other.
func (p *applier) insert(h hunk) (done bool, err error) {
	n := len(p.doc.lines)
	empty := n == 0 || n == 1 && p.doc.lines[0].text == ""
	old := len(h.old())
	at := -1
	switch {
	case h.block && h.start > 0 && h.end >= h.start:
		return true, p.replaceRange(h)
	case empty:
		p.put(h, 0, n, true)
		return true, nil
	case old > 0 && h.start == 0 && !h.block:
		return false, nil
	case h.zero:
		at = p.shifted(h.start)
	case h.block && h.start > 0:
		at = p.shifted(h.start - 1)
	case old > 0:
		return false, nil
	case h.section != "":
		if s := p.doc.find([]string{h.section}, spacing); len(s) == 1 {
			at = s[0] + 1
		}
	}
	if at < 0 {
		hint := "give it a line or two of context that stay as they are"
		if h.block {
			hint = "put the text that is to be replaced between SEARCH and =======, or a :start_line:"
		}
		return true, fmt.Errorf(
			"apply edit: %s does not say where it belongs: it has no text of the file in it; %s",
			h.describe(p.index, p.total),
			hint,
		)
	}
	if at > n {
		return true, fmt.Errorf(
			"apply edit: %s is for line %d, but the file has %d lines",
			h.describe(p.index, p.total),
			h.start,
			n,
		)
	}
	p.put(h, at, at, false)
	return true, nil
}

// locate returns the place at which the hunk fits, or nil if it fits nowhere. It
// returns an error if several places fit and nothing decides between them.
func (p *applier) locate(h hunk) (*match, error) {
	for _, v := range h.variants() {
		if m, err := p.try(v); m != nil || err != nil {
			if m != nil && m.level >= spacing && !h.block && p.doc.hasRival(*m, p.expected(m.hunk)) {
				return nil, nil
			}
			if m != nil && !telling(v.old(), 3) && p.bareRival(*m) {
				return nil, nil
			}
			return m, err
		}
	}
	if h.block {
		return nil, nil
	}
	for _, v := range h.lessContext() {
		if m, err := p.try(v); m != nil || err != nil {
			if m != nil && (p.doc.contextElsewhere(*m) || p.doc.hasRival(*m, p.expected(m.hunk))) {
				return nil, nil
			}
			return m, err
		}
	}
	return nil, nil
}

// bareRival reports whether lines without words, which are weak evidence, also match
// at the place given by the hunk's line number, or anywhere else if the match was
// tolerant.
func (p *applier) bareRival(m match) bool {
	old, said := m.hunk.old(), p.expected(m.hunk)
	if m.level >= spacing {
		return len(p.doc.find(old, spacing)) > 1
	}
	return !m.hunk.block && said >= 0 && said != m.at && p.doc.at(said, old, spacing)
}

// try locates a hunk, first at its line number, then at increasingly tolerant levels
// of comparison.
func (p *applier) try(h hunk) (*match, error) {
	old := h.old()
	scopes := p.scopes(h)
	if at := p.expected(h); at >= 0 && !h.fewer && p.doc.at(at, old, exactly) &&
		(len(scopes) == 0 || at > scopes[0].from) {
		return &match{h, at, exactly}, nil
	}
	if blank(old) {
		return nil, nil
	}
	for level := range levels {
		starts := slices.DeleteFunc(p.doc.find(old, level), func(at int) bool {
			return !within(scopes, at) || level >= spacing && !p.doc.evenlyIndented(h, at)
		})
		if len(starts) == 0 {
			continue
		}
		at, err := p.choose(h, starts)
		if err != nil {
			return nil, err
		}
		return &match{h, at, level}, nil
	}
	return nil, nil
}

// expected returns the index given by the hunk's line number, or -1.
func (p *applier) expected(h hunk) int {
	if h.start <= 0 {
		return -1
	}
	return p.shifted(h.start - 1)
}

// choose returns the intended one of several indexes, or an error if nothing decides
// between them.
func (p *applier) choose(h hunk, starts []int) (int, error) {
	if !h.block {
		var later []int
		for _, at := range starts {
			if at >= p.after {
				later = append(later, at)
			}
		}
		if want := p.expected(h); want >= 0 && want < p.after && len(later) > 0 && len(later) < len(starts) {
			return 0, p.ambiguous(h, starts) // its line number puts it before the last hunk, its order after it
		}
		if len(later) > 0 {
			starts = later
		}
	}
	if len(starts) == 1 {
		return starts[0], p.checkOnce(h)
	}
	if want := p.expected(h); want >= 0 && !h.fewer {
		best, second := -1, -1
		for _, at := range starts {
			switch d := distance(at, want); {
			case best < 0 || d < distance(best, want):
				best, second = at, best
			case second < 0 || d < distance(second, want):
				second = at
			}
		}
		if distance(best, want)*2 <= distance(second, want) {
			return best, nil
		}
	}
	return 0, p.ambiguous(h, starts)
}

// checkOnce returns an error if a block fits in one place only because of an earlier block
// of the same edit. The blocks may have been written for the original file.
func (p *applier) checkOnce(h hunk) error {
	if !h.block || h.start > 0 || p.index < 2 {
		return nil
	}
	was := document{lines: p.before}
	if starts := was.find(h.old(), spacing); len(starts) > 1 {
		was := applier{doc: &was, index: p.index, total: p.total}
		return was.ambiguous(h, starts)
	}
	return nil
}

func distance(a, b int) int {
	if a < b {
		return b - a
	}
	return a - b
}

// variants returns the possible readings of a hunk with uncertain edges, the one with
// the most lines first.
func (h hunk) variants() []hunk {
	out := []hunk{h}
	n := len(h.lines)
	if h.block {
		if v, ok := h.trimBlank(); ok {
			out = append(out, v)
		}
		return out
	}
	blanks := n
	for blanks > 0 && h.lines[blanks-1].raw && strings.TrimSpace(h.lines[blanks-1].text) == "" {
		blanks--
	}
	raws := n
	for raws > 0 && h.lines[raws-1].raw {
		raws--
	}
	for _, k := range [...]int{blanks, raws} {
		if k > 0 && k < len(out[len(out)-1].lines) {
			v := h
			v.lines = h.lines[:k:k]
			out = append(out, v)
		}
	}
	return out
}

// trimBlank drops the blank lines that both sides of a block have at its edges.
func (h hunk) trimBlank() (hunk, bool) {
	from, to := trimEnds(h.lines, func(l hunkLine) bool { return l.op != '+' && strings.TrimSpace(l.text) == "" })
	if from == 0 && to == len(h.lines) {
		return h, false
	}
	v := h
	v.lines = h.lines[from:to:to]
	if v.start > 0 {
		v.start += from
	}
	return v, true
}

// lessContext returns variants of the hunk with ever fewer context lines at its
// edges.
func (h hunk) lessContext() []hunk {
	for n := len(h.lines); n > 0 && h.lines[n-1].raw; n-- {
		h.lines = h.lines[:n-1]
	}
	lead, trail := 0, 0
	for lead < len(h.lines) && h.lines[lead].op == ' ' {
		lead++
	}
	for trail < len(h.lines)-lead && h.lines[len(h.lines)-1-trail].op == ' ' {
		trail++
	}
	var out []hunk
	add := func(head, tail int) {
		if v, ok := h.withoutContext(head, tail); ok {
			out = append(out, v)
		}
	}
	for k := 1; k <= min(maxLeftOut, max(lead, trail)); k++ {
		if k <= trail {
			add(0, k)
		}
		if k <= lead {
			add(k, 0)
		}
		if lead > 0 && trail > 0 {
			add(min(k, lead), min(k, trail))
		}
	}
	if lead > 0 && trail > 0 {
		add(lead, 0)
		add(0, trail)
		add(lead, trail)
	}
	return out
}

// maxLeftOut is the maximum number of context lines that are left out one by one,
// and remembered, at each end of a hunk.
const maxLeftOut = 10

// withoutContext returns the hunk without some context lines at its ends. ok reports whether
// the rest can identify a place: it has enough letters, and context is left or the
// enclosing definition is named. Otherwise a common line in another function would
// match.
func (h hunk) withoutContext(head, tail int) (v hunk, ok bool) {
	v = h
	v.lines = h.lines[head : len(h.lines)-tail]
	if v.start > 0 {
		v.start += head
	}
	v.fewer, v.left = true, nil
	named := false
	for i := max(0, head-maxLeftOut); i < head; i++ {
		l := h.lines[i]
		v.left = append(v.left, leftOut{l.text, i - head})
		if definitionWords(l.text, false) != nil {
			named, v.section, v.left = true, l.text, nil // identifies the place regardless of the lines above
		}
	}
	old := v.old()
	for i, l := range h.lines[len(h.lines)-tail:] {
		if definitionWords(l.text, false) != nil {
			return v, false
		}
		if i < maxLeftOut {
			v.left = append(v.left, leftOut{l.text, len(old) + i})
		}
	}
	return v, telling(old, 3) && (named || telling(v.context(), 3))
}

// telling reports whether lines have enough letters and digits to identify a place.
func telling(lines []string, enough int) bool {
	n := 0
	for _, s := range lines {
		for _, r := range s {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				n++
			}
		}
	}
	return n >= enough
}

// applyParts applies a hunk with "…" in its context part by part, and reports whether
// all parts fit. A hunk without such a marker is not split: it is for another state
// of the file.
func (p *applier) applyParts(h hunk) (bool, error) {
	parts := h.parts()
	if len(parts) < 2 {
		return false, nil
	}
	for _, part := range parts {
		part.start = 0
		m, err := p.locate(part)
		if m == nil || err != nil || m.at < p.after {
			return false, nil
		}
		if err := p.applyMatch(*m); err != nil {
			return false, err
		}
	}
	return true, nil
}

// parts splits a hunk at placeholder lines and returns the parts with changes.
func (h hunk) parts() []hunk {
	var out []hunk
	from := 0
	for i := 0; i <= len(h.lines); i++ {
		if i < len(h.lines) && (h.lines[i].op != ' ' || !isEllipsis(h.lines[i].text)) {
			continue
		}
		part := h
		part.lines = h.lines[from:i:i]
		if slices.ContainsFunc(part.lines, func(l hunkLine) bool { return l.op != ' ' }) {
			out = append(out, part)
		}
		from = i + 1
	}
	return out
}

// keysOf returns the normal forms of lines at a level.
func keysOf(lines []line, level int) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = normal(l.text, level)
	}
	return out
}

// keysAt returns the normal forms of the lines of d at a level, cached.
func (d *document) keysAt(level int) []string {
	if d.keys[level] == nil {
		d.keys[level] = keysOf(d.lines, level)
	}
	return d.keys[level]
}

// find returns every index at which want occurs in d, in linear time.
func (d *document) find(want []string, level int) []int {
	if len(want) == 0 || len(want) > len(d.lines) {
		return nil
	}
	pattern := make([]string, len(want))
	for i, w := range want {
		pattern[i] = normal(w, level)
	}
	var out []int
	back := failure(pattern)
	k := 0
	for i, t := range d.keysAt(level) {
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

// failure returns the failure table of the Knuth-Morris-Pratt search.
func failure(p []string) []int {
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

// at reports whether want occurs at index i.
func (d *document) at(i int, want []string, level int) bool {
	if i < 0 || i+len(want) > len(d.lines) {
		return false
	}
	for j, w := range want {
		if normal(d.lines[i+j].text, level) != normal(w, level) {
			return false
		}
	}
	return true
}

// nearest returns the region of d most similar to want, for error messages: the one
// with the most lines of want at the same offsets. n is 0 if nothing is similar.
func (d *document) nearest(want []string) (from, n int) {
	where := map[string][]int{}
	for j, w := range want {
		if k := collapse(w); k != "" && len(where[k]) < 8 {
			where[k] = append(where[k], j)
		}
	}
	votes := map[int]int{}
	best, most := 0, 0
	for i, k := range d.keysAt(spacing) {
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
