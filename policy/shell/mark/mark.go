// Package mark is text of which a part may not be known. What cannot be
// computed is kept as text with marks in it, so that what is known around
// them still counts.
package mark

import "strings"

// The marks.
const (
	Unknown = "\x01" // text that nobody knows
	Secret  = "\x02" // text that is or holds a credential
	Remote  = "\x03" // text that came from the network
	Written = "\x04" // text that a file holds, and that may be no number
	All     = Unknown + Secret + Remote + Written
)

// is reports whether a character is a mark.
func is(c rune) bool { return c >= 1 && c <= 4 }

// Known reports whether every part of s was computed.
func Known(s string) bool { return !strings.ContainsAny(s, All) }

// Of returns the marks in s, each once.
func Of(s string) string {
	if Known(s) {
		return ""
	}
	var b strings.Builder
	for _, c := range All {
		if strings.ContainsRune(s, c) {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Strip returns s as if every part that is not known were empty.
func Strip(s string) string {
	return strings.Map(func(c rune) rune {
		if is(c) {
			return -1
		}
		return c
	}, s)
}

// Opaque is text computed from s in a way that cannot be followed: unknown,
// and as secret or remote as s was.
func Opaque(s string) string {
	if m := Of(s); strings.Contains(m, Unknown) {
		return m
	}
	return Unknown + Of(s)
}

// Show writes s with an ellipsis for every mark.
func Show(s string) string {
	return strings.Map(func(c rune) rune {
		if is(c) {
			return '\u2026'
		}
		return c
	}, s)
}
