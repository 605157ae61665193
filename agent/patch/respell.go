package patch

import (
	"html"
	"slices"
	"strings"
)

// respell returns the sketch lines that replace old, in the file's white space.
// tolerant means that the sketch's anchors match only with white space ignored. If
// they match exactly and nothing else suggests that the sketch's white space differs,
// it is kept.
func respell(doc, lines, old []string, tolerant bool) ([]string, error) {
	r := respeller{doc: doc, lines: lines, old: old, is: make([]int, len(lines))}
	r.match()
	if r.otherSigns() || r.flat() {
		return nil, unclear(lines[0])
	}
	inexact, moved := r.differs()
	if !tolerant && !inexact && !moved {
		return r.lines, nil
	}
	edit := make([]editLine, len(lines))
	for j, s := range r.lines {
		if edit[j] = (editLine{op: '+', text: s}); r.is[j] >= 0 {
			edit[j] = editLine{op: ' ', text: s, file: old[r.is[j]]}
		}
	}
	out, err := adopt(doc, edit)
	if err != nil {
		return nil, err
	}
	w := newWriter(doc, edit)
	for j, l := range edit {
		if l.op == ' ' {
			out[j] = l.file
		}
		if !r.certain(w, j, out[j]) {
			return nil, unclear(l.text)
		}
	}
	return out, nil
}

// certain reports whether a line of the sketch has only one reading.
func (r *respeller) certain(w *writer, j int, text string) bool {
	s := r.lines[j]
	in := indentOf(s)
	if r.is[j] >= 0 {
		in, _ = w.translate(in, j == 0, w.other())
		return strings.TrimSpace(s) == "" || in == indentOf(text) // false: it may have been indented deeper
	}
	return !slices.ContainsFunc(r.old, func(t string) bool { // false if a line of the file was moved
		return collapse(t) == collapse(s) && t != text
	})
}

// respeller compares a part of a sketch with the lines to replace.
type respeller struct {
	doc        []string
	lines, old []string
	is         []int // per sketch line: index of the equal file line, white space ignored, or -1
}

// match pairs sketch lines with file lines.
func (r *respeller) match() {
	flat := func(lines []string) (out []string) {
		for _, s := range lines {
			out = append(out, collapse(s))
		}
		return out
	}
	old, lines := flat(r.old), flat(r.lines)
	j := 0
	for _, run := range compareLines(old, lines) {
		for i := run.from; i < run.to && run.op != '-'; i++ {
			if r.is[j] = i; run.op == '+' {
				r.is[j] = -1
			}
			j++
		}
	}
}

// differs compares the white space of the sketch lines that the file has too. inexact
// means unintended differences: spaces for tabs, no alignment anywhere, trailing
// white space on all lines or on none. unsteady means a depth that differs by other
// than whole steps.
func (r *respeller) differs() (inexact, unsteady bool) {
	all := strings.Join(r.lines, "\n")
	ends := func(s string) bool { return strings.TrimRight(s, " \t") != s }
	aligned := slices.ContainsFunc(r.lines, func(s string) bool { return len(wide(strings.TrimSpace(s))) > 0 })
	n := len(slices.DeleteFunc(slices.Clone(r.lines), func(s string) bool { return !ends(s) }))
	unit, by := unitOf(r.doc), 0
	for j, i := range r.is {
		if i < 0 || strings.TrimSpace(r.lines[j]) == "" {
			continue
		}
		s, f := r.lines[j], r.old[i]
		tabs := !strings.Contains(all, "\t") && strings.Contains(f, "\t") && strings.Contains(s, "  ")
		flat := !aligned && len(wide(strings.TrimSpace(f))) > 0
		inexact = inexact || tabs || flat || ends(s) != ends(f) && (n == 0 || n == len(r.lines))
		if d := len(indentOf(s)) - len(indentOf(f)); d != 0 {
			unsteady = unsteady || by != 0 && d != by || d%max(1, len(unit)) != 0
			by = d
		}
	}
	return inexact, unsteady
}

// flat reports whether the sketch lost all indentation and the file has several
// depths.
func (r *respeller) flat() bool {
	other := func(s string) bool {
		return strings.TrimSpace(s) != "" && indentOf(s) != indentOf(r.old[0])
	}
	return r.bare() && r.lost() && slices.Contains(r.is, -1) && slices.ContainsFunc(r.old, other)
}

// bare reports whether no line of the sketch has indentation.
func (r *respeller) bare() bool {
	return !slices.ContainsFunc(r.lines, func(s string) bool { return indentOf(s) != "" })
}

// lost reports whether a line of the sketch lacks the file's indentation.
func (r *respeller) lost() bool {
	for j, i := range r.is {
		if i >= 0 && indentOf(r.lines[j]) == "" && indentOf(r.old[i]) != "" {
			return true
		}
	}
	return false
}

// otherSigns reports whether the sketch has typographic quotes or entities that the
// file has nowhere. They may be meant as plain characters.
func (r *respeller) otherSigns() bool {
	whole := strings.Join(r.doc, "\n")
	quote := func(c rune) bool { return strings.ContainsRune("'\"", plainSign(c)) && c > 127 }
	return html.UnescapeString(whole) == whole &&
		slices.ContainsFunc(r.lines, func(s string) bool { return html.UnescapeString(s) != s }) ||
		!strings.ContainsFunc(whole, quote) && slices.ContainsFunc(r.lines,
			func(s string) bool { return strings.ContainsFunc(s, quote) })
}

// wide returns the gaps within a line and at its end that are not a single space.
func wide(s string) []string {
	return slices.DeleteFunc(spacesIn(strings.TrimLeft(s, " \t")), func(gap string) bool { return gap == " " })
}
