package code

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
)

type valueKind int

const (
	valueOther valueKind = iota // not known
	valueText
	valueNumber
	valueList
	valueName // a function, module or variable by its full name
	valuePattern
	valueFunction // written in the text
	valueComputed // a function or module whose name is not known
)

// value is what is known of the value of an expression.
type value struct {
	kind  valueKind
	text  string // what is known of a text, with gaps
	plain bool
	list  []value
	key   string // the name of an option, or the key in a table
	name  string
	recv  *value // whose method a name is
	any   bool   // a name found by its text: it may be anybody's method
	call  int    // the call it is the result of, counted from 1
	group bool   // it stands in round brackets
	path  bool   // it is an object that stands for a path
	at    int    // the token that names it, counted from 1
}

// cursor is a place among the tokens of a text.
type cursor struct {
	toks  []lex.Token
	pos   int
	steps int // how many tokens were looked at, again and again
}

func (c *cursor) peek() lex.Token { return c.ahead(0) }

func (c *cursor) ahead(n int) lex.Token {
	c.steps++
	if c.pos+n < len(c.toks) && c.pos+n >= 0 {
		return c.toks[c.pos+n]
	}
	return lex.Token{Kind: lex.Newline}
}

func (c *cursor) isOp(n int, ops ...string) bool {
	t := c.ahead(n)
	return t.Kind == lex.Op && slices.Contains(ops, t.Text)
}

func (c *cursor) isName(n int, names ...string) bool {
	t := c.ahead(n)
	return t.Kind == lex.Name && slices.Contains(names, t.Text)
}

// reader reads the expressions in the tokens of a text.
type reader struct {
	cursor
	recorder
	depth int
	soft  bool // a newline does not end a statement here
	print bool // in the arguments of an awk print
	vars  map[string]value
	bound bindings
}

func newReader(lang lex.Language, toks []lex.Token, p *Program, nested int) *reader {
	r := &reader{recorder: recorder{lang: lang, g: lex.Grammars[lang], calls: tables()[lang], p: p, nested: nested, done: map[int]bool{}}, vars: map[string]value{}}
	r.toks = toks
	r.bound = bindingsOf(lang, toks)
	p.Endless = p.Endless || r.bound.endless
	return r
}

// all reads the whole text.
func (r *reader) all() {
	for r.pos < len(r.toks) {
		r.items("", false)
	}
	(&unresolved{cursor{toks: r.toks}, &r.recorder}).report()
	r.inputs()
}

// items reads expressions and statements up to the bracket end, which is
// empty for the whole text. Arguments keep the names that stand for
// functions, everything else passes them on.
func (r *reader) items(end string, args bool) []value {
	soft, printing := r.soft, r.print
	r.soft, r.print = end == ")" || end == "]", false
	r.depth++
	defer func() { r.soft, r.print = soft, printing; r.depth-- }()
	var list []value
	for r.pos < len(r.toks) {
		t := r.peek()
		switch {
		case t.Kind == lex.Op && t.Text == end:
			r.pos++
			return list
		case t.Kind == lex.Op && (t.Text == ")" || t.Text == "]" || t.Text == "}"):
			if end != "" {
				return list // another bracket's end
			}
			r.pos++
		case t.Kind == lex.Newline, t.Kind == lex.Op && (t.Text == "," || t.Text == ";"):
			r.pos++
		default:
			start := r.pos
			v := r.item(args)
			if r.pos == start {
				r.pos++
			}
			if !args {
				v = r.escape(v)
			}
			if len(list) < maxStrings {
				list = append(list, v)
			}
		}
	}
	return list
}

// item reads one statement, argument or element.
func (r *reader) item(args bool) value {
	if r.peek().Kind == lex.Name {
		if v, ok := r.statement(); ok {
			return v
		}
	}
	v := r.expr()
	t := r.peek()
	if t.Kind != lex.Op {
		return v
	}
	switch t.Text {
	case "=>":
		if r.lang == lex.JS {
			r.pos++
			r.escape(r.expr())
			return value{kind: valueFunction}
		}
		return r.pair(v)
	case ":":
		return r.pair(v)
	case "=", ":=", "<-", "||=", "?=":
		target := r.ahead(-1)
		if target.Kind != lex.Name || r.pos > 1 && r.isOp(-2, ".", "->", "::", "?.") {
			target.Text = ""
		}
		r.pos++
		r.blankLines()
		w := r.expr()
		switch {
		case r.isOp(0, "=", ":="): // a = b = c
			r.pos--
			return r.escape(w)
		case args && (r.lang == lex.Python || r.lang == lex.R || r.lang == lex.Julia):
			w = r.escape(w)
			w.key = target.Text
			return w
		}
		if w = r.assign(target.Text, w); args {
			return w
		}
		return value{text: lex.Gap}
	}
	return v
}

// pair reads what follows a key.
func (r *reader) pair(key value) value {
	r.pos++
	r.blankLines()
	if key.kind != valueName && key.kind != valueText || key.recv != nil {
		r.escape(key)
		key = value{}
	}
	w := r.expr()
	if w.kind == valueName && key.name != "" {
		w.key = key.name
		return w // it may be taken apart under another name
	}
	w = r.escape(w)
	w.key = key.name
	if key.kind == valueText {
		w.key = key.text
	}
	return w
}

func (c *cursor) blankLines() {
	for c.pos < len(c.toks) && c.peek().Kind == lex.Newline {
		c.pos++
	}
}

// endsExpression are the signs at which an expression ends.
var endsExpression = []string{",", ";", ")", "]", "}", ":", "=", ":=", "<-", "=>", "||=", "{"}

// wordOperators are the operators and clauses that are written as words.
var wordOperators = strings.Fields("if else and or not in is for unless while until eq ne lt gt le ge cmp x xor instanceof of as then rescue mod div orelse andalso")

// expr reads one expression.
func (r *reader) expr() value {
	v := r.deeper()
	if r.lang == lex.Lisp {
		return v
	}
	for {
		t := r.peek()
		switch {
		case t.Kind == lex.Newline && r.goesOn():
			r.blankLines()
		case t.Kind == lex.Op && t.Text == "?":
			v = r.choice(v)
		case r.isOp(0, "|", "|&") && r.lang == lex.Awk && r.isName(1, "getline"):
			r.pos += 2
			v = r.pipe("getline", v, t.Line)
		case r.isOp(0, endsExpression...) || r.isOp(0, ">", ">>", "|", "|&") && r.lang == lex.Awk && (r.print || t.Text[0] == '|'):
			return v
		case t.Kind == lex.Op || t.Kind == lex.Name && slices.Contains(wordOperators, t.Text):
			r.pos++
			r.blankLines()
			v = r.combine(v, t.Text, r.operand())
		case r.juxtaposed(v, t):
			v = r.combine(v, "", r.operand())
		default:
			return v
		}
	}
}

// goesOn reports whether a statement goes on after the newline.
func (r *reader) goesOn() bool {
	if r.soft {
		return r.pos < len(r.toks)
	}
	n := 0
	for r.pos+n < len(r.toks) && r.ahead(n).Kind == lex.Newline {
		n++
	}
	if r.pos+n >= len(r.toks) {
		return false
	}
	if !r.g.Newlines && r.lang != lex.JS {
		return true
	}
	return r.isOp(n, ".", "?.", "&.", "->", "|>") || r.lang == lex.JS && r.isOp(n, "+", "||", "&&", "?")
}

// juxtaposed reports whether two values side by side are one.
func (r *reader) juxtaposed(v value, t lex.Token) bool {
	switch {
	case r.lang == lex.Awk && v.kind == valueText && !v.group:
		return t.Kind == lex.Text || t.Kind == lex.Number || t.Kind == lex.Name && !slices.Contains(wordOperators, t.Text)
	case r.lang == lex.Awk:
		return t.Kind == lex.Text && !v.group && (v.kind == valueName || t.Spaced)
	case r.lang == lex.Python || r.lang == lex.Other || r.lang == lex.Ruby:
		return v.kind == valueText && t.Kind == lex.Text
	}
	return false
}

// choice reads what follows a question mark: either value may be meant.
func (r *reader) choice(v value) value {
	r.escape(v)
	r.pos++
	r.blankLines()
	a := r.expr()
	if !r.isOp(0, ":") {
		return value{text: lex.Gap}
	}
	r.pos++
	r.blankLines()
	b := r.expr()
	for _, w := range []value{a, b} {
		if e, ok := r.lookup(w); ok && e.executes() {
			return w
		}
	}
	return value{text: lex.Gap}
}

// choices are the operators whose value is one of their operands, modifiers
// those that follow a whole statement.
var (
	choices   = strings.Fields("|| or && and ?? if else")
	grows     = strings.Fields("+= .= << x")
	modifiers = strings.Fields("if unless while until for foreach and or rescue")
)

// combine is the value of two operands with an operator between them.
func (r *reader) combine(v value, op string, w value) value {
	concat := op == "" || strings.Contains(" "+r.g.Concat+" ", " "+op+" ")
	switch {
	case r.g.Bare && slices.Contains(modifiers, op):
		r.escape(w)
		return v
	case slices.Contains(choices, op):
		for _, x := range []value{w, v} {
			if r.isExecuting(x) || x.kind == valueComputed {
				return x
			}
		}
	case concat && v.kind == valueList && w.kind == valueList:
		return value{kind: valueList, list: slices.Concat(v.list, w.list)}
	case op == "|>":
		return r.call(w, []value{v}, r.line)
	case slices.Contains(grows, op):
		r.record(Grow, op, nil, r.line)
	}
	if op == "/" && v.kind == valueText && w.kind == valueText {
		v.text += "/"
		concat = true
	}
	return r.concatenate(r.escape(v), r.escape(w), op, concat)
}

// concatenate is the text of two operands; when the operator does not join
// texts, it is not all of what is known.
func (r *reader) concatenate(v, w value, op string, concat bool) value {
	out := value{text: lex.Gap}
	switch text := v.kind == valueText || w.kind == valueText; {
	case concat:
		out = value{kind: valueText, text: v.known() + w.known(), plain: toArg(v).Plain && toArg(w).Plain && (text || strings.HasPrefix(op, "."))}
	case text:
		out.text += v.known() + w.known()
	}
	if r.joined += len(out.text); r.joined > maxText {
		return value{text: lex.Gap}
	}
	if out.full() {
		r.literal(out.text)
	}
	return out
}

// known is what is known of a value as text.
func (v value) known() string {
	switch {
	case v.kind == valueText || v.kind == valueNumber:
		return v.text
	case v.kind == valueOther && v.text != "":
		return v.text
	}
	return lex.Gap
}

// operand reads one value with what is called on it.
func (r *reader) operand() value {
	t := r.peek()
	r.pos++
	r.line = t.Line
	switch t.Kind {
	case lex.Text, lex.Pattern, lex.Shell, lex.Words:
		r.inside(t)
		return r.postfix(r.quoted(t))
	case lex.Number:
		return r.postfix(value{kind: valueNumber, text: t.Text, plain: true})
	case lex.Name:
		return r.named(t)
	case lex.Op:
		return r.opened(t)
	}
	r.pos--
	return value{text: lex.Gap}
}

// deeper reads one value inside of another, up to a depth and as long as the
// text is not read again and again.
func (r *reader) deeper() value {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth || r.steps > 512*len(r.toks)+1<<16 {
		r.p.Opaque = true
		r.pos = len(r.toks)
		return value{}
	}
	return r.operand()
}

func (r *reader) quoted(t lex.Token) value {
	switch t.Kind {
	case lex.Words:
		var list []value
		for f := range strings.FieldsSeq(t.Text) {
			r.literal(f)
			list = append(list, value{kind: valueText, text: f, plain: t.Plain})
		}
		return value{kind: valueList, list: list}
	case lex.Pattern:
		return value{kind: valuePattern}
	case lex.Shell:
		r.literal(t.Text)
		if r.lang == lex.Julia { // it runs nothing yet
			if !t.Plain {
				return value{text: lex.Gap}
			}
			return split([]value{{kind: valueText, text: t.Text, plain: true}})
		}
		return r.record(Shell, "`", []value{{kind: valueText, text: t.Text, plain: t.Plain}}, t.Line)
	}
	for s := range strings.SplitSeq(t.Text, lex.Gap) {
		r.literal(s)
	}
	return value{kind: valueText, text: t.Text, plain: t.Plain}
}

// opened reads a value that starts with a sign.
func (r *reader) opened(t lex.Token) value {
	switch t.Text {
	case "(":
		if r.lang == lex.Lisp {
			return r.form(t)
		}
		return r.postfix(r.round(r.items(")", true)))
	case "[":
		return r.postfix(value{kind: valueList, list: r.items("]", false)})
	case "{":
		list := r.items("}", false)
		return r.postfix(value{kind: valueList, list: list, plain: true})
	case "-", "+":
		if v := r.operand(); v.kind == valueNumber {
			v.text = strings.TrimPrefix(t.Text, "+") + v.text
			return v
		}
		return value{text: lex.Gap}
	case ",", ";", ")", "]", "}", ":", "=", "=>", "|":
		r.pos--
		return value{text: lex.Gap}
	case "*", "**", "...", "\\", "&", "@", "$", "'", "#", "%", "<":
		if t.Text == "&" && r.isOp(0, "{") && r.lang == lex.Perl {
			r.pos++
			r.items("}", false)
			return r.postfix(value{kind: valueComputed})
		}
		v := r.operand()
		if t.Text == "**" || t.Text == "..." {
			v.key = "env" // all variables are handed on, as they always are
		}
		if t.Text == "%" || t.Text == "$" && r.lang != lex.JS || t.Text == "<" {
			r.escape(v)
			return value{text: lex.Gap}
		}
		return v
	}
	v := r.deeper()
	if t.Text == "::" {
		return v
	}
	r.escape(v)
	return value{text: lex.Gap}
}

// round is the value of what stands in round brackets.
func (r *reader) round(list []value) value {
	if len(list) == 1 && list[0].key == "" {
		v := list[0]
		v.group = true
		return v
	}
	if n := len(list); n > 0 && r.lang == lex.JS && (list[n-1].kind == valueName || list[n-1].kind == valueComputed) {
		return list[n-1]
	}
	for i, v := range list {
		list[i] = r.escape(v)
	}
	return value{kind: valueList, list: list, group: true}
}

// form reads a list of a Lisp: a call of what stands first.
func (r *reader) form(t lex.Token) value {
	list := r.items(")", true)
	if len(list) == 0 {
		return value{kind: valueList}
	}
	if list[0].kind != valueName && list[0].kind != valueComputed {
		return value{kind: valueList, list: list}
	}
	return r.call(list[0], list[1:], t.Line)
}
