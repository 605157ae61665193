package untrusted

import (
	"fmt"
	"strings"
	"unicode"
)

// Invisible reports whether r is invisible or changes the display of its neighbors:
// control and format characters, variation selectors, fillers.
func Invisible(r rune) bool {
	switch {
	case r >= 0xE0000 && r <= 0xE0FFF, unicode.Is(unicode.Variation_Selector, r):
		return true
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x034F, r == 0x2800, r == 0x17B4, r == 0x17B5:
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// StripInvisible removes every invisible character, for comparisons.
func StripInvisible(s string) string {
	return strings.Map(func(r rune) rune {
		if Invisible(r) {
			return -1
		}
		return r
	}, s)
}

// EscapeVisible escapes every control, invisible and bidirectional character of s, and
// every space other than the ordinary one, as \u202e or \U000e0041, to make it visible.
// Newlines are kept, a tab becomes \t, and a byte of invalid UTF-8 becomes \xff. A
// backslash that could be mistaken for the start of an escape is doubled.
func EscapeVisible(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == unicode.ReplacementChar && s[i] != 0xEF:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\\' && escapeFollows(s[i+1:]):
			b.WriteString(`\\`)
		case Invisible(r) && r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08x`, r)
		case Invisible(r), r != ' ' && unicode.Is(unicode.Zs, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// EscapeLine is like [EscapeVisible], for text that must stay on one line, such as a file
// name: a newline becomes \n.
func EscapeLine(s string) string {
	return strings.ReplaceAll(EscapeVisible(s), "\n", `\n`) //control:names-on-their-line
}

func escapeFollows(rest string) bool {
	return rest != "" && strings.ContainsRune(`uUxt\`, rune(rest[0]))
}
