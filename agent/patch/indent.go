package patch

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"
)

// If an edit matches only with white space ignored, its new lines are indented in the
// edit's style too: spaces for tabs, or less depth. They get the file's indentation.
// Anything that the old lines do not determine is an error and never guessed. That
// includes white space within a line and the form of quotes.

// editLine is a line of an edit: context (' '), deleted ('-') or added ('+'). file is
// the corresponding line of the file, empty if added.
type editLine struct {
	op         byte
	text, file string
}

// adoptIndent returns the hunk of m with its new lines indented as the file is.
func (p *applier) adoptIndent(m match) (hunk, error) {
	h := m.hunk
	h.lines = refine(h.lines)
	lines := make([]editLine, len(h.lines))
	at := m.at
	for i, l := range h.lines {
		lines[i] = editLine{op: l.op, text: l.text}
		if l.op != '+' {
			lines[i].file = p.doc.lines[at].text
			at++
		}
	}
	written, err := adopt(texts(p.doc.lines), lines)
	if err != nil {
		return h, fmt.Errorf(
			"apply edit: %s fits at lines %d-%d only if white space and the form of quotes do not count: %w. The file has there\n%s",
			h.describe(p.index, p.total),
			m.at+1,
			at,
			err,
			p.doc.region(m.at, at-m.at),
		)
	}
	for i := range h.lines {
		h.lines[i].text = written[i]
	}
	return h, nil
}

// refine turns lines that a hunk both deletes and adds into context.
func refine(lines []hunkLine) []hunkLine {
	var out []hunkLine
	var old, add []string
	flush := func() {
		out = append(out, hunkLines(old, add, false)...)
		old, add = nil, nil
	}
	for _, l := range lines {
		switch {
		case l.noEOL:
			return slices.Clone(lines)
		case l.op == '-' && len(add) > 0:
			flush()
			old = append(old, l.text)
		case l.op == '-':
			old = append(old, l.text)
		case l.op == '+':
			add = append(add, l.text)
		default:
			flush()
			out = append(out, l)
		}
	}
	flush()
	return out
}

// adopt returns the text of each line, with added lines in the indentation of doc.
func adopt(doc []string, lines []editLine) ([]string, error) {
	w := newWriter(doc, lines)
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.text
	}
	partner := partners(lines)
	if text, open := w.ambiguousLine(lines, partner); open {
		return nil, unclear(text)
	}
	if text, open := w.lostFirstIndent(lines, partner); open {
		return nil, unclear(text)
	}
	k, first := 0, true
	for i, l := range lines {
		if l.op != '+' {
			k++
			first = first && l.op == '-'
			continue
		}
		at := place{partner: partner[i], first: first}
		lacks := func(n int, op byte) bool { return n < 0 || n >= len(lines) || lines[n].op != op }
		one := !lacks(i-1, '-') && lacks(i-2, '-') && lacks(i+1, '+')
		if one && at.partner < 0 && strings.TrimSpace(lines[i-1].text) != "" {
			at.partner, at.instead = k-1, true
		}
		var ok bool
		if out[i], ok = w.write(l.text, at); !ok {
			return nil, unclear(l.text)
		}
		first = false
	}
	return out, nil
}

func unclear(text string) error {
	return fmt.Errorf("it is not clear which of it the new line %q is to have", text)
}

// partners returns, for each line, the index among the old lines of the line that a
// new line was derived from, or -1.
func partners(lines []editLine) []int {
	out := make([]int, len(lines))
	from, k := 0, 0 // range of old lines that a new one can derive from
	for i, l := range lines {
		out[i] = -1
		switch l.op {
		case ' ':
			k++
			from = k
			continue
		case '-':
			if i > 0 && lines[i-1].op == '+' {
				from = k
			}
			k++
			continue
		}
		best, next := 0.45, from
		for j, n := i-1, k-1; j >= 0 && n >= from && i-j < 200; j-- {
			if lines[j].op == '+' {
				continue
			}
			if now := likeness(lines[j].text, l.text); now >= best {
				best, out[i], next = now, n, n+1
			}
			n--
		}
		from = next
	}
	return out
}

// likeness returns the share of words that two lines have in common, from 0 to 1.
func likeness(a, b string) float64 {
	has, n, both := map[string]int{}, 0, 0
	for _, s := range strings.FieldsFunc(a, notInName) {
		has[s] += len(s)
		n += len(s)
	}
	for _, s := range strings.FieldsFunc(b, notInName) {
		n += len(s)
		if has[s] >= len(s) {
			has[s] -= len(s)
			both += 2 * len(s)
		}
	}
	return float64(both) / float64(max(n, 1))
}

// place is the position of a new line. partner is the old line that it derives from,
// or -1. first is set if it precedes all lines that stay.
type place struct {
	partner int
	first   bool
	instead bool // not similar to its partner, but its only replacement
}

// writer writes the new lines of an edit with the file's indentation.
type writer struct {
	styles
	old, file     []string
	tails, blanks map[string][]string // white space at line ends and in blank lines: the edit's → the file's
	forTabs       bool                // the edit has spaces for tabs
	forSpaces     bool
	gaps          bool // white space within lines differs
	plain         bool // the edit has typographic quotes or entities for plain characters
	signs         bool // the file has typographic quotes or entities for plain characters
	hidden        bool // lines have invisible characters
	innerTabs     bool
}

// newWriter returns a writer that has learned from the old lines of an edit of doc.
func newWriter(doc []string, lines []editLine) *writer {
	w := &writer{tails: map[string][]string{}, blanks: map[string][]string{}}
	w.unit = unitOf(doc)
	w.innerTabs = slices.ContainsFunc(
		doc,
		func(l string) bool { return strings.Contains(strings.TrimLeft(l, " \t"), "\t") },
	)
	for _, l := range lines {
		blank := strings.TrimSpace(l.text) == ""
		if !blank {
			w.record(indentOf(l.text))
		}
		if l.op == '+' {
			continue
		}
		f := strings.TrimPrefix(l.file, byteOrderMark)
		w.old, w.file = append(w.old, l.text), append(w.file, f)
		if blank {
			learn(w.blanks, l.text, f)
			continue
		}
		w.pairs = append(w.pairs, pair{indentOf(l.text), indentOf(f)})
		w.note(indentOf(l.text), indentOf(f))
		learn(w.tails, tailOf(l.text), tailOf(f))
		w.compare(bodyOf(l.text), bodyOf(f))
	}
	return w
}

func learn(m map[string][]string, is, was string) {
	if !slices.Contains(m[is], was) {
		m[is] = append(m[is], was)
	}
}

func tailOf(s string) string { return s[len(strings.TrimRight(s, " \t")):] }

func bodyOf(s string) string { return strings.Trim(s, " \t") }

// note records tabs and spaces that the edit and the file use for each other.
func (w *writer) note(is, was string) {
	w.forTabs = w.forTabs || !strings.Contains(is, "\t") && is != "" && strings.Contains(was, "\t")
	w.forSpaces = w.forSpaces || strings.Contains(is, "\t") && len(was) > 1 && !strings.Contains(was, "\t")
}

// other reports whether the edit has spaces for the file's tabs, or tabs for its
// spaces.
func (w *writer) other() bool { return w.forTabs || w.forSpaces }

// compare records the differences between the bodies of an edit line and a file line.
func (w *writer) compare(is, was string) {
	if is == was {
		return
	}
	a, b := spacesIn(is), spacesIn(was)
	w.gaps = w.gaps || !slices.Equal(a, b)
	for i := range min(len(a), len(b)) {
		w.note(a[i], b[i])
	}
	unseen := func(r rune) bool { return plainSign(r) < 0 }
	w.hidden = w.hidden || strings.TrimSpace(was) != was || strings.ContainsFunc(is+was, unseen)
	if !slices.Equal(strings.Fields(is), strings.Fields(was)) {
		w.plain = w.plain || typeset(is)
		w.signs = w.signs || typeset(was)
	}
}

// spacesIn returns the runs of white space in a line.
func spacesIn(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) })
}

// typeset reports whether a text has typographic quotes or dashes, or HTML entities.
func typeset(s string) bool {
	return html.UnescapeString(s) != s || strings.ContainsFunc(s, func(r rune) bool { return plainSign(r) != r })
}

// write returns a new line in the file's style. It returns false if that is not
// certain.
func (w *writer) write(s string, at place) (string, bool) {
	if slices.Equal(w.old, w.file) {
		return s, true
	}
	if strings.TrimSpace(s) == "" {
		return fileTail(w.blanks, s, 2)
	}
	if moved, ok := w.movedLine(s, exactly); ok && at.partner < 0 {
		return moved, true
	}
	if moved, ok := w.movedLine(s, spacing); ok && at.first && indentOf(s) == "" {
		return moved, true
	}
	in, ok := w.indent(indentOf(s), at)
	if !ok {
		return "", false
	}
	body, ok := w.body(bodyOf(s), at)
	if !ok {
		return "", false
	}
	tail, ok := w.tail(s, at)
	return in + body + tail, ok
}

// movedLine returns the file's version of a new line that equals an old line elsewhere.
func (w *writer) movedLine(s string, level int) (line string, ok bool) {
	for i, old := range w.old {
		if normal(old, level) != normal(s, level) {
			continue
		}
		if ok && w.file[i] != line {
			return "", false
		}
		line, ok = w.file[i], true
	}
	return line, ok && !w.flat()
}

// indent returns the file's indentation for an indentation of the edit. If all old
// lines lost theirs, either the whole edit is less deep or only its first line is.
// That cannot be determined, so it returns false.
func (w *writer) indent(in string, at place) (string, bool) {
	if at.partner >= 0 && in == indentOf(w.old[at.partner]) {
		return indentOf(w.file[at.partner]), true
	}
	all := w.pairs
	bare := !slices.ContainsFunc(all, func(p pair) bool { return p.edit != "" || p.file != all[0].file })
	if bare && len(all) > 0 && all[0].file != "" && strings.HasPrefix(in, all[0].file) {
		return "", false
	}
	return w.translate(in, at.first, w.other())
}

// body returns the text of a new line without surrounding white space. The text of an
// old line becomes the file's; any other text must be certain as it is.
func (w *writer) body(s string, at place) (string, bool) {
	was, found := "", false
	for i, old := range w.old {
		if bodyOf(old) == s {
			if found && bodyOf(w.file[i]) != was {
				return "", false
			}
			was, found = bodyOf(w.file[i]), true
		}
	}
	if found {
		return was, true
	}
	var own []string // white space inherited from its old line
	if at.partner >= 0 && !w.gaps {
		own = spacesIn(bodyOf(w.old[at.partner]))
	}
	wide := slices.ContainsFunc(spacesIn(s), func(gap string) bool {
		return !slices.Contains(own, gap) &&
			(len(gap) > 1 && w.forTabs && w.innerTabs || strings.Contains(gap, "\t") && w.forSpaces)
	})
	spaced := wide || w.gaps && len(spacesIn(s)) > 0
	signed := w.plain && typeset(s) || w.signs && strings.ContainsAny(s, "'\"-&<>")
	return s, !spaced && !signed && !w.hidden
}

// tail returns the trailing white space of a new line.
func (w *writer) tail(s string, at place) (string, bool) {
	is, o, f := tailOf(s), "", ""
	if at.partner >= 0 {
		old := w.old[at.partner]
		o, f = tailOf(old), tailOf(w.file[at.partner])
		tab := strings.Contains(f, "\t") && o != f
		switch {
		case tab && bodyOf(s) != bodyOf(old) && strings.HasPrefix(bodyOf(s), bodyOf(old)):
			return "", false // ambiguous: the addition may come before or after the tab
		case is == o:
			return f, true
		}
	}
	out, ok := fileTail(w.tails, is, len(w.pairs))
	return out, ok && (is != "" || out == "" || len(w.tails[""]) == 0) // false: the line may need trailing white space
}

// fileTail returns the file's counterpart of trailing white space in an edit, if
// enough lines give evidence.
func fileTail(tails map[string][]string, is string, lines int) (string, bool) {
	was := tails[is]
	if len(was) == 1 && (is != "" || lines > 1) {
		return was[0], true
	}
	for edit, file := range tails {
		for _, f := range file {
			switch {
			case f == edit:
			case len(f) > 1 || f == "\t":
				return "", false
			case len(was) == 0 && f == "":
				is = strings.TrimSuffix(is, edit) // the edit has it after every line
			}
		}
	}
	return is, true
}

// ambiguousLine returns a new line that has several possible meanings, in an edit without
// indentation for a file with indentation.
func (w *writer) ambiguousLine(lines []editLine, partner []int) (text string, ok bool) {
	plain := func(l editLine) bool { return indentOf(l.text) == "" }
	indented := func(l editLine) bool { return l.op != '+' && indentOf(l.file) != "" }
	if slices.ContainsFunc(lines, func(l editLine) bool { return !plain(l) }) || !slices.ContainsFunc(lines, indented) {
		return "", false
	}
	twice, opened := "", ""
	for i, l := range lines {
		switch {
		case l.op == '-':
			same := func(m editLine) bool { return m.op != '+' && m.text == l.text }
			if rest := slices.IndexFunc(lines[i+1:], same); rest >= 0 || slices.IndexFunc(lines, same) < i {
				twice = l.text // ambiguous: one of two equal lines is gone
			}
			continue
		case l.op == '+' && partner[i] < 0 && w.flat():
			return l.text, true
		}
		s := strings.TrimSpace(l.text)
		if opened != "" && s != "" && !strings.ContainsAny(s[:1], "})]") {
			return opened, true // the content of a block is indented deeper
		}
		if opened = ""; l.op == '+' && s != "" && strings.ContainsAny(s[len(s)-1:], "{([:") {
			opened = l.text
		}
	}
	return twice, twice != "" && w.flat()
}

// lostFirstIndent returns the first new line of an edit whose first old line lost its
// indentation, if that line is only a bracket and nothing else identifies it.
func (w *writer) lostFirstIndent(lines []editLine, partner []int) (text string, ok bool) {
	if !lostOnlyFirst(w.pairs) {
		return "", false
	}
	bracket := func(s string) bool { return strings.TrimSpace(s) != "" && !telling([]string{s}, 1) }
	head := slices.IndexFunc(lines, func(l editLine) bool { return l.op != '+' && strings.TrimSpace(l.text) != "" })
	for i, l := range lines {
		if i != head && l.op != ' ' && bracket(l.text) && collapse(l.text) == collapse(lines[head].text) {
			return l.text, true // may be this line or the first one
		}
	}
	first := slices.IndexFunc(lines, func(l editLine) bool { return l.op != '-' })
	if first <= 0 {
		return "", false
	}
	l := lines[first]
	return l.text, bracket(l.text) && indentOf(l.text) == "" && (l.op == ' ' || partner[first] != 0)
}

// pair is the indentation of a line in the edit and in the file.
type pair struct{ edit, file string }

// styles are the indentations of an edit and of the file, learned from the old lines.
type styles struct {
	pairs  []pair // of the old lines that are not blank
	unit   string // one step of the file, if the pairs have spaces
	before string // indentation of the edit's previous line
	seen   bool
	step   int // smallest step between lines of the edit, in bytes
}

// record records the indentation of a line of the edit.
func (s *styles) record(in string) {
	if d := max(len(in), len(s.before)) - min(len(in), len(s.before)); s.seen && d > 0 && (s.step == 0 || d < s.step) {
		s.step = d
	}
	s.before, s.seen = in, true
}

// translate turns an indentation of the edit into one of the file. other means that
// the edit has spaces for tabs, or tabs for spaces, elsewhere.
func (s *styles) translate(in string, first, other bool) (string, bool) {
	all := s.pairs
	if lostOnlyFirst(all) { // models often drop the leading white space of the whole text
		if first && in == "" {
			return all[0].file, true
		}
		all = all[1:]
	}
	if out, ok := s.solve(in, all); ok {
		seen := slices.ContainsFunc(all, func(p pair) bool { return p.edit == in })
		return out, seen || !other || out != in || len(in) < 2 && in != "\t"
	}
	return "", false
}

// lostOnlyFirst reports whether only the first line lacks its indentation.
func lostOnlyFirst(all []pair) bool {
	return len(all) > 1 && all[0].edit == "" && all[0].file != "" &&
		slices.ContainsFunc(all, func(p pair) bool { return p.edit != "" }) &&
		!slices.ContainsFunc(all[1:], func(p pair) bool { return p.edit != p.file })
}

// flat reports whether the edit has no indentation at all and the file has several.
func (s *styles) flat() bool {
	all := s.pairs
	return !slices.ContainsFunc(all, func(p pair) bool { return p.edit != "" }) &&
		slices.ContainsFunc(all, func(p pair) bool { return p.file != all[0].file })
}

// solve returns the file's indentation for one of the edit, by a rule that fits all
// pairs. ok is false if no rule fits or several do.
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
	moved, isMoved := shiftedIndent(in, pairs)
	scaled, isScaled := s.scaled(in, pairs)
	if isMoved == isScaled && moved != scaled || !isMoved && !isScaled {
		return "", false
	}
	if unit := len(s.stepOf(pairs)); isMoved && unit > 1 &&
		!slices.ContainsFunc(pairs, func(p pair) bool { return (len(in)-len(p.edit))%unit == 0 }) {
		return "", false // off by a part of a step
	}
	return or(isMoved, moved, scaled), true
}

// shallower reports whether an indentation is less than that of every line of the
// edit, all of which are less deep than the file's. The missing depth may be constant
// or proportional.
func shallower(in string, pairs []pair) bool {
	return !slices.ContainsFunc(pairs, func(p pair) bool {
		return p != pairs[0] || len(in) >= len(p.edit) || len(p.edit) >= len(p.file) ||
			strings.Trim(p.edit+p.file, p.edit[:1]) != ""
	})
}

// mixed reports whether the file indents some lines by tabs and others by spaces.
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

// shiftedIndent adds the prefix common to all lines of the file, or removes the one common to
// all lines of the edit.
func shiftedIndent(in string, pairs []pair) (string, bool) {
	less := func(p pair) bool { return len(p.edit) <= len(in) }
	if more, ok := constant(pairs, func(p pair) (string, bool) { return strings.CutSuffix(p.file, p.edit) }); ok {
		return more + in, slices.ContainsFunc(pairs, less)
	}
	if less, ok := constant(pairs, func(p pair) (string, bool) { return strings.CutSuffix(p.edit, p.file) }); ok {
		return strings.CutPrefix(in, less)
	}
	return "", false
}

// constant returns the result of f if it is the same for all pairs.
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

// scaled counts an indentation in steps of the edit and writes the same number of the
// file's steps, plus the constant difference in depth.
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

// stepOf returns one indentation step of the file, "" if unknown.
func (s *styles) stepOf(pairs []pair) string {
	if slices.ContainsFunc(pairs, func(p pair) bool { return strings.Contains(p.file, "\t") }) {
		return "\t"
	}
	if s.unit == "\t" && slices.ContainsFunc(pairs, func(p pair) bool { return p.file != "" }) {
		return "" // spaces, in a file with tabs
	}
	return s.unit
}

// unitOf returns the most frequent indentation step of a document.
func unitOf(doc []string) string {
	tabs, last := 0, 0
	steps := map[int]int{}
	for _, l := range doc {
		in := indentOf(l)
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
