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
		return h, p.fault(
			h,
			"fits at lines %d-%d only if white space and the form of quotes do not count: %v. The file has there\n%s",
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
func refine(lines []hunkLine) (out []hunkLine) {
	if slices.ContainsFunc(lines, func(l hunkLine) bool { return l.eol == "" }) {
		return slices.Clone(lines)
	}
	from := 0
	for i := range len(lines) + 1 {
		if i < len(lines) && lines[i].op != ' ' {
			continue
		}
		changed := hunk{lines: lines[from:i]}
		out = append(out, hunkLines(changed.only("-"), changed.only("+"))...)
		if from = i + 1; i < len(lines) {
			out = append(out, lines[i])
		}
	}
	return out
}

// adopt returns the text of each line, with added lines in the indentation of doc.
func adopt(doc []string, lines []editLine) ([]string, error) {
	w := newWriter(doc, lines)
	partner := partners(lines)
	out := make([]string, len(lines))
	first := true // no line has stayed so far
	for i, l := range lines {
		twin := func(m editLine) bool {
			same := m.text == l.text || lostOnlyFirst(w.pairs) && collapse(m.text) == collapse(l.text)
			return m.op != '+' && same && m.file != l.file
		}
		ok := l.op != '-' || !slices.ContainsFunc(lines, twin) // which of both goes?
		if out[i] = l.text; l.op == '+' {
			at := place{first: first}
			lacks := func(n int, op byte) bool { return n < 0 || n >= len(lines) || lines[n].op != op }
			if j := partner[i]; j >= 0 {
				at.partner = &lines[j]
			} else if !lacks(i-1, '-') && lacks(i-2, '-') && lacks(i+1, '+') && strings.TrimSpace(lines[i-1].text) != "" {
				at.partner = &lines[i-1] // the only line that it replaces
			}
			out[i], ok = w.write(l.text, at)
		}
		if !ok {
			return nil, unclear(l.text)
		}
		first = first && l.op == '-'
	}
	return out, nil
}

func unclear(text string) error {
	return fmt.Errorf("it is not clear which of it the new line %q is to have", text)
}

// partners returns, for each line, the index of the deleted line that a new line was
// derived from, or -1: the one most like it.
func partners(lines []editLine) []int {
	const maxApart = 200 // lines
	out := make([]int, len(lines))
	from := 0 // first line that a new one can derive from
	for i, l := range lines {
		out[i] = -1
		if l.op == ' ' {
			from = i + 1
		}
		if l.op != '+' {
			continue
		}
		best := 0.45
		for j := max(from, i-maxApart); j < i && lines[j].op == '-'; j++ {
			if now := likeness(bodyOf(lines[j].text), bodyOf(l.text)); now > best {
				best, out[i] = now, j
			}
		}
		if out[i] >= 0 {
			from = out[i] + 1
		}
	}
	return out
}

// likeness returns the share of two texts that is their common beginning and end, from 0 to 1.
func likeness(a, b string) float64 {
	head, tail := commonEnds([]byte(a), []byte(b))
	return float64(2*(head+tail)) / float64(max(1, len(a)+len(b)))
}

// commonEnds returns the lengths of the common beginning and of the common end behind it.
func commonEnds[T comparable](a, b []T) (head, tail int) {
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// place is the position of a new line.
type place struct {
	partner *editLine // the line that it derives from, or nil
	first   bool      // it precedes all lines that stay
}

// pair is a part of an old line, as it is in the edit and in the file.
type pair struct{ edit, file string }

// counterparts returns the distinct texts of the file for those of the edit that match.
func counterparts(old []pair, match func(edit string) bool) (out []string) {
	for _, p := range old {
		if match(p.edit) && !slices.Contains(out, p.file) {
			out = append(out, p.file)
		}
	}
	return out
}

// writer writes the new lines of an edit with the file's indentation.
type writer struct {
	lines, blanks        []pair // the old lines, and those of them without text
	pairs, bodies, tails []pair // indentation, text and final white space of the old lines with text
	unit                 string // one step of the file, "" if unknown
	step                 int    // smallest step between lines of the edit, in bytes
	forTabs, forSpaces   bool   // the edit has spaces for tabs, or tabs for spaces
	gaps                 bool   // white space within lines differs
	plain, signs, hidden bool   // typographic quotes and entities of the edit alone, of the file; invisible characters
	innerTabs            bool
}

// newWriter returns a writer that has learned from the old lines of an edit of doc.
func newWriter(doc []string, lines []editLine) *writer {
	w := &writer{unit: unitOf(doc)}
	w.innerTabs = slices.ContainsFunc(doc, func(l string) bool { return strings.Contains(strings.TrimLeft(l, " \t"), "\t") })
	before := -1 // depth of the edit's previous line
	for _, l := range lines {
		blank := strings.TrimSpace(l.text) == ""
		if depth := len(indentOf(l.text)); !blank {
			if d := max(depth, before) - min(depth, before); before >= 0 && d > 0 && (w.step == 0 || d < w.step) {
				w.step = d
			}
			before = depth
		}
		if l.op == '+' {
			continue
		}
		f := strings.TrimPrefix(l.file, byteOrderMark)
		w.lines = append(w.lines, pair{l.text, f})
		if blank {
			w.blanks = append(w.blanks, pair{l.text, f})
			continue
		}
		w.pairs = append(w.pairs, pair{indentOf(l.text), indentOf(f)})
		w.bodies = append(w.bodies, pair{bodyOf(l.text), bodyOf(f)})
		w.tails = append(w.tails, pair{tailOf(l.text), tailOf(f)})
		w.note(indentOf(l.text), indentOf(f))
		w.compare(bodyOf(l.text), bodyOf(f))
	}
	return w
}

func tailOf(s string) string { return s[len(strings.TrimRight(s, " \t")):] }

func bodyOf(s string) string { return strings.Trim(s, " \t") }

// note records tabs and spaces that the edit and the file use for each other.
func (w *writer) note(is, was string) {
	w.forTabs = w.forTabs || !strings.Contains(is, "\t") && is != "" && strings.Contains(was, "\t")
	w.forSpaces = w.forSpaces || strings.Contains(is, "\t") && len(was) > 1 && !strings.Contains(was, "\t")
}

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
	if !slices.ContainsFunc(w.lines, func(p pair) bool { return p.edit != p.file }) {
		return s, true
	}
	if strings.TrimSpace(s) == "" {
		if len(w.blanks) == 0 {
			return ending(s, w.tails)
		}
		return ending(s, w.blanks)
	}
	same := func(edit string) bool { return edit == s }
	if at.first && indentOf(s) == "" {
		same = func(edit string) bool { return collapse(edit) == collapse(s) }
	}
	moved := counterparts(w.lines, same)
	switch {
	case len(moved) > 1:
		return "", false
	case len(moved) == 1 && !w.flat() && (at.partner == nil || at.first && indentOf(s) == ""):
		return moved[0], true
	}
	in, ok := w.indent(indentOf(s), at)
	body, certain := w.body(bodyOf(s), at)
	tail, sure := w.tail(s, at)
	return in + body + tail, ok && certain && sure
}

// indent returns the file's indentation for an indentation of the edit. If all old
// lines lost theirs, either the whole edit is less deep or only its first line is.
// That cannot be determined, so it returns false.
func (w *writer) indent(in string, at place) (string, bool) {
	if at.partner != nil && in == indentOf(at.partner.text) {
		return indentOf(at.partner.file), true
	}
	all := w.pairs
	bare := !slices.ContainsFunc(all, func(p pair) bool { return p.edit != "" || p.file != all[0].file })
	if bare && len(all) > 0 && all[0].file != "" && strings.HasPrefix(in, all[0].file) {
		return "", false
	}
	return w.translate(in, at.first)
}

// body returns the text of a new line without surrounding white space. The text of an
// old line becomes the file's; any other text must be certain as it is.
func (w *writer) body(s string, at place) (string, bool) {
	if was := counterparts(w.bodies, func(edit string) bool { return edit == s }); len(was) > 0 {
		return was[0], len(was) == 1
	}
	var own []string // white space inherited from its old line
	if at.partner != nil && !w.gaps {
		own = spacesIn(bodyOf(at.partner.text))
	}
	gaps := spacesIn(s)
	wide := slices.ContainsFunc(gaps, func(gap string) bool {
		return !slices.Contains(own, gap) &&
			(len(gap) > 1 && w.forTabs && w.innerTabs || strings.Contains(gap, "\t") && w.forSpaces)
	})
	signed := w.plain && typeset(s) || w.signs && strings.ContainsAny(s, "'\"-&<>")
	return s, !wide && !signed && !w.hidden && (!w.gaps || len(gaps) == 0)
}

// tail returns the trailing white space of a new line.
func (w *writer) tail(s string, at place) (string, bool) {
	is := tailOf(s)
	if at.partner != nil && is == tailOf(at.partner.text) { // a tab may end another column than the new text
		was := tailOf(at.partner.file)
		return was, is == was || !strings.Contains(was, "\t")
	}
	out, ok := ending(is, w.tails)
	return out, ok && (is != "" || out == "") // the line may need trailing white space
}

// ending returns the file's counterpart of white space at the end of a line, if the old
// lines have one, or if it is none and the file has none either.
func ending(is string, old []pair) (string, bool) {
	if was := counterparts(old, func(edit string) bool { return edit == is }); len(was) == 1 {
		return was[0], true
	}
	return is, !slices.ContainsFunc(old, func(p pair) bool { return p.edit != p.file && is+p.file != "" })
}

// translate turns an indentation of the edit into one of the file.
func (w *writer) translate(in string, first bool) (string, bool) {
	all := w.pairs
	if lostOnlyFirst(all) { // models often drop the leading white space of the whole text
		if first && in == "" {
			return all[0].file, true
		}
		all = all[1:]
	}
	out, ok := w.solve(in, all)
	seen := slices.ContainsFunc(all, func(p pair) bool { return p.edit == in })
	return out, ok && (seen || !w.forTabs && !w.forSpaces || out != in || len(in) < 2 && in != "\t")
}

// lostOnlyFirst reports whether only the first line lacks its indentation.
func lostOnlyFirst(all []pair) bool {
	return len(all) > 1 && all[0].edit == "" && all[0].file != "" &&
		slices.ContainsFunc(all, func(p pair) bool { return p.edit != "" }) &&
		!slices.ContainsFunc(all[1:], func(p pair) bool { return p.edit != p.file })
}

// flat reports whether the edit has no indentation at all and the file has several.
func (w *writer) flat() bool {
	all := w.pairs
	return !slices.ContainsFunc(all, func(p pair) bool { return p.edit != "" }) &&
		slices.ContainsFunc(all, func(p pair) bool { return p.file != all[0].file })
}

// solve returns the file's indentation for one of the edit, by a rule that fits all
// pairs. ok is false if no rule fits or several do.
func (w *writer) solve(in string, pairs []pair) (out string, ok bool) {
	differ := false
	for _, p := range pairs {
		for _, q := range pairs {
			if (p.edit == q.edit) != (p.file == q.file) {
				return "", false
			}
		}
		differ = differ || p.edit != p.file
	}
	if was := counterparts(pairs, func(edit string) bool { return edit == in }); len(was) > 0 {
		return was[0], true
	}
	if !differ {
		return in, true
	}
	if shallower(in, pairs) {
		return "", false
	}
	moved, isMoved := shifted(in, pairs)
	scaled, isScaled := w.scaled(in, pairs)
	unit := len(w.stepOf(pairs))
	switch {
	case isMoved && isScaled && moved != scaled:
		return "", false
	case !isMoved:
		return scaled, isScaled
	}
	whole := func(p pair) bool { return unit < 2 || (len(in)-len(p.edit))%unit == 0 }
	return moved, slices.ContainsFunc(pairs, whole) // false: off by a part of a step
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

// shifted adds the prefix common to all lines of the file, or removes the one common to
// all lines of the edit.
func shifted(in string, pairs []pair) (string, bool) {
	more, less := strings.TrimSuffix(pairs[0].file, pairs[0].edit), strings.TrimSuffix(pairs[0].edit, pairs[0].file)
	added, removed, above := true, true, false
	for _, p := range pairs {
		added = added && p.file == more+p.edit
		removed = removed && p.edit == less+p.file
		above = above || len(p.edit) <= len(in)
	}
	switch {
	case added:
		return more + in, above
	case removed:
		return strings.CutPrefix(in, less)
	}
	return "", false
}

// scaled counts an indentation in steps of the edit and writes the same number of the
// file's steps, plus the constant difference in depth.
func (w *writer) scaled(in string, pairs []pair) (string, bool) {
	to := w.stepOf(pairs)
	from := strings.Repeat(" ", w.step)
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
func (w *writer) stepOf(pairs []pair) string {
	if slices.ContainsFunc(pairs, func(p pair) bool { return strings.Contains(p.file, "\t") }) {
		return "\t"
	}
	if w.unit == "\t" && slices.ContainsFunc(pairs, func(p pair) bool { return p.file != "" }) {
		return "" // spaces, in a file with tabs
	}
	return w.unit
}

// unitOf returns the most frequent indentation step of a document.
func unitOf(doc []string) string {
	const maxStep = 16
	tabs, spaces, last := 0, 0, 0
	var steps [maxStep + 1]int
	for _, l := range doc {
		in := indentOf(l)
		if len(in) == len(l) {
			continue
		}
		depth := len(in)
		if strings.HasPrefix(in, "\t") {
			tabs, depth = tabs+1, 0
		}
		if d := depth - last; d > 0 && d <= maxStep {
			steps[d]++
			spaces++
		}
		last = depth
	}
	best := 0
	for n, times := range steps {
		if times > steps[best] {
			best = n
		}
	}
	if tabs > spaces {
		return "\t"
	}
	return strings.Repeat(" ", best)
}
