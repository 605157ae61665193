package secret

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// view is a text derived from an original. from[i] and to[i] are the start and end of
// byte i in the original; nil slices mean that the view is the original.
type view struct {
	text     string
	from, to []int32
}

func (v view) start(i int) int {
	if v.from == nil {
		return i
	}
	return int(v.from[i])
}

func (v view) end(i int) int {
	if v.to == nil {
		return i + 1
	}
	return int(v.to[i])
}

func (v *view) put(from, to int) {
	v.from = append(v.from, int32(from))
	v.to = append(v.to, int32(to))
}

// joinedStrings matches the join of two string literals in code.
var joinedStrings = pattern.Lazy("^[\"'`]\\s*(?:\\+|\\.\\.?|&|,|\\\\)?\\s*[\"'`]")

// gutter matches the line number or quotation mark that viewers put before a line.
var gutter = pattern.Lazy(`^\n[ \t]*(?:[0-9]+[ \t]*[|:\t]|[>|] )[ \t]?`)

// squeeze removes everything that can split a secret: spaces, quotes, string joins,
// backslashes, invisible characters, and line ends with the next line's number.
func squeeze(v view) view {
	if !strings.ContainsFunc(v.text, splitter) {
		return v
	}
	out := view{from: make([]int32, 0, len(v.text)), to: make([]int32, 0, len(v.text))}
	var b strings.Builder
	for i := 0; i < len(v.text); {
		if c := v.text[i]; c == '"' || c == '\'' || c == '`' {
			if m := joinedStrings().FindStringIndex(v.text[i:min(len(v.text), i+256)]); m != nil {
				i += m[1]
				continue
			}
		}
		if v.text[i] == '\n' { //control:numbered-lines
			if m := gutter().FindStringIndex(v.text[i:min(len(v.text), i+32)]); m != nil {
				i += m[1]
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(v.text[i:])
		if !splitter(r) || r == utf8.RuneError {
			for k := i; k < i+size; k++ {
				b.WriteByte(v.text[k])
				out.put(v.start(k), v.end(k))
			}
		}
		i += size
	}
	out.text = b.String()
	return out
}

func splitter(r rune) bool {
	if r < 0x80 {
		return r <= ' ' || r == '"' || r == '\'' || r == '`' || r == '\\' || r == 0x7F
	}
	return r == 0xA0 || r >= 0x2000 && r <= 0x200F || r == 0x3000 || untrusted.Invisible(r)
}

// unescape decodes percent-encoding. It reports false if there is none.
func unescape(s string) (view, bool) {
	if !strings.Contains(s, "%") {
		return view{}, false
	}
	var out view
	var b strings.Builder
	changed := false
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b.Write(c)
				out.put(i, i+3)
				i, changed = i+2, true
				continue
			}
		}
		b.WriteByte(s[i])
		out.put(i, i+1)
	}
	out.text = b.String()
	return out, changed
}

// hexPrefix returns the length of a hex prefix such as 0x at the start of s, or 0.
func hexPrefix(s string) int {
	switch {
	case len(s) < 2:
		return 0
	case s[0] == '0' && s[1] == 'x', s[0] == '\\' && s[1] == 'x':
		return 2
	case s[0] == '\\' && strings.HasPrefix(s, `\u00`):
		return 4
	}
	return 0
}

// hexDigits returns only the hex digits of s, in lower case. Digits that are too far
// apart for prefixes and separators are kept apart.
func hexDigits(s string) view {
	var out view
	var b strings.Builder
	last := -1
	for i := 0; i < len(s); i++ {
		c := s[i]
		if k := hexPrefix(s[i:]); k > 0 {
			i += k - 1
			continue
		}
		if c >= 'A' && c <= 'F' {
			c |= 0x20
		}
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			continue
		}
		if last >= 0 && i-last > 8 {
			b.WriteByte('.')
			out.put(i, i)
		}
		last = i
		b.WriteByte(c)
		out.put(i, i+1)
	}
	out.text = b.String()
	return out
}
