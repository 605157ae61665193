// Package mend reads JSON as small models write it: with wrong or missing quotes, commas,
// colons and brackets, cut off, with comments, raw line breaks and Python keywords. Valid
// JSON is never changed.
package mend

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Marks recognizes the markup around a value, which also ends unclosed parts of the
// value. Nil means no markup.
type Marks interface {
	// At reports whether there is a mark at s[i:].
	At(s string, i int) bool
	// Cut reports whether s ends within a mark that begins at i.
	Cut(s string, i int) bool
	// Closing returns the offset of the first closing mark at or after from, or -1. If to is
	// not negative, the mark must be followed by an opening mark before to.
	Closing(s string, from, to int) int
	// Trailing returns the offset of the closing marks at the end of s, or -1.
	Trailing(s string) int
}

// Reading describes how a value was read.
type Reading struct {
	Mended   bool // the value was not valid JSON
	End      bool // the text ended inside the value
	Growing  bool // the value may change if the text grows
	Open     int  // number of containers left open by the end of the text
	CutText  bool // the text ended inside a string
	Ellipsis bool // failed at a placeholder such as "..." or <name>
}

// Value is the result of reading a value. JSON is valid if OK is set.
type Value struct {
	Reading
	JSON []byte
	Next int // offset after the value, or of the error
	OK   bool
}

// Read reads the value at offset i of s.
func Read(s string, i int, m Marks) Value {
	i = skipSpace(s, i)
	end := valueEnd(s, i, 0)
	if end > 0 {
		return Value{JSON: []byte(s[i:end]), Next: end, OK: true}
	}
	r := &reader{s: s, i: i, marks: m, Reading: Reading{Growing: end == cutShort}}
	return r.result(r.value())
}

// ReadMembers reads an object without its opening brace.
func ReadMembers(s string, i int, m Marks) Value {
	r := &reader{s: s, i: i, marks: m}
	return r.result(r.container('{', '}', r.member))
}

// reader converts JSON as small models write it into valid JSON. It reads one value from
// left to right and appends it to out, so its memory is bounded by the length of the
// text.
type reader struct {
	s   string
	i   int
	out []byte
	Reading

	embedded int    // number of attempts to find JSON in quotes
	stack    []byte // open containers: '{', '[' or '('
	marks    Marks  // markup that ends unclosed containers
}

func (r *reader) result(ok bool) Value {
	r.Mended = true
	return Value{JSON: r.out, Next: r.i, Reading: r.Reading, OK: ok && len(r.out) > 0}
}

func (r *reader) peek() byte {
	if r.i < len(r.s) {
		return r.s[r.i]
	}
	return 0
}

func (r *reader) has(lit string) bool { return strings.HasPrefix(r.s[r.i:], lit) }

// space skips white space and comments.
func (r *reader) space() {
	for r.i < len(r.s) {
		switch c := r.s[r.i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			r.i++
		case c == '#' || c == '/' && r.has("//"):
			r.i = lineEnd(r.s, r.i)
		case c == '/' && r.has("/*"):
			n := strings.Index(r.s[r.i+2:], "*/")
			if n < 0 {
				r.i = len(r.s)
				return
			}
			r.i += n + 4
		case c == 0xc2 && r.has("\u00a0"):
			r.i += len("\u00a0")
		default:
			return
		}
	}
}

func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}

// atEnd reports whether the text ended, and records it.
func (r *reader) atEnd() bool {
	r.End = r.End || r.i >= len(r.s)
	return r.End
}

// value reads one value. It returns false if there is none, or, with End set, if the text
// ended before it.
func (r *reader) value() bool {
	r.space()
	if r.atEnd() || len(r.stack) >= maxDepth {
		return false
	}
	if rest := r.s[r.i:]; strings.HasPrefix(`<|"|>`, rest) || r.cutMark() {
		r.i = len(r.s)
		r.End = true
		return false
	}
	switch c := r.s[r.i]; {
	case c == '{':
		return r.object()
	case c == '[':
		r.i++
		return r.container('[', ']', r.element)
	case c == '(' && len(r.stack) > 0: // a tuple
		r.i++
		return r.container('(', ')', r.element)
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return r.number()
	}
	if q, ok := r.quote(); ok {
		return r.text(q, false)
	}
	return r.word()
}

func (r *reader) object() bool {
	doubled := strings.HasPrefix(r.s[r.i:], "{{") // as in a template
	r.i++
	if doubled {
		r.i++
	}
	ok := r.container('{', '}', r.member)
	if doubled && r.peek() == '}' {
		r.i++
	}
	return ok
}

// container reads members or elements up to closer, or up to the end of the text or of
// the surrounding markup.
func (r *reader) container(opener, closer byte, one func(mark int) bool) bool {
	brackets := "[]"
	if opener == '{' {
		brackets = "{}"
	}
	r.stack = append(r.stack, opener)
	r.out = append(r.out, brackets[0])
	first := len(r.out)
	for {
		r.space()
		if r.cutMark() || r.atEnd() {
			r.Open++
			break
		}
		c := r.s[r.i]
		if c == closer {
			r.i++
			break
		}
		if n := comma(r.s[r.i:]); n > 0 {
			r.i += n
			continue
		}
		if r.closedOutside(c) {
			break
		}
		mark := len(r.out)
		if mark > first {
			r.out = append(r.out, ',')
		}
		ok := one(mark)
		if !ok {
			r.out = r.out[:mark]
		}
		if r.End {
			r.Open++
			break
		}
		if !ok {
			return false
		}
	}
	r.stack = r.stack[:len(r.stack)-1]
	r.out = append(r.out, brackets[1])
	return true
}

// comma returns the length of the separator at the start of s, or 0.
func comma(s string) int {
	switch {
	case s[0] == ',' || s[0] == ';':
		return 1
	case strings.HasPrefix(s, "，"):
		return len("，")
	}
	return 0
}

func (r *reader) element(int) bool { return r.value() }

// member reads `Key: value`. A key without a value is dropped by truncating out to mark.
func (r *reader) member(mark int) bool {
	colon := true
	if !r.key(&colon) {
		return false
	}
	r.space()
	switch {
	case !colon:
	case r.atEnd():
		return false
	case r.has("=>"):
		r.i += 2
	case colonAt(r.s, r.i) > 0:
		r.i += colonAt(r.s, r.i)
	default:
		r.Ellipsis = r.out[mark] != ',' && isWord(r.s[r.i-1]) // {json}
		return false
	}
	r.out = append(r.out, ':')
	r.space()
	if c := r.peek(); c == ',' || c == '}' {
		r.out = r.out[:mark]
		return true
	}
	return r.value()
}

// markAt reports whether there is a mark at i.
func (r *reader) markAt(i int) bool { return r.marks != nil && r.marks.At(r.s, i) }

// cutMark skips a mark that is cut off by the end of the text.
func (r *reader) cutMark() bool {
	rest := r.s[r.i:]
	if r.peek() != '<' || r.marks != nil && !r.marks.Cut(r.s, r.i) ||
		r.marks == nil && strings.ContainsAny(rest, ">![ \n") {
		return false
	}
	r.i = len(r.s)
	return true
}

// closedOutside reports whether c closes an outer container, or the surrounding markup
// ends here: then the current container was left open by mistake.
func (r *reader) closedOutside(c byte) bool {
	opener := byte(0)
	switch c {
	case '}', ']':
		opener = c - 2
	case ')':
		opener = '('
	case '<', '`', '[':
		return r.markAt(r.i)
	default:
		return false
	}
	return strings.IndexByte(string(r.stack[:len(r.stack)-1]), opener) >= 0
}

// maxKey is the maximum length of a member's name without proper quotes.
const maxKey = 128

// key reads a member's name, quoted or not. colon is set to false if there is no colon
// between the name and its value.
func (r *reader) key(colon *bool) bool {
	if q, ok := r.quote(); ok {
		if len(q.open) == 1 && r.oddKey(q.open[0], colon) {
			return true
		}
		return r.text(q, true)
	}
	n := r.nameLength(r.i)
	if n == 0 {
		r.Ellipsis = r.placeholder()
		return false
	}
	r.out = appendQuoted(r.out, r.s[r.i:r.i+n])
	r.i += n
	if c := r.peek(); c == '"' || c == '\'' {
		if next := skipBlank(r.s, r.i+1); next >= len(r.s) || colonAt(r.s, next) > 0 {
			r.i++ // path": …
		}
	}
	return true
}

// nameLength returns the length of an unquoted name.
func (r *reader) nameLength(i int) int {
	n := 0
	for i+n < len(r.s) && n < maxKey && (isWord(r.s[i+n]) || r.s[i+n] == '-' || r.s[i+n] == '.') {
		n++
	}
	return n
}

// colonAt returns the length of the separator between a name and its value, or 0.
func colonAt(s string, i int) int {
	switch {
	case i >= len(s):
	case s[i] == ':' || s[i] == '=':
		return 1
	case strings.HasPrefix(s[i:], "："):
		return len("：")
	}
	return 0
}

// oddKey reads a name without its closing quote, or without a colon after it: {"path:
// "a.go"}, {"path" "a.go"}.
func (r *reader) oddKey(quote byte, colon *bool) bool {
	from := r.i + 1
	to := from + r.nameLength(from)
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
	r.out = appendQuoted(r.out, r.s[from:to])
	r.i = next
	return true
}

// number reads a number and keeps its text. Text that only begins like a number ("1-50",
// "3rd") becomes a string.
func (r *reader) number() bool {
	start := r.i
	for r.i < len(r.s) && (isWord(r.s[r.i]) || strings.IndexByte("+-.:/", r.s[r.i]) >= 0) {
		r.i++
	}
	tok := r.s[start:r.i]
	r.Ellipsis = strings.HasPrefix(tok, "...")
	if r.Ellipsis {
		return false
	}
	if json.Valid([]byte(tok)) {
		r.out = append(r.out, tok...)
		if len(r.stack) > 0 {
			r.atEnd()
		}
		return true
	}
	if r.atEnd() {
		tok = strings.TrimRight(tok, "+-.eE")
	}
	plain := strings.ReplaceAll(strings.TrimPrefix(tok, "+"), "_", "")
	if strings.HasPrefix(plain, ".") {
		plain = "0" + plain
	}
	plain = strings.TrimSuffix(plain, ".")
	if whole := strings.TrimLeft(plain, "0"); len(plain) > 1 && whole != "" && strings.Trim(whole, "0123456789") == "" {
		plain = whole // 007
	}
	switch {
	case json.Valid([]byte(plain)):
		r.out = append(r.out, plain...)
	case tok == "":
		return false
	default:
		r.out = appendQuoted(r.out, tok)
	}
	return true
}

// keywords maps the words for literal values to JSON.
var keywords = [...][2]string{
	{"true", "true"}, {"false", "false"}, {"null", "null"},
	{"True", "true"}, {"False", "false"}, {"None", "null"},
	{"TRUE", "true"}, {"FALSE", "false"}, {"NULL", "null"}, {"undefined", "null"}, {"NaN", "null"}, {"nil", "null"},
}

// word reads a keyword or an unquoted string.
func (r *reader) word() bool {
	n := 0
	for r.i+n < len(r.s) && isWord(r.s[r.i+n]) {
		n++
	}
	tok := r.s[r.i : r.i+n]
	last := r.i+n == len(r.s)
	for _, k := range keywords {
		if tok == k[0] || last && tok != "" && strings.HasPrefix(k[0], tok) {
			r.i += n
			r.out = append(r.out, k[1]...)
			if len(r.stack) > 0 || tok != k[0] {
				r.atEnd()
			}
			return true
		}
	}
	return r.bare()
}

// bare reads an unquoted string up to the end of the member.
func (r *reader) bare() bool {
	if r.placeholder() {
		r.Ellipsis = true
		return false
	}
	c := r.peek()
	if len(r.stack) == 0 || !isWord(c) && strings.IndexByte("/~$@*.", c) < 0 && c < utf8.RuneSelf {
		return false
	}
	start := r.i
	for r.i < len(r.s) && strings.IndexByte(",}])\n\"'`{[<;", r.s[r.i]) < 0 {
		r.i++
	}
	text := strings.TrimSpace(r.s[start:r.i])
	switch c := r.peek(); c {
	case '"': // a.go", with the opening quote missing
		if strings.IndexByte(text, ' ') >= 0 || !r.follows(r.i+1, false) {
			return false
		}
		r.i++
		r.out = appendQuoted(r.out, text)
		return true
	case '\'', '{', '[', '`':
		return false
	}
	r.out = appendQuoted(r.out, text)
	r.CutText = r.atEnd()
	return true
}

// placeholder reports whether there is something like ... or <path> here, as in an
// explanation of a call.
func (r *reader) placeholder() bool {
	return r.has("...") || r.has("…") || r.has("<") && !r.markAt(r.i)
}
