package toolcall

import (
	"bytes"
	"strings"
)

// maxKey bounds the name of a member that is not quoted as it should be.
const maxKey = 128

// key reads a member's name, quoted or not. colon is made false when no colon
// stands between the name and its value.
func (r *reader) key(colon *bool) bool {
	if q, ok := r.quote(); ok {
		if len(q.open) == 1 && r.oddKey(q.open[0], colon) {
			return true
		}
		return r.text(q, true)
	}
	n := 0
	for r.i+n < len(r.s) && n < maxKey && keyByte(r.s[r.i+n]) {
		n++
	}
	if n == 0 {
		r.ellipsis = r.placeholder()
		return false
	}
	r.repaired = true
	r.out = appendQuoted(r.out, r.s[r.i:r.i+n])
	r.i += n
	if c := r.peek(); c == '"' || c == '\'' {
		if next := skipBlank(r.s, r.i+1); next >= len(r.s) || colonAt(r.s, next) {
			r.i++ // path": …
		}
	}
	return true
}

func keyByte(c byte) bool { return isWord(c) || c == '-' || c == '.' }

func colonAt(s string, i int) bool {
	return i < len(s) && (s[i] == ':' || s[i] == '=' || strings.HasPrefix(s[i:], "："))
}

// oddKey reads a name whose closing quote is missing, or that no colon
// follows: {"path: "a.go"}, {"path" "a.go"}.
func (r *reader) oddKey(quote byte, colon *bool) bool {
	from := r.i + 1
	to := from
	for to < len(r.s) && to-from < maxKey && keyByte(r.s[to]) {
		to++
	}
	if to == from || to >= len(r.s) {
		return false
	}
	next := to
	switch c := r.s[to]; {
	case c == quote:
		next = skipBlank(r.s, to+1)
		if next >= len(r.s) || strings.IndexByte("\"'{[0123456789", r.s[next]) < 0 {
			return false
		}
		*colon = false
	case c != ':':
		return false
	}
	r.repaired = true
	r.out = appendQuoted(r.out, r.s[from:to])
	r.i = next
	return true
}

// joins says whether a plus sign and a further string, or the end of the text,
// follow the string that closes before i, and where that begins.
func (r *reader) joins(i int) (int, bool) {
	i = skipBlank(r.s, i)
	if i >= len(r.s) || r.s[i] != '+' {
		return 0, false
	}
	i = skipBlank(r.s, i+1)
	return i, i >= len(r.s) || (r.s[i] == '"' || r.s[i] == '\'')
}

// missedQuote ends a short string whose closing quote is missing, when at
// this quote the next member begins: "a.go, "lines": ….
func (r *reader) missedQuote(start int) bool {
	text := r.s[start:r.i]
	if len(text) > maxKey || len(r.stack) == 0 || r.stack[len(r.stack)-1] != '{' || strings.ContainsAny(text, "\"{}[]()\n\\") {
		return false
	}
	plain := strings.TrimRight(text, " ")
	if !strings.HasSuffix(plain, ",") {
		return false
	}
	to := r.i + 1
	for to < len(r.s) && to-r.i < maxKey && keyByte(r.s[to]) {
		to++
	}
	if to == r.i+1 || to >= len(r.s) || r.s[to] != '"' || !colonAt(r.s, skipBlank(r.s, to+1)) {
		return false
	}
	r.out = append(bytes.TrimSuffix(bytes.TrimRight(r.out, " "), []byte(",")), '"')
	r.i = start + len(plain) - 1
	r.repaired = true
	return true
}
