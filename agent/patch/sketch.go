package patch

import (
	"fmt"
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

// cutSketch splits a sketch at its markers. A line that is also in the file is no
// marker.
func cutSketch(d *document, sketch string) (out []segment, markers int) {
	had, marker := trimmedSet(d.lines), loss{some: true}
	cur := segment{source: 1}
	flush := func() {
		from, to := trimEnds(cur.lines, isBlank)
		if cur.lines, cur.source = cur.lines[from:to], cur.source+from; from < to {
			out = append(out, cur)
		}
	}
	for i, l := range splitText(sketch) {
		s := strings.TrimSpace(l.text)
		if s == "" || had[s] || !marker.standsFor(s, "") {
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

// merge replaces the lines of the file between the anchors of a segment.
func (m *merger) merge(s segment) error {
	from, to, level, err := m.between(s)
	if err != nil {
		return err
	}
	old := texts(m.doc.lines[from:to])
	lines, err := respell(texts(m.doc.lines), s.lines, old, level >= spacing)
	why := ""
	if err != nil {
		why = "is like them only if white space does not count: " + err.Error()
	} else if left := m.doc.imbalance(lines, from, to); left != "" {
		why = "is not in balance: " + left
	}
	if why != "" {
		return fmt.Errorf(
			"merge sketch: the part at line %d of the edit, for lines %d-%d of the file, %s. The file has there\n%s",
			s.source, from+1, to, why, m.doc.region(from, to-from))
	}
	if !slices.Equal(lines, s.lines) || level >= spacing {
		m.note(
			"the part at line %d of the edit was matched at lines %d-%d although its white space or punctuation differs",
			s.source, from+1, to)
	}
	m.put(hunk{lines: hunkLines(old, lines)}, from, to, false)
	m.pos = from + len(lines)
	return nil
}

// between finds the lines [from, to) of the file that a segment replaces: from its first lines to its
// last ones, each as many as are in the rest of the file once. from is -1 if the first ones are not.
func (m *merger) between(s segment) (from, to, level int, err error) {
	n := len(s.lines)
	if !s.before && m.pos == 0 && m.doc.at(0, s.lines[:1], trailing) {
		level = trailing
	} else if from, level = m.once(m.pos, n, func(k int) []string { return s.lines[:k] }); from < 0 {
		return -1, 0, 0, m.anchorError(s, s.lines[0], "begins", "before")
	}
	if n == 1 {
		return from, from + 1, level, nil
	}
	if to, ok := m.blockEnd(s.lines, from); ok {
		return from, to, level, nil
	}
	k := 0
	first, loose := m.once(from, n, func(i int) []string { k = i; return s.lines[n-i:] })
	if to = first + k; first < 0 || m.losesDefinition(s.lines, from, to) {
		return from, 0, 0, m.anchorError(s, s.lines[n-1], "ends", "after")
	}
	return from, to, max(level, loose), nil
}

// once returns the only place, from an index on, of the fewest lines that have one, and how alike
// they are. lines returns the first or the last k lines of n. The place is -1 if there is none.
func (m *merger) once(from, n int, lines func(k int) []string) (at, level int) {
	for k := 1; k <= n; k++ {
		found, level := m.doc.places(lines(k), func(at int) bool { return at >= from })
		if len(found) == 0 {
			break
		}
		if len(found) == 1 {
			return found[0], level
		}
	}
	return -1, 0
}

// losesDefinition reports whether lines [from, to) of the file define something, at the depth
// of the first line or above, that the segment lacks. The segment then ends earlier.
func (m *merger) losesDefinition(lines []string, from, to int) bool {
	depth := len(indentOf(m.doc.lines[from].text))
	for _, l := range m.doc.lines[from+1 : to] {
		name := defined(l.text, false)
		if name != "" && len(indentOf(l.text)) <= depth &&
			!slices.ContainsFunc(lines, func(s string) bool { return defined(s, false) == name }) {
			return true
		}
	}
	return false
}

// blockEnd returns the end of the block that line from of the file opens, if the last of lines closes
// the block of the first one, and is the file's line there.
func (m *merger) blockEnd(lines []string, from int) (int, bool) {
	file := texts(m.doc.lines[from:])
	end := closed(file)
	ok := closed(lines) == len(lines)-1 && end > 0 && collapse(file[end]) == collapse(lines[len(lines)-1])
	return from + end + 1, ok
}

// closed returns the first line behind the first one that is no deeper than it, or 0.
func closed(lines []string) int {
	depth := len(indentOf(lines[0]))
	return 1 + slices.IndexFunc(lines[1:], func(s string) bool { return !isBlank(s) && len(indentOf(s)) <= depth })
}

// anchorError returns the error for a segment whose first or last line leaves its place open.
// It shows the places of that line, or else the most similar text.
func (m *merger) anchorError(s segment, anchor, verb, side string) error {
	found, _ := m.doc.places([]string{anchor}, func(int) bool { return true })
	where := "is not in the file"
	switch rest := slices.DeleteFunc(slices.Clone(found), func(at int) bool { return at < m.pos }); {
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
	return &Unsettled{err: fmt.Errorf(
		"merge sketch: the part at line %d of the edit %s with %q, which %s, so it is not clear what it replaces; "+
			"let it %s with an unchanged line of the file, next to the marker %s it, or give the exact old and new text%s",
		s.source, verb, cut(strings.TrimSpace(anchor)), where, strings.TrimSuffix(verb, "s"), side, shown)}
}

// respell returns the sketch lines that replace old, in the file's style. tolerant means that the
// sketch's anchors match only with white space ignored. If they match exactly and nothing else
// suggests that the sketch's style differs, it is kept.
func respell(doc, sketch, old []string, tolerant bool) ([]string, error) {
	edit := make([]editLine, len(sketch))
	for i, s := range sketch {
		edit[i] = editLine{op: '+', text: s}
	}
	i, j, doubt := 0, 0, false // nothing tells how the sketch would have a tab of a line that goes
	tabbed := func(s string) bool { return strings.Contains(bodyOf(s), "\t") }
	spaced := func(s string) bool { return strings.Contains(bodyOf(s), " ") }
	mixed := func(s string) bool { return strings.Contains(indentOf(s), "\t ") }
	spans := lines.Compare(normals(old, spelling), normals(sketch, spelling))
	for _, s := range append(spans, lines.Span{A: len(old), AEnd: len(old)}) {
		for ; i < s.A; i, j = i+1, j+1 {
			edit[j].op, edit[j].file = ' ', old[i]
		}
		gone, fresh := old[s.A:s.AEnd], sketch[s.B:s.BEnd]
		doubt = doubt || len(fresh) > 0 && slices.ContainsFunc(gone, mixed) ||
			slices.ContainsFunc(gone, tabbed) && slices.ContainsFunc(fresh, spaced)
		i, j = s.AEnd, s.BEnd
	}
	w := newWriter(doc, edit)
	if lostDepth(edit, old) || w.forTabs && doubt {
		return nil, unclear(sketch[0])
	}
	if !tolerant && !w.inexact() {
		return sketch, nil
	}
	return adopt(doc, edit)
}

// lostDepth reports whether a sketch with new lines has no indentation, and the file has several depths.
func lostDepth(edit []editLine, old []string) bool {
	deep := func(l editLine) bool { return indentOf(l.text) != "" }
	isNew := func(l editLine) bool { return l.op == '+' }
	other := func(s string) bool { return !isBlank(s) && indentOf(s) != indentOf(old[0]) }
	return !slices.ContainsFunc(edit, deep) && slices.ContainsFunc(edit, isNew) && slices.ContainsFunc(old, other)
}
