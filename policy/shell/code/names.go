package code

import (
	"slices"
	"strings"
)

// skipped are the words before a value that do not change what it is.
var skipped = strings.Fields("await new return yield async const let var my our local final val static public private throw delete void typeof try! auto def. begin do then else nil? unless until while elsif elif if when case with assert raise not except try finally print? else if echo lazy")

// named reads a value that starts with a name.
func (r *reader) named(t token) value {
	switch t.text {
	case "lambda", "function", "sub", "fn", "def":
		return r.function(t)
	case "do":
		if r.isName(0, "shell", "script") {
			for r.isName(0, "shell", "script") {
				r.pos++
			}
			return r.call(value{kind: valueName, name: "do.script"}, []value{r.expr()}, t.line)
		}
	case "STDIN", "$stdin", "stdin", "gets", "ARGF", "input", "raw_input", "readline", "readLine", "slurp":
		r.p.Stdin = true
	}
	if r.lang != lisp && slices.Contains(skipped, t.text) {
		return r.skip(t)
	}
	at := r.pos
	v := r.variable(t.text)
	v.at = at
	if r.lang == perl && strings.HasPrefix(t.text, "&") {
		v.name = strings.TrimPrefix(v.name, "&")
		if strings.HasPrefix(v.name, "$") {
			v = value{kind: valueComputed}
		}
		if !r.isOp(0, "(") {
			return v
		}
	}
	if r.lang == php && strings.HasPrefix(t.text, "$") && r.isOp(0, "(") {
		switch v.kind {
		case valueText:
			v = value{kind: valueName, name: v.text}
		case valueFunction:
		default:
			v = value{kind: valueComputed}
		}
	}
	v.name = strings.TrimPrefix(strings.ReplaceAll(v.name, "::", "."), "CORE.")
	if r.lang == php {
		v.name = strings.ReplaceAll(strings.TrimPrefix(v.name, "\\"), "\\", ".")
	}
	return r.postfix(r.bareCall(v, t))
}

// variable is what is known of a name.
func (r *reader) variable(name string) value {
	v, ok := r.vars[name]
	if !ok {
		return value{kind: valueName, name: name}
	}
	v.key = ""
	if (v.kind == valueText || v.kind == valueList) && !r.bound.constant(name, v.kind) {
		return value{text: Gap}
	}
	return v
}

// skip reads the value after a word that does not change it. What follows
// the others is looked at, and is not their value.
func (r *reader) skip(t token) value {
	if r.peek().kind == tokenNewline || r.isOp(0, endsExpression...) && !r.isOp(0, "{") {
		return value{text: Gap}
	}
	v := r.deeper()
	if strings.Contains(" delete void not if while until unless ", " "+t.text+" ") {
		r.escape(v)
		return value{text: Gap}
	}
	return v
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
		switch {
		case t.kind == tokenNewline && r.goesOn() && r.memberAfterNewline():
			r.blankLines()
		case r.selects(t) && r.member(&v), r.subscript(&v, t):
		case r.isOp(0, "(") && r.callable(v, t):
			r.pos++
			v = r.call(v, r.items(")", true), t.line)
		case t.kind == tokenText && !t.spaced && r.lang == js && v.kind == valueName:
			r.pos++
			r.inside(t)
			v.name += "`"
			v = r.call(v, []value{r.quoted(t)}, t.line)
		case r.isOp(0, "!") && r.lang == js && !t.spaced && r.isOp(1, ".", "(", "["):
			r.pos++
		default:
			return v
		}
	}
}

// subscript reads an index or a key.
func (r *reader) subscript(v *value, t token) bool {
	switch {
	case t.spaced:
		return false
	case r.isOp(0, "["):
		r.pos++
		*v = r.index(*v, r.items("]", false))
		return true
	case r.isOp(0, "{") && r.lang == perl && r.subscripted():
		r.pos++
		if key := r.peek(); key.kind == tokenName && letter(key.text[0]) && r.isOp(1, "}") { // a bare word is a text here
			r.toks[r.pos].kind, r.toks[r.pos].plain = tokenText, true
		}
		*v = r.index(*v, r.items("}", false))
		return true
	}
	return false
}

// callable reports whether a bracket that stands here calls v.
func (r *reader) callable(v value, bracket token) bool {
	switch v.kind {
	case valueName, valueComputed:
		return true
	case valueText:
		return v.group && r.lang == php // the name of a function
	case valueNumber:
		return false
	}
	return !bracket.spaced || r.lang != ruby && r.lang != perl && r.lang != awk && r.lang != beam
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
	return r.selects(r.ahead(n))
}

// selects reports whether a sign selects a member.
func (r *reader) selects(t token) bool {
	if t.text == ":" && r.lang == lua && !r.isOp(2, "(") && r.ahead(2).kind != tokenText {
		return false
	}
	return t.kind == tokenOp && strings.Contains(" "+r.g.member+" ", " "+t.text+" ")
}

// member reads what follows a dot or an arrow.
func (r *reader) member(v *value) bool {
	t := r.ahead(1)
	variable := t.kind == tokenName && t.text[0] == '$' && (r.lang == perl || r.lang == php)
	switch {
	case t.kind == tokenName && !variable, t.kind == tokenText && r.lang == beam: // object.method
		r.pos += 2
		r.p.Stdin = r.p.Stdin || t.text == "stdin"
		*v = memberOf(*v, t.text)
		v.at = r.pos
		if !r.isOp(0, "(") {
			*v = r.bareCall(*v, t)
		}
	case t.kind == tokenName, t.kind == tokenText: // $object->$method()
		r.pos += 2
		*v = value{kind: valueComputed}
	case r.isOp(1, "!"):
		r.pos += 2
		for r.isOp(0, "!") {
			r.pos++
		}
		*v = r.call(memberOf(*v, "!"), nil, t.line)
	case r.isOp(1, "(", "[") || r.isOp(1, "{") && r.lang == perl:
		r.pos++
		if r.lang != js && r.isOp(0, "(") && v.kind != valueFunction {
			*v = value{kind: valueComputed}
		}
	default:
		return false
	}
	return true
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
	if r.environ(v) {
		out := r.record(Env, v.name, at[:min(1, len(at))], r.line)
		if dir := directory(at); dir.path {
			return dir
		}
		return out
	}
	if v.kind == valueText && len(at) > 0 && at[len(at)-1].text == "-1" && r.isOp(-4, "::", ":") {
		return r.fold("reverse", value{}, []value{v})
	}
	switch {
	case len(at) != 1 || v.kind == valueText || at[0].kind == valueNumber:
		return value{text: Gap}
	case at[0].full() && v.kind == valueName && strings.HasSuffix(v.name, "modules"):
		return value{kind: valueName, name: module(at[0].text)}
	case at[0].full():
		w := memberOf(v, at[0].text)
		w.any = true
		return w
	case (r.lang == awk || r.lang == perl) && v.kind != valueComputed:
		return value{text: Gap}
	}
	return value{kind: valueComputed}
}

// module is the name of a module as the tables have it.
func module(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "node:"), "/", ".")
}
