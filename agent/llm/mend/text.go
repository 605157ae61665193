package mend

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// quoteMark is a kind of string delimiter. Raw strings have no escapes.
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

// quote returns the delimiter of the string that begins here. It skips a Python prefix
// (r"…", f"…").
func (r *reader) quote() (quoteMark, bool) {
	c := r.peek()
	if strings.IndexByte("rfbuR", c) >= 0 && r.i+1 < len(r.s) && (r.s[r.i+1] == '"' || r.s[r.i+1] == '\'') {
		r.i++
		q, ok := r.quote()
		q.raw = q.raw || c == 'r' || c == 'R'
		return q, ok
	}
	for _, q := range quoteMarks {
		if c == q.open[0] && r.has(q.open) && (!q.raw || q.open[0] == '<' || r.tripled(q.open)) {
			return q, true
		}
	}
	return quoteMark{}, false
}

// tripled distinguishes """text""" from an empty string followed by a quote.
func (r *reader) tripled(mark string) bool {
	rest := r.s[r.i+len(mark):]
	if strings.IndexByte(rest, '"') < 0 && mark[0] == '"' {
		return true
	}
	return len(rest) >= 1<<16 || strings.Contains(rest, mark) || strings.IndexByte(rest, '\n') >= 0
}

// text reads a string and encodes it as JSON.
func (r *reader) text(q quoteMark, key bool) bool {
	r.i += len(q.open)
	if end := r.unescapedJSON(q, key); end > 0 {
		r.out = appendQuoted(r.out, r.s[r.i:end])
		r.i = end + 1
		return true
	}
	r.out = append(r.out, '"')
	start, mark := r.i, len(r.out)
	badEscape, looked := false, start // looked: up to here the markup was searched for its end
	for r.i < len(r.s) {
		c, n := r.s[r.i], 0
		if special[c] {
			n = r.closing(q, key)
		}
		switch {
		case n > 0:
			if badEscape {
				r.backslashes(start, mark)
			}
			next, ok := r.joins(r.i + n)
			if ok && !key {
				if r.i = next; next < len(r.s) {
					q, _ = r.quote()
					r.i += len(q.open)
					start, mark, looked = r.i, len(r.out), r.i
				}
				continue
			}
			r.out = append(r.out, '"')
			r.i += n
			return true
		case c == '\\' && !q.raw:
			badEscape = !r.escape() || badEscape
		case c != '"':
			r.plain()
		case !key && q.open == `"` && r.missedQuote(start):
			return true
		default:
			if !q.raw && r.marks != nil {
				if at := r.marks.Closing(r.s, looked, r.i); at >= 0 {
					r.cutAt(start, at, mark)
					return !key
				}
				looked = r.i
			}
			r.plain()
		}
	}
	if key {
		r.End = true
		return false
	}
	return r.unclosed(q, start, mark, looked > start)
}

// joins reports whether the closed string before i is continued by a plus sign and
// another string, or the end of the text, and returns the offset after the plus sign.
func (r *reader) joins(i int) (int, bool) {
	i = skipBlank(r.s, i)
	if i >= len(r.s) || r.s[i] != '+' {
		return 0, false
	}
	i = skipBlank(r.s, i+1)
	return i, i >= len(r.s) || (r.s[i] == '"' || r.s[i] == '\'')
}

// missedQuote ends a short string without a closing quote if the next member begins at
// this quote: "a.go, "lines": ….
func (r *reader) missedQuote(start int) bool {
	text := r.s[start:r.i]
	if len(text) > maxKey || len(r.stack) == 0 || r.stack[len(r.stack)-1] != '{' ||
		strings.ContainsAny(text, "\"{}[]()\n\\") {
		return false
	}
	plain := strings.TrimRight(text, " ")
	to := r.i + 1 + r.nameLength(r.i+1)
	if !strings.HasSuffix(plain, ",") || to == r.i+1 || to >= len(r.s) || r.s[to] != '"' ||
		colonAt(r.s, skipBlank(r.s, to+1)) == 0 {
		return false
	}
	r.out = append(bytes.TrimSuffix(bytes.TrimRight(r.out, " "), []byte(",")), '"')
	r.i = start + len(plain) - 1
	return true
}

// unescapedJSON returns the end of an object or array that is quoted without escapes, or
// 0. The number of attempts and their length are bounded.
func (r *reader) unescapedJSON(q quoteMark, key bool) int {
	if q.open != `"` || key || r.peek() != '{' && r.peek() != '[' || r.embedded >= 4 {
		return 0
	}
	if j := skipBlank(r.s, r.i+1); j >= len(r.s) || strings.IndexByte("\"{[", r.s[j]) < 0 {
		return 0
	}
	r.embedded++
	end := valueEnd(r.s[:min(len(r.s), r.i+2048)], r.i, 0)
	if end < 0 || end >= len(r.s) || r.s[end] != '"' || strings.IndexByte(r.s[r.i:end], '"') < 0 ||
		!r.follows(end+1, false) {
		return 0
	}
	return end
}

// closing returns the length of the mark that closes the string here, or 0. An unescaped
// quote inside the text does not close it.
func (r *reader) closing(q quoteMark, key bool) int {
	for _, m := range q.close {
		if r.has(m) && (q.raw || r.follows(r.i+len(m), key)) {
			return len(m)
		}
	}
	return 0
}

// plain copies text up to the next special byte.
func (r *reader) plain() {
	start := r.i
	if c := r.s[r.i]; c == '"' || c == '\\' || c < 0x20 {
		r.out = appendByte(r.out, c)
		r.i++
		return
	}
	for r.i++; r.i < len(r.s); r.i++ {
		if c := r.s[r.i]; c < 0x20 || special[c] {
			break
		}
	}
	r.out = append(r.out, r.s[start:r.i]...)
}

// special are the bytes that may end a string or need an escape.
var special = [256]bool{'"': true, '\'': true, '`': true, '\\': true, '<': true, 0xe2: true, 0xc2: true}

// escape copies an escape sequence. It returns false if JSON does not have the sequence,
// so that the backslash is copied literally.
func (r *reader) escape() bool {
	if r.i+1 >= len(r.s) {
		r.i++
		return true // cut off within the escape, so its meaning is unknown
	}
	c := r.s[r.i+1]
	want := 0
	switch {
	case plainEscape[c]:
		r.out = append(r.out, '\\', c)
		r.i += 2
		return true
	case c == '\'' || c == '`' || c == '_': // \_ is Markdown's
		r.out = append(r.out, c)
		r.i += 2
		return true
	case c == 'u':
		want = 4
	case c == 'x':
		want = 2
	}
	n := hexDigits(r.s, r.i+2, want)
	switch {
	case want > 0 && n == want:
		r.out = append(append(append(r.out, `\u`...), "00"[:4-n]...), r.s[r.i+2:r.i+2+n]...)
		r.i += 2 + n
		return true
	case want > 0 && r.i+2+n >= len(r.s):
		r.i = len(r.s) // cut within the escape
		return true
	}
	r.out = append(r.out, '\\', '\\')
	r.i++
	return false
}

// backslashes rewrites a string that looks like a path and has an invalid escape: then \t
// and \n in it are not escapes either.
func (r *reader) backslashes(start, mark int) {
	raw := r.s[start:r.i]
	if len(raw) > 4096 || strings.ContainsAny(raw, " \t\n\r\"(){}[]<>|^$*+?") && !drive(raw) ||
		strings.Contains(raw, `\\`) {
		return
	}
	r.out = r.out[:mark]
	for i := range len(raw) {
		if raw[i] == '\\' && i+1 < len(raw) && raw[i+1] == '"' {
			continue
		}
		r.out = appendByte(r.out, raw[i])
	}
}

// drive reports whether s begins like C:\dir.
func drive(s string) bool {
	return len(s) > 2 && s[1] == ':' && s[2] == '\\' && isWord(s[0]) && !strings.Contains(s, "\n")
}

// unclosed ends a string at the end of the text. If it contains quotes, the text may have
// continued after the call.
func (r *reader) unclosed(q quoteMark, start, mark int, quotes bool) bool {
	at := -1
	if r.marks != nil && quotes {
		at = r.marks.Closing(r.s, start, -1)
	}
	if r.marks != nil && at < 0 {
		if at = r.marks.Trailing(r.s[start:]); at >= 0 {
			at += start
		}
	}
	if at >= 0 {
		r.Growing = true
		r.cutAt(start, at, mark)
		return true
	}
	r.End, r.CutText = true, true
	for n := len(q.close[0]) - 1; q.raw && n > 0; n-- { // cut inside the closing mark
		part := appendQuoted(nil, q.close[0][:n])
		if text, ok := bytes.CutSuffix(r.out[mark:], part[1:len(part)-1]); ok {
			r.out = r.out[:mark+len(text)]
			break
		}
	}
	r.out = append(trimRune(r.out), '"')
	return true
}

// cutAt ends a string without a closing quote at the markup after it. Trailing brackets
// are removed from the text if there are exactly as many as open containers.
func (r *reader) cutAt(start, at, mark int) {
	text := strings.TrimRight(r.s[start:at], " \t\r\n")
	if bare := strings.TrimRight(text, "}])"); len(text)-len(bare) == len(r.stack) {
		text = bare
	}
	sub := &reader{s: text}
	for sub.i < len(text) {
		if text[sub.i] == '\\' {
			sub.escape()
		} else {
			sub.plain()
		}
	}
	r.out = append(append(r.out[:mark], sub.out...), '"')
	r.i = at
}

// trimRune drops an incomplete rune at the end.
func trimRune(b []byte) []byte {
	for n := 1; n <= 3 && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}
