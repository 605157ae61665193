package patch

import (
	"errors"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/gitops/lines"
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

// openAnchor is the error for an anchor that leaves a place open.
type openAnchor struct{ error }

// stretch is a run of parts with open places, and the lines [from, to) that they belong to.
type stretch struct {
	parts    []segment
	from, to int
}

// Settle is like [Merge] for a sketch that is [Unsettled], with answer as the text of
// Unsettled.Lines after the edit. The answer decides about places alone: it must be those
// lines with each part of the sketch at one place, whole. A part that takes the place of lines
// begins and ends the lines that it deletes with lines of the file. If the answer is anything
// else, the error is that of Merge.
func Settle(before, sketch, answer string) (Applied, error) {
	return mergeSketch(before, sketch, answer)
}

// mergeSketch merges the parts of a sketch. An answer that is not blank decides about the first
// run of them whose places are open.
func mergeSketch(before, sketch, answer string) (Applied, error) {
	d := newDocument(before)
	segments, markers := cutSketch(d, sketch)
	if markers == 0 {
		return Applied{}, errors.New(
			"merge sketch: there is no marker such as \"// ... existing code ...\" in it, so it does not say what stays",
		)
	}
	m := merger{applier: applier{doc: d}}
	for len(segments) > 0 {
		err := m.merge(segments[0])
		if err == nil {
			segments = segments[1:]
			continue
		}
		if !errors.As(err, new(openAnchor)) {
			return Applied{}, err
		}
		g := m.open(segments)
		if isBlank(answer) || !m.settle(g, answer) {
			return Applied{}, m.unsettled(g, err)
		}
		answer, segments = "", segments[len(g.parts):]
	}
	return Applied{Text: d.String(), Notes: m.notes}, nil
}

// open returns the parts from the first one on that have no certain place, and the lines
// between the certain places around them.
func (m *merger) open(rest []segment) stretch {
	g := stretch{from: m.pos, to: len(m.doc.lines)}
	n := 1
	for ; n < len(rest); n++ {
		if from, _, _, err := m.between(rest[n]); err == nil {
			g.to = from
			break
		}
	}
	g.parts = rest[:n]
	if from, _, _, _ := m.between(rest[0]); from >= 0 { //nolint:dogsled // its end is open
		g.from = from
	}
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

// settle puts the parts of a stretch where an answer has them. It reports whether it could.
func (m *merger) settle(g stretch, answer string) bool {
	old := texts(m.doc.lines[g.from:g.to])
	text, _ := Clean("", strings.Join(old, "\n"), answer)
	said := flat(texts(splitText(text)))
	from, to := trimEnds(said, isBlank)
	a := compareAnswer(flat(old), said[from:to])
	owner := make([]int, len(a.lines)) // the part that each line is of, counted from 1
	next := 0
	for k, p := range g.parts {
		at, n := a.find(flat(p.lines), next), len(p.lines)
		if at < 0 || !m.fits(p.lines, a.fresh[at:at+n], g.from+a.file[at], g.from+a.file[at+n]) { //control:sketch-places
			return false
		}
		for i, l := range p.lines {
			a.lines[at+i], owner[at+i] = l, k+1
		}
		next = at + n
		m.note("the part at line %d of the edit was put at line %d of the file, where a question to the model put it",
			p.source, g.from+a.file[at]+1)
	}
	for _, s := range a.spans {
		if !allowed(s, flat(old), a.lines, owner) {
			return false
		}
	}
	m.put(hunk{lines: hunkOf(a.spans, old, a.lines)}, g.from, g.to, false)
	m.pos = g.from + len(a.lines)
	return true
}

// answered is the text of a model beside the lines that it is to change.
type answered struct {
	lines []string
	spans []lines.Span // the changes
	fresh []bool       // the lines that are new
	file  []int        // the old line at which each line is, and the end
}

func compareAnswer(old, said []string) answered {
	a := answered{said, lines.Compare(old, said), make([]bool, len(said)), make([]int, len(said)+1)}
	at := 0
	end := lines.Span{A: len(old), AEnd: len(old), B: len(said), BEnd: len(said)}
	for _, s := range append(slices.Clip(a.spans), end) {
		for ; at < s.BEnd; at++ {
			a.fresh[at] = at >= s.B
			a.file[at] = min(s.A, s.A-(s.B-at))
		}
		a.file[at] = s.AEnd
	}
	return a
}

// find returns the first line from next on at which a part is in the answer and changes something,
// or -1.
func (a answered) find(part []string, next int) int {
	for i := next; i+len(part) <= len(a.lines); i++ {
		taken := a.file[i+len(part)]-a.file[i] != len(part) || slices.Contains(a.fresh[i:i+len(part)], true)
		if taken && slices.Equal(a.lines[i:i+len(part)], part) {
			return i
		}
	}
	return -1
}

// allowed reports whether a change of an answer is one of its parts: it adds lines of parts alone,
// and deletes lines between two that a part shows to stay, if no shorter deletion would do.
func allowed(s lines.Span, old, said []string, owner []int) bool {
	for i := s.B; i < s.BEnd; i++ {
		if owner[i] == 0 && !isBlank(said[i]) {
			return false
		}
	}
	if s.A == s.AEnd {
		return true
	}
	between := s.B > 0 && s.BEnd < len(owner) && owner[s.B-1] > 0 && owner[s.B-1] == owner[s.BEnd]
	return between && !slices.ContainsFunc(old[s.A:s.AEnd], func(gone string) bool {
		return gone == old[s.A-1] || gone == old[s.AEnd]
	})
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// fits reports whether a part of a sketch can mean to take the place of lines [from, to): it
// repeats no line that it means, and leaves the file whole. fresh says which of its lines are new.
func (m *merger) fits(part []string, fresh []bool, from, to int) bool {
	if m.repeats(part, fresh, from, to) || m.doc.imbalance(part, from, to) != "" ||
		to > from && m.losesDefinition(part, from, to) {
		return false
	}
	spelled, err := respell(texts(m.doc.lines), part, texts(m.doc.lines[from:to]), false)
	return err == nil && slices.Equal(spelled, part)
}

// repeats reports whether one of the fresh lines of a part means a line outside of [from, to):
// at an end of the part, if it is there only once, or if it defines the same.
func (m *merger) repeats(part []string, fresh []bool, from, to int) bool {
	depth := len(indentOf(part[0]))
	outside := func(at int) bool { return at < from || at >= to }
	for i, l := range part {
		if !fresh[i] {
			continue
		}
		elsewhere := slices.DeleteFunc(m.doc.find([]string{l}, spacing), func(at int) bool { return !outside(at) })
		atEnd := (i == 0 || i == len(part)-1) && telling([]string{l}, 1)
		if atEnd && len(elsewhere) > 0 || len(elsewhere) == 1 && telling([]string{l}, 6) { //control:sketch-anchor-stays
			return true
		}
		name := defined(l, false)
		if name != "" && len(indentOf(l)) <= depth && slices.ContainsFunc(definitions(m.doc.lines, name), outside) {
			return true
		}
	}
	return false
}

// flat returns lines without the white space at their ends.
func flat(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = normal(s, trailing)
	}
	return out
}
