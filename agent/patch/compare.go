package patch

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/gitops/lines"
)

// byteOrderMark is the optional mark at the start of a text.
const byteOrderMark = "\uFEFF"

// Levels of line comparison, from exact to tolerant.
const (
	exactly  = iota
	trailing // ignores trailing white space
	spacing  // also ignores the amount of white space
	spelling // also ignores typographic quotes, dashes and HTML entities
	levels   // number of levels
)

// normal returns the normal form of a line at a level. Lines are compared by it.
func normal(s string, level int) string {
	if level == exactly {
		return s
	}
	s = strings.TrimPrefix(s, byteOrderMark)
	switch level {
	case trailing:
		return strings.TrimRightFunc(s, unicode.IsSpace)
	case spacing:
		return collapse(s)
	}
	return collapse(plainForm(s))
}

// normals returns the normal forms of lines.
func normals(list []string, level int) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = normal(s, level)
	}
	return out
}

// collapse replaces each run of white space in s with one space.
func collapse(s string) string {
	s = strings.TrimSpace(s)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == ' ' && s[i+1] == ' ' {
			return strings.Join(strings.Fields(s), " ")
		}
	}
	return s // the common case
}

// indentOf returns the leading white space of a line.
func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// plainSign returns the plain form of a typographic quote or dash, -1 for an
// invisible character, and any other rune unchanged.
func plainSign(r rune) rune {
	switch r {
	case '\u2018', '\u2019', '\u201A', '\u201B', '\u2032':
		return '\''
	case '\u201C', '\u201D', '\u201E', '\u201F', '\u2033':
		return '"'
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2212':
		return '-'
	case '\u200B', '\u200C', '\u200D', '\uFEFF':
		return -1
	}
	return r
}

// UnifiedFile returns the diff between two versions of a file in git's format, or ""
// if they are equal. from and to are the file's names, "" if it does not exist.
func UnifiedFile(from, to, before, after string) string {
	if before == after && from == to {
		return ""
	}
	old, add := wholeLines(before), wholeLines(after)
	const around = 3 // unchanged lines on each side of a change
	head := fmt.Sprintf("--- %s\n+++ %s\n", headerName("a/", from), headerName("b/", to))
	return head + lines.Hunks(old, add, lines.Compare(old, add), around)
}

func headerName(prefix, path string) string {
	if path == "" {
		return devNull
	}
	name := prefix + path
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// wholeLines cuts a text into lines with their endings.
func wholeLines(s string) []string { return slices.Collect(strings.Lines(s)) }

// Count returns the number of lines that a change adds and removes.
func Count(before, after string) (added, removed int) {
	for _, s := range lines.Compare(wholeLines(before), wholeLines(after)) {
		added, removed = added+s.BEnd-s.B, removed+s.AEnd-s.A
	}
	return added, removed
}
