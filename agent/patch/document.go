package patch

import (
	"strings"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// line is one line of a text. eol is "\n", "\r\n", or "" for a last line
// without one.
type line struct {
	text string
	eol  string
}

// splitText cuts a text into lines. A carriage return belongs to the line
// ending only before a line feed.
func splitText(s string) []line {
	out := make([]line, 0, strings.Count(s, "\n")+1)
	for s != "" {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			out = append(out, line{text: s})
			break
		}
		l := line{text: s[:i], eol: "\n"}
		if i > 0 && s[i-1] == '\r' {
			l = line{text: s[:i-1], eol: "\r\n"}
		}
		out = append(out, l)
		s = s[i+1:]
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

// document is a file while edits are applied to it.
type document struct {
	lines []line
	eol   string // of most lines
	keys  [compare.Levels][]uint64
}

func newDocument(s string) *document {
	d := &document{lines: splitText(s)}
	d.eol = mostEOL(d.lines)
	return d
}

func mostEOL(lines []line) string {
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
	b.Grow(n)
	for _, l := range d.lines {
		b.WriteString(l.text)
		b.WriteString(l.eol)
	}
	return b.String()
}

// splice replaces lines [from, to). The byte order mark and the line ending at the
// end of the text stay as they were, unless exact says that the new lines have
// them as they are to be.
func (d *document) splice(from, to int, add []line, exact bool) {
	last := len(d.lines) > 0 && d.lines[len(d.lines)-1].eol == ""
	if !exact && from == 0 && to > 0 && strings.HasPrefix(d.lines[0].text, compare.BOM) {
		switch {
		case len(add) > 0 && !strings.HasPrefix(add[0].text, compare.BOM):
			add[0].text = compare.BOM + add[0].text
		case len(add) == 0 && to < len(d.lines):
			add = []line{d.lines[to]}
			add[0].text = compare.BOM + add[0].text
			to++
		}
	}
	end := to == len(d.lines)
	for l := range d.keys {
		if d.keys[l] != nil {
			d.keys[l] = replaceSlice(d.keys[l], from, to, keysOf(add, l))
		}
	}
	d.lines = replaceSlice(d.lines, from, to, add)
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

func replaceSlice[T any](s []T, from, to int, add []T) []T {
	if len(add) == to-from {
		copy(s[from:to], add)
		return s
	}
	out := make([]T, 0, len(s)-(to-from)+len(add))
	out = append(out, s[:from]...)
	out = append(out, add...)
	return append(out, s[to:]...)
}
