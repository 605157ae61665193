package mend

import (
	"bytes"
	"strings"
)

// LookAhead is how far a quote looks to tell whether it closes its string. A
// value that cannot be read may be readable when the text goes on within it.
const LookAhead = 256

// follows reports whether what stands at i can follow a string that was just
// closed. It is how a quote that was not escaped is told from a closing one.
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
		return r.marked(i) || r.marks != nil && c == '<' && r.marks.Cut(r.s, i)
	case '+':
		_, ok := r.joins(i)
		return ok
	}
	if n := comma(r.s[i:]); n > 0 {
		return r.followsComma(i+n, in)
	}
	return in == '{' && keyAt(r.s, i)
}

// followsComma: in an object a key must come next.
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

// keyAt reports whether a member's name and a colon (or an equals sign) stand
// here, or may as far as the text goes.
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
		return true // cut: it may be one
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

// quoteLength returns the length of the quote that s begins with, 0 when it
// begins with none.
func quoteLength(s string) int {
	for _, q := range [...]string{`"`, "'", `\"`, "“", "”", "‘", "’", "`"} {
		if strings.HasPrefix(s, q) {
			return len(q)
		}
	}
	return 0
}

// followsClosers: after the brackets that close here the text goes on in the
// container around them, or the value is over.
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

// skipBlank skips white space, not further than a quote looks.
func skipBlank(s string, i int) int { return skipSpace(s[:min(len(s), i+LookAhead)], i) }
