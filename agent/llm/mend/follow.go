package mend

import (
	"bytes"
	"strings"
)

// LookAhead is the number of bytes inspected to decide whether a quote closes its string.
// An unreadable value may become readable if the text grows within this distance.
const LookAhead = 256

// follows reports whether the text at i can follow a closed string. It distinguishes a
// closing quote from an unescaped quote in the string.
func (r *reader) follows(i int, key bool) bool {
	i = skipBlank(r.s, i)
	switch {
	case i >= len(r.s):
		return true
	case key:
		return colonAt(r.s, i) > 0
	case len(r.stack) == 0:
		return true
	}
	in := r.stack[len(r.stack)-1]
	switch c := r.s[i]; c {
	case ')':
		return bytes.IndexByte(r.stack, '(') >= 0 && r.followsClosers(i)
	case '}', ']':
		return r.followsClosers(i)
	case '/', '#':
		return strings.HasPrefix(r.s[i:], "//") || strings.HasPrefix(r.s[i:], "/*") || c == '#' && in != '('
	case '<', '[', '`':
		return r.markAt(i) || r.marks != nil && c == '<' && r.marks.Cut(r.s, i)
	case '+':
		_, ok := r.joins(i)
		return ok
	}
	if n := comma(r.s[i:]); n > 0 {
		return r.followsComma(i+n, in)
	}
	return in == '{' && keyAt(r.s, i)
}

// followsComma reports whether the text after a comma continues the container in.
func (r *reader) followsComma(i int, in byte) bool {
	i = skipBlank(r.s, i)
	if i >= len(r.s) {
		return true
	}
	c := r.s[i]
	if strings.IndexByte("}])/#,", c) >= 0 {
		return true
	}
	switch in {
	case '{':
		return keyAt(r.s, i)
	case '(':
		return keyAt(r.s, i) || strings.IndexByte(`"'{[-`, c) >= 0 || isWord(c)
	}
	return strings.IndexByte("\"'`{[-(0123456789tfnTFN", c) >= 0 || c >= 0x80
}

// keyAt reports whether a member's name and a colon or an equals sign are at i, possibly
// cut off by the end of the text.
func keyAt(s string, i int) bool {
	stop := min(len(s), i+LookAhead)
	if i >= stop {
		return true
	}
	quoted := !isWord(s[i])
	if quoted {
		n := quoteLength(s[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	start := i
	for i < stop && (isWord(s[i]) || s[i] == '-' || s[i] == '.' || quoted && s[i] != 0xe2 && strings.IndexByte("\"'`\n\\{}[]<>", s[i]) < 0) {
		i++
	}
	if i == len(s) {
		return true // cut off: it may be one
	}
	if quoted {
		n := quoteLength(s[i:])
		if n == 0 {
			return false
		}
		i += n
	} else if i == start {
		return false
	}
	i = skipBlank(s, i)
	return i >= len(s) || colonAt(s, i) > 0
}

// quoteLength returns the length of the quote at the start of s, or 0.
func quoteLength(s string) int {
	for _, q := range [...]string{`"`, "'", `\"`, "“", "”", "‘", "’", "`"} {
		if strings.HasPrefix(s, q) {
			return len(q)
		}
	}
	return 0
}

// followsClosers reports whether the text after the closing brackets at i continues the
// enclosing container, or the value is complete.
func (r *reader) followsClosers(i int) bool {
	depth := len(r.stack)
	for stop := min(len(r.s), i+LookAhead); i < stop; i++ {
		switch c := r.s[i]; c {
		case '}', ']', ')':
			if depth--; depth < 0 {
				return true
			}
		case ' ', '\n', '\t', '\r':
		case ',', ';':
			return depth == 0 || r.followsComma(i+1, r.stack[depth-1])
		case '/', '#', '<', '`', '[':
			return true
		case '"', '\'':
			return depth == 0 || r.stack[depth-1] == '{' && keyAt(r.s, i)
		default:
			return depth == 0
		}
	}
	return true
}

// skipBlank skips at most LookAhead bytes of white space.
func skipBlank(s string, i int) int { return skipSpace(s[:min(len(s), i+LookAhead)], i) }
