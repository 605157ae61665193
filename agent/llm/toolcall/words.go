package toolcall

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// number reads a number, whose text is kept. What only begins like one
// ("1-50", "3rd") is a string.
func (r *reader) number() bool {
	start := r.i
	for r.i < len(r.s) && (isWord(r.s[r.i]) || strings.IndexByte("+-.:/", r.s[r.i]) >= 0) {
		r.i++
	}
	tok := r.s[start:r.i]
	r.ellipsis = strings.HasPrefix(tok, "...")
	if r.ellipsis {
		return false
	}
	if json.Valid([]byte(tok)) {
		r.out = append(r.out, tok...)
		if len(r.stack) > 0 {
			r.atEnd()
		}
		return true
	}
	r.repaired = true
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

// keywords are the words that stand for values, with what they mean.
var keywords = [...][2]string{
	{"true", "true"}, {"false", "false"}, {"null", "null"},
	{"True", "true"}, {"False", "false"}, {"None", "null"},
	{"TRUE", "true"}, {"FALSE", "false"}, {"NULL", "null"}, {"undefined", "null"}, {"NaN", "null"}, {"nil", "null"},
}

// word reads a keyword or a string that was not quoted.
func (r *reader) word() bool {
	n := 0
	for r.i+n < len(r.s) && isWord(r.s[r.i+n]) {
		n++
	}
	tok := r.s[r.i : r.i+n]
	last := r.i+n == len(r.s)
	for _, k := range keywords {
		if tok == k[0] || last && tok != "" && strings.HasPrefix(k[0], tok) {
			if tok != k[1] {
				r.repaired = true
			}
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
		r.ellipsis = true
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
		r.out, r.repaired = appendQuoted(r.out, text), true
		return true
	case '\'', '{', '[', '`':
		return false
	}
	r.repaired = true
	r.out = appendQuoted(r.out, text)
	r.cutText = r.atEnd()
	return true
}

// placeholder says that here stands something like ... or <path>, as in an
// explanation of what a call looks like.
func (r *reader) placeholder() bool {
	return r.has("...") || r.has("…") || r.has("<") && !r.marks.at(r.s, r.i)
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
