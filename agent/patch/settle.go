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
	return mergeSketch(before, sketch, strings.TrimSpace(answer) != "", func(m *merger, g stretch) bool {
		text, _ := Clean("", strings.Join(texts(m.doc.lines[g.from:g.to]), "\n"), answer)
		said := texts(splitText(text))
		from, to := trimEnds(said, isBlank)
		s := settler{
			merger:  m,
			stretch: g,
			answer:  said[from:to],
			names:   map[string][]int{},
			dead:    map[[3]int]bool{},
			tries:   maxTries,
		}
		for i, l := range m.doc.lines {
			if name := defined(l.text, false); name != "" {
				s.names[name] = append(s.names[name], i)
			}
		}
		if !s.place(0, 0, g.from) {
			return false
		}
		m.pos = g.to
		for k, at := range slices.Backward(s.at) {
			part, add := g.parts[k], s.spaced(k)
			m.put(hunk{lines: hunkLines(texts(m.doc.lines[at.from:at.to]), add, false)}, at.from, at.to, false)
			m.pos += len(add) - (at.to - at.from)
			m.note("the part at line %d of the edit was put at line %d of the file, where a question to the model put it",
				part.source, at.from+1)
		}
		return true
	})
}

// open returns the parts from the first one on that have no certain place, and the lines
// between the certain places around them.
func (m *merger) open(rest []segment) stretch {
	g := stretch{from: m.pos, to: len(m.doc.lines)}
	n := 1
	for ; n < len(rest); n++ {
		if from, level, err := m.start(rest[n]); err == nil {
			if _, err = m.end(rest[n], from, level); err == nil {
				g.to = from
				break
			}
		}
	}
	g.parts = rest[:n]
	if from, _, err := m.start(rest[0]); err == nil {
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

// settler reads the places of parts out of an answer.
type settler struct {
	*merger
	stretch
	answer []string
	at     []spot           // the places of the parts
	names  map[string][]int // the lines of the file that define each name
	dead   map[[3]int]bool
	tries  int
}

// spot is the place of a part: the lines [from, to) of the file that it takes, and its first line in
// the answer.
type spot struct{ from, to, said int }

// spaced returns the lines of a part that is new, with the blank lines above and below that the
// answer has, and those of any other as they are.
func (s *settler) spaced(k int) []string {
	at, part := s.at[k], s.parts[k].lines
	if at.from < at.to {
		return part
	}
	apart := func(said, file int) bool {
		return said >= 0 && said < len(s.answer) && isBlank(s.answer[said]) &&
			file >= 0 && file < len(s.doc.lines) && !isBlank(s.doc.lines[file].text)
	}
	if apart(at.said+len(part), at.to) {
		part = append(slices.Clone(part), "")
	}
	if apart(at.said-1, at.from-1) {
		part = append([]string{""}, part...)
	}
	return part
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// maxTries bounds the comparisons of parts with lines of the file.
const maxTries = 200

// place finds the places of the parts from the k-th on, in the answer from line i and in the
// file from line j on.
func (s *settler) place(k, i, j int) bool {
	state := [3]int{k, i, j}
	if s.dead[state] {
		return false
	}
	s.dead[state] = true
	switch {
	case k < len(s.parts) && s.placeHere(k, i, j):
		return true
	case i < len(s.answer) && j < s.to && normal(s.answer[i], trailing) == normal(s.doc.lines[j].text, trailing):
		return s.place(k, i+1, j+1)
	case i < len(s.answer) && isBlank(s.answer[i]): // it changes nothing
		return s.place(k, i+1, j)
	}
	return k == len(s.parts) && i == len(s.answer) && j == s.to
}

// placeHere is place for a k-th part that is in the answer at line i.
func (s *settler) placeHere(k, i, j int) bool {
	part := s.parts[k].lines
	if len(s.answer)-i < len(part) || !equalLines(s.answer[i:i+len(part)], part) {
		return false
	}
	for to := j; to <= s.to; to++ {
		if !s.fits(part, j, to) { //control:sketch-places
			continue
		}
		s.at = append(s.at, spot{j, to, i})
		if s.place(k+1, i+len(part), to) {
			return true
		}
		s.at = s.at[:len(s.at)-1]
	}
	return false
}

func equalLines(a, b []string) bool {
	return slices.EqualFunc(a, b, func(x, y string) bool { return normal(x, trailing) == normal(y, trailing) })
}

// fits reports whether a part of a sketch can mean to take the place of lines [from, to): it
// deletes only lines that it shows to be gone, repeats no line that it means, and leaves the file
// whole.
func (s *settler) fits(part []string, from, to int) bool {
	old := texts(s.doc.lines[from:to])
	if to > from && (!hasLine(part, old[0]) || !hasLine(part, old[len(old)-1])) {
		return false
	}
	if s.tries--; s.tries < 0 {
		return false
	}
	fresh := make([]bool, len(part)) // the lines that would be new
	for _, sp := range lines.Compare(flat(old), flat(part)) {
		for b := sp.B; b < sp.BEnd; b++ {
			fresh[b] = true
		}
		if sp.A == sp.AEnd {
			continue
		}
		if sp.A == 0 || sp.AEnd == len(old) { // nothing in the sketch says where the deletion begins or ends
			return false
		}
		for _, gone := range old[sp.A:sp.AEnd] { // a shorter deletion would do
			if same := flat([]string{gone, old[sp.A-1], old[sp.AEnd]}); same[0] == same[1] || same[0] == same[2] {
				return false
			}
		}
	}
	if s.repeats(part, fresh, from, to) || s.doc.imbalance(part, from, to) != "" ||
		to > from && s.losesDefinition(part, from, to-1) {
		return false
	}
	spelled, err := respell(texts(s.doc.lines), part, old, false)
	return err == nil && slices.Equal(spelled, part)
}

// repeats reports whether one of the fresh lines of a part means a line outside of [from, to):
// at an end of the part, if it is there only once, or if it defines the same.
func (s *settler) repeats(part []string, fresh []bool, from, to int) bool {
	depth := len(indentOf(part[0]))
	for i, l := range part {
		if !fresh[i] {
			continue
		}
		outside := func(at int) bool { return at < from || at >= to }
		elsewhere := 0
		for _, at := range s.doc.find([]string{l}, spacing) {
			if outside(at) {
				elsewhere++
			}
		}
		atEnd := (i == 0 || i == len(part)-1) && telling([]string{l}, 1)
		if atEnd && elsewhere > 0 || elsewhere == 1 && telling([]string{l}, 6) { //control:sketch-anchor-stays
			return true
		}
		if len(indentOf(l)) <= depth && slices.ContainsFunc(s.names[defined(l, false)], outside) {
			return true
		}
	}
	return false
}

func hasLine(part []string, l string) bool {
	return slices.ContainsFunc(part, func(s string) bool { return normal(s, trailing) == normal(l, trailing) })
}

// flat returns lines without the white space at their ends.
func flat(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = normal(s, trailing)
	}
	return out
}

// mergeSketch merges the parts of a sketch. settle, if given, places a run of them whose places
// are open, once; it reports whether it could.
func mergeSketch(before, sketch string, answered bool, settle func(*merger, stretch) bool) (Applied, error) {
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
		if !answered || !settle(&m, g) {
			return Applied{}, m.unsettled(g, err)
		}
		answered, segments = false, segments[len(g.parts):]
	}
	return Applied{Text: d.String(), Notes: m.notes}, nil
}
