package code

import (
	"slices"
	"strings"
)

type tokenKind int

const (
	tokenName tokenKind = iota + 1
	tokenText
	tokenNumber
	tokenShell   // a text between backquotes, which a shell runs
	tokenWords   // a list of quoted words
	tokenPattern // a regular expression
	tokenOp
	tokenNewline
)

type token struct {
	kind   tokenKind
	text   string
	plain  bool     // a text without gaps
	code   []string // the programs inside of a text
	spaced bool     // white space stands before it
	line   int
}

// lexer takes a text apart. What it cannot read to its end is bad.
type lexer struct {
	lang   Language
	g      *grammar
	s      string
	i      int
	line   int
	toks   []token
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

func (l *lexer) emit(t token) {
	t.spaced, t.line = l.spaced, l.line
	l.toks = append(l.toks, t)
}

func (l *lexer) last() token {
	if len(l.toks) == 0 {
		return token{kind: tokenNewline}
	}
	return l.toks[len(l.toks)-1]
}

// blank skips one white space or comment.
func (l *lexer) blank() bool {
	c := l.s[l.i]
	switch {
	case c == '\n':
		l.emit(token{kind: tokenNewline, text: "\n"})
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
	case c == '\\' && (l.at(1) == '\n' || l.at(1) == '\r') && l.lang != lisp:
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
	if l.lang == perl && l.at(-1) == '$' {
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
	if l.lang != perl && l.lang != ruby {
		return false
	}
	rest := l.rest()
	if strings.HasPrefix(rest, "__END__") || strings.HasPrefix(rest, "__DATA__") {
		l.i = len(l.s)
		return true
	}
	if rest[0] != '=' || len(rest) < 2 || !letter(rest[1]) {
		return false
	}
	end := "\n=cut"
	if l.lang == ruby {
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

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) number() bool {
	if !digit(l.s[l.i]) && (l.s[l.i] != '.' || !digit(l.at(1)) || !l.wantsValue()) {
		return false
	}
	start := l.i
	for l.i < len(l.s) {
		c := l.s[l.i]
		exponent := (c == '+' || c == '-') && l.i > start && (l.s[l.i-1] == 'e' || l.s[l.i-1] == 'E') && !strings.HasPrefix(l.s[start:], "0x")
		if !letter(c) && !digit(c) && !exponent && (c != '.' || !digit(l.at(1))) {
			break
		}
		l.i++
	}
	l.emit(token{kind: tokenNumber, text: l.s[start:l.i], plain: true})
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
	} else if !letter(c) && strings.IndexByte(l.g.starts, c) < 0 {
		return false
	} else {
		l.i++
	}
	for l.i < len(l.s) {
		switch {
		case l.wordByte(l.s[l.i]):
			l.i++
		case (l.lang == perl || l.lang == php && l.s[start] != '$') && strings.HasPrefix(l.rest(), "::") && letter(l.at(2)):
			l.i += 2
		case l.lang == php && l.s[l.i] == '\\' && letter(l.at(1)):
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
	if l.lang == ruby && (l.at(0) == '?' || l.at(0) == '!') && l.at(1) != '=' && l.at(1) != '~' {
		l.i++
		text = l.s[start:l.i]
	}
	l.emit(token{kind: tokenName, text: text})
}

// sigil steps over the sigil of a variable and reports whether one follows.
func (l *lexer) sigil() bool {
	for n := 0; n < 8 && l.i < len(l.s) && strings.IndexByte(l.g.sigils, l.s[l.i]) >= 0; n++ {
		if l.lang == perl && (l.at(1) == '{' || strings.HasPrefix(l.rest(), "&&")) {
			return false
		}
		l.i++
		if l.at(-1) == '$' && l.at(0) == '#' && (letter(l.at(1)) || l.at(1) == '$') {
			l.i++
		}
	}
	c := l.at(0)
	if letter(c) || digit(c) || strings.HasPrefix(l.rest(), "::") {
		return true
	}
	if c != 0 && l.lang == perl && l.at(-1) == '$' && strings.IndexByte("&`'+!@/\\,;.<>()[]0^|~-\"", c) >= 0 {
		l.i++ // a variable whose name is a sign
		return true
	}
	return false
}

func (l *lexer) wordByte(c byte) bool {
	return letter(c) || digit(c) || strings.IndexByte(l.g.letters, c) >= 0 && c != 0
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
	if op == "?." && digit(l.at(2)) || op == "|&" && l.lang != awk || op == "//=" && l.lang != perl {
		op = op[:1]
	}
	l.emit(token{kind: tokenOp, text: op})
	l.i += len(op)
}

// beforeValue are the words after which a value follows, so that a slash
// opens a pattern.
var beforeValue = strings.Fields("return and or not if unless while until when case typeof in of print puts push join split grep map x then do else elsif elif p instanceof new await yield throw delete void eq ne lt gt le ge cmp getline match")

// wantsValue reports whether a value must follow here, and not an operator.
func (l *lexer) wantsValue() bool {
	t := l.last()
	switch t.kind {
	case tokenText, tokenNumber, tokenShell, tokenWords, tokenPattern:
		return false
	case tokenName:
		if slices.Contains(beforeValue, t.text) {
			return true
		}
		return (l.lang == ruby || l.lang == perl) && l.spaced && letter(t.text[0]) && l.at(1) != ' ' && l.at(1) != '='
	case tokenOp:
		switch t.text {
		case ")", "]":
			return false
		case "}":
			return l.lang == awk
		case "++", "--":
			return false
		}
	}
	return true
}
