package code

import (
	"slices"
	"strings"
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
}

// reader finds the calls in the tokens of a text.
type reader struct {
	lang   Language
	g      *grammar
	calls  map[string]entry
	toks   []token
	pos    int
	depth  int
	steps  int  // how many tokens were looked at, again and again
	joined int  // the size of the texts that were put together
	soft   bool // a newline does not end a statement here
	print  bool // in the arguments of an awk print
	p      *Program
	nested int
	vars   map[string]value
	bound  map[string]int // how often a variable is given a value
	uses   map[string]int
	pipes  []int // calls whose standard input the program writes
}

func (r *reader) peek() token { return r.ahead(0) }

func (r *reader) ahead(n int) token {
	r.steps++
	if r.pos+n < len(r.toks) && r.pos+n >= 0 {
		return r.toks[r.pos+n]
	}
	return token{kind: tokenNewline}
}

func (r *reader) isOp(n int, ops ...string) bool {
	t := r.ahead(n)
	return t.kind == tokenOp && slices.Contains(ops, t.text)
}

func (r *reader) isName(n int, names ...string) bool {
	t := r.ahead(n)
	return t.kind == tokenName && slices.Contains(names, t.text)
}

// all reads the whole text.
func (r *reader) all() {
	for r.pos < len(r.toks) {
		r.items("", false)
	}
	for _, i := range r.pipes {
		c := &r.p.Calls[i]
		c.Input = []Arg{{Text: Gap}}
		for _, s := range r.p.Strings[:min(len(r.p.Strings), 64)] {
			c.Input = append(c.Input, Arg{Text: s, Plain: true})
		}
	}
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
		case t.kind == tokenOp && t.text == end:
			r.pos++
			return list
		case t.kind == tokenOp && (t.text == ")" || t.text == "]" || t.text == "}"):
			if end != "" {
				return list // another bracket's end
			}
			r.pos++
		case t.kind == tokenNewline, t.kind == tokenOp && (t.text == "," || t.text == ";"):
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
	if r.peek().kind == tokenName {
		if v, ok := r.statement(); ok {
			return v
		}
	}
	v := r.expr()
	t := r.peek()
	if t.kind != tokenOp {
		return v
	}
	switch t.text {
	case "=>":
		if r.lang == js {
			r.pos++
			r.escape(r.expr())
			return value{kind: valueFunction}
		}
		return r.pair(v)
	case ":":
		return r.pair(v)
	case "=", ":=", "<-", "||=", "?=":
		target := r.ahead(-1)
		if target.kind != tokenName || r.pos > 1 && r.isOp(-2, ".", "->", "::", "?.") {
			target.text = ""
		}
		r.pos++
		r.blankLines()
		w := r.expr()
		switch {
		case r.isOp(0, "=", ":="): // a = b = c
			r.pos--
			return r.escape(w)
		case args && (r.lang == python || r.lang == rlang || r.lang == julia):
			w = r.escape(w)
			w.key = target.text
			return w
		}
		if w = r.assign(target.text, w); args {
			return w
		}
		return value{text: Gap}
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

func (r *reader) blankLines() {
	for r.pos < len(r.toks) && r.peek().kind == tokenNewline {
		r.pos++
	}
}

// endsExpression are the signs at which an expression ends.
var endsExpression = []string{",", ";", ")", "]", "}", ":", "=", ":=", "<-", "=>", "||=", "{"}

// wordOperators are the operators and clauses that are written as words.
var wordOperators = strings.Fields("if else and or not in is for unless while until eq ne lt gt le ge cmp x xor instanceof of as then rescue mod div orelse andalso")

// expr reads one expression.
func (r *reader) expr() value {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth || r.steps > 512*len(r.toks)+1<<16 {
		r.p.Opaque = true
		r.pos = len(r.toks)
		return value{}
	}
	v := r.operand()
	if r.lang == lisp {
		return v
	}
	for {
		t := r.peek()
		switch {
		case t.kind == tokenNewline && r.goesOn():
			r.blankLines()
		case t.kind == tokenOp && t.text == "?":
			v = r.choice(v)
		case t.kind == tokenOp && (slices.Contains(endsExpression, t.text) || r.print && (t.text == ">" || t.text == ">>" || t.text == "|" || t.text == "|&")):
			return v
		case t.kind == tokenOp && (t.text == "|" || t.text == "|&") && r.lang == awk:
			if !r.isName(1, "getline") {
				return v
			}
			r.pos += 2
			v = r.pipe("getline", v, t.line)
		case t.kind == tokenOp:
			r.pos++
			r.blankLines()
			v = r.combine(v, t.text, r.operand())
		case t.kind == tokenName && slices.Contains(wordOperators, t.text):
			r.pos++
			r.blankLines()
			v = r.combine(v, t.text, r.operand())
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
	for r.pos+n < len(r.toks) && r.ahead(n).kind == tokenNewline {
		n++
	}
	if r.pos+n >= len(r.toks) {
		return false
	}
	if !r.g.newlines && r.lang != js {
		return true
	}
	return r.isOp(n, ".", "?.", "&.", "->", "|>") || r.lang == js && r.isOp(n, "+", "||", "&&", "?")
}

// juxtaposed reports whether two values side by side are one.
func (r *reader) juxtaposed(v value, t token) bool {
	switch {
	case r.lang == awk:
		return !v.group && v.kind != valueOther && (t.kind == tokenText || t.kind == tokenNumber || t.kind == tokenName && !slices.Contains(wordOperators, t.text) && v.kind == valueText) || v.kind == valueOther && t.kind == tokenText && t.spaced
	case r.lang == python || r.lang == other || r.lang == ruby:
		return v.kind == valueText && t.kind == tokenText
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
		return value{text: Gap}
	}
	r.pos++
	r.blankLines()
	b := r.expr()
	for _, w := range []value{a, b} {
		if e, ok := r.lookup(w); ok && e.executes() {
			return w
		}
	}
	return value{text: Gap}
}

// choices are the operators whose value is one of their operands, modifiers
// those that follow a whole statement.
var (
	choices   = strings.Fields("|| or && and ?? if else")
	modifiers = strings.Fields("if unless while until for foreach and or rescue")
)

// combine is the value of two operands with an operator between them.
func (r *reader) combine(v value, op string, w value) value {
	concat := op == "" || strings.Contains(" "+r.g.concat+" ", " "+op+" ")
	switch {
	case slices.Contains(choices, op) && !(r.g.bare && slices.Contains(modifiers, op)):
		for _, x := range []value{w, v} {
			if e, ok := r.lookup(x); ok && e.executes() || x.kind == valueComputed {
				return x
			}
		}
	case r.g.bare && slices.Contains(modifiers, op):
		r.escape(w)
		return v
	case concat && v.kind == valueList && w.kind == valueList:
		return value{kind: valueList, list: slices.Concat(v.list, w.list)}
	case op == "/" && v.kind == valueText && w.kind == valueText:
		v.text += "/"
		concat = true
	case op == "+=" || op == ".=" || op == "<<" || op == "x":
		r.record(Grow, op, nil, r.peek().line)
	case op == "|" && r.lang == beam, op == "|>":
		return r.call(w, []value{v}, r.peek().line)
	}
	v, w = r.escape(v), r.escape(w)
	known := func(x value) bool { return x.kind == valueText && x.plain }
	plain := concat && (known(v) || v.kind == valueNumber) && (known(w) || w.kind == valueNumber) && (v.kind == valueText || w.kind == valueText || op == "." || op == "..")
	if !concat && v.kind != valueText && w.kind != valueText {
		return value{text: Gap}
	}
	out := value{kind: valueText, text: v.known() + w.known(), plain: plain}
	if !concat {
		out = value{text: Gap + v.known() + w.known()}
	}
	if r.joined += len(out.text); r.joined > maxText {
		return value{text: Gap}
	}
	if out.full() && (v.kind == valueText || w.kind == valueText) {
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
	return Gap
}

// literal reports a text of the program. What has grown by joining texts is
// bounded by the size of the program.
func (r *reader) literal(s string) {
	if s == "" || len(r.p.Strings) >= maxStrings {
		return
	}
	r.p.Strings = append(r.p.Strings, s)
	if strings.Contains(s, "stdin") {
		r.p.Stdin = true
	}
	if r.lang == awk && strings.HasPrefix(s, "/inet") {
		r.record(Connect, "inet", []value{{kind: valueText, text: s, plain: true}}, r.peek().line)
	}
}

// inside reads the programs inside of a text.
func (r *reader) inside(t token) {
	for _, c := range t.code {
		readText(r.lang, c, r.p, r.nested+1)
	}
}

// operand reads one value with what is called on it.
func (r *reader) operand() value {
	t := r.peek()
	r.pos++
	switch t.kind {
	case tokenText, tokenPattern, tokenShell, tokenWords:
		r.inside(t)
		return r.postfix(r.quoted(t))
	case tokenNumber:
		return r.postfix(value{kind: valueNumber, text: t.text, plain: true})
	case tokenName:
		return r.named(t)
	case tokenOp:
		return r.opened(t)
	}
	r.pos--
	return value{text: Gap}
}

func (r *reader) quoted(t token) value {
	switch t.kind {
	case tokenWords:
		var list []value
		for f := range strings.FieldsSeq(t.text) {
			r.literal(f)
			list = append(list, value{kind: valueText, text: f, plain: t.plain})
		}
		return value{kind: valueList, list: list}
	case tokenPattern:
		return value{kind: valuePattern}
	case tokenShell:
		r.literal(t.text)
		if r.lang == julia { // it runs nothing yet
			if !t.plain {
				return value{text: Gap}
			}
			return split([]value{{kind: valueText, text: t.text, plain: true}})
		}
		return r.record(Shell, "`", []value{{kind: valueText, text: t.text, plain: t.plain}}, t.line)
	}
	for s := range strings.SplitSeq(t.text, Gap) {
		r.literal(s)
	}
	return value{kind: valueText, text: t.text, plain: t.plain}
}

// opened reads a value that starts with a sign.
func (r *reader) opened(t token) value {
	switch t.text {
	case "(":
		if r.lang == lisp {
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
			v.text = strings.TrimPrefix(t.text, "+") + v.text
			return v
		}
		return value{text: Gap}
	case ",", ";", ")", "]", "}", ":", "=", "=>", "|":
		r.pos--
		return value{text: Gap}
	case "*", "**", "...", "\\", "&", "@", "$", "'", "#", "%", "<":
		if t.text == "&" && r.isOp(0, "{") && r.lang == perl {
			r.pos++
			r.items("}", false)
			return r.postfix(value{kind: valueComputed})
		}
		v := r.operand()
		if t.text == "%" || t.text == "$" && r.lang != js || t.text == "<" {
			r.escape(v)
			return value{text: Gap}
		}
		return v
	}
	if r.depth++; r.depth > maxDepth {
		r.pos = len(r.toks)
		r.p.Opaque = true
		return value{}
	}
	v := r.operand()
	r.depth--
	if t.text == "::" {
		return v
	}
	r.escape(v)
	return value{text: Gap}
}

// round is the value of what stands in round brackets.
func (r *reader) round(list []value) value {
	if len(list) == 1 && list[0].key == "" {
		v := list[0]
		v.group = true
		return v
	}
	if n := len(list); n > 0 && r.lang == js && (list[n-1].kind == valueName || list[n-1].kind == valueComputed) {
		return list[n-1]
	}
	for i, v := range list {
		list[i] = r.escape(v)
	}
	return value{kind: valueList, list: list, group: true}
}

// form reads a list of a Lisp: a call of what stands first.
func (r *reader) form(t token) value {
	if r.depth++; r.depth > maxDepth {
		r.p.Opaque = true
		r.pos = len(r.toks)
		return value{}
	}
	defer func() { r.depth-- }()
	list := r.items(")", true)
	if len(list) == 0 {
		return value{kind: valueList}
	}
	if list[0].kind != valueName && list[0].kind != valueComputed {
		return value{kind: valueList, list: list}
	}
	return r.call(list[0], list[1:], t.line)
}
