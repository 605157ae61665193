package toolcall

import (
	"encoding/json"
	"strings"
)

// maxDepth bounds nesting, and with it recursion. No tool takes arguments that
// come near it.
const maxDepth = 100

// reader turns JSON as small models write it into JSON. It reads one value at
// a time, left to right, and writes what it understood to out, so its memory
// is bounded by the text that it read.
type reader struct {
	s   string
	i   int
	out []byte

	embedded int    // times that JSON in quotes was looked for
	stack    []byte // open containers: '{', '[' or '('
	marks    marks  // markup that ends containers which were left open
	repaired bool
	end      bool // the text ended inside the value
	open     int  // containers that were open when the text ended
	cutText  bool // the text ended inside a string
	ellipsis bool // failed at a placeholder such as "..." or <name>
}

// parsedJSON is a value that was read.
type parsedJSON struct {
	json     []byte
	next     int // offset after the value
	repaired bool
	open     int
	cutText  bool
	ended    bool
	ellipsis bool
	ok       bool
}

// readJSON reads the value at offset i of s. Where the value stands in call
// markup, m is set and the markup's end also ends what was left open. What is
// valid JSON is never mended: the reader's guesses about quotes are checked
// against the plain rules when it changed anything.
func readJSON(s string, i int, m marks) parsedJSON {
	r := &reader{s: s, i: i, marks: m}
	ok := r.value()
	if ok && !r.repaired {
		return r.result(true)
	}
	if r.ellipsis {
		return r.result(false)
	}
	far := min(len(s), i+2*(r.i-i)+64)
	if end := balanced(s[:far], i); end > 0 && json.Valid([]byte(s[i:end])) {
		return parsedJSON{json: []byte(s[i:end]), next: end, ok: true}
	}
	return r.result(ok)
}

// readMembers reads an object whose opening brace is missing.
func readMembers(s string, i int, m marks) parsedJSON {
	r := &reader{s: s, i: i, marks: m, repaired: true}
	return r.result(r.members())
}

func (r *reader) result(ok bool) parsedJSON {
	res := parsedJSON{next: r.i, repaired: r.repaired, open: r.open, cutText: r.cutText, ended: r.end, ellipsis: r.ellipsis}
	if ok && len(r.out) > 0 {
		res.json, res.ok = r.out, true
	}
	return res
}

// balanced returns the end of the object or array at i as strict JSON delimits
// it, 0 when it has none or nests too deeply.
func balanced(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return 0
			}
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		case '"':
			if i = strictString(s, i); i < 0 {
				return 0
			}
			if depth == 0 {
				return i
			}
			continue
		}
		i++
	}
	return 0
}

// strictString returns the offset after the string at i, -1 when it is open.
func strictString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
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
		case r.has("//") || c == '#':
			r.repaired = true
			r.i = lineEnd(r.s, r.i)
		case r.has("/*"):
			r.repaired = true
			n := strings.Index(r.s[r.i+2:], "*/")
			if n < 0 {
				r.i = len(r.s)
				return
			}
			r.i += n + 4
		case c == 0xc2 && r.has("\u00a0"):
			r.repaired = true
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

// atEnd notes that the text ended with a container open.
func (r *reader) atEnd() bool {
	if r.i < len(r.s) {
		return false
	}
	r.end, r.repaired = true, true
	return true
}

// value reads one value. false means that there is none here, or, with end
// set, that the text ended before it began.
func (r *reader) value() bool {
	r.space()
	if r.atEnd() || len(r.stack) >= maxDepth {
		return false
	}
	if rest := r.s[r.i:]; rest[0] == '<' && (strings.HasPrefix(`<|"|>`, rest) || rest != "<escape>" && lexMark(rest, 0).growing) {
		r.i = len(r.s)
		r.atEnd()
		return false
	}
	switch c := r.s[r.i]; {
	case c == '{':
		return r.object()
	case c == '[':
		return r.list(']')
	case c == '(' && len(r.stack) > 0:
		r.repaired = true
		return r.list(')')
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return r.number()
	}
	if q, ok := r.quote(); ok {
		return r.text(q, false)
	}
	return r.word()
}

func (r *reader) object() bool {
	r.i++
	if r.peek() != '{' {
		return r.members()
	}
	r.i++ // {{…}}, as in a template
	r.repaired = true
	ok := r.members()
	if r.peek() == '}' {
		r.i++
	}
	return ok
}

func (r *reader) members() bool {
	r.stack = append(r.stack, '{')
	r.out = append(r.out, '{')
	first := len(r.out)
	for {
		r.space()
		if r.cutMark() || r.atEnd() {
			r.open++
			break
		}
		c := r.s[r.i]
		if c == '}' {
			r.i++
			break
		}
		if c == ',' || c == ';' {
			r.repaired = r.repaired || c == ';' || r.oddComma(first)
			r.i++
			continue
		}
		if r.has("，") {
			r.repaired = true
			r.i += len("，")
			continue
		}
		if r.closedOutside(c) {
			break
		}
		if len(r.out) > first && !r.afterComma() {
			r.repaired = true
		}
		if !r.member(first) {
			if r.end {
				r.open++
				break
			}
			return false
		}
		if r.end {
			r.open++
			break
		}
	}
	r.stack = r.stack[:len(r.stack)-1]
	r.out = append(r.out, '}')
	return true
}

// member reads `key: value`. A key whose value is missing is dropped.
func (r *reader) member(first int) bool {
	mark := len(r.out)
	if mark > first {
		r.out = append(r.out, ',')
	}
	colon := true
	if !r.key(&colon) {
		r.out = r.out[:mark]
		return false
	}
	r.space()
	switch {
	case !colon:
	case r.atEnd():
		r.out = r.out[:mark]
		return true
	case r.has("=>"):
		r.i += 2
	case r.has("："):
		r.repaired = true
		r.i += len("：")
	case r.s[r.i] == ':' || r.s[r.i] == '=':
		r.repaired = r.repaired || r.s[r.i] == '='
		r.i++
	default:
		r.ellipsis = mark == first && isWord(r.s[r.i-1]) // {json}
		return false
	}
	r.out = append(r.out, ':')
	r.space()
	if c := r.peek(); c == ',' || c == '}' {
		r.out, r.repaired = r.out[:mark], true
		return true
	}
	if !r.value() {
		r.out = r.out[:mark]
		return r.end
	}
	return true
}

// list reads an array, or a Python tuple.
func (r *reader) list(closer byte) bool {
	r.stack = append(r.stack, r.s[r.i])
	r.i++
	r.out = append(r.out, '[')
	first := len(r.out)
	for {
		r.space()
		if r.cutMark() || r.atEnd() {
			r.open++
			break
		}
		c := r.s[r.i]
		if c == closer {
			r.i++
			break
		}
		if c == ',' || c == ';' {
			r.repaired = r.repaired || c == ';' || r.oddComma(first)
			r.i++
			continue
		}
		if r.closedOutside(c) {
			break
		}
		if len(r.out) > first && !r.afterComma() {
			r.repaired = true
		}
		mark := len(r.out)
		if mark > first {
			r.out = append(r.out, ',')
		}
		ok := r.value()
		if !ok {
			r.out = r.out[:mark]
		}
		if r.end {
			r.open++
			break
		}
		if !ok {
			return false
		}
	}
	r.stack = r.stack[:len(r.stack)-1]
	r.out = append(r.out, ']')
	return true
}

// oddComma says whether the comma here follows nothing, or nothing follows it.
func (r *reader) oddComma(first int) bool {
	if len(r.out) == first {
		return true
	}
	for j := r.i + 1; j < len(r.s); j++ {
		switch r.s[j] {
		case ' ', '\n', '\t', '\r':
			continue
		case ',', '}', ']', ')':
			return true
		}
		return false
	}
	return true
}

// afterComma says whether the last thing before this place that is no white
// space is a comma.
func (r *reader) afterComma() bool {
	for j := r.i - 1; j >= 0; j-- {
		switch r.s[j] {
		case ' ', '\n', '\t', '\r':
			continue
		case ',':
			return true
		}
		return false
	}
	return false
}

// cutMark skips a mark that the text ends within.
func (r *reader) cutMark() bool {
	if r.marks == nil || r.peek() != '<' || !lexMark(r.s, r.i).growing {
		return false
	}
	r.i = len(r.s)
	return r.atEnd()
}

// closedOutside says whether c closes a container further out, or the markup
// around the value ends here: then what is open was left open by mistake.
func (r *reader) closedOutside(c byte) bool {
	var opener byte
	switch c {
	case '}':
		opener = '{'
	case ']':
		opener = '['
	case ')':
		opener = '('
	case '<', '`', '[':
		if r.marks.at(r.s, r.i) {
			r.repaired = true
			return true
		}
		return false
	default:
		return false
	}
	for _, o := range r.stack[:len(r.stack)-1] {
		if o == opener {
			r.repaired = true
			return true
		}
	}
	return false
}
