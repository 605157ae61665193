package patch

import (
	"slices"
	"strings"
)

// line is one line of a text. eol is "\n", "\r\n", or "" for an unterminated last
// line.
type line struct {
	text string
	eol  string
}

// splitText cuts a text into lines. A carriage return is part of the line ending only
// before a line feed.
func splitText(s string) []line {
	out := make([]line, 0, strings.Count(s, "\n")+1)
	for l := range strings.Lines(s) {
		text := strings.TrimSuffix(l, "\n")
		if text != l {
			text = strings.TrimSuffix(text, "\r")
		}
		out = append(out, line{text, l[len(text):]})
	}
	return out
}

func texts(lines []line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.text
	}
	return out
}

// document is a file during the application of edits.
type document struct {
	bom   string // the byte order mark, or ""
	lines []line
	eol   string // the majority's line ending
	keys  [levels][]string
}

func newDocument(s string) *document {
	text := strings.TrimPrefix(s, byteOrderMark)
	d := &document{bom: s[:len(s)-len(text)], lines: splitText(text)}
	d.eol = commonEOL(d.lines)
	return d
}

func commonEOL(lines []line) string {
	crlf, lf := 0, 0
	for _, l := range lines {
		switch l.eol {
		case "\r\n":
			crlf++
		case "\n":
			lf++
		}
	}
	if crlf > lf {
		return "\r\n"
	}
	return "\n"
}

// String joins the lines.
func (d *document) String() string {
	n := 0
	for _, l := range d.lines {
		n += len(l.text) + len(l.eol)
	}
	var b strings.Builder
	b.Grow(n + len(d.bom))
	b.WriteString(d.bom)
	for _, l := range d.lines {
		b.WriteString(l.text)
		b.WriteString(l.eol)
	}
	return b.String()
}

// splice replaces lines [from, to). The line ending at the end of the text is kept,
// unless exact says that the new lines carry the intended one. A byte order mark
// before the first line becomes the document's.
func (d *document) splice(from, to int, add []line, exact bool) {
	last := len(d.lines) > 0 && d.lines[len(d.lines)-1].eol == ""
	if from == 0 && len(add) > 0 && strings.HasPrefix(add[0].text, byteOrderMark) {
		add[0].text, d.bom = strings.TrimPrefix(add[0].text, byteOrderMark), byteOrderMark
	}
	end := to == len(d.lines)
	d.keys = [levels][]string{}
	d.lines = slices.Replace(d.lines, from, to, add...)
	n := len(d.lines)
	for i := max(0, from-1); i < min(from+len(add), n-1); i++ {
		if d.lines[i].eol == "" {
			d.lines[i].eol = d.eol
		}
	}
	if end && last && !exact && n > 0 {
		d.lines[n-1].eol = ""
	}
}

// unmarked returns the hunk without byte order marks, since the document stores its
// own separately. A hunk removes the mark by having it on an old line and not on the
// new one.
func (p *applier) unmarked(h hunk) hunk {
	marked := func(l hunkLine) bool { return strings.HasPrefix(l.text, byteOrderMark) }
	if !slices.ContainsFunc(h.lines, marked) {
		return h
	}
	old := slices.IndexFunc(h.lines, func(l hunkLine) bool { return l.op != '+' })
	fresh := slices.IndexFunc(h.lines, func(l hunkLine) bool { return l.op != '-' })
	switch {
	case fresh >= 0 && marked(h.lines[fresh]):
		p.doc.bom = byteOrderMark
	case old >= 0 && marked(h.lines[old]) && (fresh >= 0 || len(h.lines) >= len(p.doc.lines)):
		p.doc.bom = ""
	}
	h.lines = slices.Clone(h.lines)
	for i := range h.lines {
		h.lines[i].text = strings.TrimPrefix(h.lines[i].text, byteOrderMark)
	}
	return h
}

func textOf(lines []line) string {
	d := document{lines: lines}
	return d.String()
}

// trimmedSet returns the set of the lines without their surrounding white space.
func trimmedSet(lines []line) map[string]bool {
	out := make(map[string]bool, len(lines))
	for _, l := range lines {
		out[strings.TrimSpace(l.text)] = true
	}
	return out
}

// trimEnds returns the range [from, to) of s without the items at both ends that
// drop accepts.
func trimEnds[T any](s []T, drop func(T) bool) (from, to int) {
	to = len(s)
	for from < to && drop(s[from]) {
		from++
	}
	for to > from && drop(s[to-1]) {
		to--
	}
	return from, to
}

// MatchForm returns content, the new text of a whole file, in the form of the text
// that it replaces: byte order mark, line endings, final newline. If a final newline
// is the only change, it is added.
func MatchForm(before, content string) string {
	if before == "" {
		return content
	}
	if strings.HasPrefix(before, byteOrderMark) && !strings.HasPrefix(content, byteOrderMark) {
		content = byteOrderMark + content
	}
	old := splitText(before)
	if uniform(old, "\r\n") && !strings.Contains(content, "\r\n") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
	} else if uniform(old, "\n") && uniform(splitText(content), "\r\n") {
		content = strings.ReplaceAll(content, "\r\n", "\n")
	}
	switch ends := strings.HasSuffix(before, "\n"); {
	case content == "" || !ends && strings.TrimRight(before, "\r\n") == strings.TrimRight(content, "\r\n"):
	case ends && !strings.HasSuffix(content, "\n"):
		content += commonEOL(old)
	case !ends && strings.HasSuffix(content, "\n"):
		content = strings.TrimSuffix(strings.TrimSuffix(content, "\n"), "\r")
	}
	return content
}

// uniform reports whether all lines end with eol, but for a last one without an end.
func uniform(lines []line, eol string) bool {
	n := 0
	for _, l := range lines {
		if l.eol != "" && l.eol != eol {
			return false
		}
		n += len(l.eol)
	}
	return n > 0
}
