package code

import (
	"slices"
	"strings"
)

// skipped are the words before a value that do not change what it is.
var skipped = strings.Fields("await new return yield async const let var my our local final val static public private throw delete void typeof try! auto def. begin do then else nil? unless until while elsif elif if when case with assert raise not except try finally print? else if echo lazy")

// bindings counts how often each variable is given a value, and looks for
// loops without an end. A variable stands for a literal only if nothing else
// can be in it.
func (r *reader) bindings() {
	r.bound, r.uses = map[string]int{}, map[string]int{}
	var open []int
	for r.pos = 0; r.pos < len(r.toks); r.pos++ {
		t := r.peek()
		switch {
		case t.kind == tokenOp && (t.text == "(" || t.text == "[" || t.text == "{"):
			open = append(open, r.pos)
			if r.isOp(1, "|") {
				r.bindUntil(r.pos+2, "|")
			}
		case t.kind == tokenOp && (t.text == ")" || t.text == "]" || t.text == "}") && len(open) > 0:
			from := open[len(open)-1]
			open = open[:len(open)-1]
			if (r.isOp(1, "=", "=>", "->") || r.isName(1, "of", "in")) && len(open) < maxDepth {
				for i := from; i < r.pos; i++ {
					r.bound[r.toks[i].text] += 2
				}
			}
		case t.kind == tokenName:
			r.uses[t.text]++
			r.binding(t)
		}
	}
	r.pos = 0
}

func (r *reader) binding(t token) {
	switch {
	case r.isOp(1, "=", ":=", "<-"):
		r.bound[t.text]++
		for n := -1; r.isOp(n, ",") && n > -32; n -= 2 {
			r.bound[r.ahead(n-1).text] += 2
			r.bound[t.text] += 2
		}
	case r.isOp(1, "=>", "->") && r.lang != perl && r.lang != php && r.lang != ruby,
		r.isOp(1, "+=", ".=", "||=", "//=", "<<", "++", "--", "=~", "<<=", "?=", "*=", "**="), r.isOp(-1, "++", "--"), r.isOp(1, "["),
		r.isName(1, "of", "in"), r.isName(-1, "for", "foreach", "as", "global", "nonlocal", "getline", "each"), r.isOp(1, "(") && r.isName(-1, "my", "foreach"):
		r.bound[t.text] += 2
	}
	switch t.text {
	case "def", "function", "sub", "fn", "fun", "func", "proc", "defun":
		for n := 1; n < 4; n++ {
			if r.isOp(n, "(") {
				r.bindUntil(r.pos+n, ")")
			}
		}
	case "lambda":
		r.bindUntil(r.pos+1, ":")
	case "do":
		if r.isOp(1, "|") {
			r.bindUntil(r.pos+2, "|")
		}
	case "while", "until", "for", "loop", "repeat":
		r.loop(t)
	case "setInterval", "cycle", "count":
		if t.text == "setInterval" || r.isOp(-1, ".") && r.isName(-2, "itertools") {
			r.p.Endless = true
		}
	case "iter":
		r.p.Endless = r.p.Endless || r.isOp(1, "(") && r.isName(2, "int")
	}
}

// bindUntil marks the names up to a sign as parameters.
func (r *reader) bindUntil(from int, end string) {
	for i := from; i < len(r.toks) && i < from+256; i++ {
		if r.toks[i].kind == tokenOp && r.toks[i].text == end {
			return
		}
		r.bound[r.toks[i].text] += 2
	}
}

// loop looks at the condition of a loop.
func (r *reader) loop(t token) {
	n := 1
	for r.isOp(n, "(") || r.isOp(n, "!") || r.isOp(n, ":") {
		n++
	}
	c := r.ahead(n)
	always := c.kind == tokenNumber && c.text != "0" && !r.isOp(n+1, "..", "<") || c.kind == tokenName && strings.EqualFold(c.text, "true")
	never := c.kind == tokenNumber && c.text == "0" || c.kind == tokenName && strings.EqualFold(c.text, "false")
	switch {
	case t.text == "while" && (always || never && r.isOp(n-1, "!") || strings.HasSuffix(c.text, "fork") || r.ahead(-1).text == "fork" || r.isOp(1, "(") && r.isOp(2, ")")),
		t.text == "until" && (never || c.text == "fork" || r.ahead(-1).text == "fork"),
		t.text == "for" && (r.isOp(n, ";") && r.isOp(n+1, ";") || r.isOp(n, ";") && always || r.isOp(1, "{") && r.lang == golang),
		t.text == "loop" && (r.isOp(1, "{") || r.isName(1, "do")):
		r.p.Endless = true
	}
}

// named reads a value that starts with a name.
func (r *reader) named(t token) value {
	switch {
	case slices.Contains(skipped, t.text) && r.lang != lisp && !(t.text == "do" && r.isName(0, "shell", "script")):
		if t.text == "delete" || t.text == "void" || t.text == "not" || t.text == "if" || t.text == "while" || t.text == "until" || t.text == "unless" {
			r.escape(r.operand())
			return value{text: Gap}
		}
		if next := r.peek(); next.kind == tokenNewline || next.kind == tokenOp && slices.Contains(endsExpression, next.text) && next.text != "{" {
			return value{text: Gap}
		}
		if r.depth++; r.depth > maxDepth {
			r.p.Opaque = true
			r.pos = len(r.toks)
			return value{}
		}
		defer func() { r.depth-- }()
		return r.operand()
	case t.text == "lambda" || t.text == "function" || t.text == "sub" || t.text == "fn" || t.text == "def":
		return r.function(t)
	case t.text == "do" && r.isName(0, "shell", "script"):
		for r.isName(0, "shell", "script") {
			r.pos++
		}
		return r.call(value{kind: valueName, name: "do.script"}, []value{r.expr()}, t.line)
	case strings.Contains(strings.ToLower(t.text), "stdin") || slices.Contains([]string{"gets", "ARGF", "input", "raw_input", "readline", "readLine", "slurp"}, t.text):
		r.p.Stdin = true
	}
	v := value{kind: valueName, name: t.text}
	if known, ok := r.vars[t.text]; ok {
		v = known
		v.key = ""
		if (v.kind == valueText || v.kind == valueList) && !r.constant(t.text, v.kind) {
			v = value{text: Gap}
		}
	}
	if r.lang == perl && strings.HasPrefix(t.text, "&") {
		v.name = strings.TrimPrefix(v.name, "&")
		if strings.HasPrefix(v.name, "$") {
			v = value{kind: valueComputed}
		}
		if !r.isOp(0, "(") {
			return v
		}
	}
	v.name = strings.TrimPrefix(strings.ReplaceAll(v.name, "::", "."), "CORE.")
	if r.lang == php && strings.HasPrefix(t.text, "$") && r.isOp(0, "(") {
		switch v.kind {
		case valueText:
			v = value{kind: valueName, name: v.text}
		case valueFunction:
		default:
			v = value{kind: valueComputed}
		}
	}
	if r.lang == php {
		v.name = strings.ReplaceAll(strings.TrimPrefix(v.name, "\\"), "\\", ".")
	}
	return r.postfix(r.bareCall(v, t))
}

// constant reports whether a variable always has the value it was given.
func (r *reader) constant(name string, kind valueKind) bool {
	if r.bound[name] != 1 {
		return false
	}
	if kind == valueText && (r.lang == python || r.lang == js || r.lang == golang || r.lang == lua || r.lang == jvm) {
		return true
	}
	return r.uses[name] == 2
}

// function reads a function that is written in place: its head is left out.
func (r *reader) function(t token) value {
	if t.text == "lambda" {
		for n := 0; n < 256 && r.pos < len(r.toks) && !r.isOp(0, ":"); n++ {
			r.pos++
		}
		if r.isOp(0, ":") {
			r.pos++
			r.escape(r.expr())
		}
		return value{kind: valueFunction}
	}
	if r.peek().kind == tokenName {
		r.pos++
	}
	if r.isOp(0, "(") {
		r.pos++
		r.items(")", true)
	}
	if r.isOp(0, "{") {
		r.pos++
		r.items("}", false)
	}
	return r.postfix(value{kind: valueFunction})
}

// bareCall reads the arguments of a call without brackets.
func (r *reader) bareCall(v value, t token) value {
	next := r.peek()
	if !r.g.bare || v.kind != valueName && v.kind != valueComputed || next.kind == tokenNewline {
		return v
	}
	e, known := r.lookup(v)
	if known && e.executes() && r.lang == perl && next.kind == tokenOp && next.text == "{" {
		r.pos++
		r.items("}", false) // the program, when the words say another name
		v = value{kind: valueComputed}
		next = r.peek()
	}
	if !known && v.kind != valueComputed {
		return v
	}
	if !startsValue(next, r.lang) || next.kind == tokenName && slices.Contains(wordOperators, next.text) {
		return v
	}
	return r.call(v, r.bareArgs(), t.line)
}

func startsValue(t token, lang Language) bool {
	switch t.kind {
	case tokenText, tokenNumber, tokenShell, tokenWords, tokenName:
		return true
	case tokenOp:
		return t.text == "\\" || t.spaced && (t.text == "[" && lang == ruby || t.text == ":" && lang == ruby || t.text == "*" && lang == ruby) || t.text == "@" || t.text == "{" && lang == lua || t.text == "$" && lang == perl
	}
	return false
}

// bareArgs reads arguments up to the end of the statement.
func (r *reader) bareArgs() []value {
	var args []value
	for r.pos < len(r.toks) && len(args) < maxStrings {
		start := r.pos
		v := r.item(true)
		if r.pos == start {
			return args
		}
		args = append(args, v)
		if !r.isOp(0, ",") {
			return args
		}
		r.pos++
		r.blankLines()
	}
	return args
}

// postfix reads members, subscripts and calls.
func (r *reader) postfix(v value) value {
	for {
		t := r.peek()
		adjacent := !t.spaced || r.lang != ruby && r.lang != perl && r.lang != awk && r.lang != beam
		switch {
		case t.kind == tokenNewline && r.goesOn() && r.memberAfterNewline():
			r.blankLines()
		case t.kind == tokenOp && t.text == "(" && (adjacent || v.kind == valueName || v.kind == valueComputed) && v.kind != valueText && v.kind != valueNumber:
			r.pos++
			v = r.call(v, r.items(")", true), t.line)
		case t.kind == tokenOp && t.text == "[" && !t.spaced && r.lang != tcl:
			r.pos++
			v = r.index(v, r.items("]", false))
		case t.kind == tokenOp && t.text == "{" && r.lang == perl && !t.spaced && r.subscripted():
			r.pos++
			if key := r.peek(); key.kind == tokenName && letter(key.text[0]) && r.isOp(1, "}") { // a bare word is a text here
				r.toks[r.pos].kind, r.toks[r.pos].plain = tokenText, true
			}
			v = r.index(v, r.items("}", false))
		case t.kind == tokenOp && r.selects(t.text) && r.member(&v):
		case t.kind == tokenText && !t.spaced && r.lang == js && v.kind == valueName:
			r.pos++
			r.inside(t)
			v.name += "`"
			v = r.call(v, []value{r.quoted(t)}, t.line)
		case t.kind == tokenOp && t.text == "!" && r.lang == js && !t.spaced && r.isOp(1, ".", "(", "["):
			r.pos++
		default:
			return v
		}
	}
}

// subscripted reports whether a brace that stands here belongs to a variable.
func (r *reader) subscripted() bool {
	t := r.ahead(-1)
	return r.isOp(-1, "->", "]", "}") || t.kind == tokenName && strings.IndexByte("$@%", t.text[0]) >= 0
}

func (r *reader) memberAfterNewline() bool {
	n := 0
	for r.pos+n < len(r.toks) && r.ahead(n).kind == tokenNewline {
		n++
	}
	return r.ahead(n).kind == tokenOp && r.selects(r.ahead(n).text)
}

func (r *reader) selects(op string) bool { return strings.Contains(" "+r.g.member+" ", " "+op+" ") }

// member reads what follows a dot or an arrow.
func (r *reader) member(v *value) bool {
	t := r.ahead(1)
	switch {
	case t.kind == tokenName && (r.lang == js || !strings.HasPrefix(t.text, "$")), t.kind == tokenText && r.lang == beam:
		if r.lang == lua && r.peek().text == ":" && !r.isOp(2, "(") && r.ahead(2).kind != tokenText {
			return false
		}
		r.pos += 2
		r.p.Stdin = r.p.Stdin || t.text == "stdin"
		*v = memberOf(*v, t.text)
		if r.g.bare && !r.isOp(0, "(") {
			*v = r.bareCall(*v, t)
		}
		return true
	case t.kind == tokenName, t.kind == tokenText && (r.lang == php || r.lang == js): // $object->$method()
		r.pos += 2
		*v = value{kind: valueComputed}
		return true
	case t.kind == tokenOp && t.text == "!":
		r.pos += 2
		for r.isOp(0, "!") {
			r.pos++
		}
		*v = r.call(memberOf(*v, "!"), nil, t.line)
		return true
	case t.kind == tokenOp && (t.text == "(" || t.text == "[" || t.text == "{"):
		r.pos++
		if r.peek().text == "(" && (r.lang == perl || r.lang == php) && v.kind == valueName || v.kind == valueOther && r.lang == perl && t.text == "(" {
			*v = value{kind: valueComputed}
		}
		if t.text == "{" && r.lang != perl {
			r.pos--
			return false
		}
		return true
	}
	return false
}

// scopes are the names of what holds all other names.
var scopes = strings.Fields("builtins __builtins__ globalThis global window _G CORE Object Main Base process.mainModule self")

// memberOf is a member of v.
func memberOf(v value, name string) value {
	recv := v
	recv.recv = nil
	switch {
	case name == "__dict__" || name == "__call__":
		return v
	case v.kind == valueName && slices.Contains(scopes, v.name):
		return value{kind: valueName, name: name, recv: &recv, any: v.any}
	case v.kind == valueName:
		return value{kind: valueName, name: v.name + "." + name, recv: &recv, any: v.any}
	case v.kind == valueComputed:
		return value{kind: valueComputed}
	}
	return value{kind: valueName, name: "?." + name, recv: &recv, call: v.call}
}

// index is an element of v.
func (r *reader) index(v value, at []value) value {
	if e, ok := r.lookup(v); ok && e.kind == Env {
		return r.record(Env, v.name, at[:min(1, len(at))], r.ahead(-1).line)
	}
	if v.kind == valueText && len(at) > 0 && at[len(at)-1].text == "-1" && r.isOp(-4, "::", ":") {
		return r.fold("reverse", value{}, []value{v})
	}
	if len(at) != 1 || v.kind == valueText || v.kind == valueList && v.plain == false && at[0].kind == valueNumber {
		return value{text: Gap}
	}
	switch {
	case at[0].full() && v.kind == valueName && strings.HasSuffix(v.name, "modules"):
		return value{kind: valueName, name: module(at[0].text)}
	case at[0].full():
		w := memberOf(v, at[0].text)
		w.any = true
		return w
	case at[0].kind == valueNumber && v.kind != valueComputed:
		return value{text: Gap}
	case r.lang == awk || r.lang == perl && v.kind != valueComputed:
		return value{text: Gap}
	}
	return value{kind: valueComputed}
}

// module is the name of a module as the tables have it.
func module(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "node:"), "/", ".")
}
