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

func blank(lines []string) bool { return isBlank(strings.Join(lines, "")) }

func (p *applier) apply(h hunk) error {
	h = p.unmarked(h)
	if blank(h.old()) {
		done, err := p.insert(h)
		if done || err != nil {
			return err
		}
	}
	divided := len(h.splits) > 0
	for _, reading := range h.splits {
		if len(p.doc.find(reading.old(), spacing)) > 0 {
			h = reading // keep the longest search text that is in the file
		}
	}
	if divided && dividers(h.fresh()) > dividers(h.old()) {
		return p.fault(h, "has a second =======; which one divides it? Send one block for each change; "+
			"where the text itself has such a line, write \\======= for it")
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
	return p.mismatch(h)
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
	case h.zero:
		at = p.shifted(h.start)
	case h.block && h.start > 0:
		at = p.shifted(h.start - 1)
	case old > 0:
		return false, nil
	}
	if at < 0 {
		hint := "give it a line or two of context that stay as they are"
		if h.block {
			hint = "put the text that is to be replaced between SEARCH and =======, or a :start_line:"
		}
		return true, p.fault(h, "does not say where it belongs: it has no text of the file in it; %s", hint)
	}
	if at > n {
		return true, p.fault(h, "is for line %d, but the file has %d lines", h.start, n)
	}
	p.put(h, at, at, false)
	return true, nil
}

// replaceRange applies a hunk that gives the range of lines to replace instead of
// their text.
func (p *applier) replaceRange(h hunk) error {
	from, to := p.shifted(h.start-1), p.shifted(h.end-1)+1
	if from < 0 || to < from || to > len(p.doc.lines) {
		return p.fault(h, "is for lines %d-%d, but the file has %d lines", h.start, h.end, len(p.doc.lines))
	}
	if why := p.doc.misplacement(h.fresh(), from, to); why != "" {
		return fmt.Errorf(
			"apply edit: with %s, lines %d-%d, %s; are those the lines that are meant? The file has there\n%s", p.name(h),
			from+1, to, why, p.doc.region(from, to-from))
	}
	p.put(h, from, to, false)
	return nil
}

// locate returns the place at which the hunk fits, or nil if it fits nowhere. It
// returns an error if several places fit and nothing decides between them.
func (p *applier) locate(h hunk) (*match, error) {
	m, err := p.try(h)
	switch {
	case err != nil, m != nil && (m.level < spacing || h.block):
		return m, err
	case m != nil && p.closesElsewhere(*m):
		return nil, nil
	case m != nil:
		said, best := p.expected(h), p.doc.likeliest(h.old(), trailing, -1)
		if said == m.at || !slices.Contains(best, said) {
			return m, nil
		}
	}
	if !h.block {
		return p.nearly(h), nil
	}
	// Both sides of a block may have blank lines at the edges that the file has not.
	from, to := trimEnds(h.lines, func(l hunkLine) bool { return l.op != '+' && isBlank(l.text) })
	if from == 0 && to == len(h.lines) || from == to {
		return nil, nil
	}
	return p.try(h.part(from, to))
}

// likeliest returns the indexes at which lines could begin with the most telling ones of them at their places,
// in order. One that is said, if it is not negative, counts as a line.
func (d *document) likeliest(lines []string, level, said int) (out []int) {
	const maxAlike = 8 // equal lines to count
	where := map[string][]int{}
	for i, text := range lines {
		if k := normal(text, level); len(where[k]) < maxAlike && telling([]string{text}, 3) {
			where[k] = append(where[k], i)
		}
	}
	votes, best := map[int]int{}, 0
	vote := func(at int) { votes[at]++; best = max(best, votes[at]) }
	for i, k := range d.keysAt(level) {
		for _, at := range where[k] {
			vote(i - at)
		}
	}
	if said >= 0 {
		vote(said)
	}
	for at, n := range votes {
		if n == best {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return out
}

// try locates a hunk, first at its line number, then at increasingly tolerant levels
// of comparison.
func (p *applier) try(h hunk) (*match, error) {
	old := h.old()
	scopes := p.scopes(h)
	if at := p.expected(h); at >= 0 && p.doc.at(at, old, exactly) &&
		(len(scopes) == 0 || at > scopes[0].from) {
		return &match{h, at, exactly}, nil
	}
	if blank(old) {
		return nil, nil
	}
	starts, level := p.doc.places(old, func(at int) bool { return within(scopes, at) })
	if len(starts) == 0 {
		return nil, nil
	}
	at, err := p.choose(h, starts)
	if err != nil {
		return nil, err
	}
	return &match{h, at, level}, nil
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
		later := slices.DeleteFunc(slices.Clone(starts), func(at int) bool { return at < p.after })
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
	if want := p.expected(h); want >= 0 {
		far := func(at int) int { return max(at, want) - min(at, want) }
		near := slices.SortedFunc(slices.Values(starts), func(a, b int) int { return far(a) - far(b) })
		if far(near[0])*2 <= far(near[1]) {
			return near[0], nil
		}
	}
	return 0, p.ambiguous(h, starts)
}

// checkOnce returns an error if a block fits in one place only because of an earlier block
// of the same edit. The blocks may have been written for the original file.
func (p *applier) checkOnce(h hunk) error {
	if !h.block || h.start > 0 || p.index < 2 { //control:once-in-the-original
		return nil
	}
	was := document{lines: p.before}
	if starts := was.find(h.old(), spacing); len(starts) > 1 {
		was := applier{doc: &was, index: p.index, total: p.total}
		return was.ambiguous(h, starts)
	}
	return nil
}

// part returns the hunk with lines [from, to) alone.
func (h hunk) part(from, to int) hunk {
	h.lines = h.lines[from:to:to]
	if h.start > 0 {
		h.start += from
	}
	return h
}

// closesElsewhere reports whether only brackets of a match differ from the file, in their white space,
// and an indented line does not: they close another block, since a line between is missing in the hunk.
func (p *applier) closesElsewhere(m match) bool {
	differ, exact := false, false
	for i, s := range m.hunk.old() {
		same, words := p.doc.at(m.at+i, []string{s}, trailing), telling([]string{s}, 1)
		if words && !same {
			return false
		}
		lost := i == 0 && indentOf(s) == "" // models often drop the white space at the beginning of a text
		differ = differ || !same && !lost
		exact = exact || words && indentOf(s) != ""
	}
	return differ && exact
}

// nearly returns the match of a hunk whose outer context lines have changed since it was written. If
// the definition that it begins with is not where the hunk has it, the change may be anywhere in it.
func (p *applier) nearly(h hunk) *match {
	if m := p.bestMatch(h, false); m != nil {
		return m
	}
	if part, ok := h.belowDefinition(); ok {
		return p.bestMatch(part, true)
	}
	return nil
}

// bestMatch returns the match of a hunk at the place at which most of its lines are as the hunk has
// them. It returns nil if two places are as good, or if too little fits to identify the place: a
// common line in another function would. named means that the definition around it is known.
func (p *applier) bestMatch(h hunk, named bool) *match {
	lead, end := trimEnds(h.lines, hunkLine.stays)
	best := p.doc.likeliest(h.old(), trailing, p.expected(h))
	done := len(h.only("-")) > 0 && len(p.doc.find(h.context(), spacing)) > 0
	if len(best) != 1 || best[0]+lead < 0 || done {
		return nil
	}
	place := best[0]
	core, at := h.part(lead, end).old(), place+lead
	if len(core) == 0 && at > 0 && at < len(p.doc.lines) && p.doc.lines[at-1].text == p.doc.lines[at].text {
		return nil // above, between or below the two lines
	}
	for level := range levels {
		if !p.doc.at(place+lead, core, level) {
			continue
		}
		fits := func(i, at int) bool { return p.doc.at(at, []string{h.lines[i].text}, level) }
		head, tail := lead, end
		for head > 0 && fits(head-1, place+head-1) {
			head--
		}
		for tail < len(h.lines) && fits(tail, place+lead+len(core)+tail-end) {
			tail++
		}
		v := h.part(head, tail)
		v.fewer = true
		m := &match{v, place + head, level}
		enough := telling(v.old(), 3) && (named || telling(v.context(), 3))
		if enough && within(p.scopes(v), m.at) && !p.closesElsewhere(*m) {
			return m
		}
	}
	return nil
}

// stays reports whether a line is context.
func (l hunkLine) stays() bool { return l.op == ' ' }

// belowDefinition returns the part of a hunk below the last definition in its leading context, which
// becomes its section: the other lines may be anywhere in it. ok is false if there is none.
func (h hunk) belowDefinition() (part hunk, ok bool) {
	lead, _ := trimEnds(h.lines, hunkLine.stays)
	for i := lead - 1; i >= 0; i-- {
		if defined(h.lines[i].text, false) != "" {
			part = h.part(i+1, len(h.lines))
			part.section = h.lines[i].text
			return part, true
		}
	}
	return h, false
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

// keysAt returns the normal forms of the lines of d at a level, cached.
func (d *document) keysAt(level int) []string {
	if d.keys[level] == nil {
		d.keys[level] = normals(texts(d.lines), level)
	}
	return d.keys[level]
}

// find returns every index at which want occurs in d.
func (d *document) find(want []string, level int) (out []int) {
	if len(want) == 0 || len(want) > len(d.lines) {
		return nil
	}
	rest, sought := "\n"+strings.Join(d.keysAt(level), "\n")+"\n", "\n"+strings.Join(normals(want, level), "\n")+"\n"
	for line := 0; ; line++ {
		i := strings.Index(rest, sought)
		if i < 0 {
			return out
		}
		line += strings.Count(rest[:i], "\n")
		out = append(out, line)
		rest = rest[i+1:]
	}
}

// places returns every accepted index at which want occurs in d, and how alike they are: as at the
// strictest level of comparison at which there is one.
func (d *document) places(want []string, accepted func(at int) bool) (found []int, level int) {
	for level = range levels {
		found = slices.DeleteFunc(d.find(want, level), func(at int) bool { return !accepted(at) })
		if len(found) > 0 {
			break
		}
	}
	return found, level
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
