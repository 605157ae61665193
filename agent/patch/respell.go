package patch

import (
	"html"
	"slices"
	"strings"
)

// respelled returns the lines of a sketch that replace those of old as the file writes.
// tolerant says that the sketch's anchors fit only if white space does not count. Where
// they fit exactly, and nothing else says that the sketch has other white space than the
// file, its white space is meant.
func respelled(doc, lines, old []string, tolerant bool) ([]string, error) {
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

// certain reports whether a line of the sketch can be meant as nothing but text.
func (r *respeller) certain(w *writer, j int, text string) bool {
	s := r.lines[j]
	in := indentOf(s)
	if r.is[j] >= 0 {
		in, _ = w.translate(in, j == 0, w.other())
		return strings.TrimSpace(s) == "" || in == indentOf(text) // or is it deeper now?
	}
	return !slices.ContainsFunc(r.old, func(t string) bool { // a line of the file that was moved
		return collapse(t) == collapse(s) && t != text
	})
}

// respeller compares a part of a sketch with the lines that it replaces.
type respeller struct {
	doc        []string
	lines, old []string
	is         []int // for each line of the sketch that of the file but for white space, or -1
}

// match finds the lines that are the file's.
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

// differs reports whether the lines of the sketch that the file has, too, differ in white
// space in a way that nobody means: spaces for tabs, no alignment anywhere, white space
// at the end of each line or of none; or whether they are deeper by other than whole steps.
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

// flat reports whether the sketch has lost all indentation where the file has several.
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

// lost reports whether a line of the sketch lacks indentation that the file has.
func (r *respeller) lost() bool {
	for j, i := range r.is {
		if i >= 0 && indentOf(r.lines[j]) == "" && indentOf(r.old[i]) != "" {
			return true
		}
	}
	return false
}

// otherSigns reports whether the sketch has quotes or entities that the file has nowhere:
// perhaps for plain ones.
func (r *respeller) otherSigns() bool {
	whole := strings.Join(r.doc, "\n")
	quote := func(c rune) bool { return strings.ContainsRune("'\"", plainSign(c)) && c > 127 }
	return html.UnescapeString(whole) == whole && slices.ContainsFunc(r.lines, func(s string) bool { return html.UnescapeString(s) != s }) ||
		!strings.ContainsFunc(whole, quote) && slices.ContainsFunc(r.lines, func(s string) bool { return strings.ContainsFunc(s, quote) })
}

// wide returns the white space within a line and at its end that is more than a space.
func wide(s string) []string {
	return slices.DeleteFunc(spacesIn(strings.TrimLeft(s, " \t")), func(gap string) bool { return gap == " " })
}
