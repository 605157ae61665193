// Package code analyzes program texts passed to the interpreter of another language:
// python -c, node -e, an awk program, a here-document. One tokenizer finds literals,
// comments, names and calls in all languages, and a table has the effects of calls. The
// package runs nothing and computes nothing except concatenations of literals; it reports
// calls that the table does not have.
package code

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind byte

const (
	literal kind = iota
	name
	number
	sign
	newline
)

// token is a token of a text. A literal consists of parts.
type token struct {
	kind  kind
	s     string // text of a name, number or sign
	parts []part
	runs  bool // the literal is a shell command
	code  bool // the literal is a program in this language
	solid bool // directly follows the previous token
}

// part is a piece of a literal: plain text, or interpolated code.
type part struct {
	s    string
	code bool
}

// grammar describes the tokens of a language.
type grammar struct {
	comments string // comment starts, separated by spaces
	raw      string // quotes in which only quotes are escaped
	ticks    byte   // backquotes: 'r' runs a command, 't' is a text
	fill     string // start of interpolated code: "#{", "${", "$", "{"
	join     string // concatenation operators, separated by spaces
	sigils   string // characters that begin names
	bare     bool   // calls need no parentheses
	folds    bool   // names are case-insensitive
	regex    bool   // slashes delimit regular expressions
}

// grammars are the grammars of the languages in the table.
var grammars = map[string]grammar{
	"python":     {comments: "#", fill: "{", join: "+"},
	"javascript": {comments: "// #!", ticks: 't', fill: "${", join: "+", regex: true},
	"perl":       {comments: "#", raw: "'", ticks: 'r', fill: "$", join: ".", sigils: "$@%", bare: true, regex: true},
	"ruby":       {comments: "#", raw: "'", ticks: 'r', fill: "#{", join: "+ <<", sigils: "$@", bare: true, regex: true},
	"php":        {comments: "// #", raw: "'", ticks: 'r', fill: "$", join: ".", sigils: "$", bare: true, folds: true},
	"lua":        {comments: "--", join: "..", bare: true},
	"awk":        {comments: "#", sigils: "$", bare: true, regex: true},
	"go":         {comments: "//", ticks: 't', join: "+"},
	"other":      {comments: "// --", join: "+ ^ ++ ~ &", bare: true},
}

// maxTokens is the maximum number of tokens in a text.
const maxTokens = 1 << 16

// scanner splits a text into tokens.
type scanner struct {
	grammar
	text string
	at   int
	out  []token
	lost bool // a literal is not terminated
}

func (s *scanner) rest() string { return s.text[s.at:] }

func (s *scanner) peek(i int) byte {
	if s.at+i < len(s.text) {
		return s.text[s.at+i]
	}
	return 0
}

func (s *scanner) add(t token) { s.out = append(s.out, t) }

func letter(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func (s *scanner) scan() []token {
	for s.at < len(s.text) && len(s.out) < maxTokens {
		from, n := s.at, len(s.out)
		solid := from > 0 && !strings.ContainsRune(" \t\n", rune(s.text[from-1]))
		s.next()
		if len(s.out) > n {
			s.out[n].solid = solid
		}
		if s.at == from {
			s.at++
		}
	}
	s.lost = s.lost || s.at < len(s.text)
	return s.out
}

func (s *scanner) next() {
	switch c := s.peek(0); {
	case c == '\n':
		s.at++
		s.add(token{kind: newline})
	case c == ' ' || c == '\t' || c == '\r' || c == '\\' && s.peek(1) == '\n':
		s.at++
	case s.comment():
	case c == '"' || c == '\'' || c == '`' && s.ticks != 0:
		s.quoted(c, "")
	case s.regex && c == '/' && s.expectsValue():
		s.enclosed("m", '/', 1)
	case letter(c) || strings.IndexByte(s.sigils, c) >= 0 && (letter(s.peek(1)) || s.peek(1) == '{' || digit(s.peek(1)) ||
		c == '$'):
		s.word()
	case digit(c):
		from := s.at
		for digit(s.peek(0)) || letter(s.peek(0)) || s.peek(0) == '.' && digit(s.peek(1)) {
			s.at++
		}
		s.add(token{kind: number, s: s.text[from:s.at]})
	default:
		s.sign()
	}
}

func (s *scanner) comment() bool {
	if s.peek(0) == '/' && s.peek(1) == '*' && s.comments != "#" {
		_, after, ok := strings.Cut(s.rest()[2:], "*/")
		s.lost = s.lost || !ok
		s.at = len(s.text) - len(after)
		return true
	}
	for c := range strings.FieldsSeq(s.comments) {
		if strings.HasPrefix(s.rest(), c) && (c != "#" || s.at == 0 || s.text[s.at-1] != '$') {
			line, _, _ := strings.Cut(s.rest(), "\n")
			s.at += len(line)
			return true
		}
	}
	return false
}

// quoted reads a literal between quotes.
func (s *scanner) quoted(q byte, prefix string) {
	end := string(q)
	if three := strings.Repeat(end, 3); q != '`' && strings.HasPrefix(s.rest(), three) {
		end = three
	}
	raw := strings.IndexByte(s.raw, q) >= 0 || strings.Contains(prefix, "r")
	s.at += len(end)
	from := s.at
	for !strings.HasPrefix(s.rest(), end) {
		if s.peek(0) == '\\' {
			s.at++
		}
		if s.at >= len(s.text) {
			s.lost, s.at = true, len(s.text)
			s.add(token{kind: literal, parts: []part{{s: s.text[from:]}}})
			return
		}
		s.at++
	}
	body := s.text[from:s.at]
	s.at += len(end)
	t := token{kind: literal, runs: q == '`' && s.ticks == 'r'}
	switch fills := s.fill != "{" || strings.Contains(prefix, "f"); {
	case raw:
		t.parts = []part{{s: strings.NewReplacer(`\\`, `\`, `\`+string(q), string(q)).Replace(body)}}
	case fills && (s.ticks != 't' || q == '`'):
		t.parts = s.splitInterpolated(body)
	default:
		t.parts = []part{{s: Unescape(body)}}
	}
	s.add(t)
}

// splitInterpolated splits a literal into text and interpolated code.
func (s *scanner) splitInterpolated(body string) []part {
	var out []part
	from := 0
	for i := 0; s.fill != "" && i < len(body); i++ {
		if body[i] == '\\' {
			i++
			continue
		}
		if !strings.HasPrefix(body[i:], s.fill) {
			continue
		}
		begin := i + len(s.fill)
		end := begin
		switch {
		case s.fill[len(s.fill)-1] == '{':
			end = closing(body, begin, '{', '}')
		case begin < len(body) && (body[begin] == '{' || body[begin] == '('):
			end = closing(body, begin+1, body[begin], map[byte]byte{'{': '}', '(': ')'}[body[begin]])
			begin++
		default:
			begin = i
			for end < len(body) && (letter(body[end]) || digit(body[end])) {
				end++
			}
		}
		if end == i+1 || end > len(body) {
			continue
		}
		out = append(out, part{s: Unescape(body[from:i])}, part{s: body[begin:end], code: true})
		if from = end; end < len(body) && (body[end] == '}' || body[end] == ')') && begin > i {
			from++
		}
		i = from - 1
	}
	return append(out, part{s: Unescape(body[from:])})
}

func closing(s string, from int, open, end byte) int {
	depth := 1
	for i := from; i < len(s); i++ {
		switch s[i] {
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

func (s *scanner) expectsValue() bool {
	i := len(s.out) - 1
	if i < 0 {
		return true
	}
	switch t := s.out[i]; t.kind {
	case sign:
		return !strings.Contains(")]}", t.s)
	case name:
		return slices.Contains(
			[]string{"if", "unless", "and", "or", "not", "return", "split", "grep", "print", "when", "while"},
			t.s,
		)
	}
	return s.out[i].kind == newline
}

// enclosed reads the parts of a quoting operator or of a regular expression.
func (s *scanner) enclosed(op string, open byte, times int) {
	end := open
	if i := strings.IndexByte("([{<", open); i >= 0 {
		end = ")]}>"[i]
	}
	var bodies []string
	for n := range times {
		s.at++
		from, depth := s.at, 1
		for ; s.at < len(s.text) && depth > 0; s.at++ {
			switch s.peek(0) {
			case '\\':
				s.at++
			case end:
				depth--
			case open:
				depth++
			}
		}
		s.lost = s.lost || depth > 0
		s.at = min(s.at, len(s.text))
		bodies = append(bodies, strings.TrimSuffix(s.text[min(from, s.at):s.at], string(end)))
		if s.at--; open != end && n+1 < times { // the second part has brackets of its own
			s.at += 1 + strings.IndexFunc(s.text[s.at+1:]+"x", func(r rune) bool { return r != ' ' })
			s.at = min(s.at, len(s.text))
		}
	}
	s.at = min(s.at+1, len(s.text))
	flags := s.at
	for letter(s.peek(0)) && strings.Contains("smtryqr", op) {
		s.at++
	}
	switch op {
	case "qw", "w", "W", "i":
		s.add(token{kind: sign, s: "["})
		for w := range strings.FieldsSeq(bodies[0]) {
			s.add(token{kind: literal, parts: []part{{s: w}}})
			s.add(token{kind: sign, s: ","})
		}
		s.add(token{kind: sign, s: "]"})
	case "s":
		if strings.Contains(s.text[flags:s.at], "e") {
			s.add(token{kind: literal, parts: []part{{s: bodies[1]}}, code: true})
			break
		}
		s.add(token{kind: number, s: "0"})
	case "m", "qr", "tr", "y":
		s.add(token{kind: number, s: "0"})
	case "qq", "Q", "qx", "x":
		s.add(token{kind: literal, parts: s.splitInterpolated(bodies[0]), runs: strings.HasSuffix(op, "x")})
	default:
		s.add(token{kind: literal, parts: []part{{s: bodies[0]}}})
	}
}

// word reads a name, or a literal with a prefix.
func (s *scanner) word() {
	from := s.at
	for s.at++; s.at < len(s.text); s.at++ {
		c := s.peek(0)
		if !letter(c) && !digit(c) {
			break
		}
	}
	if s.peek(0) == '!' && s.peek(1) == '(' {
		defer func() { s.at++ }()
	}
	w := s.text[from:s.at]
	q := s.peek(0)
	switch {
	case (q == '"' || q == '\'') && len(w) < 3 && strings.Trim(strings.ToLower(w), "rbfu") == "" && s.fill == "{":
		s.quoted(q, strings.ToLower(w))
		return
	case s.regex && s.ticks == 'r' && slices.Contains([]string{"q", "qq", "qw", "qx", "m", "qr", "s", "tr", "y"}, w) && s.raw != "" && s.fill == "$":
		if open := s.delimiter(); open != 0 {
			s.enclosed(w, open, map[bool]int{true: 2, false: 1}[w == "s" || w == "tr" || w == "y"])
			return
		}
	}
	s.add(token{kind: name, s: w})
}

func (s *scanner) delimiter() byte {
	at := s.at
	for s.peek(0) == ' ' {
		s.at++
	}
	c := s.peek(0)
	if c != 0 && strings.IndexByte(" \t\n,;=)", c) < 0 && !letter(c) && !digit(c) && (s.at == at || c != '-') {
		return c
	}
	s.at = at
	return 0
}

// signs are the operators of several characters.
var signs = strings.Fields("=== !== <=> ... == != <= >= => -> :: ?. && || := << >> ++ += -= .= ?? .. <> ~= =~ |>")

func (s *scanner) sign() {
	if w := s.peek(1); s.fill == "#{" && s.peek(0) == '%' &&
		(strings.IndexByte("wWiqQxr", w) >= 0 && strings.IndexByte("([{<|/!", s.peek(2)) >= 0 || w == '(' && s.expectsValue()) {
		op := string(w)
		if s.at += 2; w == '(' {
			op = "Q"
			s.at--
		}
		s.enclosed(op, s.peek(0), 1)
		return
	}
	for _, long := range signs {
		if strings.HasPrefix(s.rest(), long) {
			s.at += len(long)
			s.add(token{kind: sign, s: long})
			return
		}
	}
	s.at++
	s.add(token{kind: sign, s: s.text[s.at-1 : s.at]})
}

// Unescape decodes the escape sequences in a text.
func Unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits, base := "", 16
		switch c := s[i]; {
		case strings.IndexByte("abefnrtv", c) >= 0:
			b.WriteByte("\a\b\x1b\f\n\r\t\v"[strings.IndexByte("abefnrtv", c)])
		case c == '\n':
		case c == 'x' || c == 'u' || c == 'U':
			digits = strings.TrimLeft(s[i+1:min(len(s), i+1+map[byte]int{'x': 2, 'u': 6, 'U': 8}[c])], "{")
		case digit(c):
			digits, base = s[i:min(len(s), i+3+strings.Count(s[i:i+1], "0"))], 8
			i--
		default:
			b.WriteByte(c)
		}
		for ; digits != ""; digits = digits[:len(digits)-1] {
			if n, err := strconv.ParseUint(digits, base, 31); err == nil {
				if base == 8 || s[i] == 'x' {
					b.WriteByte(byte(n))
				} else {
					b.WriteRune(rune(n))
				}
				i += len(digits)
				break
			}
		}
	}
	return b.String()
}
