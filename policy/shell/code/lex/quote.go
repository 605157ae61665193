package lex

import (
	"strings"
	"unicode/utf8"
)

// quoting is how a text between two delimiters is written.
type quoting struct {
	escapes *escapes // nil: a backslash stands for itself, but before the delimiter
	raw     bool     // a backslash always stands for itself
	interp  bool     // variables and programs inside are replaced
	pattern bool     // a regular expression: escapes stay
	doubled bool     // the delimiter written twice stands for itself
	bytes   bool     // \x is a byte
	line    bool     // must end on its line
}

// quoted reads a literal, if one stands here.
func (l *lexer) quoted() bool {
	c := l.s[l.i]
	switch {
	case strings.IndexByte(l.g.quotes, c) >= 0:
		return l.quote(c)
	case c == '/' && l.g.patterns && l.wantsValue():
		l.i++
		l.finish(Pattern, "/", quoting{pattern: true, interp: l.lang != Awk && l.lang != JS})
		l.flags()
		return true
	case c == '<' && l.g.heredoc != "" && strings.HasPrefix(l.rest(), l.g.heredoc):
		return l.heredoc()
	case Letter(c):
		return l.prefixed()
	}
	switch string(l.lang) + " " + string(c) {
	case "lua [":
		return l.longBracket()
	case "perl <":
		return l.wantsValue() && l.handle()
	case "ruby %":
		return l.wantsValue() && l.percent()
	case "ruby :", "beam :":
		return l.symbol()
	case "ruby ?":
		if !l.wantsValue() || l.at(1) <= ' ' || l.wordByte(l.at(2)) {
			return false
		}
		l.emit(Token{Kind: Text, Text: l.s[l.i+1 : l.i+2], Plain: true})
		l.i += 2
		return true
	}
	return false
}

// handle reads <STDIN>, <> or <$file> of Perl.
func (l *lexer) handle() bool {
	end := strings.IndexByte(l.s[l.i:min(len(l.s), l.i+64)], '>')
	if end < 0 {
		return false
	}
	for _, c := range []byte(l.s[l.i+1 : l.i+end]) {
		if c != '$' && c != '<' && !Letter(c) {
			return false
		}
	}
	l.i += end + 1
	l.emit(Token{Kind: Name, Text: "STDIN"})
	return true
}

// symbol reads a name with a colon before it: it is a text.
func (l *lexer) symbol() bool {
	before := l.at(-1)
	if before == ':' || l.lang == Beam && l.wordByte(before) || l.lang == Ruby && !l.spaced && !l.wantsValue() {
		return false
	}
	if l.at(1) == '"' && l.lang == Ruby {
		l.i++
		return l.quote('"')
	}
	if !Letter(l.at(1)) {
		return false
	}
	l.i++
	start := l.i
	for l.wordByte(l.at(0)) {
		l.i++
	}
	l.emit(Token{Kind: Text, Text: l.s[start:l.i], Plain: true})
	return true
}

// quote reads a literal between quotation marks.
func (l *lexer) quote(c byte) bool {
	q := l.style(c)
	if c == '\'' && l.g.chars && !l.character() {
		l.i++
		return true
	}
	end := string(c)
	if triple := strings.Repeat(end, 3); l.g.triple && strings.HasPrefix(l.rest(), triple) {
		end, q.line = triple, false
	}
	l.i += len(end)
	kind := Text
	if c == '`' && l.g.backquote {
		kind = Shell
	}
	l.finish(kind, end, q)
	return true
}

// character reports whether a single quote opens a character, and is not a
// lifetime, a quoted list or a part of a name.
func (l *lexer) character() bool {
	end := strings.IndexByte(l.s[l.i+1:min(len(l.s), l.i+12)], '\'')
	return end == 0 || end > 0 && (l.at(1) == '\\' || utf8.RuneCountInString(l.s[l.i+1:l.i+1+end]) == 1)
}

func (l *lexer) style(c byte) quoting {
	g := l.g
	q := quoting{escapes: g.escapes, line: strings.IndexByte(g.oneLine, c) >= 0}
	switch {
	case strings.IndexByte(g.simple, c) >= 0:
		q = quoting{doubled: l.lang == Powershell, raw: l.lang == Powershell || l.lang == octave}
	case c == '`' && l.lang == Golang, c == '\'' && l.lang == octave:
		q = quoting{raw: true}
	case l.lang != Python && g.interp != "" && (c != '\'' || l.lang == Other):
		q.interp = l.lang != JS || c == '`'
	}
	return q
}

// finish reads the rest of a literal, up to end.
func (l *lexer) finish(kind Kind, end string, q quoting) {
	t := Token{Kind: kind}
	body := literal{l: l, end: end, q: q}
	if !body.read() {
		l.bad = true
	}
	t.Text, t.Plain, t.Code = body.b.String(), !body.gap, body.code
	l.emit(t)
}

// flags skips the letters after a pattern and returns them.
func (l *lexer) flags() string {
	start := l.i
	for Letter(l.at(0)) {
		l.i++
	}
	return l.s[start:l.i]
}

// prefixed reads the literals that a letter opens.
func (l *lexer) prefixed() bool {
	switch l.lang {
	case Python:
		n := 0
		for n < 3 && strings.IndexByte("rRbBuUfFtT", l.at(n)) >= 0 && l.at(n) != 0 {
			n++
		}
		if c := l.at(n); n > 0 && n < 3 && (c == '"' || c == '\'') {
			return l.pythonText(strings.ToLower(l.s[l.i:l.i+n]), c)
		}
	case Perl:
		return l.perlQuote()
	case Lisp, R, Other, Lua:
		if c := l.at(1); l.s[l.i] == 'r' && c == '"' && l.lang != Lisp && l.lang != Lua {
			l.i += 2
			l.finish(Text, `"`, quoting{raw: true})
			return true
		}
	}
	return false
}

func (l *lexer) pythonText(prefix string, c byte) bool {
	l.i += len(prefix)
	end := string(c)
	q := quoting{escapes: l.g.escapes, line: true, bytes: strings.Contains(prefix, "b"), interp: strings.ContainsAny(prefix, "ft")}
	if strings.Contains(prefix, "r") {
		q.escapes, q.raw = nil, true
	}
	if triple := strings.Repeat(end, 3); strings.HasPrefix(l.rest(), triple) {
		end, q.line = triple, false
	}
	l.i += len(end)
	l.finish(Text, end, q)
	return true
}

var closers = map[byte]string{'(': ")", '[': "]", '{': "}", '<': ">"}

// closer is the delimiter that ends what c opens.
func closer(c byte) string {
	if e, ok := closers[c]; ok {
		return e
	}
	return string(c)
}

// perlQuote reads q, qq, qw, qx, m, qr, s, tr and y.
func (l *lexer) perlQuote() bool {
	n := 0
	for l.wordByte(l.at(n)) {
		n++
	}
	op := l.s[l.i : l.i+n]
	if !strings.Contains(" q qq qw qx m qr s tr y ", " "+op+" ") {
		return false
	}
	at := n
	for l.at(at) == ' ' || l.at(at) == '\n' {
		at++
	}
	d := l.at(at)
	prev := l.last().Text
	if d <= ' ' || d >= 0x7f || l.wordByte(d) || strings.IndexByte(";),=", d) >= 0 || at > n && d == '#' || prev == "->" || prev == "{" && d == '}' || prev == "sub" {
		return false
	}
	l.i += at + 1
	q := quoting{escapes: l.g.escapes, interp: d != '\''}
	switch op {
	case "q":
		l.finish(Text, closer(d), quoting{})
	case "qw":
		l.finish(Words, closer(d), quoting{})
	case "qq":
		l.finish(Text, closer(d), q)
	case "qx":
		l.finish(Shell, closer(d), q)
	case "m", "qr":
		l.finish(Pattern, closer(d), quoting{pattern: true, interp: true})
		l.flags()
	default:
		l.substitution(op, d)
	}
	return true
}

// substitution reads the two parts of s, tr and y. With the flag e the second
// is a program; with two of them its result is one, too.
func (l *lexer) substitution(op string, d byte) {
	q := quoting{pattern: true, interp: op == "s"}
	l.finish(Pattern, closer(d), q)
	if closer(d) != string(d) {
		for l.at(0) == ' ' || l.at(0) == '\n' {
			l.i++
		}
		if d = l.at(0); l.i >= len(l.s) {
			l.bad = true
			return
		}
		l.i++
	}
	start := l.i
	l.finish(Pattern, closer(d), q)
	with := l.s[start:max(start, l.i-1)]
	flags := l.flags()
	if op == "s" && strings.Contains(flags, "e") {
		l.toks[len(l.toks)-1].Code = []string{with}
	}
	if op == "s" && strings.Count(flags, "e") > 1 {
		l.emit(Token{Kind: Op, Text: ";"})
		l.emit(Token{Kind: Name, Text: "eval"})
		l.emit(Token{Kind: Text, Text: Gap})
		l.emit(Token{Kind: Op, Text: ";"})
	}
}

// percent reads the literals of Ruby that a percent sign opens.
func (l *lexer) percent() bool {
	kind, n := byte('Q'), 1
	if strings.IndexByte("qQwWiIxrs", l.at(1)) >= 0 && l.at(1) != 0 {
		kind, n = l.at(1), 2
	}
	d := l.at(n)
	if d <= ' ' || d >= 0x7f || Letter(d) || Digit(d) || d == '=' || n == 1 && strings.IndexByte("([{<|!/", d) < 0 {
		return false
	}
	l.i += n + 1
	q := quoting{escapes: l.g.escapes, interp: true}
	switch kind {
	case 'q', 's':
		l.finish(Text, closer(d), quoting{})
	case 'w', 'i':
		l.finish(Words, closer(d), quoting{})
	case 'W', 'I':
		l.finish(Words, closer(d), q)
	case 'x':
		l.finish(Shell, closer(d), q)
	case 'r':
		l.finish(Pattern, closer(d), quoting{pattern: true, interp: true})
		l.flags()
	default:
		l.finish(Text, closer(d), q)
	}
	return true
}

// longBracket reads [[text]] and [==[text]==].
func (l *lexer) longBracket() bool {
	n := 1
	for l.at(n) == '=' {
		n++
	}
	if l.at(n) != '[' {
		return false
	}
	end := "]" + strings.Repeat("=", n-1) + "]"
	l.i += n + 1
	if l.at(0) == '\n' {
		l.i++
	}
	l.finish(Text, end, quoting{raw: true})
	return true
}

// heredoc reads a here-document: its text starts on the next line.
func (l *lexer) heredoc() bool {
	tag, mark, indent, length := l.documentTag()
	if tag == "" {
		return false
	}
	l.i += length
	from := l.resume
	if from == 0 {
		nl := strings.IndexByte(l.rest(), '\n')
		if nl < 0 {
			l.bad = true
			return true
		}
		from = l.i + nl + 1
	}
	body, end := documentBody(l.s[from:], tag, indent)
	if end < 0 {
		l.bad = true
		return true
	}
	l.resume = from + end
	inner := &lexer{lang: l.lang, g: l.g, s: body, line: l.line}
	q := quoting{escapes: l.g.escapes, interp: true}
	kind := Text
	switch mark {
	case '\'':
		q = quoting{raw: true}
	case '`':
		kind = Shell
	}
	inner.finish(kind, "", q)
	l.bad = l.bad || inner.bad
	l.emit(inner.toks[0])
	return true
}

// documentTag reads the tag of a here-document, which is empty if none opens
// here, its quotation mark, and how many bytes they take.
func (l *lexer) documentTag() (tag string, mark byte, indent bool, length int) {
	at := len(l.g.heredoc)
	indent = l.lang == PHP
	if l.at(at) == '~' || l.at(at) == '-' {
		indent = true
		at++
	}
	for l.lang == PHP && l.at(at) == ' ' {
		at++
	}
	if c := l.at(at); c != 0 && strings.IndexByte("\"'`", c) >= 0 {
		mark = c
		at++
	}
	start := at
	for c := l.at(at); Letter(c) || Digit(c) || mark != 0 && c != mark && c >= ' '; c = l.at(at) {
		at++
	}
	tag = l.s[l.i+start : l.i+at]
	if mark != 0 {
		return tag, mark, indent, min(at+1, len(l.s)-l.i)
	}
	if tag == "" || Digit(tag[0]) || l.lang == Ruby && !indent && (!l.wantsValue() || tag[0] >= 'a') {
		return "", 0, false, 0
	}
	return tag, mark, indent, at
}

// documentBody is the text of a here-document, and where what follows it
// starts. An indented one loses the white space that its lines share.
func documentBody(s, tag string, indent bool) (string, int) {
	var lines []string
	at := 0
	for at < len(s) {
		line, _, more := strings.Cut(s[at:], "\n")
		word := line
		if indent {
			word = strings.TrimLeft(line, " \t")
		}
		if word == tag || indent && strings.HasPrefix(word, tag) && strings.Trim(word[len(tag):], ";,) .") == "" {
			return dedent(lines, indent), at + len(line) - len(word) + len(tag)
		}
		lines = append(lines, line)
		at += len(line)
		if more {
			at++
		}
	}
	return "", -1
}

func dedent(lines []string, indent bool) string {
	least := -1
	for _, s := range lines {
		if n := len(s) - len(strings.TrimLeft(s, " \t")); strings.TrimSpace(s) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	var b strings.Builder
	for _, s := range lines {
		if indent && least > 0 {
			s = s[min(least, len(s)):]
		}
		b.WriteString(s + "\n")
	}
	return b.String()
}
