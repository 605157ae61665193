package style

import (
	"html"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// place is where a new line belongs: the old line that it is made of or -1, the old
// lines before it, and whether it is the first of all lines.
type place struct {
	partner, near int
	first         bool
	gone          int  // old lines right before it that are deleted
	instead       bool // it is not like its partner, but the only line in its place
}

// writer writes new lines of an edit as the file writes its lines.
type writer struct {
	doc       []string
	old, file []string
	outer     styles
	last      string              // the new text's line before, as it was sent
	inner     map[string]*styles  // by the leader of a comment
	gaps      map[string][]string // white space in the edit, and what the file has there
	tails     map[string][]string // at the end of a line
	blanks    map[string][]string // in an empty one
	signs     map[string][]string // punctuation likewise
	forTabs   bool                // spaces were sent for tabs
	forSpaces bool
}

// newWriter returns the writer that knows the lines of an edit of doc.
func newWriter(doc []string, lines []Line) *writer {
	w := &writer{doc: doc, inner: map[string]*styles{}, gaps: map[string][]string{}, tails: map[string][]string{}, blanks: map[string][]string{}, signs: map[string][]string{}}
	for _, l := range lines {
		if w.sees(l.Text); l.Op != '+' {
			w.old, w.file = append(w.old, l.Text), append(w.file, strings.TrimPrefix(l.File, compare.BOM))
		}
	}
	w.outer.unit = unitOf(doc)
	for i, s := range w.old {
		o, f := cellsOf(s), cellsOf(w.file[i])
		blank := strings.TrimSpace(s) == ""
		w.outer.pairs = append(w.outer.pairs, pair{o.indent, f.indent, !blank})
		w.note(o.indent, f.indent)
		if blank {
			learn(w.blanks, s, w.file[i])
			continue
		}
		learn(w.tails, o.tail, f.tail)
		if o.leader != "" && o.leader == f.leader {
			w.behind(o.leader).pairs = append(w.behind(o.leader).pairs, pair{o.inner, f.inner, true})
			w.note(o.inner, f.inner)
		} else {
			o.body, f.body = o.leader+o.inner+o.body, f.leader+f.inner+f.body
		}
		a, b := tokens(o.body), tokens(f.body)
		if !sameTokens(a, b) {
			continue
		}
		for j := range a {
			if isSpace(a[j]) {
				learn(w.gaps, a[j], b[j])
				w.note(a[j], b[j])
			} else if isSign(a[j]) {
				learn(w.signs, a[j], b[j])
			}
		}
	}
	return w
}

func learn(m map[string][]string, is, was string) {
	if !slices.Contains(m[is], was) {
		m[is] = append(m[is], was)
	}
}

func (w *writer) behind(leader string) *styles {
	if w.inner[leader] == nil {
		w.inner[leader] = &styles{unit: "\t"}
	}
	return w.inner[leader]
}

// sees takes note of a line of the edit, old or new, to know its steps of indentation.
func (w *writer) sees(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	c := cellsOf(s)
	w.outer.sees(c.indent)
	if c.leader != "" {
		w.behind(c.leader).sees(c.inner)
	}
}

// write returns a new line as the file would have it.
func (w *writer) write(s string, at place) (string, bool) {
	if slices.Equal(w.old, w.file) {
		return s, true
	}
	if strings.TrimSpace(s) == "" {
		return tailOf(w.blanks, s, 2)
	}
	if moved, ok := w.moved(s, compare.Exactly); ok && at.partner < 0 {
		return moved, true
	}
	if moved, ok := w.moved(s, compare.Spacing); ok && at.first && compare.Indent(s) == "" {
		return moved, true
	}
	r := rewrite{writer: w, at: at, n: cellsOf(s)}
	if at.partner >= 0 {
		r.o, r.f = cellsOf(w.old[at.partner]), cellsOf(w.file[at.partner])
		r.like = r.o.leader == r.f.leader && !at.instead
	}
	out := r.n
	for _, part := range []struct {
		into *string
		from func() (string, bool)
	}{{&out.indent, r.indent}, {&out.tail, r.tail}, {&out.inner, r.inner}, {&out.body, r.body}} {
		var ok bool
		if *part.into, ok = part.from(); !ok {
			return "", false
		}
	}
	return out.indent + out.leader + out.inner + out.body + out.tail, true
}

// rewrite is a new line, and the old line of the edit and of the file that it is made of
// or stands in the place of.
type rewrite struct {
	*writer
	at      place
	n, o, f cells
	like    bool // it is made of it
}

func (r rewrite) indent() (string, bool) {
	if r.at.partner >= 0 && r.n.indent == r.o.indent {
		return r.f.indent, true
	}
	return r.writer.indent(r.n.indent, r.at)
}

func (r rewrite) tail() (string, bool) {
	tab := strings.Contains(r.f.tail, "\t") && r.o.tail != r.f.tail
	switch {
	case tab && r.n.body != r.o.body && strings.HasPrefix(r.n.body, r.o.body):
		return "", false // is what is new behind the tab, or before it?
	case r.at.instead && r.o.tail != r.f.tail && (tab || len(r.f.tail) > 1):
		return "", false
	case r.at.partner >= 0 && r.n.tail == r.o.tail:
		return r.f.tail, true
	}
	out, ok := tailOf(r.tails, r.n.tail, len(r.outer.told()))
	return out, ok && (r.n.tail != "" || out == "" || len(r.tails[""]) == 0) // is there to be white space behind it?
}

// inner returns the white space behind the leader of a comment.
func (r rewrite) inner() (string, bool) {
	switch {
	case r.n.leader == "", r.like && r.n.leader != r.o.leader:
		return r.n.inner, true
	case r.like && r.n.inner == r.o.inner:
		return r.f.inner, true
	}
	out, ok := r.behind(r.n.leader).translate(r.n.inner, place{}, r.other())
	return out, ok && (out == r.n.inner || !r.at.instead || r.o.leader == r.n.leader)
}

func (r rewrite) body() (string, bool) {
	return r.writer.body(r.n.body, r.o.body, r.f.body, r.like && r.o.leader == r.n.leader)
}

// indent returns the file's indentation for one of the edit. Where all old lines were sent
// without theirs, either all of the edit is less deep, or only its first line is: the
// line before tells which.
func (w *writer) indent(in string, at place) (string, bool) {
	all := w.outer.told()
	bare := !slices.ContainsFunc(all, func(p pair) bool { return p.edit != "" || p.file != all[0].file })
	if !bare || len(all) == 0 || all[0].file == "" || !strings.HasPrefix(in, all[0].file) {
		return w.outer.translate(in, at, w.other())
	}
	own, before := all[0].file, strings.TrimSpace(w.last)
	sibling := before != "" && compare.Indent(w.last) == "" && !strings.ContainsAny(before[len(before)-1:], "{([:,+-*/=|&.\\<>?!")
	return own, sibling && in == own && len(all) == 1 // where several lines lack theirs, what opens a block may be a word
}

// moved returns what the file has for a new line that is an old one elsewhere.
func (w *writer) moved(s string, level int) (line string, ok bool) {
	for i, old := range w.old {
		if compare.Normal(old, level) != compare.Normal(s, level) {
			continue
		}
		if ok && w.file[i] != line {
			return "", false
		}
		line, ok = w.file[i], true
	}
	return line, ok && !w.outer.flat()
}

// other reports whether the edit has spaces where the file has tabs, or tabs where it
// has spaces.
func (w *writer) other() bool { return w.forTabs || w.forSpaces }

// note takes note of white space of the edit and of the file.
func (w *writer) note(is, was string) {
	w.forTabs = w.forTabs || !strings.Contains(is, "\t") && is != "" && strings.Contains(was, "\t")
	w.forSpaces = w.forSpaces || strings.Contains(is, "\t") && len(was) > 1 && !strings.Contains(was, "\t")
}

// tailOf returns what the file has instead of white space at the end of a line, where
// as many lines tell.
func tailOf(tails map[string][]string, is string, lines int) (string, bool) {
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
				is = strings.TrimSuffix(is, edit) // the edit puts it behind all lines
			}
		}
	}
	return is, true
}

// body returns what stands in a line between white space: of an old line and its
// new form where there are both, what changes is put into the file's.
func (w *writer) body(n, o, f string, paired bool) (string, bool) {
	fresh := tokens(n)
	if !paired {
		return w.added(fresh)
	}
	a, b := tokens(o), tokens(f)
	switch {
	case n == o:
		return f, true
	case !sameTokens(a, b):
		return "", false
	}
	var out strings.Builder
	c := change{old: a, file: b, fresh: fresh}
	flush := func() bool {
		s, ok := w.changed(c)
		out.WriteString(s)
		c.gone, c.add = nil, nil
		return ok
	}
	for _, r := range compare.Lines(a, fresh) {
		for k := r.From; k < r.To; k++ {
			switch r.Op {
			case '-':
				c.gone = append(c.gone, k)
			case '+':
				c.add = append(c.add, k)
			default:
				if !flush() {
					return "", false
				}
				out.WriteString(b[k])
			}
		}
	}
	ok := flush()
	return out.String(), ok
}

// change is a change within a line: indexes into the old tokens and the new.
type change struct {
	old, file, fresh []string
	gone, add        []int
}

// changed returns the new tokens of a change as the file would have them, with the file's
// white space where there is as much of it as before.
func (w *writer) changed(c change) (string, bool) {
	spaces := func(all []string, at []int) []int {
		return slices.DeleteFunc(slices.Clone(at), func(k int) bool { return !isSpace(all[k]) })
	}
	was := spaces(c.old, c.gone)
	same := slices.EqualFunc(was, spaces(c.fresh, c.add), func(a, b int) bool { return c.old[a] == c.fresh[b] })
	var out strings.Builder
	for _, k := range c.add {
		if same && isSpace(c.fresh[k]) {
			out.WriteString(c.file[was[0]])
			was = was[1:]
			continue
		}
		s, ok := w.added(c.fresh[k : k+1])
		if !ok {
			return "", false
		}
		out.WriteString(s)
	}
	return out.String(), true
}

// added returns tokens that no old line has as the file would have them.
func (w *writer) added(fresh []string) (string, bool) {
	var out strings.Builder
	for _, s := range fresh {
		switch {
		case isSpace(s):
			gap, ok := w.gap(s)
			if !ok {
				return "", false
			}
			out.WriteString(gap)
		case isSign(s) && len(w.signs[s]) > 0 && !slices.Contains(w.signs[s], s) && compare.PlainSign(rune(s[0])) == rune(s[0]) && len(s) == 1:
			return "", false // wherever the edit has this sign the file has another
		default:
			out.WriteString(s)
		}
	}
	return w.plain(out.String()), true
}

// gap returns what the file has instead of white space within a new line. Where old lines
// have other white space than the file, only one form that always stands for another one
// is certain.
func (w *writer) gap(is string) (string, bool) {
	var other []string
	for edit, file := range w.gaps {
		if len(file) > 1 || file[0] != edit {
			other = append(other, edit)
		}
	}
	switch was := w.gaps[is]; {
	case len(other) == 1 && other[0] == is && len(is) > 1 && len(was) == 1:
		return was[0], true
	case len(other) > 0:
		return "", false
	}
	return is, len(is) < 2 || strings.Contains(is, "\t") || !w.forTabs || !innerTabs(w.doc)
}

// plain writes typographic quotes, dashes and HTML entities of new text as the file has
// them, when the old lines of the edit fit only after those were made plain.
func (w *writer) plain(text string) string {
	old, region := strings.Join(w.old, "\n"), strings.Join(w.file, "\n")
	foreign := func(r rune) bool { return compare.PlainSign(r) != r && !strings.ContainsRune(region, r) }
	if html.UnescapeString(old) != old && html.UnescapeString(region) == region {
		text = html.UnescapeString(text)
	}
	if !strings.ContainsFunc(old, foreign) {
		return text
	}
	whole := strings.Join(w.doc, "\n")
	return strings.Map(func(r rune) rune {
		if foreign(r) && (strings.ContainsRune(old, r) || !strings.ContainsRune(whole, r)) {
			return compare.PlainSign(r)
		}
		return r
	}, text)
}
