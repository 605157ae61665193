// Package code analyzes program texts passed to the interpreter of another language:
// python -c, node -e, an awk program, a here-document. One tokenizer finds literals,
// comments, names and calls in all languages, and a table has the effects of calls. The
// package runs nothing and computes nothing except concatenations of literals; it reports
// calls that the table does not have.
package code

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// token is a token of a text. A literal with interpolated code is several tokens: its
// parts, the code in parentheses, and glue between them.
type token struct {
	kind  kind
	s     string
	solid bool // directly follows the previous token
}

// glue is the sign between the parts of a literal, and ticks the name of the function that
// runs the text between backquotes.
const (
	glue  = "\x00+"
	ticks = "`"
)

// grammar describes the tokens of a language.
type grammar struct {
	comments string // comment starts, separated by spaces
	raw      string // quotes in which only quotes are escaped
	ticks    byte   // backquotes: 'r' runs a command, 't' is a text
	fill     string // start of interpolated code: "#{", "${", "$", "{"
	join     string // concatenation operators, separated by spaces
	members  string // signs before a member, separated by spaces
	sigils   string // characters that begin names
	bare     bool   // calls need no parentheses
	folds    bool   // names are case-insensitive
	regex    bool   // slashes delimit regular expressions
}

// grammars are the grammars of the languages in the table.
var grammars = map[string]grammar{
	"python":     {comments: "#", fill: "{", join: "+", members: "."},
	"javascript": {comments: "// #!", ticks: 't', fill: "${", join: "+", members: ". ?.", regex: true},
	"perl": {
		comments: "#", raw: "'", ticks: 'r', fill: "$",
		join: ". ~", members: "-> ::", sigils: "$@%", bare: true, regex: true,
	},
	"ruby": {
		comments: "#", raw: "'", ticks: 'r', fill: "#{",
		join: "+ <<", members: ". ::", sigils: "$@", bare: true, regex: true,
	},
	"php": {
		comments: "// #", raw: "'", ticks: 'r', fill: "$",
		join: ".", members: "-> ::", sigils: "$", bare: true, folds: true,
	},
	"lua": {comments: "--", join: "..", members: ". :", bare: true},
	"awk": {comments: "#", sigils: "$", bare: true, regex: true},
	"go":  {comments: "//", ticks: 't', join: "+", members: "."},
}

// The limits of one text: its tokens, and the nesting of interpolated code.
const (
	maxTokens = 1 << 16
	maxNested = 8
)

// scanner splits a text into tokens.
type scanner struct {
	grammar
	text   string
	at     int
	nested int
	out    []token
	lost   bool // the text was not read completely
}

func (s *scanner) rest() string { return s.text[min(s.at, len(s.text)):] }

func (s *scanner) peek(i int) byte {
	if s.at+i < len(s.text) {
		return s.text[s.at+i]
	}
	return 0
}

func (s *scanner) add(k kind, text string) { s.out = append(s.out, token{kind: k, s: text}) }

func (s *scanner) signs(texts ...string) {
	for _, text := range texts {
		s.out = append(s.out, token{kind: sign, s: text, solid: true})
	}
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf }

func digit(c byte) bool { return c >= '0' && c <= '9' }

func (s *scanner) scan() {
	for s.at < len(s.text) && len(s.out) < maxTokens {
		from, n := s.at, len(s.out)
		s.next()
		if len(s.out) > n {
			s.out[n].solid = from > 0 && strings.IndexByte(" \t\n", s.text[from-1]) < 0
		}
		s.at = max(s.at, from+1)
	}
	s.lost = s.lost || s.at < len(s.text)
}

func (s *scanner) next() {
	switch c := s.peek(0); {
	case c == '\n':
		s.at++
		s.add(newline, "")
	case c == ' ' || c == '\t' || c == '\r' || c == '\\' && s.peek(1) == '\n':
		s.at++
	case s.comment():
	case c == '"' || c == '\'' || c == '`' && s.ticks != 0:
		s.quoted(c, "")
	case s.regex && c == '/' && s.expectsValue():
		s.enclosed()
		s.add(number, "0")
	case letter(c),
		strings.IndexByte(s.sigils, c) >= 0 && (letter(s.peek(1)) || strings.IndexByte("{$0123456789", s.peek(1)) >= 0):
		s.word()
	case digit(c):
		from := s.at
		for digit(s.peek(0)) || letter(s.peek(0)) || s.peek(0) == '.' && digit(s.peek(1)) {
			s.at++
		}
		s.add(number, s.text[from:s.at])
	default:
		s.operator()
	}
}

func (s *scanner) comment() bool {
	if strings.HasPrefix(s.rest(), "/*") && s.comments != "#" {
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
	s.at += len(end)
	from := s.at
	for !strings.HasPrefix(s.rest(), end) {
		if s.at++; s.text[s.at-1] == '\\' {
			s.at++
		}
		if s.at >= len(s.text) {
			s.lost, s.at = true, len(s.text)
			s.add(literal, s.text[from:])
			return
		}
	}
	body := s.text[from:s.at]
	s.at += len(end)
	switch fills := s.fill != "{" || strings.Contains(prefix, "f"); {
	case strings.IndexByte(s.raw, q) >= 0 || strings.Contains(prefix, "r"):
		s.add(literal, strings.NewReplacer(`\\`, `\`, `\`+string(q), string(q)).Replace(body))
	case fills && (s.ticks != 't' || q == '`'):
		s.interpolated(body, q == '`' && s.ticks == 'r')
	default:
		s.add(literal, Unescape(body))
	}
}

// fills match the interpolated code of a literal by its start, and escape sequences.
var fills = sync.OnceValue(func() map[string]*regexp.Regexp {
	const braced = `\{((?:[^{}]|\{[^{}]*\})*)\}`
	return map[string]*regexp.Regexp{
		"#{": regexp.MustCompile(`(?s)\\.|#` + braced),
		"${": regexp.MustCompile(`(?s)\\.|\$` + braced),
		"{":  regexp.MustCompile(`(?s)\\.|\{\{|` + braced),
		"$":  regexp.MustCompile(`(?s)\\.|\$` + braced + `|\$\(([^()]*)\)|(\$\w+)`),
	}
})

// interpolated adds the parts of a literal, which may be a command that runs.
func (s *scanner) interpolated(body string, runs bool) {
	if runs {
		s.add(name, ticks)
		s.signs("(")
	}
	from := 0
	if re := fills()[s.fill]; re != nil {
		for _, m := range re.FindAllStringSubmatchIndex(body, maxTokens) {
			for g := 2; g < len(m); g += 2 {
				if m[g] < 0 {
					continue
				}
				s.add(literal, Unescape(body[from:m[0]]))
				s.signs(glue, "(")
				s.inner(body[m[g]:m[g+1]])
				s.signs(")", glue)
				from = m[1]
			}
		}
	}
	s.add(literal, Unescape(body[from:]))
	if runs {
		s.signs(")")
	}
}

// inner adds the tokens of code in a literal.
func (s *scanner) inner(text string) {
	in := scanner{grammar: s.grammar, text: text, nested: s.nested + 1}
	if in.nested > maxNested {
		s.lost = true
		return
	}
	in.scan()
	s.out, s.lost = append(s.out, in.out...), s.lost || in.lost
}

func (s *scanner) expectsValue() bool {
	if len(s.out) == 0 {
		return true
	}
	switch t := s.out[len(s.out)-1]; t.kind {
	case sign:
		return !strings.Contains(")]}", t.s)
	case name:
		return slices.Contains(strings.Fields("if unless and or not return split grep print when while"), t.s)
	default:
		return t.kind == newline
	}
}

// enclosed reads a text between delimiters, and the letters after it.
func (s *scanner) enclosed() (body, flags string) {
	open := s.peek(0)
	end := open
	if i := strings.IndexByte("([{<", open); i >= 0 {
		end = ")]}>"[i]
	}
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
	body = strings.TrimSuffix(s.text[min(from, s.at):s.at], string(end))
	after := s.at
	for letter(s.peek(0)) {
		s.at++
	}
	return body, s.text[after:s.at]
}

// word reads a name, a literal with a prefix, or a quoting operator of Perl.
func (s *scanner) word() {
	from := s.at
	s.at++
	for letter(s.peek(0)) || digit(s.peek(0)) {
		s.at++
	}
	w := s.text[from:s.at]
	q := s.peek(0)
	switch {
	case (q == '"' || q == '\'') && len(w) < 3 && strings.Trim(strings.ToLower(w), "rbfu") == "" && s.fill == "{":
		s.quoted(q, strings.ToLower(w))
	case s.fill == "$" && s.regex && slices.Contains(strings.Fields("q qq qw qx m qr s tr y"), w) && s.delimited():
		s.operated(w)
	default:
		if q == '!' && s.peek(1) == '(' { // a macro
			s.at++
		}
		s.add(name, w)
	}
}

// delimited reports whether a delimiter follows, and moves to it.
func (s *scanner) delimited() bool {
	at := s.at + len(s.rest()) - len(strings.TrimLeft(s.rest(), " "))
	if at >= len(s.text) || strings.IndexByte("\t\n,;=)", s.text[at]) >= 0 || letter(s.text[at]) || digit(s.text[at]) ||
		at > s.at && s.text[at] == '-' {
		return false
	}
	s.at = at
	return true
}

// operated adds the text of a quoting operator.
func (s *scanner) operated(op string) {
	open := s.peek(0)
	body, flags := s.enclosed()
	if op == "s" || op == "tr" || op == "y" {
		if s.at -= len(flags); strings.IndexByte("([{<", open) < 0 {
			s.at--
		} else {
			s.delimited()
		}
		body, flags = s.enclosed()
	}
	switch op {
	case "qx", "x":
		s.interpolated(body, true)
	case "q", "qq", "Q", "qw", "w", "W":
		s.add(literal, Unescape(body))
	default:
		if op == "s" && strings.Contains(flags, "e") {
			s.signs("(")
			s.inner(body)
			s.signs(")")
		}
		s.add(number, "0")
	}
}

// operators are the signs of several characters.
var operators = strings.Fields("=== !== <=> ... == != <= >= => -> :: ?. && || := << >> ++ += -= .= ?? .. <> ~= =~ |>")

func (s *scanner) operator() {
	if w := s.peek(1); s.fill == "#{" && s.peek(0) == '%' &&
		(strings.IndexByte("wWqQx", w) >= 0 && strings.IndexByte("([{<|/!", s.peek(2)) >= 0 || w == '(' && s.expectsValue()) {
		op := string(w)
		if s.at++; w == '(' {
			op = "Q"
		} else {
			s.at++
		}
		s.operated(op)
		return
	}
	for _, long := range operators {
		if strings.HasPrefix(s.rest(), long) {
			s.at += len(long)
			s.add(sign, long)
			return
		}
	}
	s.at++
	s.add(sign, s.text[s.at-1:s.at])
}

// escape matches an escape sequence.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?s)\\(?:x\{?[0-9a-fA-F]{1,2}\}?|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|0?[0-7]{1,3}|.)`,
	)
})

// Unescape decodes the escape sequences in a text.
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return escape().ReplaceAllStringFunc(s, func(e string) string {
		c, base := e[1], 16
		digits := strings.Trim(e[2:], "{}")
		switch at := strings.IndexByte("abefnrtv", c); {
		case c == '\n':
			return ""
		case at >= 0:
			return "\a\b\x1b\f\n\r\t\v"[at : at+1]
		case c >= '0' && c <= '7':
			digits, base = e[1:], 8
		case digits == "" || strings.IndexByte("xuU", c) < 0:
			return e[1:]
		}
		n, err := strconv.ParseUint(digits, base, 31)
		if err != nil || base == 8 || c == 'x' {
			return string([]byte{byte(n)})
		}
		return string(rune(n))
	})
}
