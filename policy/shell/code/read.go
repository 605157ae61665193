package code

import (
	"slices"
	"strings"
)

// Gap represents an unknown part of an Arg's Text.
const Gap = "\x00"

// Arg is an argument. If it is not Plain, Text is only its known part, with a Gap for
// each unknown part.
type Arg struct {
	Text  string
	Plain bool
}

// Call is a relevant call in a program.
type Call struct {
	Kind Kind
	Name string
	Args []Arg
}

// Program is the result of reading a text. Strings are its literals, Unknown the calls
// that the table does not have. Opaque means that it could not be read completely, or
// that some call is known only at run time. Endless means that it has an endless loop,
// Hidden that it decodes data.
type Program struct {
	Calls   []Call
	Strings []string
	Unknown []string
	Opaque  bool
	Endless bool
	Hidden  bool

	read int // total size of all texts read, including nested ones
}

// The limits of one text.
const (
	maxDepth = 40
	maxItems = 256
	maxText  = 64 << 10  // size of a concatenated text
	maxRead  = 256 << 10 // total size of all texts, including nested ones
)

// value is the known part of an expression: a text, a list, or a name.
type value struct {
	text  string
	plain bool
	list  []value
	name  string
}

var gap = value{text: Gap}

func plainText(s string) value { return value{text: s, plain: true} }

// reader makes one pass over the tokens of a text.
type reader struct {
	grammar
	entries
	toks   []token
	at     int
	depth  int
	vars   map[string]value
	alias  map[string]string
	prints bool // in awk, the statement prints
	p      *Program
}

// Read analyzes a text in the given language.
func Read(language, text string) *Program {
	r := reader{
		grammar: grammars[language],
		entries: tables()[language],
		vars:    map[string]value{},
		alias:   map[string]string{},
		p:       &Program{},
	}
	r.text(text)
	return r.p
}

// text reads a text, which may be nested in another.
func (r *reader) text(s string) {
	if r.p.read += len(s) + 1; r.depth > maxDepth || r.p.read > maxRead {
		r.p.Opaque = true
		return
	}
	scan := scanner{grammar: r.grammar, text: s}
	inner := *r
	inner.toks, inner.at, inner.depth = scan.scan(), 0, r.depth+1
	r.p.Opaque = r.p.Opaque || scan.lost
	inner.definitions()
	for inner.at < len(inner.toks) {
		before := inner.at
		if inner.expression(); inner.at == before {
			inner.at++
			inner.prints = false
		}
	}
}

func (r *reader) definitions() {
	for i, t := range r.toks {
		next, behind := r.token(i+1), r.token(i+2)
		switch {
		case t.kind != name:
		case slices.Contains(defining, t.s) && next.kind == name:
			r.alias[next.s] = ""
		case next.s == "=" && (slices.Contains(defining, behind.s) || behind.s == "(" && r.token(r.matching(i+2)+1).s == "=>" || r.token(i+3).s == "=>"):
			r.alias[t.s] = ""
		case slices.Contains(loops, t.s) && (endless(next) || next.s == "(" && (endless(behind) || behind.s == ";")),
			t.s == "loop" && slices.Contains([]string{"{", "do"}, next.s), t.s == "iter" && behind.s == "int", t.s == "setInterval":
			r.p.Endless = true
		}
	}
}

var (
	defining = strings.Fields("def sub fun func function fn defn defun defmacro lambda async class proc define")
	loops    = strings.Fields("while for loop until")
	enders   = strings.Fields("and or if elsif elif else unless while until when then do end in is for foreach")
	skipped  = append(
		strings.Fields(
			"new await return yield not typeof delete my our local const let var void begin case with assert raise throw async try finally except rescue BEGIN END script",
		),
		enders...)
	voids = strings.Fields(
		"if for while switch catch elif and or not in return lambda function func def sub fn class except elsif unless until foreach with assert when case async range super self this None True False",
	)
)

func endless(t token) bool {
	return t.kind == number && t.s == "1" || slices.Contains([]string{"True", "true", "{", "fork"}, t.s)
}

func (r *reader) matching(at int) int {
	depth := 0
	for i := at; i < min(len(r.toks), at+maxItems); i++ {
		switch r.toks[i].s {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(r.toks)
}

func (r *reader) token(i int) token {
	if i < 0 || i >= len(r.toks) {
		return token{kind: newline}
	}
	return r.toks[i]
}

func (r *reader) is(signs ...string) bool {
	t := r.token(r.at)
	return t.kind == sign && slices.Contains(signs, t.s)
}

// expression reads one expression up to its end and returns its value.
func (r *reader) expression() value {
	if r.depth++; r.depth > maxDepth {
		r.p.Opaque, r.at = true, len(r.toks)
	}
	defer func() { r.depth-- }()
	v := r.primary()
	for r.at < len(r.toks) {
		t := r.token(r.at)
		switch {
		case t.kind == newline, r.is(",", ";", ")", "]", "}", ":"):
			return v
		case t.kind == literal || r.awk && (t.kind == name || t.kind == number):
			if t.kind == name && slices.Contains(enders, t.s) {
				return v
			}
			v = joined(v, r.primary())
		case t.kind != sign, r.is("{"):
			return v
		case r.is("=", ":="):
			r.at++
			r.assign(v.name, r.expression())
			return gap
		case r.awk && r.is("|", ">", ">>"):
			v = r.redirected(v)
		case slices.Contains(strings.Fields(r.join), t.s):
			r.at++
			v = joined(v, r.primary())
		default:
			r.at++
			after := r.primary()
			v = gap
			if t.s == "=>" {
				v = after
			}
		}
	}
	return v
}

// redirected reads the target of an awk redirection, or the source of a getline.
func (r *reader) redirected(v value) value {
	pipe := r.is("|")
	r.at++
	if pipe && r.token(r.at).s == "&" {
		r.at++
	}
	if pipe && r.token(r.at).s == "getline" {
		r.at++
		r.record(Call{Kind: Shell, Name: "getline"}, v)
		return gap
	}
	to := r.primary()
	switch {
	case pipe:
		if r.record(Call{Kind: Shell, Name: "pipe"}, to); strings.HasSuffix(to.text, "sh") || !to.plain {
			r.record(Call{Kind: Shell, Name: "pipe"}, v)
		}
	case r.prints:
		r.record(Call{Kind: Write, Name: "print"}, to)
	}
	return gap
}

func joined(a, b value) value {
	if len(a.text)+len(b.text) > maxText || len(a.list)+len(b.list) > maxItems {
		return gap
	}
	if a.list != nil || b.list != nil {
		return value{list: append(slices.Clip(items(a)), items(b)...)}
	}
	return value{text: a.text + b.text, plain: a.plain && b.plain}
}

func items(v value) []value {
	if v.list != nil {
		return v.list
	}
	return []value{v}
}

func (r *reader) assign(to string, v value) {
	to = strings.TrimLeft(to, "@%$")
	if old, ok := r.vars[to]; ok && (old.text != v.text || len(old.list) != len(v.list)) {
		v = gap
	}
	switch {
	case to == "" || strings.Contains(to, "."):
	case v.name != "" && !v.plain && v.list == nil:
		r.alias[to] = r.full(v.name)
	default:
		r.vars[to] = v
	}
}

// primary reads a literal, a bracket or a name, with its suffixes.
func (r *reader) primary() value {
	t := r.token(r.at)
	r.at++
	switch t.kind {
	case literal:
		return r.behind(r.literal(t))
	case number:
		return r.behind(plainText(t.s))
	case name:
		return r.named(t.s)
	}
	switch t.s {
	case "(", "[", "{":
		list := r.list()
		if t.s == "(" && len(list) == 1 {
			return r.behind(list[0])
		}
		return r.behind(value{list: append([]value{}, list...)})
	case "-":
		v := r.primary()
		v.text = "-" + v.text
		return v
	case "&":
		if r.is("{") { // a call by name
			r.record(Call{Kind: Eval, Name: "&"}, r.primary())
			return gap
		}
		return r.primary()
	case "+", "!", "~", "*", "\\", "@", "%", "...", "?", "'", "->", "#", "$":
		if r.at < len(r.toks) && !r.is(")", "]", "}", ",", ";") {
			return r.primary()
		}
	case ",", ";", ")", "]", "}", "":
		r.at--
	}
	return gap
}

// literal returns the value of a literal token.
func (r *reader) literal(t token) value {
	v := value{plain: true}
	for _, p := range t.parts {
		if !p.code {
			v.text += p.s
			continue
		}
		known, ok := r.vars[strings.TrimLeft(strings.TrimSpace(p.s), "@%$")]
		if !ok {
			known = gap
			r.text(p.s)
		}
		v = joined(v, known)
	}
	if t.code {
		r.text(v.text)
		return gap
	}
	if len(r.p.Strings) < maxItems && v.text != "" {
		r.p.Strings = append(r.p.Strings, v.text)
	}
	if t.runs {
		r.record(Call{Kind: Shell, Name: "`"}, v)
		return gap
	}
	if r.awk && strings.HasPrefix(v.text, "/inet") {
		r.record(Call{Kind: Connect, Name: "inet"})
	}
	return v
}

// list reads the elements after an open bracket.
func (r *reader) list() []value {
	var out []value
	for r.at < len(r.toks) {
		t := r.token(r.at)
		switch {
		case r.is(")", "]", "}"):
			r.at++
			return out
		case t.kind == newline || r.is(",", ";", ":"):
			r.at++
			continue
		case t.kind == name && r.token(r.at+1).s == "=" && !strings.ContainsAny(t.s, "$@"): // a named argument
			r.at += 2
		}
		before := r.at
		v := r.expression()
		if r.at == before {
			r.at++
		}
		if len(out) < maxItems {
			out = append(out, v)
		}
	}
	r.p.Opaque = true
	return out
}

func (r *reader) named(n string) value {
	switch {
	case slices.Contains(skipped, n) && !r.tabled(n):
		return r.primary()
	case (n == "import" || n == "from" || n == "use" || n == "require" && r.bare && !r.is("(")) && !r.is("("):
		return r.imports(n)
	case (n == "print" || n == "printf") && r.awk:
		r.prints = true
	}
	return r.chain(n, gap)
}

// behind reads the suffixes of a value: a method, an index, or a call.
func (r *reader) behind(v value) value {
	if r.is(".", "->", "::", "?.") && r.token(r.at).solid && r.token(r.at+1).kind == name &&
		(r.join != "." || r.token(r.at).s != ".") {
		n := r.token(r.at + 1).s
		r.at += 2
		return r.chain(v.name+"."+n, v)
	}
	if r.is("[") && r.token(r.at).solid && v.name != "" {
		r.at++
		if index := r.list(); len(index) == 1 && index[0].plain {
			v.name += "." + index[0].text
		} else if r.is("(") {
			r.record(Call{Kind: Eval, Name: v.name}, gap)
		}
		return r.behind(v)
	}
	if r.is("(") && r.token(r.at).solid && v.list == nil { // the function is known only at run time
		r.at++
		args := r.list()
		if v.name != "" {
			return r.call(v.name, gap, args)
		}
		r.p.Opaque = r.p.Opaque || !v.plain
		return gap
	}
	return v
}

// chain reads the members of a name up to a call.
func (r *reader) chain(n string, on value) value {
	for r.at < len(r.toks) {
		t, next := r.token(r.at), r.token(r.at+1)
		switch {
		case r.is("->", "::", "?.", ".", ":") && t.solid && next.solid && next.kind == name && (t.s != "." || r.join != ".") && (t.s != ":" || r.colon):
			r.at += 2
			n += "." + next.s
			continue
		case r.is("(") && (t.solid || !r.bare):
			r.at++
			return r.behind(r.call(n, on, r.list()))
		case t.kind == literal && t.solid && r.ticks == 't':
			r.at++
			return r.behind(r.call(n, on, []value{r.literal(t)}))
		case (r.is("[") || r.is("{") && strings.HasPrefix(n, "$")) && t.solid:
			r.at++
			index := r.list()
			if e, ok := r.entry(n); ok && e.kind == Env {
				if len(index) > 0 && index[0].name != "" {
					index[0] = plainText(index[0].name)
				}
				return r.behind(r.recordKnown(n, entry{kind: Env}, on, index))
			}
			return r.behind(gap)
		}
		break
	}
	if at := strings.LastIndexByte(n, '.'); at > 0 {
		if e, ok := r.calls[r.full(n[:at])]; ok && e.kind == Env && e.shape == whole {
			return r.recordKnown(n, e, on, []value{plainText(n[at+1:])})
		}
	}
	if e, ok := r.entry(n); ok && e.kind == Env && e.shape == whole {
		return r.recordKnown(n, e, on, nil)
	}
	if r.bare && r.callsBare(n) {
		return r.call(n, on, r.bareArguments())
	}
	if e, ok := r.entry(n); ok && (e.kind.runs() || e.kind == Fork || on.plain && r.bare) && !r.is("=", "=>") {
		if r.bare || e.shape == receiver { // a call without arguments
			return r.recordKnown(n, e, on, nil)
		}
		return value{text: Gap, name: n}
	}
	return r.variable(n)
}

func (r *reader) variable(n string) value {
	if v, ok := r.vars[strings.TrimLeft(n, "@%$")]; ok {
		return v
	}
	return value{text: Gap, name: n}
}

func (r *reader) callsBare(n string) bool {
	if e, ok := r.entry(n); !ok || e.kind == Env {
		return false
	}
	t := r.token(r.at)
	return t.kind == literal || t.kind == number || t.kind == name && !slices.Contains(enders, t.s) ||
		r.is("[", "$", "%", "@", "\\", "<", "*", "-") ||
		r.is("(") && !t.solid
}

func (r *reader) tabled(n string) bool {
	_, ok := r.calls[n]
	return ok && (r.is("(") || r.bare && r.callsBare(n))
}

func (r *reader) bareArguments() []value {
	var args []value
	for r.at < len(r.toks) && len(args) < maxItems {
		before := r.at
		args = append(args, r.expression())
		if !r.is(",") && !r.is(":") || r.at == before {
			break
		}
		r.at++
	}
	return args
}

// imports reads the names imported from libraries.
func (r *reader) imports(word string) value {
	module, last := "", ""
	for ; r.at < len(r.toks) && r.token(r.at).kind != newline && !r.is(";"); r.at++ {
		t := r.token(r.at)
		switch {
		case t.kind == literal:
			module = t.parts[0].s
		case t.kind != name || t.s == "import":
		case t.s == "as":
			r.at++
			r.alias[r.token(r.at).s] = last
		case word == "from" && module == "":
			module = t.s
			for r.token(r.at+1).s == "." {
				r.at += 2
				module += "." + r.token(r.at).s
			}
		case word == "from":
			last = module + "." + t.s
			r.alias[t.s] = last
		default:
			last = t.s
			for r.token(r.at+1).s == "." || r.token(r.at+1).s == "::" {
				r.at += 2
				last += "." + r.token(r.at).s
			}
		}
	}
	return gap
}
