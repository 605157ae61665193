package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// segment is the text between two markers of a sketch.
type segment struct {
	lines  []string // neither the first nor the last is blank
	before bool     // a marker precedes
	source int      // 1-based line of the sketch
}

// Merge fills the "… existing code …" markers of a sketch from before. The first and
// last lines of a segment are its anchors: lines of the file that occur once in the
// rest of it. The text between them is replaced. If the anchors are ambiguous, the
// error says how to extend the segment.
func Merge(before, sketch string) (Applied, error) {
	d := newDocument(before)
	segments, markers := cutSketch(d, sketch)
	if markers == 0 {
		return Applied{}, errors.New(
			"merge sketch: there is no marker such as \"// ... existing code ...\" in it, so it does not say what stays",
		)
	}
	if len(segments) == 0 {
		return Applied{}, errors.New("merge sketch: there is nothing but markers in it")
	}
	m := merger{applier: applier{doc: d}}
	for _, s := range segments {
		if err := m.merge(s); err != nil {
			return Applied{}, err
		}
	}
	return Applied{Text: d.String(), Notes: m.notes}, nil
}

// cutSketch splits a sketch at its markers. A line that is also in the file is no
// marker.
func cutSketch(d *document, sketch string) (out []segment, markers int) {
	had := trimmedSet(d.lines)
	cur := segment{source: 1}
	flush := func() {
		if blank(cur.lines) {
			return
		}
		from, to := trimEnds(cur.lines, func(s string) bool { return strings.TrimSpace(s) == "" })
		cur.lines, cur.source = cur.lines[from:to], cur.source+from
		out = append(out, cur)
	}
	for i, l := range splitText(sketch) {
		s := strings.TrimSpace(l.text)
		if s == "" || had[s] || !standsForText(s, true, "") {
			cur.lines = append(cur.lines, l.text)
			continue
		}
		markers++
		flush()
		cur = segment{before: true, source: i + 2}
	}
	flush()
	return out, markers
}

// merger merges segments into the file, in order.
type merger struct {
	applier
	pos int // first line not covered by a segment
}

func (m *merger) merge(s segment) error {
	from, level, err := m.start(s)
	if err != nil {
		return err
	}
	to, err := m.end(s, from, level)
	if err != nil {
		return err
	}
	bare := level >= spacing && len(s.lines) > 1 && !telling(s.lines[len(s.lines)-1:], 1) && !oneBlock(s.lines)
	if m.continuesBelow(s.lines, to) || bare && len(m.left(s.lines[len(s.lines)-1:], level, from)) > 1 {
		return m.anchorError(s, s.lines[len(s.lines)-1], "ends", "after")
	}
	old := texts(m.doc.lines[from : to+1])
	lines, err := respell(texts(m.doc.lines), s.lines, old, level >= spacing)
	if err != nil {
		return fmt.Errorf(
			"merge sketch: the part at line %d of the edit is like lines %d-%d of the file only if white space does not count: %w. The file has there\n%s",
			s.source,
			from+1,
			to+1,
			err,
			m.doc.region(from, to+1-from),
		)
	}
	if why := m.doc.imbalance(lines, from, to+1); why != "" {
		return fmt.Errorf(
			"merge sketch: with the part at line %d of the edit in the place of lines %d-%d, %s. The file has there\n%s",
			s.source,
			from+1,
			to+1,
			why,
			m.doc.region(from, to+1-from),
		)
	}
	if !slices.Equal(lines, s.lines) || level >= spacing {
		m.note(
			"the part at line %d of the edit was matched at lines %d-%d although its white space or punctuation differs",
			s.source,
			from+1,
			to+1,
		)
	}
	m.put(hunk{lines: hunkLines(old, lines, false)}, from, to+1, false)
	m.pos = from + len(lines)
	return nil
}

// start finds the file line at which a segment begins.
func (m *merger) start(s segment) (at, level int, err error) {
	if !s.before && m.pos == 0 && m.doc.at(0, s.lines[:1], trailing) {
		return 0, trailing, nil
	}
	for _, level = range [...]int{trailing, spacing} {
		for k := 1; k <= len(s.lines); k++ {
			found := m.left(s.lines[:k], level, m.pos)
			if len(found) == 0 {
				break
			}
			if len(found) == 1 && telling(s.lines[:k], 1) {
				return found[0], level, nil
			}
		}
	}
	return 0, 0, m.anchorError(s, s.lines[0], "begins", "before")
}

// left returns the indexes at which lines occur in the file, from index from on.
func (m *merger) left(lines []string, level, from int) []int {
	var out []int
	for _, at := range m.doc.find(lines, level) {
		if at >= from {
			out = append(out, at)
		}
	}
	return out
}

// end finds the last file line that a segment replaces.
func (m *merger) end(s segment, from, level int) (int, error) {
	n := len(s.lines)
	if n == 1 {
		return from, nil
	}
	last := s.lines[n-1]
	if oneBlock(s.lines) {
		if to, ok := m.blockEnd(from, last, level); ok {
			return to, nil
		}
	}
	best := -1
	for k := 1; k <= n; k++ {
		found := m.left(s.lines[n-k:], level, from)
		if len(found) == 0 {
			break
		}
		best = k
		if to := found[0] + k - 1; len(found) == 1 && !m.losesDefinition(s.lines, from, to) {
			return to, nil
		} else if len(found) == 1 {
			break
		}
	}
	if best > 0 && (telling([]string{last}, 1) || strings.ContainsAny(last, "})]")) {
		if to, ok := m.blockEnd(from, last, level); ok && !m.losesDefinition(s.lines, from, to) {
			return to, nil
		}
	}
	return 0, m.anchorError(s, last, "ends", "after")
}

// losesDefinition reports whether lines [from, to] of the file define something, at the depth
// of the first line or above, that the segment lacks. The segment then ends earlier.
func (m *merger) losesDefinition(lines []string, from, to int) bool {
	depth := len(indentOf(m.doc.lines[from].text))
	for _, l := range m.doc.lines[from+1 : to+1] {
		if len(indentOf(l.text)) > depth || definitionWords(l.text, false) == nil {
			continue
		}
		words := definitionWords(l.text, false)
		if !slices.ContainsFunc(lines, func(s string) bool { return slices.Equal(definitionWords(s, false), words) }) {
			return true
		}
	}
	return false
}

// continuesBelow reports whether at least two lines of a segment occur in the file only after
// its end, and would be duplicated.
func (m *merger) continuesBelow(lines []string, to int) bool {
	n := 0
	for _, s := range lines {
		if at := m.doc.find([]string{s}, spacing); len(at) == 1 && at[0] > to && telling([]string{s}, 6) {
			n++
		}
	}
	return n > 1
}

// oneBlock reports whether the last line closes the block of the first one.
func oneBlock(lines []string) bool {
	depth, n := len(indentOf(lines[0])), len(lines)-1
	deeper := func(s string) bool { return strings.TrimSpace(s) == "" || len(indentOf(s)) > depth }
	return len(indentOf(lines[n])) == depth && !slices.ContainsFunc(lines[1:n], func(s string) bool { return !deeper(s) })
}

// blockEnd finds the line that closes the block opened by line from: the first one
// indented no deeper. It returns true if that line equals last.
func (m *merger) blockEnd(from int, last string, level int) (int, bool) {
	depth := len(indentOf(m.doc.lines[from].text))
	for i := from + 1; i < len(m.doc.lines); i++ {
		s := m.doc.lines[i].text
		if strings.TrimSpace(s) == "" || len(indentOf(s)) > depth {
			continue
		}
		return i, normal(s, level) == normal(last, level)
	}
	return 0, false
}

func (m *merger) anchorError(s segment, anchor, verb, side string) error {
	found := m.left([]string{anchor}, spacing, 0)
	where := "is not in the file"
	switch rest := m.left([]string{anchor}, spacing, m.pos); {
	case len(rest) > 1:
		where = fmt.Sprintf("is there %d times", len(rest))
	case len(found) > 0:
		where = "is in the file only where another part of the edit already is, or does not settle it alone"
	}
	return fmt.Errorf(
		"merge sketch: the part at line %d of the edit %s with %q, which %s, so it is not clear what it replaces; "+
			"let it %s with an unchanged line of the file, next to the marker %s it, or give the exact old and new text%s",
		s.source,
		verb,
		cut(strings.TrimSpace(anchor)),
		where,
		strings.TrimSuffix(verb, "s"),
		side,
		m.region(s, found),
	)
}

// region shows the file's text around each place of a segment's anchor, or else the
// most similar text.
func (m *merger) region(s segment, found []int) string {
	n, most := 2, 3
	if len(found) == 0 {
		var at int
		if at, n = m.doc.nearest(s.lines); n == 0 {
			at, n, _ = m.doc.alike(s.lines)
		}
		if n == 0 {
			return ""
		}
		found, n = []int{at}, min(n, 12)
	}
	var b strings.Builder
	b.WriteString(". The file has there\n")
	for i, at := range found[:min(most, len(found))] {
		if i > 0 {
			b.WriteString("…\n")
		}
		for k := max(0, at-2); k < min(len(m.doc.lines), at+n); k++ {
			fmt.Fprintf(&b, "%d | %s\n", k+1, cut(m.doc.lines[k].text))
		}
	}
	return b.String()
}
