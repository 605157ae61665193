package patch

import (
	"html"
	"slices"
	"strings"
)

// spelled returns h with its new lines spelled as the file is, when its old lines fit
// only after typographic quotes, dashes and HTML entities were made plain. A model
// that copied plain quotes as typographic ones writes the new lines like that, too.
func (p *applier) spelled(h hunk, m match) hunk {
	region := strings.Join(p.texts(m.at, m.at+len(h.old())), "\n")
	old := strings.Join(h.old(), "\n")
	foreign := func(r rune) bool {
		return plainPunctuation(r) != r && !strings.ContainsRune(region, r)
	}
	fancy := strings.ContainsFunc(old, foreign)
	entities := html.UnescapeString(old) != old && html.UnescapeString(region) == region
	whole := ""
	if fancy {
		whole = strings.Join(p.texts(0, len(p.doc.lines)), "\n")
	}
	h.lines = slices.Clone(h.lines)
	for i, l := range h.lines {
		if l.op != '+' {
			continue
		}
		text := l.text
		if entities {
			text = html.UnescapeString(text)
		}
		if fancy {
			text = strings.Map(func(r rune) rune {
				if foreign(r) && (strings.ContainsRune(old, r) || !strings.ContainsRune(whole, r)) {
					return plainPunctuation(r)
				}
				return r
			}, text)
		}
		h.lines[i].text = text
	}
	return h
}

// texts returns lines [from, to) of the file.
func (p *applier) texts(from, to int) []string {
	var out []string
	for _, l := range p.doc.lines[from:min(to, len(p.doc.lines))] {
		out = append(out, l.text)
	}
	return out
}
