package style

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// pair is how a line is indented in the edit and in the file. A blank line says nothing.
type pair struct {
	edit, file string
	known      bool
}

// styles are the indentations of an edit and of the file, by the old lines.
type styles struct {
	pairs []pair
	unit  string // one step of the file, where the pairs have spaces
	last  string // of the line of the edit that was seen last
	seen  bool
	step  int // the smallest step between lines of the edit, in bytes
}

// sees takes note of the indentation of a line of the edit.
func (s *styles) sees(in string) {
	if d := max(len(in), len(s.last)) - min(len(in), len(s.last)); s.seen && d > 0 && (s.step == 0 || d < s.step) {
		s.step = d
	}
	s.last, s.seen = in, true
}

// translate turns an indentation of the edit into one of the file. other says that the
// edit has spaces for tabs, or tabs for spaces, elsewhere.
func (s *styles) translate(in string, at place, other bool) (string, bool) {
	all := s.told()
	if trimmed(all) { // the white space in front of all of the text is often lost
		if at.first && in == "" {
			return all[0].file, true
		}
		all = all[1:]
	}
	if out, ok := s.solve(in, all); ok {
		seen := slices.ContainsFunc(all, func(p pair) bool { return p.edit == in })
		return out, seen || !other || out != in || len(in) < 2 && in != "\t"
	}
	if from := at.near - at.gone - 1; from >= 0 && at.near < len(s.pairs) && !s.flat() {
		below := s.pairs[at.near]
		other := slices.ContainsFunc(s.pairs[from:at.near], func(p pair) bool { return p != below })
		if !other && below.edit == in && below.known {
			return below.file, true
		}
	}
	return "", false
}

// told returns the pairs that say something.
func (s *styles) told() (out []pair) {
	for _, p := range s.pairs {
		if p.known {
			out = append(out, p)
		}
	}
	return out
}

// trimmed reports whether only the first line lacks its indentation.
func trimmed(all []pair) bool {
	return len(all) > 1 && all[0].edit == "" && all[0].file != "" &&
		slices.ContainsFunc(all, func(p pair) bool { return p.edit != "" }) &&
		!slices.ContainsFunc(all[1:], func(p pair) bool { return p.edit != p.file })
}

// flat reports whether the edit has no indentation at all, and the file has several.
func (s *styles) flat() bool {
	all := s.told()
	return !slices.ContainsFunc(all, func(p pair) bool { return p.edit != "" }) &&
		slices.ContainsFunc(all, func(p pair) bool { return p.file != all[0].file })
}

// solve returns the indentation of the file for one of the edit, by pairs that have one
// and the same rule. ok is false where they have none or several.
func (s *styles) solve(in string, pairs []pair) (out string, ok bool) {
	found := false
	for _, p := range pairs {
		for _, q := range pairs {
			if (p.edit == q.edit) != (p.file == q.file) {
				return "", false
			}
		}
		if p.edit == in {
			out, found = p.file, true
		}
	}
	if found || !slices.ContainsFunc(pairs, func(p pair) bool { return p.edit != p.file }) {
		return or(found, out, in), true
	}
	if mixed(pairs) {
		return "", false
	}
	if shallower(in, pairs) {
		return "", false
	}
	moved, isMoved := moved(in, pairs)
	scaled, isScaled := s.scaled(in, pairs)
	if isMoved == isScaled && moved != scaled || !isMoved && !isScaled {
		return "", false
	}
	if unit := len(s.stepOf(pairs)); isMoved && unit > 1 && !slices.ContainsFunc(pairs, func(p pair) bool { return (len(in)-len(p.edit))%unit == 0 }) {
		return "", false // by half a step
	}
	return or(isMoved, moved, scaled), true
}

// shallower reports whether an indentation is less than that of all lines of the edit,
// which are all less deep than the file's: by as much as those, or in proportion?
func shallower(in string, pairs []pair) bool {
	return !slices.ContainsFunc(pairs, func(p pair) bool {
		return p != pairs[0] || len(in) >= len(p.edit) || len(p.edit) >= len(p.file) || strings.Trim(p.edit+p.file, p.edit[:1]) != ""
	})
}

// mixed reports whether some lines of the file are indented by tabs and some by spaces.
func mixed(pairs []pair) bool {
	has := func(c string) bool {
		return slices.ContainsFunc(pairs, func(p pair) bool { return strings.HasPrefix(p.file, c) })
	}
	return has("\t") && has(" ")
}

func or(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// moved adds what all lines of the file have in front, or takes off what all lines of
// the edit have.
func moved(in string, pairs []pair) (string, bool) {
	less := func(p pair) bool { return len(p.edit) <= len(in) }
	if more, ok := constant(pairs, func(p pair) (string, bool) { return strings.CutSuffix(p.file, p.edit) }); ok {
		return more + in, slices.ContainsFunc(pairs, less)
	}
	if less, ok := constant(pairs, func(p pair) (string, bool) { return strings.CutSuffix(p.edit, p.file) }); ok {
		return strings.CutPrefix(in, less)
	}
	return "", false
}

// constant returns what f finds in every pair, if that is the same.
func constant(pairs []pair, f func(pair) (string, bool)) (string, bool) {
	all := ""
	for i, p := range pairs {
		s, ok := f(p)
		if !ok || i > 0 && s != all {
			return "", false
		}
		all = s
	}
	return all, len(pairs) > 0
}

// scaled counts indentation in steps of the edit and writes as many of the file's, and
// those by which all lines of the file are deeper.
func (s *styles) scaled(in string, pairs []pair) (string, bool) {
	to := s.stepOf(pairs)
	from := strings.Repeat(" ", s.step)
	for _, p := range append(slices.Clone(pairs), pair{edit: in}) {
		if strings.Contains(p.edit, "\t") {
			from = "\t"
		}
	}
	if len(from) == 1 && from != "\t" || from == "" || to == "" {
		return "", false
	}
	steps := func(s, unit string) (int, bool) {
		n := strings.Count(s, unit)
		return n, s == strings.Repeat(unit, n)
	}
	depth, ok := steps(in, from)
	by := 0
	for i, p := range pairs {
		a, ok1 := steps(p.edit, from)
		b, ok2 := steps(p.file, to)
		ok = ok && ok1 && ok2 && (i == 0 || b-a == by)
		by = b - a
	}
	if !ok || depth+by < 0 {
		return "", false
	}
	return strings.Repeat(to, depth+by), true
}

// stepOf returns one step of the file.
func (s *styles) stepOf(pairs []pair) string {
	if slices.ContainsFunc(pairs, func(p pair) bool { return strings.Contains(p.file, "\t") }) {
		return "\t"
	}
	if s.unit == "\t" && slices.ContainsFunc(pairs, func(p pair) bool { return p.file != "" }) {
		return "" // spaces, in a file with tabs
	}
	return s.unit
}

// unitOf returns one step of indentation in most of a document.
func unitOf(doc []string) string {
	tabs, last := 0, 0
	steps := map[int]int{}
	for _, l := range doc {
		in := compare.Indent(l)
		switch {
		case len(in) == len(l):
		case strings.HasPrefix(in, "\t"):
			tabs, last = tabs+1, 0
		default:
			if len(in) > last {
				steps[len(in)-last]++
			}
			last = len(in)
		}
	}
	best, spaces := 0, 0
	for n, times := range steps {
		spaces += times
		if best == 0 || times > steps[best] || times == steps[best] && n < best {
			best = n
		}
	}
	if tabs > spaces {
		return "\t"
	}
	return strings.Repeat(" ", best)
}

// innerTabs reports whether the document has tabs behind other text.
func innerTabs(doc []string) bool {
	return slices.ContainsFunc(doc, func(l string) bool { return strings.Contains(strings.TrimLeft(l, " \t"), "\t") })
}
