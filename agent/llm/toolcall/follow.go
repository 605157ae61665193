package toolcall

import "strings"

// lookAhead is how far a quote looks to tell whether it closes its string.
const lookAhead = 256

// follows says whether what stands at i can follow a string that was just
// closed. It is how a quote that was not escaped is told from a closing one.
func (r *reader) follows(i int, key bool) bool {
	i = skipBlank(r.s, i)
	if i >= len(r.s) {
		return true
	}
	if key {
		return colonAt(r.s, i)
	}
	if len(r.stack) == 0 {
		return true
	}
	in := r.stack[len(r.stack)-1]
	switch c := r.s[i]; c {
	case ',', ';':
		return r.followsComma(i+1, in)
	case '+':
		_, ok := r.joins(i)
		return ok
	case ')':
		return strings.IndexByte(string(r.stack), '(') >= 0 && r.followsClosers(i)
	case '}', ']':
		return r.followsClosers(i)
	case '/', '#':
		return strings.HasPrefix(r.s[i:], "//") || strings.HasPrefix(r.s[i:], "/*") || c == '#' && in != '('
	case '<', '[':
		return r.marks.at(r.s, i) || r.marks != nil && c == '<' && lexMark(r.s, i).growing
	case '`':
		return r.marks != nil && strings.HasPrefix(r.s[i:], "```")
	}
	if strings.HasPrefix(r.s[i:], "，") {
		return r.followsComma(i+len("，"), in)
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
	if c == '}' || c == ']' || c == ')' || c == '/' || c == '#' || c == ',' {
		return true
	}
	switch in {
	case '{':
		return keyAt(r.s, i)
	case '(':
		return keyAt(r.s, i) || strings.IndexByte(`"'{[-0123456789`, c) >= 0 || isWord(c)
	}
	return strings.IndexByte("\"'`{[-(0123456789tfnTFN", c) >= 0 || c >= 0x80
}

// keyAt says whether a member's name and a colon (or an equals sign) stand
// here.
func keyAt(s string, i int) bool {
	stop := min(len(s), i+lookAhead)
	if i >= stop {
		return true
	}
	quoted := !isWord(s[i])
	if quoted {
		n := 0
		for _, q := range [...]string{`"`, "'", `\"`, "“", "”", "‘", "`"} {
			if strings.HasPrefix(s[i:], q) {
				n = len(q)
				break
			}
		}
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
	if i == start && !quoted {
		return false
	}
	for _, q := range [...]string{`"`, "'", `\"`, "“", "”", "’", "`"} {
		if quoted && strings.HasPrefix(s[i:], q) {
			i += len(q)
			quoted = false
			break
		}
	}
	i = skipBlank(s, i)
	return !quoted && (i >= len(s) || colonAt(s, i))
}

// followsClosers: after the brackets that close here the text goes on in the
// container around them, or the value is over.
func (r *reader) followsClosers(i int) bool {
	depth := len(r.stack)
	for stop := i + lookAhead; i < len(r.s) && i < stop; i++ {
		switch c := r.s[i]; c {
		case '}', ']', ')':
			depth--
		case ' ', '\n', '\t', '\r':
		case ',', ';':
			return depth > 0 && r.followsComma(i+1, r.stack[depth-1]) || depth <= 0
		case '/', '#', '<', '`', '[':
			return true
		case '"', '\'':
			return depth <= 0 || r.stack[depth-1] == '{' && keyAt(r.s, i)
		default:
			return depth <= 0
		}
		if depth < 0 {
			return true
		}
	}
	return true
}

// skipBlank skips white space, not further than a quote looks.
func skipBlank(s string, i int) int {
	for stop := min(len(s), i+lookAhead); i < stop; i++ {
		if c := s[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			break
		}
	}
	return i
}
