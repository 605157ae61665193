package toolcall

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// quoteMark is one way to delimit a string. Raw ones know no escapes.
type quoteMark struct {
	open  string
	close []string
	raw   bool
}

// quoteMarks are tried in order; longer ones come first.
var quoteMarks = [...]quoteMark{
	{`"""`, []string{`"""`}, true},
	{`'''`, []string{`'''`}, true},
	{`"`, []string{`"`}, false},
	{`'`, []string{`'`}, false},
	{"`", []string{"`"}, false},
	{"“", []string{"”", "“", `"`}, false},
	{"”", []string{"”", "“", `"`}, false},
	{"„", []string{"“", "”", `"`}, false},
	{"‘", []string{"’", "'"}, false},
	{"«", []string{"»"}, false},
	{`\"`, []string{`\"`}, false},
	{"<escape>", []string{"<escape>"}, true},
	{`<|"|>`, []string{`<|"|>`}, true},
}

// quote returns the mark of the string that begins here. A Python prefix
// (r"…", f"…") is skipped.
func (r *reader) quote() (quoteMark, bool) {
	c := r.peek()
	if (c == 'r' || c == 'f' || c == 'b' || c == 'u' || c == 'R') && r.i+1 < len(r.s) && (r.s[r.i+1] == '"' || r.s[r.i+1] == '\'') {
		r.i++
		q, ok := r.quote()
		q.raw = q.raw || c == 'r' || c == 'R'
		r.repaired = true
		return q, ok
	}
	if isWord(c) || c == '{' || c == '[' || c == '}' || c == ']' {
		return quoteMark{}, false
	}
	for _, q := range quoteMarks {
		if !r.has(q.open) {
			continue
		}
		if len(q.open) == 3 && q.raw && !r.tripled(q.open) {
			continue
		}
		return q, true
	}
	return quoteMark{}, false
}

// tripled tells """text""" from an empty string that a quote follows.
func (r *reader) tripled(mark string) bool {
	rest := r.s[r.i+len(mark):]
	if strings.IndexByte(rest, '"') < 0 && mark[0] == '"' {
		return true
	}
	return strings.Contains(rest[:min(len(rest), 1<<16)], mark) || len(rest) >= 1<<16 || strings.IndexByte(rest, '\n') >= 0
}

// text reads a string and writes it as JSON.
func (r *reader) text(q quoteMark, key bool) bool {
	if q.open != `"` {
		r.repaired = true
	}
	r.i += len(q.open)
	start, mark := r.i, len(r.out)
	if end := r.unescapedJSON(q, key); end > 0 {
		r.out = appendQuoted(r.out, r.s[start:end])
		r.i, r.repaired = end+1, true
		return true
	}
	if q.open == `"` {
		if end := r.strict(key); end > 0 {
			r.out = append(append(append(slices.Grow(r.out, end-start+64), '"'), r.s[start:end]...), '"')
			r.i = end + 1
			return true
		}
	}
	r.out = append(r.out, '"')
	badEscape, looked := false, start
	for r.i < len(r.s) {
		c := r.s[r.i]
		if c == '\\' && !q.raw && !r.closesHere(q, key) {
			if !r.escape() {
				badEscape = true
			}
			continue
		}
		if n := r.closing(q, key); n > 0 {
			if badEscape {
				r.backslashes(start, mark)
			}
			if next, ok := r.joins(r.i + n); ok && !key {
				if r.i = next; next >= len(r.s) {
					r.end, r.cutText, r.repaired = true, true, true
					r.out = append(r.out, '"')
					return true
				}
				q, _ = r.quote()
				r.i += len(q.open)
				r.repaired = true
				continue
			}
			r.out = append(r.out, '"')
			r.i += n
			return true
		}
		if r.s[r.i] == '"' && !key && q.open == `"` && r.missedQuote(start) {
			return true
		}
		if r.s[r.i] == '"' && !q.raw && r.marks != nil {
			if at := r.marks.between(r.s, looked, r.i); at >= 0 {
				r.repaired = true
				r.cutAt(start, at, mark)
				return !key
			}
			looked = r.i
		}
		r.plain()
	}
	if looked > start && !key { // quotes inside: the text may go on after the call
		if at := r.marks.closing(r.s, start); at >= 0 {
			r.repaired = true
			r.cutAt(start, at, mark)
			return true
		}
	}
	return r.unclosed(q, start, mark, key)
}

// strict returns where a string ends that needs no mending, 0 when it does not
// end or needs some.
func (r *reader) strict(key bool) int {
	for i := r.i; i < len(r.s); i++ {
		switch c := r.s[i]; {
		case c == '"':
			if _, joined := r.joins(i + 1); joined || !r.follows(i+1, key) {
				return 0
			}
			return i
		case c == '\\':
			i++
			if i >= len(r.s) || !plainEscape[r.s[i]] {
				return 0
			}
		case c < 0x20:
			return 0
		}
	}
	return 0
}

// plainEscape are the bytes that follow a backslash in JSON, except u.
var plainEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// unescapedJSON returns where an object or array ends that stands in quotes
// without being escaped, 0 when there is none. Few are looked for, and not far.
func (r *reader) unescapedJSON(q quoteMark, key bool) int {
	if q.open != `"` || key || r.i >= len(r.s) || r.s[r.i] != '{' && r.s[r.i] != '[' || r.embedded >= 4 {
		return 0
	}
	if j := skipBlank(r.s, r.i+1); j >= len(r.s) || strings.IndexByte("\"{[", r.s[j]) < 0 {
		return 0
	}
	r.embedded++
	end := balanced(r.s[:min(len(r.s), r.i+2048)], r.i)
	if end == 0 || end >= len(r.s) || r.s[end] != '"' || strings.IndexByte(r.s[r.i:end], '"') < 0 ||
		!json.Valid([]byte(r.s[r.i:end])) || !r.follows(end+1, false) {
		return 0
	}
	return end
}

// closesHere is for marks that begin with a backslash themselves.
func (r *reader) closesHere(q quoteMark, key bool) bool {
	return q.open == `\"` && r.closing(q, key) > 0
}

// closing returns the length of the mark that closes the string here, else 0.
// A quote inside the text that was not escaped does not close it.
func (r *reader) closing(q quoteMark, key bool) int {
	for _, m := range q.close {
		if !r.has(m) {
			continue
		}
		if q.raw || r.follows(r.i+len(m), key) {
			return len(m)
		}
	}
	return 0
}

// plain copies text up to the next byte that may matter.
func (r *reader) plain() {
	start := r.i
	c := r.s[r.i]
	switch {
	case c == '"':
		r.out = append(r.out, '\\', '"')
		r.repaired = true
	case c == '\\':
		r.out = append(r.out, '\\', '\\')
	case c < 0x20:
		r.out = appendControl(r.out, c)
		r.repaired = true
	default:
		for r.i++; r.i < len(r.s); r.i++ {
			c := r.s[r.i]
			if c < 0x20 || c == '"' || c == '\'' || c == '`' || c == '\\' || c == '<' || c == 0xe2 || c == 0xc2 {
				break
			}
		}
		r.out = append(r.out, r.s[start:r.i]...)
		return
	}
	r.i++
}

// escape copies an escape sequence; false when it is none that JSON knows, so
// that the backslash stands for itself.
func (r *reader) escape() bool {
	if r.i+1 >= len(r.s) {
		r.i++
		return true // cut within the escape: what it would have been is not known
	}
	c := r.s[r.i+1]
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		r.out = append(r.out, '\\', c)
		r.i += 2
		return true
	case '\'', '`', '_': // \_ is Markdown's
		r.out = append(r.out, c)
		r.repaired = true
		r.i += 2
		return true
	case 'u', 'x':
		return r.hexEscape(c)
	}
	r.repaired = true
	r.out = append(r.out, '\\', '\\')
	r.i++
	return false
}

func (r *reader) hexEscape(c byte) bool {
	want := 4
	if c == 'x' {
		want = 2
	}
	n := 0
	for n < want && r.i+2+n < len(r.s) && isHex(r.s[r.i+2+n]) {
		n++
	}
	switch {
	case n == want && c == 'u':
		r.out = append(r.out, r.s[r.i:r.i+6]...)
		r.i += 6
		return true
	case n == want:
		r.out = append(append(r.out, `\u00`...), r.s[r.i+2:r.i+4]...)
		r.repaired = true
		r.i += 4
		return true
	case r.i+2+n >= len(r.s):
		r.i = len(r.s) // cut within the escape
		return true
	}
	r.repaired = true
	r.out = append(r.out, '\\', '\\')
	r.i++
	return false
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// backslashes writes a string again that has an escape JSON does not know and
// looks like a path: then \t and \n in it are no escapes either.
func (r *reader) backslashes(start, mark int) {
	raw := r.s[start:r.i]
	if len(raw) > 4096 || strings.ContainsAny(raw, " \t\n\r\"(){}[]<>|^$*+?") && !drive(raw) || strings.Contains(raw, `\\`) {
		return
	}
	r.out = append(r.out[:mark], '"')
	for i := range len(raw) {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw) && raw[i+1] == '"':
			r.out = append(r.out, '\\')
		case c == '\\':
			r.out = append(r.out, '\\', '\\')
		case c < 0x20:
			r.out = appendControl(r.out, c)
		default:
			r.out = append(r.out, c)
		}
	}
}

// drive says whether s begins like C:\dir.
func drive(s string) bool {
	return len(s) > 2 && s[1] == ':' && s[2] == '\\' && isWord(s[0]) && !strings.Contains(s, "\n")
}

// unclosed ends a string that the text ended in.
func (r *reader) unclosed(q quoteMark, start, mark int, key bool) bool {
	r.repaired = true
	if key {
		r.out = r.out[:mark]
		r.end = true
		return false
	}
	if at := r.marks.trailing(r.s[start:]); at >= 0 {
		r.cutAt(start, start+at, mark)
		return true
	}
	r.end, r.cutText = true, true
	for n := len(q.close[0]) - 1; q.raw && n > 0; n-- { // cut inside the closing mark
		if part := q.close[0][:n]; strings.HasSuffix(r.s[start:], part) {
			r.out = r.out[:len(r.out)-len(appendQuoted(nil, part))+2]
			break
		}
	}
	r.out = append(trimRune(r.out), '"')
	return true
}

// cutAt ends a string whose closing quote is missing at the markup that
// follows it. Exactly as many braces as are open are not part of the text.
func (r *reader) cutAt(start, at, mark int) {
	text := strings.TrimRight(r.s[start:at], " \t\r\n")
	n := len(text) - len(strings.TrimRight(text, "}])"))
	if n == len(r.stack) && n > 0 {
		text = strings.TrimRight(text, "}])")
	}
	sub := &reader{s: text}
	for sub.i < len(text) {
		if text[sub.i] == '\\' {
			sub.escape()
		} else {
			sub.plain()
		}
	}
	r.out = append(append(append(r.out[:mark], '"'), sub.out...), '"')
	r.i = at
}

// trimRune drops a rune that was cut in the middle.
func trimRune(b []byte) []byte {
	for n := 1; n <= 3 && n <= len(b); n++ {
		c := b[len(b)-n]
		if c < utf8.RuneSelf {
			return b
		}
		if utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			return b
		}
	}
	return b
}

// appendQuoted writes s as a JSON string.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < 0x20:
			out = appendControl(out, c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

func appendControl(out []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(out, '\\', 'n')
	case '\t':
		return append(out, '\\', 't')
	case '\r':
		return append(out, '\\', 'r')
	}
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
