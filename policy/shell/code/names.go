package code

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
)

// skipped are the words before a value that do not change what it is.
var skipped = strings.Fields("await new return yield async const let var my our local final val static public private throw delete void typeof try! auto def. begin do then else nil? unless until while elsif elif if when case with assert raise not except try finally print? else if echo lazy")

// named reads a value that starts with a name.
func (r *reader) named(t lex.Token) value {
	switch t.Text {
	case "lambda", "function", "sub", "fn", "def":
		return r.function(t)
	case "do":
		if v, ok := do(r, t); ok {
			return v
		}
	case "STDIN", "$stdin", "stdin", "gets", "ARGF", "input", "raw_input", "readline", "readLine", "slurp":
		r.p.Stdin = true
	}
	if r.lang != lex.Lisp && slices.Contains(skipped, t.Text) {
		return r.skip(t)
	}
	at := r.pos
	v := r.variable(t.Text)
	v.at = at
	if r.lang == lex.Perl && strings.HasPrefix(t.Text, "&") {
		v.name = strings.TrimPrefix(v.name, "&")
		if strings.HasPrefix(v.name, "$") {
			v = value{kind: valueComputed}
		}
		if !r.isOp(0, "(") {
			return v
		}
	}
	if r.lang == lex.PHP && strings.HasPrefix(t.Text, "$") && r.isOp(0, "(") {
		switch v.kind {
		case valueText:
			v = value{kind: valueName, name: v.text}
		case valueFunction:
		default:
			v = value{kind: valueComputed}
		}
	}
	v.name = strings.TrimPrefix(strings.ReplaceAll(v.name, "::", "."), "CORE.")
	if r.lang == lex.PHP {
		v.name = strings.ReplaceAll(strings.TrimPrefix(v.name, "\\"), "\\", ".")
	}
	return r.postfix(r.bareCall(v, t))
}

// do reads what runs a file of Perl, or a script of AppleScript.
func do(r *reader, t lex.Token) (value, bool) {
	if r.lang == lex.Perl && (r.peek().Kind == lex.Text || strings.HasPrefix(r.peek().Text, "$")) {
		return r.record(Load, "do", []value{r.expr()}, t.Line), true
	}
	if !r.isName(0, "shell", "script") {
		return value{}, false
	}
	for r.isName(0, "shell", "script") {
		r.pos++
	}
	return r.call(value{kind: valueName, name: "do.script"}, []value{r.expr()}, t.Line), true
}

// variable is what is known of a name.
func (r *reader) variable(name string) value {
	v, ok := r.vars[name]
	if !ok {
		return value{kind: valueName, name: name}
	}
	v.key = ""
	if (v.kind == valueText || v.kind == valueList) && !r.bound.constant(name, v.kind) {
		return value{text: lex.Gap}
	}
	return v
}

// skip reads the value after a word that does not change it. What follows
// the others is looked at, and is not their value.
func (r *reader) skip(t lex.Token) value {
	if r.peek().Kind == lex.Newline || r.isOp(0, endsExpression...) && !r.isOp(0, "{") {
		return value{text: lex.Gap}
	}
	v := r.deeper()
	if strings.Contains(" delete void not if while until unless ", " "+t.Text+" ") {
		r.escape(v)
		return value{text: lex.Gap}
	}
	return v
}

// function reads a function that is written in place: its head is left out.
func (r *reader) function(t lex.Token) value {
	if t.Text == "lambda" {
		for n := 0; n < 256 && r.pos < len(r.toks) && !r.isOp(0, ":"); n++ {
			r.pos++
		}
		if r.isOp(0, ":") {
			r.pos++
			r.escape(r.expr())
		}
		return value{kind: valueFunction}
	}
	if r.peek().Kind == lex.Name {
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
func (r *reader) bareCall(v value, t lex.Token) value {
	next := r.peek()
	if !r.g.Bare || v.kind != valueName && v.kind != valueComputed || next.Kind == lex.Newline {
		return v
	}
	e, known := r.lookup(v)
	if known && e.executes() && r.lang == lex.Perl && next.Kind == lex.Op && next.Text == "{" {
		r.pos++
		r.items("}", false) // the program, when the words say another name
		v = value{kind: valueComputed}
		next = r.peek()
	}
	if !known && v.kind != valueComputed {
		return v
	}
	if !startsValue(next, r.lang) || next.Kind == lex.Name && slices.Contains(wordOperators, next.Text) {
		return v
	}
	return r.call(v, r.bareArgs(), t.Line)
}

func startsValue(t lex.Token, lang lex.Language) bool {
	switch t.Kind {
	case lex.Text, lex.Number, lex.Shell, lex.Words, lex.Name:
		return true
	case lex.Op:
		return t.Text == "\\" || t.Spaced && (t.Text == "[" && lang == lex.Ruby || t.Text == ":" && lang == lex.Ruby || t.Text == "*" && lang == lex.Ruby) || t.Text == "@" || t.Text == "{" && lang == lex.Lua || t.Text == "$" && lang == lex.Perl
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
		case t.Kind == lex.Newline && r.goesOn() && r.memberAfterNewline():
			r.blankLines()
		case r.selects(t) && r.member(&v), r.subscript(&v, t):
		case r.isOp(0, "(") && r.callable(v, t):
			r.pos++
			v = r.call(v, r.items(")", true), t.Line)
		case t.Kind == lex.Text && !t.Spaced && r.lang == lex.JS && v.kind == valueName:
			r.pos++
			r.inside(t)
			v.name += "`"
			v = r.call(v, []value{r.quoted(t)}, t.Line)
		case r.isOp(0, "!") && r.lang == lex.JS && !t.Spaced && r.isOp(1, ".", "(", "["):
			r.pos++
		default:
			return v
		}
	}
}

// subscript reads an index or a key.
func (r *reader) subscript(v *value, t lex.Token) bool {
	switch {
	case t.Spaced:
		return false
	case r.isOp(0, "["):
		r.pos++
		*v = r.index(*v, r.items("]", false))
		return true
	case r.isOp(0, "{") && r.lang == lex.Perl && r.subscripted():
		r.pos++
		if key := r.peek(); key.Kind == lex.Name && lex.Letter(key.Text[0]) && r.isOp(1, "}") { // a bare word is a text here
			r.toks[r.pos].Kind, r.toks[r.pos].Plain = lex.Text, true
		}
		*v = r.index(*v, r.items("}", false))
		return true
	}
	return false
}

// callable reports whether a bracket that stands here calls v.
func (r *reader) callable(v value, bracket lex.Token) bool {
	switch v.kind {
	case valueName, valueComputed:
		return true
	case valueText:
		return v.group && r.lang == lex.PHP // the name of a function
	case valueNumber:
		return false
	}
	return !bracket.Spaced || r.lang != lex.Ruby && r.lang != lex.Perl && r.lang != lex.Awk && r.lang != lex.Beam
}

// subscripted reports whether a brace that stands here belongs to a variable.
func (r *reader) subscripted() bool {
	t := r.ahead(-1)
	return r.isOp(-1, "->", "]", "}") || t.Kind == lex.Name && strings.IndexByte("$@%", t.Text[0]) >= 0
}

func (r *reader) memberAfterNewline() bool {
	n := 0
	for r.pos+n < len(r.toks) && r.ahead(n).Kind == lex.Newline {
		n++
	}
	return r.selects(r.ahead(n))
}

// selects reports whether a sign selects a member.
func (r *reader) selects(t lex.Token) bool {
	if t.Text == ":" && r.lang == lex.Lua && !r.isOp(2, "(") && r.ahead(2).Kind != lex.Text {
		return false
	}
	return t.Kind == lex.Op && strings.Contains(" "+r.g.Member+" ", " "+t.Text+" ")
}

// member reads what follows a dot or an arrow.
func (r *reader) member(v *value) bool {
	t := r.ahead(1)
	variable := t.Kind == lex.Name && t.Text[0] == '$' && (r.lang == lex.Perl || r.lang == lex.PHP)
	switch {
	case t.Kind == lex.Name && !variable, t.Kind == lex.Text && r.lang == lex.Beam: // object.method
		r.pos += 2
		r.p.Stdin = r.p.Stdin || t.Text == "stdin"
		*v = memberOf(*v, t.Text)
		v.at = r.pos
		if !r.isOp(0, "(") {
			*v = r.bareCall(*v, t)
		}
	case t.Kind == lex.Name, t.Kind == lex.Text: // $object->$method()
		r.pos += 2
		*v = value{kind: valueComputed}
	case r.isOp(1, "!"):
		r.pos += 2
		for r.isOp(0, "!") {
			r.pos++
		}
		*v = r.call(memberOf(*v, "!"), nil, t.Line)
	case r.isOp(1, "(", "[") || r.isOp(1, "{") && r.lang == lex.Perl:
		r.pos++
		if r.lang != lex.JS && r.isOp(0, "(") && v.kind != valueFunction {
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
		return value{text: lex.Gap}
	case at[0].full() && v.kind == valueName && strings.HasSuffix(v.name, "modules"):
		return value{kind: valueName, name: module(at[0].text)}
	case r.lang == lex.PHP && r.isOp(0, "("):
	case at[0].full():
		w := memberOf(v, at[0].text)
		w.any = true
		return w
	case (r.lang == lex.Awk || r.lang == lex.Perl) && v.kind != valueComputed:
		return value{text: lex.Gap}
	}
	return value{kind: valueComputed}
}

// module is the name of a module as the tables have it.
func module(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "node:"), "/", ".")
}
