package code

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
)

// bindings is how often the variables of a text are given a value, and used.
// A variable stands for a literal only if nothing else can be in it.
type bindings struct {
	cursor
	lang    lex.Language
	count   map[string]int
	uses    map[string]int
	endless bool // there is a loop without an end
}

func bindingsOf(lang lex.Language, toks []lex.Token) bindings {
	b := bindings{cursor: cursor{toks: toks}, lang: lang, count: map[string]int{}, uses: map[string]int{}}
	var open []int
	for ; b.pos < len(b.toks); b.pos++ {
		t := b.peek()
		switch {
		case b.isOp(0, "(", "[", "{"):
			open = append(open, b.pos)
			if b.isOp(1, "|") {
				b.until(b.pos+2, "|")
			}
		case b.isOp(0, ")", "]", "}") && len(open) > 0:
			from := open[len(open)-1]
			open = open[:len(open)-1]
			if (b.isOp(1, "=", "=>", "->") || b.isName(1, "of", "in")) && len(open) < maxDepth {
				b.all(from, b.pos)
			}
		case t.Kind == lex.Name:
			b.uses[t.Text]++
			b.name(t)
		}
	}
	return b
}

// all marks the names between two tokens as bound to what is not known.
func (b *bindings) all(from, to int) {
	for i := from; i < min(to, len(b.toks)); i++ {
		b.count[b.toks[i].Text] += 2
	}
}

// until marks the names up to a sign as parameters.
func (b *bindings) until(from int, end string) {
	for i := from; i < len(b.toks) && i < from+256; i++ {
		if b.toks[i].Kind == lex.Op && b.toks[i].Text == end {
			return
		}
		b.all(i, i+1)
	}
}

// binders are the words before a name that is given a value.
var binders = strings.Fields("for foreach as global nonlocal getline each")

func (b *bindings) name(t lex.Token) {
	arrow := b.isOp(1, "=>", "->") && b.lang != lex.Perl && b.lang != lex.PHP && b.lang != lex.Ruby
	switch {
	case b.isOp(1, "=", ":=", "<-"):
		b.count[t.Text]++
		for n := -1; b.isOp(n, ",") && n > -32; n -= 2 {
			b.count[b.ahead(n-1).Text] += 2
			b.count[t.Text] += 2
		}
	case arrow, b.isOp(1, "+=", ".=", "||=", "//=", "<<", "++", "--", "=~", "<<=", "?=", "*=", "**=", "["), b.isOp(-1, "++", "--"),
		b.isName(1, "of", "in"), b.isName(-1, binders...), b.isOp(1, "(") && b.isName(-1, "my", "foreach"):
		b.count[t.Text] += 2
	}
	switch t.Text {
	case "def", "function", "sub", "fn", "fun", "func", "proc", "defun":
		for n := 1; n < 4; n++ {
			if b.isOp(n, "(") {
				b.until(b.pos+n, ")")
			}
		}
	case "lambda":
		b.until(b.pos+1, ":")
	case "do":
		if b.isOp(1, "|") {
			b.until(b.pos+2, "|")
		}
	}
	b.endless = b.endless || b.forEver(t.Text)
}

// forEver reports whether a word starts a loop without an end.
func (b *bindings) forEver(word string) bool {
	n := 1
	for b.isOp(n, "(", "!", ":") {
		n++
	}
	c := b.ahead(n)
	always, never := b.truth(n, c)
	forks := strings.HasSuffix(c.Text, "fork") || b.ahead(-1).Text == "fork"
	switch word {
	case "while", "repeat":
		return always || never && b.isOp(n-1, "!") || forks || b.isOp(1, "(") && b.isOp(2, ")")
	case "until":
		return never || forks
	case "for":
		return b.isOp(n, ";") && (b.isOp(n+1, ";") || always) || b.isOp(1, "{") && b.lang == lex.Golang
	}
	next := b.ahead(1).Text
	switch word + " " + next {
	case "loop {", "loop do", "setInterval (":
		return true
	case "cycle (", "count (":
		return b.isName(-2, "itertools")
	case "iter (":
		return b.isName(2, "int")
	}
	return false
}

// truth reports whether the condition n tokens on is always or never true.
func (b *bindings) truth(n int, c lex.Token) (always, never bool) {
	switch c.Kind {
	case lex.Number:
		return c.Text != "0" && !b.isOp(n+1, "..", "<"), c.Text == "0"
	case lex.Name:
		return strings.EqualFold(c.Text, "true"), strings.EqualFold(c.Text, "false")
	}
	return false, false
}

// constant reports whether a variable always has the value it was given. A
// list, and in some languages a text, can change without being given another.
func (b *bindings) constant(name string, kind valueKind) bool {
	if b.count[name] != 1 {
		return false
	}
	return kind == valueText && slices.Contains([]lex.Language{lex.Python, lex.JS, lex.Golang, lex.Lua, lex.JVM}, b.lang) || b.uses[name] == 2
}
