package patch

import (
	"errors"
	"slices"
	"strings"
)

// Unsettled is the error of [Merge] for parts of a sketch whose anchors leave their places
// open. Lines are those of the file, from the From-th on, among which the places are, and
// Sketch the parts.
type Unsettled struct {
	Lines  []string
	From   int
	Sketch string
	err    error
}

// Error implements error.
func (u *Unsettled) Error() string { return u.err.Error() }

// Maximum size of the lines of an [Unsettled] sketch. More of them is an error of another kind.
const (
	maxOpenLines = 300
	maxOpenBytes = 16_000
)

// stretch is a run of parts with open places, and the lines [from, to) that they belong to.
type stretch struct {
	parts    []segment
	from, to int
}

// Merge fills the "… existing code …" markers of a sketch from before. The first and
// last lines of a segment are its anchors: lines of the file that occur once in the
// rest of it. The text between them is replaced. If the anchors are ambiguous, the
// error is an [Unsettled] if the places are among few lines, and says how to extend the
// segment.
//
// An answer that is not blank, the text of Unsettled.Lines after the edit, decides about such places
// alone: it must be those lines with each part of the sketch at one place, whole. A part that takes the
// place of lines begins and ends the lines that it deletes with lines of the file. If the answer is
// anything else, the error is that without an answer.
func Merge(before, sketch, answer string) (Applied, error) {
	d := newDocument(before)
	segments, markers := cutSketch(d, sketch)
	if markers == 0 {
		return Applied{}, errors.New(
			"merge sketch: there is no marker such as \"// ... existing code ...\" in it, so it does not say what stays")
	}
	m := merger{applier: applier{doc: d}}
	for len(segments) > 0 {
		err := m.merge(segments[0])
		var open *Unsettled
		switch {
		case err == nil:
			segments = segments[1:]
		case errors.As(err, &open):
			g := m.open(segments)
			if isBlank(answer) || !m.settle(g, answer) {
				return Applied{}, m.unsettled(g, open.err)
			}
			answer, segments = "", segments[len(g.parts):]
		default:
			return Applied{}, err
		}
	}
	return Applied{Text: d.String(), Notes: m.notes}, nil
}

// open returns the parts from the first one on that have no certain place, and the lines
// between the certain places around them.
func (m *merger) open(rest []segment) stretch {
	g := stretch{from: m.pos, to: len(m.doc.lines)}
	if from, _, _, _ := m.between(rest[0]); from >= 0 { //nolint:dogsled // its end is open
		g.from = from
	}
	n := 1
	for ; n < len(rest); n++ {
		if from, _, _, err := m.between(rest[n]); err == nil && from >= g.from {
			g.to = from
			break
		}
	}
	g.parts = rest[:n]
	from, to := trimEnds(m.doc.lines[g.from:g.to], func(l line) bool { return isBlank(l.text) })
	g.from, g.to = g.from+from, g.from+to
	return g
}

// unsettled returns the error for a stretch: err, as an [Unsettled] if the lines are few enough.
func (m *merger) unsettled(g stretch, err error) error {
	u := &Unsettled{Lines: texts(m.doc.lines[g.from:g.to]), From: g.from + 1, err: err}
	if n := len(u.Lines); n == 0 || n > maxOpenLines || len(strings.Join(u.Lines, "\n")) > maxOpenBytes {
		return err
	}
	const mark = "... existing code ...\n"
	for _, p := range g.parts {
		u.Sketch += mark + strings.Join(p.lines, "\n") + "\n"
	}
	u.Sketch += mark
	return u
}

// settle puts the parts of a stretch where an answer has them. It reports whether it could: the answer
// must be the lines of the stretch, changed by the parts alone, perhaps with more blank lines.
func (m *merger) settle(g stretch, answer string) bool {
	old := texts(m.doc.lines[g.from:g.to])
	text, _ := Clean("", strings.Join(old, "\n"), answer)
	old, said := normals(old, trailing), normals(texts(splitText(text)), trailing)
	from, to := trimEnds(said, isBlank)
	all := hunk{lines: hunkLines(old, said[from:to])}
	at, rest := g.from, all.lines
	for _, p := range g.parts {
		n := p.taken(rest)
		for ; n == 0; n = p.taken(rest) {
			if len(rest) == 0 || !rest[0].kept() {
				return false
			}
			at, rest = at+len(hunk{lines: rest[:1]}.old()), rest[1:]
		}
		part := hunk{lines: rest[:n]}
		if !m.fits(part, at) { //control:sketch-places
			return false
		}
		m.note("the part at line %d of the edit was put at line %d of the file, where a question to the model put it",
			p.source, at+1)
		at, rest = at+len(part.old()), rest[n:]
	}
	if slices.ContainsFunc(rest, func(l hunkLine) bool { return !l.kept() }) {
		return false
	}
	m.put(all, g.from, g.to, false)
	m.pos = g.from + len(all.fresh())
	return true
}

// kept reports whether a line of an answer is one of the file, or blank.
func (l hunkLine) kept() bool { return l.op == ' ' || l.op == '+' && isBlank(l.text) }

// taken returns the number of lines at the beginning of a change that are those of a part and change
// something, and writes them as the part has them. It is 0 if they are others, or if they delete lines
// that are not between two that stay, or more than would do.
func (s segment) taken(change []hunkLine) (n int) {
	var gone []string
	stayed, k, changes := "", 0, false
	for ; n < len(change) && k < len(s.lines); n++ {
		l := &change[n]
		changes = changes || l.op != ' '
		if l.op == '-' {
			gone = append(gone, l.text)
			if n == 0 || l.text == stayed {
				return 0
			}
			continue
		}
		if l.text != normal(s.lines[k], trailing) || l.op == ' ' && slices.Contains(gone, l.text) {
			return 0
		}
		if l.op == ' ' {
			stayed, gone = l.text, nil
		}
		k++
	}
	if k < len(s.lines) || !changes || len(gone) > 0 {
		return 0
	}
	k = 0
	for i, l := range change[:n] {
		if l.op != '-' {
			change[i].text, k = s.lines[k], k+1
		}
	}
	return n
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// fits reports whether a part of a sketch can mean to take the place of the lines from an index on: it
// repeats no line that it means, and leaves the file whole.
func (m *merger) fits(h hunk, from int) bool {
	part, to := h.fresh(), from+len(h.old())
	if m.repeats(h, from, to) || m.doc.imbalance(part, from, to) != "" || to > from && m.losesDefinition(part, from, to) {
		return false
	}
	spelled, err := respell(texts(m.doc.lines), part, texts(m.doc.lines[from:to]), false)
	return err == nil && slices.Equal(spelled, part)
}

// repeats reports whether a new line of a part means a line outside of [from, to): at an end of the part, if
// it is there only once, or if it defines the same.
func (m *merger) repeats(h hunk, from, to int) bool {
	depth := len(indentOf(h.lines[0].text))
	inside := func(at int) bool { return at >= from && at < to }
	for i, l := range h.lines {
		if l.op != '+' {
			continue
		}
		elsewhere := slices.DeleteFunc(m.doc.find([]string{l.text}, spacing), inside)
		atEnd := (i == 0 || i == len(h.lines)-1) && telling([]string{l.text}, 1)
		if atEnd && len(elsewhere) > 0 || len(elsewhere) == 1 && telling([]string{l.text}, 6) { //control:sketch-anchor-stays
			return true
		}
		name := defined(l.text, false)
		same := name != "" && len(indentOf(l.text)) <= depth
		if same && len(slices.DeleteFunc(definitions(m.doc.lines, name), inside)) > 0 {
			return true
		}
	}
	return false
}
