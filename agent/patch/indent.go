package patch

import (
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// If an edit matches only with white space or quotes ignored, its new lines are written in the
// edit's style too: spaces for tabs, or less depth. A new line is a change of an old one: its
// unchanged parts become those of the file, and its indentation the one that the file has for
// it. Anything that the old lines do not determine is an error and never guessed.

// editLine is a line of an edit: context (' '), deleted ('-') or added ('+'). file is
// the corresponding line of the file, empty if added.
type editLine struct {
	op         byte
	text, file string
}

// adoptIndent returns the hunk of m with its new lines indented as the file is.
func (p *applier) adoptIndent(m match) (hunk, error) {
	h := m.hunk
	if !slices.ContainsFunc(h.lines, func(l hunkLine) bool { return l.eol == "" }) {
		h.lines = hunkLines(h.old(), h.fresh())
	}
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
		return h, p.fault(h,
			"fits at lines %d-%d only if white space and the form of quotes do not count: %v. The file has there\n%s",
			m.at+1, at, err, p.doc.region(m.at, at-m.at))
	}
	h.lines = slices.Clone(h.lines)
	for i := range h.lines {
		h.lines[i].text = written[i]
	}
	return h, nil
}

// adopt returns the text of each line: of old ones that of the file, of added ones in its style.
func adopt(doc []string, lines []editLine) ([]string, error) {
	lines, restored := restoreFirst(lines)
	w := newWriter(doc, lines)
	like := partners(lines)
	out := make([]string, len(lines))
	for i, l := range lines {
		twin := func(m editLine) bool {
			same := m.text == l.text || restored && collapse(m.text) == collapse(l.text)
			return m.op != '+' && same && m.file != l.file
		}
		ok := l.op != '-' || !slices.ContainsFunc(lines, twin) // which of both goes?
		if out[i] = l.file; l.op == '+' {
			out[i], ok = w.write(l.text, like[i])
		}
		if !ok {
			return nil, unclear(l.text)
		}
	}
	return out, nil
}

func unclear(text string) error {
	return fmt.Errorf("it is not clear which of it the new line %q is to have", text)
}

// restoreFirst gives the first old line its indentation if it alone lacks it, and the first new line if it
// precedes all lines that stay: models often drop the white space at the beginning of a text.
func restoreFirst(lines []editLine) (out []editLine, restored bool) {
	isOld := func(l editLine) bool { return l.op != '+' && !isBlank(l.text) }
	first, deeper := slices.IndexFunc(lines, isOld), false
	for _, l := range lines[max(0, first+1):] {
		if isOld(l) && indentOf(l.text) != indentOf(l.file) {
			return lines, false
		}
		deeper = deeper || isOld(l) && indentOf(l.text) != ""
	}
	if !deeper || indentOf(lines[first].text) != "" || indentOf(lines[first].file) == "" {
		return lines, false
	}
	out = slices.Clone(lines)
	in := indentOf(lines[first].file)
	out[first].text = in + lines[first].text
	fresh := slices.IndexFunc(lines, func(l editLine) bool { return l.op != '-' })
	if fresh < 0 || lines[fresh].op == ' ' || isBlank(lines[fresh].text) || indentOf(lines[fresh].text) != "" {
		return out, true
	}
	out[fresh].text = in + lines[fresh].text
	same := func(m editLine) bool { return m.op != '+' && collapse(m.text) == collapse(lines[fresh].text) }
	if j := slices.IndexFunc(lines, same); j > first { // moved to the beginning
		out[fresh].text = lines[j].text
	}
	return out, true
}

// partners returns, for each line, the deleted line that a new line was derived from, or nil: the one
// most like it, or the only line that it replaces.
func partners(lines []editLine) []*editLine {
	const maxApart = 200 // lines
	out := make([]*editLine, len(lines))
	op := func(i int) byte {
		if i < 0 || i >= len(lines) {
			return ' '
		}
		return lines[i].op
	}
	from := 0 // first line that a new one can derive from
	for i, l := range lines {
		if l.op == ' ' {
			from = i + 1
		}
		if l.op != '+' {
			continue
		}
		best, at := 0.45, -1
		for j := max(from, i-maxApart); j < i && lines[j].op == '-'; j++ {
			a, b := bodyOf(lines[j].text), bodyOf(l.text)
			head, tail := commonEnds([]byte(a), []byte(b))
			if now := float64(2*(head+tail)) / float64(max(1, len(a)+len(b))); now > best {
				best, at = now, j
			}
		}
		if at >= 0 {
			from = at + 1
		} else if op(i-1) == '-' && op(i-2) != '-' && op(i+1) != '+' && !isBlank(lines[i-1].text) {
			at = i - 1
		}
		if at >= 0 {
			out[i] = &lines[at]
		}
	}
	return out
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

// pair is a part of an old line, as it is in the edit and in the file.
type pair struct{ edit, file string }

func (p pair) differ() bool { return p.edit != p.file }

// counterparts returns the distinct texts of the file for a text of the edit.
func counterparts(old []pair, edit string) (out []string) {
	for _, p := range old {
		if p.edit == edit && !slices.Contains(out, p.file) {
			out = append(out, p.file)
		}
	}
	return out
}

// writer writes the new lines of an edit in the file's style.
type writer struct {
	lines, pairs, tails []pair // the old lines, their indentation, and their final white space
	signs               []pair // words and signs of the old lines
	unit                string // one step of the file's indentation, "" if unknown
	step                int    // smallest step between lines of the edit, in bytes
	forTabs, forSpaces  bool   // the edit has spaces for tabs, or tabs for spaces
	gaps, hidden        bool   // white space within lines differs; characters of one side alone
}

// newWriter returns a writer that has learned from the old lines of an edit of doc.
func newWriter(doc []string, lines []editLine) *writer {
	w := &writer{unit: unitOf(doc)}
	before := -1 // depth of the edit's previous line
	for _, l := range lines {
		if depth := len(indentOf(l.text)); !isBlank(l.text) {
			if d := max(depth, before) - min(depth, before); before >= 0 && d > 0 && (w.step == 0 || d < w.step) {
				w.step = d
			}
			before = depth
		}
		if l.op != '+' {
			w.learn(l.text, strings.TrimPrefix(l.file, byteOrderMark))
		}
	}
	return w
}

// learn records a line of the edit and the file's line for it.
func (w *writer) learn(is, was string) {
	w.lines = append(w.lines, pair{is, was})
	if isBlank(is) {
		w.tails = append(w.tails, pair{is, was})
		return
	}
	w.pairs = append(w.pairs, pair{indentOf(is), indentOf(was)})
	w.note(indentOf(is), indentOf(was))
	a, b := tokens(is), tokens(was)
	if !alike(a, b) {
		w.hidden = true
		return
	}
	last := len(a) - 1
	w.tails = append(w.tails, pair{a[last], b[last]})
	for i := range a[:last] {
		if isBlank(a[i]) {
			w.gaps = w.gaps || a[i] != b[i]
			w.note(a[i], b[i])
		} else {
			w.signs = append(w.signs, pair{a[i], b[i]})
		}
	}
}

// note records tabs and spaces that the edit and the file use for each other.
func (w *writer) note(is, was string) {
	w.forTabs = w.forTabs || !strings.Contains(is, "\t") && is != "" && strings.Contains(was, "\t")
	w.forSpaces = w.forSpaces || strings.Contains(is, "\t") && len(was) > 1 && !strings.Contains(was, "\t")
}

// token matches a word, white space, or a sign.
var token = pattern.Lazy(`&#?\w+;|[\pL\pN_]+|[\s\pZ]+|.`)

// tokens cuts a line without its indentation. The last token is the white space at its end, perhaps "".
func tokens(s string) []string {
	out := token().FindAllString(strings.TrimLeft(s, " \t"), -1)
	if len(out) == 0 || !isBlank(out[len(out)-1]) {
		out = append(out, "")
	}
	return out
}

// alike reports whether the tokens of two lines differ in white space and in the form of signs alone.
func alike(a, b []string) bool {
	same := func(a, b string) bool { return isBlank(a) && isBlank(b) || plainForm(a) == plainForm(b) }
	return slices.EqualFunc(a, b, same)
}

// plainForm returns a word or sign without entities, typographic quotes and dashes.
func plainForm(s string) string { return strings.Map(plainSign, html.UnescapeString(s)) }

// bodyOf returns a line without the white space around it.
func bodyOf(s string) string { return strings.Trim(s, " \t") }

// write returns a new line in the file's style. like is the old line that it derives from, or nil.
// It returns false if its style is not certain.
func (w *writer) write(s string, like *editLine) (string, bool) {
	if !slices.ContainsFunc(w.lines, pair.differ) {
		return s, true
	}
	if isBlank(s) {
		return tail(s, w.tails)
	}
	switch moved := counterparts(w.lines, s); {
	case len(moved) > 1 || w.hidden && len(moved) == 0:
		return "", false
	case len(moved) == 1 && like == nil:
		return moved[0], true
	}
	in, ok := w.indent(indentOf(s), like)
	body, certain := w.body(tokens(s), like)
	return in + body, ok && certain
}

// body returns the text of a new line behind its indentation. The parts that it has in common with
// its old line are as in the file; the others must be certain as they are.
func (w *writer) body(is []string, like *editLine) (string, bool) {
	n := len(is) - 1
	last, ok := tail(is[n], w.tails)
	var head, end []string
	if like != nil {
		old, file := tokens(like.text), tokens(like.file)
		if m := len(old) - 1; old[m] == is[n] { // a tab may end another column than the new text
			last, ok = file[m], strings.Contains(old[m], "\t") || !strings.Contains(file[m], "\t")
		}
		from, to := commonEnds(old[:len(old)-1], is[:n])
		head, end, is, n = file[:from], file[len(file)-1-to:len(file)-1], is[from:], n-from-to
	}
	return strings.Join(slices.Concat(head, is[:n], end), "") + last, ok && !slices.ContainsFunc(is[:n], w.doubts)
}

// doubts reports whether a token may have to be another one in the file.
func (w *writer) doubts(s string) bool {
	if isBlank(s) {
		return w.gaps || w.forTabs && len(s) > 1
	}
	form := func(s string) bool { return s != plainForm(s) }
	return slices.ContainsFunc(w.signs, func(p pair) bool {
		return p.differ() && s != p.file && (plainForm(s) == plainForm(p.file) || form(s) && form(p.edit))
	})
}

// tail returns the file's counterpart of white space at the end of a line, if the old lines
// have one, or if it is none and the file has none either.
func tail(is string, old []pair) (string, bool) {
	if was := counterparts(old, is); len(was) == 1 {
		return was[0], is != "" || was[0] == ""
	}
	return is, !slices.ContainsFunc(old, func(p pair) bool { return p.differ() && is+p.file != "" })
}

// inexact reports whether the style of the old lines differs without intent: in tabs and spaces, within
// lines, at their ends, or in the form of signs.
func (w *writer) inexact() bool {
	return w.forTabs || w.forSpaces || w.gaps || slices.ContainsFunc(slices.Concat(w.tails, w.signs), pair.differ)
}

// indent returns the file's indentation for an indentation of the edit: that of the old line, or that
// of another old line with the same, or the only one by all rules that fit the old lines.
func (w *writer) indent(in string, like *editLine) (string, bool) {
	if like != nil && in == indentOf(like.text) {
		return indentOf(like.file), true
	}
	if len(w.pairs) == 0 { // the old lines are blank
		return in, true
	}
	for _, p := range w.pairs {
		for _, q := range w.pairs {
			some := w.forTabs && p.edit != "" && q.edit != "" && p.differ() != q.differ() // of a mixed file
			less := strings.HasPrefix(q.edit, p.edit) && len(q.file) < len(p.file)        // where the edit is deeper
			if some || less || (p.edit == q.edit) != (p.file == q.file) {
				return "", false
			}
		}
	}
	if was := counterparts(w.pairs, in); len(was) > 0 {
		return was[0], true
	}
	var found []string
	for _, rule := range [...]func(in string) (string, bool){w.shifted, w.scaled} {
		fits := func(p pair) bool { out, ok := rule(p.edit); return ok && out == p.file }
		if out, ok := rule(in); ok && !slices.ContainsFunc(w.pairs, func(p pair) bool { return !fits(p) }) {
			found = append(found, out)
		}
	}
	if len(found) == 0 || found[len(found)-1] != found[0] || w.misses(in) {
		return "", false
	}
	return found[0], true
}

// misses reports whether a rule may be wrong for an indentation of the edit: it is less deep than all old
// lines of an edit with other depths, off by a part of a step, or deeper than old lines that all lost
// theirs, or no old line tells whether it is to be tabs or spaces.
func (w *writer) misses(in string) bool {
	if !slices.ContainsFunc(w.pairs, pair.differ) {
		return (w.forTabs || w.forSpaces) && (len(in) > 1 || in == "\t")
	}
	less, part, bare := true, len(w.unit) > 1, true
	for _, p := range w.pairs {
		less = less && len(in) < len(p.edit) && len(p.edit) < len(p.file)
		part = part && (len(in)-len(p.edit))%len(w.unit) != 0 && !w.forTabs && !w.forSpaces
		bare = bare && p.edit == "" && strings.HasPrefix(in, p.file)
	}
	return less || part || bare
}

// shifted adds the indentation that the file has more than the edit, or removes that of the edit.
func (w *writer) shifted(in string) (string, bool) {
	p := w.pairs[0]
	if more, ok := strings.CutSuffix(p.file, p.edit); ok {
		return more + in, true
	}
	less, ok := strings.CutSuffix(p.edit, p.file)
	return strings.TrimPrefix(in, less), ok && strings.HasPrefix(in, less)
}

// scaled counts an indentation in steps of the edit and writes the same number of the
// file's steps, plus the constant difference in depth.
func (w *writer) scaled(in string) (string, bool) {
	from, to := strings.Repeat(" ", w.step), w.unit
	for _, p := range append(slices.Clone(w.pairs), pair{edit: in}) {
		if strings.Contains(p.edit, "\t") {
			from = "\t"
		}
		if strings.Contains(p.file, "\t") {
			to = "\t"
		}
	}
	if len(from) == 1 && from != "\t" || from == "" || to == "" {
		return "", false
	}
	p := w.pairs[0]
	depth := strings.Count(in, from) + strings.Count(p.file, to) - strings.Count(p.edit, from)
	if depth < 0 || strings.Trim(in, from) != "" || len(in)%len(from) != 0 {
		return "", false
	}
	return strings.Repeat(to, depth), true
}

// unitOf returns the most frequent indentation step of a document, "" if there is none.
func unitOf(doc []string) string {
	steps, last, best := map[string]int{}, "", ""
	for _, l := range doc {
		if isBlank(l) {
			continue
		}
		in := indentOf(l)
		if step, deeper := strings.CutPrefix(in, last); deeper && step != "" {
			steps[step]++
		}
		last = in
	}
	for _, step := range slices.Sorted(maps.Keys(steps)) {
		if steps[step] > steps[best] {
			best = step
		}
	}
	return best
}
