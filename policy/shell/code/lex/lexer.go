// Package lex takes the program texts of other languages than the shell apart
// into tokens: names, texts with their escapes, operators. One lexer serves
// all languages; a grammar says how each writes them. The package is pure and
// total.
package lex

import (
	"slices"
	"strings"
)

// Kind is what a token is.
type Kind int

// The kinds of tokens.
const (
	Name Kind = iota + 1
	Text
	Number
	Shell   // a text between backquotes, which a shell runs
	Words   // a list of quoted words
	Pattern // a regular expression
	Op
	Newline
)

// Token is one piece of a text.
type Token struct {
	Kind   Kind
	Text   string
	Plain  bool     // a text without gaps
	Code   []string // the programs inside of a text
	Spaced bool     // white space stands before it
	Line   int
}

// lexer takes a text apart. What it cannot read to its end is bad.
type lexer struct {
	lang   Language
	g      *Grammar
	s      string
	i      int
	line   int
	toks   []Token
	bad    bool
	spaced bool
	steps  int // what searches for brackets looked at
	resume int // where the text goes on after the here-documents of this line
}

func (l *lexer) run() {
	if strings.HasPrefix(l.s, "#!") {
		l.skipLine()
	}
	for l.i < len(l.s) && !l.bad {
		start := l.i
		if l.blank() {
			l.spaced = true
			continue
		}
		if !l.quoted() && !l.number() && !l.word() {
			l.operator()
		}
		l.spaced = false
		l.line += strings.Count(l.s[start:min(l.i, len(l.s))], "\n")
	}
}

func (l *lexer) rest() string { return l.s[min(l.i, len(l.s)):] }

// at is the byte n places on, or 0.
func (l *lexer) at(n int) byte {
	if l.i+n < len(l.s) && l.i+n >= 0 {
		return l.s[l.i+n]
	}
	return 0
}

func (l *lexer) emit(t Token) {
	t.Spaced, t.Line = l.spaced, l.line
	l.toks = append(l.toks, t)
}

func (l *lexer) last() Token {
	if len(l.toks) == 0 {
		return Token{Kind: Newline}
	}
	return l.toks[len(l.toks)-1]
}

// blank skips one white space or comment.
func (l *lexer) blank() bool {
	c := l.s[l.i]
	switch {
	case c == '\n':
		l.emit(Token{Kind: Newline, Text: "\n"})
		l.line++
		l.i++
		if l.resume > l.i {
			l.line += strings.Count(l.s[l.i:l.resume], "\n")
			l.i = l.resume
		}
		l.resume = 0
		return true
	case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
		l.i++
		return true
	case c == '\\' && (l.at(1) == '\n' || l.at(1) == '\r') && l.lang != Lisp:
		l.i += 2
		l.line++
		return true
	case l.lineStart() && l.document():
		return true
	}
	for _, p := range strings.Fields(l.g.block) {
		open, end, _ := strings.Cut(p, "…")
		if strings.HasPrefix(l.rest(), open) {
			at := strings.Index(l.s[l.i+len(open):], end)
			if at < 0 {
				l.bad = true
				at = len(l.s) - l.i - len(open) - len(end)
			}
			skip := len(open) + at + len(end)
			l.line += strings.Count(l.s[l.i:min(l.i+skip, len(l.s))], "\n")
			l.i += skip
			return true
		}
	}
	return l.lineComment()
}

func (l *lexer) lineComment() bool {
	if l.lang == Perl && l.at(-1) == '$' {
		return false // $#list
	}
	for _, p := range strings.Fields(l.g.comment) {
		if strings.HasPrefix(l.rest(), p) {
			l.skipLine()
			return true
		}
	}
	return false
}

func (l *lexer) lineStart() bool { return l.i == 0 || l.s[l.i-1] == '\n' }

func (l *lexer) skipLine() {
	if at := strings.IndexByte(l.rest(), '\n'); at >= 0 {
		l.i += at
	} else {
		l.i = len(l.s)
	}
}

// document skips a manual page in a Perl or Ruby text, and what follows the
// end of the program.
func (l *lexer) document() bool {
	if l.lang != Perl && l.lang != Ruby {
		return false
	}
	rest := l.rest()
	if strings.HasPrefix(rest, "__END__") || strings.HasPrefix(rest, "__DATA__") {
		l.i = len(l.s)
		return true
	}
	if rest[0] != '=' || len(rest) < 2 || !Letter(rest[1]) {
		return false
	}
	end := "\n=cut"
	if l.lang == Ruby {
		end = "\n=end"
		if !strings.HasPrefix(rest, "=begin") {
			return false
		}
	}
	if at := strings.Index(rest, end); at >= 0 {
		l.line += strings.Count(rest[:at+len(end)], "\n")
		l.i += at + len(end)
		l.skipLine()
		return true
	}
	l.i = len(l.s)
	return true
}

// Letter reports whether a byte begins a name.
func Letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// Digit reports whether a byte is a decimal digit.
func Digit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) number() bool {
	if !Digit(l.s[l.i]) && (l.s[l.i] != '.' || !Digit(l.at(1)) || !l.wantsValue()) {
		return false
	}
	start := l.i
	for l.i < len(l.s) {
		c := l.s[l.i]
		exponent := (c == '+' || c == '-') && l.i > start && (l.s[l.i-1] == 'e' || l.s[l.i-1] == 'E') && !strings.HasPrefix(l.s[start:], "0x")
		if !Letter(c) && !Digit(c) && !exponent && (c != '.' || !Digit(l.at(1))) {
			break
		}
		l.i++
	}
	l.emit(Token{Kind: Number, Text: l.s[start:l.i], Plain: true})
	return true
}

// word reads a name with its sigil.
func (l *lexer) word() bool {
	start := l.i
	c := l.s[l.i]
	if strings.IndexByte(l.g.sigils, c) >= 0 && (c == '$' || l.wantsValue()) {
		if !l.sigil() {
			l.i = start
			return false
		}
	} else if !Letter(c) && strings.IndexByte(l.g.starts, c) < 0 {
		return false
	} else {
		l.i++
	}
	for l.i < len(l.s) {
		switch {
		case l.wordByte(l.s[l.i]):
			l.i++
		case (l.lang == Perl || l.lang == PHP && l.s[start] != '$') && strings.HasPrefix(l.rest(), "::") && Letter(l.at(2)):
			l.i += 2
		case l.lang == PHP && l.s[l.i] == '\\' && Letter(l.at(1)):
			l.i++
		default:
			l.name(start)
			return true
		}
	}
	l.name(start)
	return true
}

func (l *lexer) name(start int) {
	text := l.s[start:l.i]
	if l.lang == Ruby && (l.at(0) == '?' || l.at(0) == '!') && l.at(1) != '=' && l.at(1) != '~' {
		l.i++
		text = l.s[start:l.i]
	}
	l.emit(Token{Kind: Name, Text: text})
}

// sigil steps over the sigil of a variable and reports whether one follows.
func (l *lexer) sigil() bool {
	for n := 0; n < 8 && l.i < len(l.s) && strings.IndexByte(l.g.sigils, l.s[l.i]) >= 0; n++ {
		if l.lang == Perl && (l.at(1) == '{' || strings.HasPrefix(l.rest(), "&&")) {
			return false
		}
		l.i++
		if l.at(-1) == '$' && l.at(0) == '#' && (Letter(l.at(1)) || l.at(1) == '$') {
			l.i++
		}
	}
	c := l.at(0)
	if Letter(c) || Digit(c) || strings.HasPrefix(l.rest(), "::") {
		return true
	}
	if c != 0 && l.lang == Perl && l.at(-1) == '$' && strings.IndexByte("&`'+!@/\\,;.<>()[]0^|~-\"", c) >= 0 {
		l.i++ // a variable whose name is a sign
		return true
	}
	return false
}

func (l *lexer) wordByte(c byte) bool {
	return Letter(c) || Digit(c) || strings.IndexByte(l.g.letters, c) >= 0 && c != 0
}

// operators are the signs of more than one byte that are read as one.
var operators = strings.Fields("**= <=> === !== ... ||= &&= //= <<= >>= ?-> ?. ?? => -> :: :=: := == != <= >= && || .. ** += -= *= /= .= |= %= =~ !~ ++ -- << >> |> |& <- <> //")

func (l *lexer) operator() {
	op := l.s[l.i : l.i+1]
	for _, o := range operators {
		if strings.HasPrefix(l.rest(), o) {
			op = o
			break
		}
	}
	if op == "?." && Digit(l.at(2)) || op == "|&" && l.lang != Awk || op == "//=" && l.lang != Perl {
		op = op[:1]
	}
	l.emit(Token{Kind: Op, Text: op})
	l.i += len(op)
}

// beforeValue are the words after which a value follows, so that a slash
// opens a pattern.
var beforeValue = strings.Fields("return and or not if unless while until when case typeof in of print puts push join split grep map x then do else elsif elif p instanceof new await yield throw delete void eq ne lt gt le ge cmp getline match")

// wantsValue reports whether a value must follow here, and not an operator.
func (l *lexer) wantsValue() bool {
	t := l.last()
	switch t.Kind {
	case Text, Number, Shell, Words, Pattern:
		return false
	case Name:
		if slices.Contains(beforeValue, t.Text) {
			return true
		}
		return (l.lang == Ruby || l.lang == Perl) && l.spaced && Letter(t.Text[0]) && l.at(1) != ' ' && l.at(1) != '='
	case Op:
		switch t.Text {
		case ")", "]":
			return false
		case "}":
			return l.lang == Awk
		case "++", "--":
			return false
		}
	}
	return true
}

// Tokens takes a text apart. It reports false when the text does not end as
// it began: a text or a bracket stays open.
func Tokens(lang Language, g *Grammar, text string) ([]Token, bool) {
	l := &lexer{lang: lang, g: g, s: text, line: 1}
	l.run()
	return l.toks, !l.bad
}
