package patch

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/gitops/lines"
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
// error is an [Unsettled] if the places are among few lines, and says how to extend the
// segment.
func Merge(before, sketch string) (Applied, error) { return mergeSketch(before, sketch, "") }

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
	old := texts(m.doc.lines[from : to+1])
	lines, err := respell(texts(m.doc.lines), s.lines, old, level >= spacing)
	why := ""
	if err != nil {
		why = "is like them only if white space does not count: " + err.Error()
	} else if left := m.doc.imbalance(lines, from, to+1); left != "" {
		why = "is not in balance: " + left
	}
	if why != "" {
		return fmt.Errorf(
			"merge sketch: the part at line %d of the edit, for lines %d-%d of the file, %s. The file has there\n%s",
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
	m.put(hunk{lines: hunkLines(old, lines)}, from, to+1, false)
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
	return slices.DeleteFunc(m.doc.find(lines, level), func(at int) bool { return at < from })
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
	for k := 1; k <= n; k++ {
		found := m.left(s.lines[n-k:], level, from)
		if len(found) == 0 {
			break
		}
		if len(found) > 1 {
			continue
		}
		if to := found[0] + k - 1; !m.losesDefinition(s.lines, from, to) {
			return to, nil
		}
		break
	}
	return 0, m.anchorError(s, last, "ends", "after")
}

// losesDefinition reports whether lines [from, to] of the file define something, at the depth
// of the first line or above, that the segment lacks. The segment then ends earlier.
func (m *merger) losesDefinition(lines []string, from, to int) bool {
	depth := len(indentOf(m.doc.lines[from].text))
	for _, l := range m.doc.lines[from+1 : to+1] {
		name := defined(l.text, false)
		if name != "" && len(indentOf(l.text)) <= depth &&
			!slices.ContainsFunc(lines, func(s string) bool { return defined(s, false) == name }) {
			return true
		}
	}
	return false
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

// anchorError returns the error for a segment whose first or last line leaves its place open.
// It shows the places of that line, or else the most similar text.
func (m *merger) anchorError(s segment, anchor, verb, side string) error {
	found := m.left([]string{anchor}, spacing, 0)
	where := "is not in the file"
	switch rest := m.left([]string{anchor}, spacing, m.pos); {
	case len(rest) > 1:
		where = fmt.Sprintf("is there %d times", len(rest))
	case len(found) > 0:
		where = "is in the file only where another part of the edit already is, or does not settle it alone"
	}
	n := 1
	if len(found) == 0 {
		at, more, _ := m.doc.nearest(s.lines)
		found, n = []int{at}, more
	}
	shown := ""
	for _, at := range found[:min(3, len(found))] {
		if n > 0 {
			shown += "\n" + m.doc.excerpt(at, n)
		}
	}
	if shown != "" {
		shown = ". The file has there" + shown
	}
	return openAnchor{fmt.Errorf(
		"merge sketch: the part at line %d of the edit %s with %q, which %s, so it is not clear what it replaces; "+
			"let it %s with an unchanged line of the file, next to the marker %s it, or give the exact old and new text%s",
		s.source,
		verb,
		cut(strings.TrimSpace(anchor)),
		where,
		strings.TrimSuffix(verb, "s"),
		side,
		shown,
	)}
}

// respell returns the sketch lines that replace old, in the file's white space.
// tolerant means that the sketch's anchors match only with white space ignored. If
// they match exactly and nothing else suggests that the sketch's white space differs,
// it is kept.
func respell(doc, sketch, old []string, tolerant bool) ([]string, error) {
	edit := pairUp(sketch, old)
	w := newWriter(doc, edit)
	if otherSigns(strings.Join(doc, "\n"), sketch) || lostDepth(edit, old) {
		return nil, unclear(sketch[0])
	}
	if !tolerant && !w.inexact() {
		return sketch, nil
	}
	out, err := adopt(doc, edit)
	if err != nil {
		return nil, err
	}
	for j, l := range edit {
		if l.op == ' ' {
			out[j] = l.file
		}
	}
	return out, nil
}

// pairUp returns the lines of a sketch as context, with the equal lines of the file, white
// space ignored, and as additions.
func pairUp(sketch, old []string) []editLine {
	flat := func(lines []string) (out []string) {
		for _, s := range lines {
			out = append(out, collapse(s))
		}
		return out
	}
	edit := make([]editLine, len(sketch))
	for j, s := range sketch {
		edit[j] = editLine{op: '+', text: s}
	}
	i, j := 0, 0
	for _, s := range append(lines.Compare(flat(old), flat(sketch)), lines.Span{A: len(old)}) {
		for ; i < s.A; i, j = i+1, j+1 {
			edit[j].op, edit[j].file = ' ', old[i]
		}
		i, j = s.AEnd, s.BEnd
	}
	return edit
}

// inexact reports whether the white space of the sketch lines that the file has too differs
// without intent: spaces for tabs, within lines, or at their ends.
func (w *writer) inexact() bool {

	return w.forTabs || w.forSpaces || w.gaps || slices.ContainsFunc(w.tails, pair.differ)
}

// lostDepth reports whether a sketch with new lines lost all indentation, and the file has
// several depths.
func lostDepth(edit []editLine, old []string) bool {
	is := func(f func(l editLine) bool) bool { return slices.ContainsFunc(edit, f) }
	return !is(func(l editLine) bool { return indentOf(l.text) != "" }) &&
		is(func(l editLine) bool { return l.op == '+' }) &&
		is(func(l editLine) bool { return indentOf(l.file) != "" }) &&
		slices.ContainsFunc(old, func(s string) bool { return strings.TrimSpace(s) != "" && indentOf(s) != indentOf(old[0]) })
}

// otherSigns reports whether a sketch has typographic quotes or entities that the
// file has nowhere. They may be meant as plain characters.
func otherSigns(file string, sketch []string) bool {
	sent := strings.Join(sketch, "\n")
	quote := func(c rune) bool { return strings.ContainsRune("'\"", plainSign(c)) && c > 127 }
	return html.UnescapeString(file) == file && html.UnescapeString(sent) != sent ||
		!strings.ContainsFunc(file, quote) && strings.ContainsFunc(sent, quote)
}
