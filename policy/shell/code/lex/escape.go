package lex

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escapes says what a backslash does in the texts of a language.
type escapes struct {
	letters string // pairs of a letter and what it stands for
	octal   int    // how many digits an octal number has at most
	hex     [2]int // how many digits \x has, at least and at most
	decimal bool   // \ddd is decimal
	unicode bool   // \u and four digits
	wide    bool   // \U and eight digits
	braces  string // the letters that a number in braces may follow
	control bool   // \cX
	join    bool   // a backslash at the end of a line joins it with the next
	opaque  string // letters whose meaning is not computed
	rest    byte   // other letters: 'k' keeps the backslash, 'd' drops it, 'o' is not computed
	runes   bool   // \x and octal numbers are characters, not bytes
}

// literal reads the inside of a literal.
type literal struct {
	l    *lexer
	end  string
	q    quoting
	b    strings.Builder
	gap  bool
	code []string
	high rune // the first half of a character
}

// read reports whether the literal has an end.
func (t *literal) read() bool {
	l, open := t.l, byte(0)
	for o, e := range closers {
		if e == t.end {
			open = o
		}
	}
	for depth := 0; l.i < len(l.s); {
		c := l.s[l.i]
		ends := t.end != "" && strings.HasPrefix(l.s[l.i:], t.end)
		switch {
		case ends && depth == 0 && t.q.doubled && strings.HasPrefix(l.s[l.i+1:], t.end):
			t.b.WriteByte(c)
			l.i += 2
		case ends && depth == 0:
			l.i += len(t.end)
			return true
		case c == '\n' && t.q.line:
			return false
		case c == '\\':
			t.backslash()
		case t.q.pattern && t.inPattern(), t.q.interp && t.interpolation():
		default:
			switch {
			case c == open && open != 0:
				depth++
			case ends:
				depth--
			}
			t.b.WriteByte(c)
			l.i++
		}
	}
	return t.end == ""
}

// inPattern reads what is only read together in a regular expression.
func (t *literal) inPattern() bool {
	l := t.l
	switch {
	case l.s[l.i] == '[' && t.end == "/" && l.lang != Perl && l.lang != Ruby:
		t.class()
		return true
	case strings.HasPrefix(l.s[l.i:], "(?"):
		return t.patternCode()
	}
	return false
}

// class skips a class of characters in a pattern: a slash in it is one of
// them.
func (t *literal) class() {
	l := t.l
	for n := 1; l.i+n < len(l.s) && l.s[l.i+n] != '\n'; n++ {
		switch {
		case l.s[l.i+n] == '\\':
			n++
		case l.s[l.i+n] == ']' && (n > 1 || l.lang == JS):
			t.b.WriteString(l.s[l.i : l.i+n+1])
			l.i += n + 1
			return
		}
	}
	t.b.WriteByte('[')
	l.i++
}

// patternCode takes a program out of a pattern: (?{ … }).
func (t *literal) patternCode() bool {
	l := t.l
	at := strings.IndexByte(l.s[l.i:min(len(l.s), l.i+5)], '{')
	if at < 0 || l.lang != Perl || strings.Trim(l.s[l.i:l.i+at], "(?p*") != "" {
		return false
	}
	return t.program(at)
}

// program takes out the program between the braces that open n bytes on.
func (t *literal) program(n int) bool {
	l := t.l
	end := l.matching(l.i + n)
	if end < 0 {
		return false
	}
	t.code = append(t.code, l.s[l.i+n+1:end])
	t.missing(end + 1 - l.i)
	return true
}

// missing marks n bytes as a part that is not known.
func (t *literal) missing(n int) {
	t.b.WriteString(Gap)
	t.gap = true
	t.l.i += n
}

// matching finds the bracket that closes the one at i, or -1. What all
// searches of a text look at is bounded, so that they take linear time.
func (l *lexer) matching(i int) int {
	s := l.s
	depth := 0
	for n := i; n < len(s); n++ {
		if l.steps++; l.steps > 8*len(s)+1<<12 {
			l.bad = true
			return -1
		}
		switch c := s[n]; c {
		case '\\':
			n++
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return n
			}
		case '"', '\'':
			if at := strings.IndexByte(s[n+1:min(len(s), n+256)], c); at >= 0 {
				n += at + 1
			}
		}
	}
	return -1
}

// interpolation reads what a language replaces in a text.
func (t *literal) interpolation() bool {
	l := t.l
	c, next := l.s[l.i], l.at(1)
	opens := strings.IndexByte(l.g.interp, c) >= 0
	switch {
	case l.lang == Python:
		return t.field(c, next)
	case opens && (next == '{' || next == '(' && strings.Contains("powershell julia", string(l.lang))):
		return t.program(1)
	case c == '{' && next == '$' && l.lang == PHP:
		return t.program(0)
	case !opens || l.lang == JS || next == 0:
		return false
	case c == '#':
		if next == '@' || next == '$' {
			t.missing(2)
		}
		return next == '@' || next == '$'
	}
	if !Letter(next) && (l.lang != Perl || t.q.pattern || strings.IndexByte("$&!@,;./0123456789", next) < 0) {
		return false
	}
	t.variable()
	return true
}

// field reads what stands in braces in a text of Python.
func (t *literal) field(c, next byte) bool {
	if (c == '{' || c == '}') && next == c {
		t.b.WriteByte(c)
		t.l.i += 2
		return true
	}
	return c == '{' && t.program(0)
}

// variable reads a variable in a text, with its subscripts: those are
// programs.
func (t *literal) variable() {
	l := t.l
	t.missing(2)
	for Letter(l.at(0)) || Digit(l.at(0)) {
		l.i++
	}
	for range MaxNested {
		n := 0
		if strings.HasPrefix(l.s[l.i:], "->") {
			n = 2
		}
		if c := l.at(n); c != '[' && (c != '{' || l.lang != Perl) || t.q.pattern {
			return
		}
		end := l.matching(l.i + n)
		if end < 0 {
			return
		}
		t.code = append(t.code, l.s[l.i+n+1:end])
		l.i = end + 1
	}
}

// backslash reads an escape.
func (t *literal) backslash() {
	l, e := t.l, t.q.escapes
	if l.i+1 >= len(l.s) {
		t.b.WriteByte('\\')
		l.i++
		return
	}
	next := l.s[l.i+1]
	atEnd := t.end != "" && (next == t.end[0] || closer(next) == t.end)
	switch {
	case t.q.raw && l.lang == Python || t.q.pattern: // it keeps the delimiter from ending the text, and stays
		t.b.WriteString(l.s[l.i : l.i+2])
		l.i += 2
	case t.q.raw:
		t.b.WriteByte('\\')
		l.i++
	case e == nil && (atEnd || next == '\\'):
		t.b.WriteByte(next)
		l.i += 2
	case e == nil:
		t.b.WriteByte('\\')
		l.i++
	default:
		l.i++
		t.escape(e)
	}
}

// escape decodes what follows a backslash.
func (t *literal) escape(e *escapes) {
	l := t.l
	c := l.s[l.i]
	at := strings.IndexByte(e.letters, c)
	switch {
	case c == '\n' && e.join:
		l.i++
	case strings.IndexByte(e.opaque, c) >= 0:
		t.missing(1)
	case t.numbered(e, c):
	case c == 'c' && e.control && l.i+1 < len(l.s):
		t.b.WriteByte(upper(l.s[l.i+1]) ^ 0x40)
		l.i += 2
	case at >= 0 && at%2 == 0:
		t.b.WriteByte(e.letters[at+1])
		l.i++
	case e.rest == 'k' && !strings.HasPrefix(t.end, string(c)):
		t.b.WriteByte('\\')
	case e.rest == 'o':
		t.missing(1)
	default:
		_, n := utf8.DecodeRuneInString(l.s[l.i:])
		t.b.WriteString(l.s[l.i : l.i+n])
		l.i += n
	}
}

// numbered decodes an escape that gives the number of a character.
func (t *literal) numbered(e *escapes, c byte) bool {
	switch {
	case Digit(c) && e.decimal:
		t.number(0, 10, [2]int{1, 3})
	case c >= '0' && c <= '7' && e.octal > 0:
		t.number(0, 8, [2]int{1, e.octal})
	case strings.IndexByte(e.braces, c) >= 0 && t.l.at(1) == '{':
		t.braced(c)
	case (c == 'x' || c == 'X' && t.l.lang == PHP) && e.hex[1] > 0:
		t.number(1, 16, e.hex)
	case c == 'u' && e.unicode && !t.q.bytes:
		t.number(1, 16, [2]int{4, 4})
	case c == 'U' && e.wide && !t.q.bytes:
		t.number(1, 16, [2]int{8, 8})
	default:
		return false
	}
	return true
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// number decodes the digits that stand skip bytes on.
func (t *literal) number(skip, base int, digits [2]int) {
	l := t.l
	n := 0
	for n < digits[1] && strings.IndexByte("0123456789abcdefABCDEF"[:map[int]int{8: 8, 10: 10, 16: 22}[base]], l.at(skip+n)) >= 0 && l.at(skip+n) != 0 {
		n++
	}
	v, _ := strconv.ParseUint("0"+l.s[l.i+skip:l.i+skip+n], base, 32)
	if n < digits[0] {
		t.missing(1)
		return
	}
	isRune := digits[1] >= 4 || t.q.escapes.runes && !t.q.bytes
	l.i += skip + n
	t.put(rune(v), isRune)
}

// put writes a character or a byte. Two halves of a character are joined.
func (t *literal) put(v rune, isRune bool) {
	if !isRune {
		t.b.WriteByte(byte(v))
		return
	}
	if utf16.IsSurrogate(v) {
		if r := utf16.DecodeRune(t.high, v); t.high != 0 && r != utf8.RuneError {
			t.b.WriteRune(r)
			t.high = 0
			return
		}
		t.high = v
		t.gap = t.gap || !strings.HasPrefix(t.l.s[t.l.i:], `\u`)
		return
	}
	t.b.WriteRune(v)
}

// braced decodes a number in braces, or several.
func (t *literal) braced(letter byte) {
	l := t.l
	end := strings.IndexByte(l.s[l.i:min(len(l.s), l.i+64)], '}')
	if end < 0 {
		t.missing(1)
		return
	}
	base := 16
	if letter == 'o' {
		base = 8
	}
	for f := range strings.FieldsSeq(l.s[l.i+2 : l.i+end]) {
		v, err := strconv.ParseUint(f, base, 21)
		if err != nil {
			t.gap = true
		}
		t.put(rune(v), letter != 'x' || v > 0xff)
	}
	l.i += end + 1
}
