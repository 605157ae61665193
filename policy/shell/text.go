package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Values that cannot be computed are kept as text with marks in it, so that
// what is known around them still counts.
const (
	markUnknown = '\x01' // text that nobody knows
	markSecret  = '\x02' // text that is or holds a credential
	markRemote  = '\x03' // text that came from the network
	unknown     = string(markUnknown)
	secret      = string(markSecret)
	remote      = string(markRemote)
	allMarks    = unknown + secret + remote
)

func isMark(c rune) bool { return c >= markUnknown && c <= markRemote }

// known reports whether every part of s was computed.
func known(s string) bool { return !strings.ContainsAny(s, allMarks) }

// marksOf returns the marks in s, each once.
func marksOf(s string) string {
	if known(s) {
		return ""
	}
	var b strings.Builder
	for _, c := range allMarks {
		if strings.ContainsRune(s, c) {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// unmarked is s if every unknown part of it were empty.
func unmarked(s string) string {
	return strings.Map(func(c rune) rune {
		if isMark(c) {
			return -1
		}
		return c
	}, s)
}

// opaque is text computed from s in a way that cannot be followed: unknown,
// and as secret or remote as s was.
func opaque(s string) string {
	if m := marksOf(s); strings.ContainsRune(m, markUnknown) {
		return m
	}
	return unknown + marksOf(s)
}

// arg is one word of a command after expansion.
type arg struct {
	s   string // the text
	pat string // if globs are active: the pattern, with quoted text escaped
}

func texts(args []arg) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a.s
	}
	return out
}

func literals(words []string) []arg {
	out := make([]arg, len(words))
	for i, w := range words {
		out[i] = arg{s: w}
	}
	return out
}

// decodeEscapes decodes backslash escapes as $'…', printf and echo -e do. In the
// echo form octal numbers start with a zero and \c ends the text.
func decodeEscapes(s string, echo bool) string {
	if !strings.ContainsRune(s, '\\') {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		n, stop := oneEscape(&b, s[i:], echo)
		if stop {
			break
		}
		i += n - 1
	}
	return b.String()
}

// oneEscape decodes the escape at the start of s, after its backslash, and
// returns how many bytes it took.
func oneEscape(b *strings.Builder, s string, echo bool) (n int, stop bool) {
	const letters, values = "abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v"
	c := s[0]
	if at := strings.IndexByte(letters, c); at >= 0 {
		b.WriteByte(values[at])
		return 1, false
	}
	switch {
	case c == 'c' && echo:
		return 0, true
	case c == 'c' && len(s) > 1:
		b.WriteByte(s[1] & 0x1f)
		return 2, false
	case c == 'x':
		return numberEscape(b, s, 16, 2), false
	case c == 'u':
		return numberEscape(b, s, 16, 4), false
	case c == 'U':
		return numberEscape(b, s, 16, 8), false
	case c == '0' && echo:
		return numberEscape(b, s, 8, 3), false
	case c >= '0' && c <= '7':
		return numberEscape(b, "o"+s, 8, 3) - 1, false
	case strings.IndexByte(`\'"?`, c) >= 0:
		b.WriteByte(c)
		return 1, false
	}
	b.WriteByte('\\')
	b.WriteByte(c)
	return 1, false
}

func numberEscape(b *strings.Builder, s string, base, limit int) int {
	end := 1
	for end < len(s) && end <= limit && digitBelow(s[end], base) {
		end++
	}
	n, err := strconv.ParseUint(s[1:end], base, 32)
	if err != nil {
		b.WriteString("\\" + s[:1])
		return 1
	}
	if limit > 3 {
		b.WriteString(string(utf8.AppendRune(nil, rune(n&0x1fffff))))
	} else {
		b.WriteByte(byte(n))
	}
	return end
}

func digitBelow(c byte, base int) bool {
	switch {
	case c >= '0' && c <= '9':
		return int(c-'0') < base
	case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
		return base == 16
	}
	return false
}
