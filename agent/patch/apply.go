package patch

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// applyMatch applies a hunk at its match.
func (p *applier) applyMatch(m match) error {
	n := len(m.hunk.old())
	h, who := m.hunk, p.name(m.hunk)
	if m.level >= spacing {
		p.note("%s was matched at lines %d-%d although its white space or punctuation differs", who, m.at+1, m.at+n)
	}
	if want := p.expected(h); want >= 0 && want != m.at {
		p.note("%s was found at line %d, not at line %d as it says", who, m.at+1, want+1)
	}
	if h.fewer {
		p.note("%s was matched at line %d although not all lines around the change are as it has them", who, m.at+1)
	}
	if m.level > exactly {
		var err error
		if h, err = p.adoptIndent(m); err != nil {
			return err
		}
	}
	p.put(h, m.at, m.at+n, m.level == exactly)
	return nil
}

func (p *applier) note(format string, args ...any) {
	p.notes = append(p.notes, sentence(fmt.Sprintf(format, args...)))
}

// fault returns the error of a hunk. The format goes on behind its name.
func (p *applier) fault(h hunk, format string, args ...any) error {
	return fmt.Errorf("apply edit: %s %s", p.name(h), fmt.Sprintf(format, args...))
}

// name returns the name of a hunk for a message.
func (p *applier) name(h hunk) string {
	kind := "hunk"
	if h.block {
		kind = "block"
	}
	if p.total <= 1 {
		return "the " + kind
	}
	return fmt.Sprintf("%s %d of %d", kind, p.index, p.total)
}

// put replaces lines [from, to) of the file with the result of the hunk. Context
// lines keep the file's text. If exact is set (the text matched byte for byte) and
// the hunk's old lines end as the file's do, new lines get the hunk's line endings.
func (p *applier) put(h hunk, from, to int, exact bool) {
	d := p.doc
	region := d.lines[from:to]
	literal := exact && h.sameEndings(region)
	eol := d.eol
	if slices.ContainsFunc(region, func(l line) bool { return l.eol != "" }) {
		eol = commonEOL(region)
	}
	marked := false
	add := make([]line, 0, len(h.lines))
	k, last, lastOld := 0, 0, 0 // old lines so far; ends of the last change
	for _, l := range h.lines {
		marked = marked || l.eol == ""
		if l.op != '+' {
			if k < len(region) && l.op == ' ' {
				add = append(add, region[k])
			}
			k++
			if l.op == '-' {
				last, lastOld = len(add), k
			}
			continue
		}
		n := line{text: l.text, eol: eol}
		if literal || l.eol == "" {
			n.eol = l.eol
		}
		add = append(add, n)
		last, lastOld = len(add), k
	}
	if len(region) == 0 && len(d.lines) == 0 {
		marked = true
	}
	d.splice(from, to, add, marked)
	p.moves = append(p.moves, move{from + max(lastOld, to-from-(len(h.old())-lastOld)), len(add) - (to - from)})
	p.after = from + last
}

// sameEndings reports whether the hunk's old lines end as the file's do. A newline that only one of
// them lacks says nothing.
func (h hunk) sameEndings(region []line) bool {
	k, same := 0, len(region) == 0
	for _, l := range h.lines {
		if l.op == '+' {
			continue
		}
		if k >= len(region) || l.eol != "" && region[k].eol != "" && l.eol != region[k].eol {
			return false
		}
		same = same || l.eol == region[k].eol
		k++
	}
	return same
}

// mismatch returns the error for a hunk that is not in the file. It shows the most
// similar text.
func (p *applier) mismatch(h hunk) error {
	old := h.old()
	if done := p.doc.find(h.fresh(), trailing); len(done) > 0 && telling(h.only("+"), 3) {
		return fmt.Errorf(
			"apply edit: the text that %s is to change is not in the file, but the text that it makes of it is, at line %d: "+
				"it seems to be done already", p.name(h), done[0]+1)
	}
	var b strings.Builder
	b.WriteString("does not fit: these lines are not in the file\n")
	for i, s := range old {
		if i == 8 {
			fmt.Fprintf(&b, "  … and %d more\n", len(old)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", s)
	}
	from, n, differ := p.doc.nearest(old)
	b.WriteString(differ)
	if n == 0 {
		b.WriteString("Nothing in the file is like them. Read the file again and copy the lines from it.")
	} else {
		b.WriteString("The most similar part of the file is\n" + p.doc.region(from, n))
	}
	return p.fault(h, "%s", b.String())
}

// region is [document.excerpt] with advice.
func (d *document) region(from, n int) string {
	return d.excerpt(from, n) + "Copy whole lines from the file as they are."
}

// excerpt shows n lines of the file, up to a limit, with the line before and after
// them.
func (d *document) excerpt(from, n int) string {
	var b strings.Builder
	from = max(0, from-1)
	for i := from; i < min(len(d.lines), from+min(n, 12)+2); i++ {
		fmt.Fprintf(&b, "%d | %s\n", i+1, cut(d.lines[i].text))
	}
	return b.String()
}

// ambiguous returns the error for an edit that matches in several places.
func (p *applier) ambiguous(h hunk, starts []int) error {
	hint := "Add lines before or after it so that only one place fits"
	if h.block {
		hint += ", or give the line with :start_line:"
	} else {
		hint += ", or correct the line number in its header"
	}
	return p.fault(h, "fits in %d places:\n%s%s", len(starts), p.doc.list(starts, len(h.old())), hint)
}

// list describes the regions of n lines that begin at starts, for a message.
func (d *document) list(starts []int, n int) string {
	var b strings.Builder
	for i, at := range starts {
		if i == 6 {
			fmt.Fprintf(&b, "  … and %d more\n", len(starts)-i)
			break
		}
		where := "at the beginning of the file"
		for k := at - 1; k >= 0; k-- {
			if t := strings.TrimSpace(d.lines[k].text); t != "" {
				where = fmt.Sprintf("after %q", cut(t))
				break
			}
		}
		lines := fmt.Sprintf("line %d", at+1)
		if n > 1 {
			lines = fmt.Sprintf("lines %d-%d", at+1, at+n)
		}
		fmt.Fprintf(&b, "  %s, %s\n", lines, where)
	}
	return b.String()
}

// sentence returns s with a capital letter and a full stop.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 || first == utf8.RuneError {
		return s + "."
	}
	return string(unicode.ToUpper(first)) + s[size:] + "."
}

func cut(s string) string {
	const maxShown = 160
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}
