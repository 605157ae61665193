package style

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// place is where a new line belongs: the old line that it is made of or -1, the old
// lines before it, and whether it is the first of all lines.
type place struct {
	partner, near int
	first         bool
}

// writer writes new lines of an edit as the file writes its lines.
type writer struct {
	doc       []string
	old, file []string
	outer     styles
	inner     map[string]*styles  // by the leader of a comment
	gaps      map[string][]string // white space in the edit, and what the file has there
	tails     map[string][]string
	signs     map[string][]string // punctuation likewise
	spell     *speller
}

func newWriter(doc, old, file []string) *writer {
	w := &writer{doc: doc, old: old, file: file, inner: map[string]*styles{}, gaps: map[string][]string{}, tails: map[string][]string{}, signs: map[string][]string{}}
	w.outer.unit = unitOf(doc)
	for i, s := range old {
		o, f := cellsOf(s), cellsOf(strings.TrimPrefix(file[i], compare.BOM))
		blank := strings.TrimSpace(s) == ""
		w.outer.pairs = append(w.outer.pairs, pair{o.indent, f.indent, !blank})
		if blank {
			learn(w.tails, s, file[i])
			continue
		}
		learn(w.tails, o.tail, f.tail)
		if o.leader != "" && o.leader == f.leader {
			w.behind(o.leader).pairs = append(w.behind(o.leader).pairs, pair{o.inner, f.inner, true})
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
			} else if isSign(a[j]) {
				learn(w.signs, a[j], b[j])
			}
		}
	}
	w.spell = newSpeller(doc, old, file)
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
	n := cellsOf(s)
	if strings.TrimSpace(s) == "" {
		return w.tail(s), true
	}
	var o, f cells
	paired := at.partner >= 0
	if paired {
		o, f = cellsOf(w.old[at.partner]), cellsOf(strings.TrimPrefix(w.file[at.partner], compare.BOM))
		paired = o.leader == f.leader
	}
	var ok bool
	out := n
	if paired && n.indent == o.indent {
		out.indent = f.indent
	} else if out.indent, ok = w.outer.translate(n.indent, at, w.tabs()); !ok {
		return "", false
	}
	if paired && n.tail == o.tail {
		out.tail = f.tail
	} else {
		out.tail = w.tail(n.tail)
	}
	switch {
	case n.leader == "" || paired && n.leader != o.leader:
		paired = paired && o.leader == n.leader
	case paired && n.inner == o.inner:
		out.inner = f.inner
	default:
		if out.inner, ok = w.behind(n.leader).translate(n.inner, place{}, w.tabs()); !ok {
			return "", false
		}
	}
	if out.body, ok = w.body(n.body, o.body, f.body, paired); !ok {
		return "", false
	}
	return out.indent + out.leader + out.inner + out.body + out.tail, true
}

// tabs reports whether the edit has spaces where the file has tabs.
func (w *writer) tabs() bool {
	sent := func(is string, was []string) bool {
		return !strings.Contains(is, "\t") && slices.ContainsFunc(was, func(s string) bool { return strings.Contains(s, "\t") })
	}
	for is, was := range w.gaps {
		if sent(is, was) {
			return true
		}
	}
	for _, s := range w.inner {
		for _, p := range s.pairs {
			if sent(p.edit, []string{p.file}) {
				return true
			}
		}
	}
	return slices.ContainsFunc(w.outer.pairs, func(p pair) bool { return sent(p.edit, []string{p.file}) })
}

// tail returns what the file has instead of white space at the end of a line.
func (w *writer) tail(is string) string {
	was := w.tails[is]
	switch {
	case len(was) == 1 && (is != "" || len(w.old) > 1):
		return was[0]
	case len(was) == 0 && is != "":
		for edit, file := range w.tails {
			if edit != "" && len(file) == 1 && file[0] == "" {
				return "" // the edit puts it behind all lines
			}
		}
	}
	return is
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
	var gone, add []int // of a change: indexes into the old tokens and the new
	i, j := 0, 0
	flush := func(next int) bool {
		s, ok := w.changed(change{a, b, fresh, gone, add, i - len(gone) - 1, next})
		out.WriteString(s)
		gone, add = nil, nil
		return ok
	}
	for _, r := range compare.Lines(a, fresh) {
		switch r.Op {
		case '-':
			for k := r.From; k < r.To; k++ {
				gone, i = append(gone, k), i+1
			}
		case '+':
			for k := r.From; k < r.To; k++ {
				add, j = append(add, k), j+1
			}
		default:
			if !flush(i) {
				return "", false
			}
			out.WriteString(strings.Join(b[r.From:r.To], ""))
			i, j = i+r.To-r.From, j+r.To-r.From
		}
	}
	ok := flush(len(a))
	return out.String(), ok
}

// change is a change within a line.
type change struct {
	old, file, fresh []string
	gone, add        []int
	before, next     int // the old tokens around it
}

// differs reports whether an old token is white space other than the file's.
func (c change) differs(k int) bool {
	return k >= 0 && k < len(c.old) && isSpace(c.old[k]) && c.old[k] != c.file[k]
}

// spaces returns which of the tokens at some indexes are white space.
func spaces(all []string, at []int) (out []int) {
	for _, k := range at {
		if isSpace(all[k]) {
			out = append(out, k)
		}
	}
	return out
}

// changed returns the new tokens of a change as the file would have them.
func (w *writer) changed(c change) (string, bool) {
	was, is := spaces(c.old, c.gone), spaces(c.fresh, c.add)
	if slices.EqualFunc(was, is, func(a, b int) bool { return c.old[a] == c.fresh[b] }) {
		return w.between(c, was)
	}
	fresh := make([]string, 0, len(c.add))
	lost := slices.ContainsFunc(was, c.differs)
	for _, k := range c.add {
		s := c.fresh[k]
		fresh = append(fresh, s)
		beside := (c.differs(c.before) && c.old[c.before] == s) || (c.differs(c.next) && c.old[c.next] == s)
		if isSpace(s) && (beside || lost) && (len(s) < 2 || len(w.gaps[s]) != 1) {
			return "", false // which of both is the old one?
		}
	}
	return w.added(fresh)
}

// between returns the new tokens of a change with the file's white space between them:
// that at the indexes was.
func (w *writer) between(c change, was []int) (string, bool) {
	var out strings.Builder
	for _, k := range c.add {
		if isSpace(c.fresh[k]) {
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
	return w.spell.plain(out.String()), true
}

// gap returns what the file has instead of white space within a new line.
func (w *writer) gap(is string) (string, bool) {
	was := w.gaps[is]
	odd := slices.ContainsFunc(was, func(s string) bool { return strings.Trim(s, " ") != "" })
	switch {
	case len(was) == 0 && len(is) > 1 && !strings.Contains(is, "\t") && w.tabs() && innerTabs(w.doc):
		return "", false
	case len(was) == 0, slices.Equal(was, []string{is}):
		return is, true
	case len(was) == 1 && len(is) > 1:
		return was[0], true
	case odd:
		return "", false
	}
	return is, true
}
