package word

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/argv"
)

// The characters of a pattern, and what stands for them where they are
// quoted while the library works.
const (
	patternChars = `*?[]\()|@!+`
	maskBase     = 0x10FD00
)

func masked(s string) string {
	if !strings.ContainsAny(s, patternChars) {
		return s
	}
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(patternChars, c) {
			return maskBase + c
		}
		return c
	}, s)
}

func unmask(c rune) (rune, bool) {
	if c > maskBase && c < maskBase+0x80 {
		return c - maskBase, true
	}
	return c, false
}

func unmasked(s string) string {
	return strings.Map(func(c rune) rune { c, _ = unmask(c); return c }, s)
}

// fieldOf makes an argument of a field: its text, and if a pattern in it is
// active, the pattern.
func fieldOf(s string) argv.Word {
	a := argv.Word{S: unmasked(s)}
	if !activeGlob(s) {
		return a
	}
	var b strings.Builder
	for _, c := range s {
		c, was := unmask(c)
		if was || c == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	a.Pat = b.String()
	return a
}

// activeGlob reports whether unquoted text is a pattern.
func activeGlob(s string) bool {
	if _, after, ok := strings.Cut(s, "["); ok && strings.Contains(after, "]") {
		return true
	}
	return strings.ContainsAny(s, "*?") || strings.Contains(s, "@(") || strings.Contains(s, "+(") || strings.Contains(s, "!(")
}

// tooManyBraces reports whether a word cannot be expanded in a bounded time.
func tooManyBraces(w *syntax.Word) bool {
	n := 0
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			n += strings.Count(l.Value, "{")
		}
	}
	return n > 64
}
