package code

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Gap represents an unknown part of an argument.
const Gap = "\x00"

// Call is a relevant call in a program. Args are the literals in its arguments, with a Gap
// for each part that is only known when the program runs.
type Call struct {
	Kind Kind
	Name string
	Args []string
}

// Plain reports whether the call has arguments, and all of them are known.
func (c Call) Plain() bool {
	return len(c.Args) > 0 && !strings.Contains(strings.Join(c.Args, ""), Gap)
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
}

// The limits of one text: evaluated texts in evaluated texts, items of a list, and tokens of
// a statement.
const (
	maxDepth     = 20
	maxItems     = 256
	maxStatement = 4096
)

// reader makes one pass over the tokens of a text.
type reader struct {
	grammar
	calls map[string]entry
	toks  []token
	close []int // index of the bracket that closes the one at an index
	depth int
	own   map[string]bool   // functions of the program
	alias map[string]string // names given by an import
	p     *Program
}

// Read analyzes a text in the given language.
func Read(language, text string) *Program {
	r := reader{
		grammar: grammars[language],
		calls:   table().byLanguage[language],
		own:     map[string]bool{},
		alias:   map[string]string{},
		p:       &Program{Endless: endless().MatchString(text)},
	}
	r.text(text)
	return r.p
}

// text reads a text, or one that it evaluates.
func (r reader) text(s string) {
	if r.depth++; r.depth > maxDepth || len(r.p.Calls) >= maxItems {
		r.p.Opaque = true
		return
	}
	scan := scanner{grammar: r.grammar, text: s}
	scan.scan()
	r.toks, r.close = scan.out, brackets(scan.out)
	r.p.Opaque = r.p.Opaque || scan.lost
	for at := range r.toks {
		r.declare(at)
	}
	defer func() { r.p.Opaque = r.p.Opaque || len(r.p.Calls) >= maxItems }()
	for at := 0; at < len(r.toks) && len(r.p.Calls) < maxItems; at++ {
		switch t := r.toks[at]; {
		case t.kind == literal && t.s != "" && len(r.p.Strings) < maxItems:
			if r.p.Strings = append(r.p.Strings, t.s); r.members == "" && strings.HasPrefix(t.s, "/inet") {
				r.record(Call{Kind: Connect, Name: "inet"})
			}
		case t.kind == name && slices.Contains([]string{"import", "from", "use"}, t.s) && !r.is(at+1, "(") &&
			(r.token(at-1).kind == newline || r.is(at-1, ";", "{")):
			at = r.statement(at)
		case t.kind == name:
			at = r.use(at) - 1
		case r.members == "" && r.is(at, "|", ">", ">>"):
			r.redirected(at)
		case r.is(at, "(") && t.solid && r.is(at-1, "]"), r.is(at, "&") && r.is(at+1, "{"): // a computed name
			r.record(Call{Kind: Eval, Args: []string{Gap}})
		}
	}
}

// brackets returns the index of the closing bracket of each bracket.
func brackets(toks []token) []int {
	out := make([]int, len(toks))
	var open []int
	for i, t := range toks {
		switch out[i] = len(toks); {
		case t.kind != sign:
		case strings.Contains("([{", t.s):
			open = append(open, i)
		case strings.Contains(")]}", t.s) && len(open) > 0:
			out[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	return out
}

var (
	defining  = strings.Fields("def sub fun func function fn defn defun defmacro lambda async class proc define")
	enders    = strings.Fields("and or if elsif elif else unless while until when then do end in is for foreach")
	constants = strings.Fields("true false True False None null nil undefined")
	keywords  = strings.Fields(`if for while switch catch elif and or not in return lambda function func def sub fn class
		except elsif unless until foreach with assert when case async range super self this import from use await my new`)
)

// declare records the function or the import that begins at an index.
func (r *reader) declare(at int) {
	t, next, behind := r.token(at), r.token(at+1), r.token(at+2)
	switch {
	case t.kind != name:
	case slices.Contains(defining, t.s) && next.kind == name:
		r.own[next.s] = true
	case t.s == "as" && r.token(at-1).kind == name && next.kind == name:
		r.alias[next.s] = r.token(at - 1).s
	case next.s == "=" && (slices.Contains(defining, behind.s) || r.token(at+3).s == "=>" ||
		behind.s == "(" && r.token(r.close[at+2]+1).s == "=>"):
		r.own[t.s] = true
	}
}

// endless matches a loop without an end.
var endless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:while|for|loop|until)\b\s*\(?\s*(?:1\b|[Tt]rue\b|\{|fork\b|;)|\bloop\s+do\b|\biter\s*\(\s*int\b|\bsetInterval\b`)
})

func (r *reader) token(i int) token {
	if i < 0 || i >= len(r.toks) {
		return token{kind: newline}
	}
	return r.toks[i]
}

func (r *reader) is(at int, signs ...string) bool {
	t := r.token(at)
	return t.kind == sign && slices.Contains(signs, t.s)
}

// member reports whether the sign at an index is followed by a member of the value before.
func (r *reader) member(at int) bool {
	t, next := r.token(at), r.token(at+1)
	return t.kind == sign && t.solid && next.kind == name && next.solid && slices.Contains(strings.Fields(r.members), t.s)
}

// statement returns the end of the statement at an index.
func (r *reader) statement(at int, ends ...string) int {
	to := min(len(r.toks), at+maxStatement)
	for ; at < to; at++ {
		switch t := r.toks[at]; {
		case t.kind == newline, r.is(at, ";", ")", "]", "}"), slices.Contains(ends, t.s) && t.kind != literal:
			return at
		case r.is(at, "(", "[", "{"):
			at = r.close[at]
		}
	}
	return to
}

// before returns the begin of the statement that an index is in.
func (r *reader) before(at int) int {
	last := max(at-maxItems, 0)
	for at > last && r.toks[at-1].kind != newline && !r.is(at-1, ";", "=") {
		at--
	}
	return at
}

// args returns the literals between two indexes, up to a named argument. Blocks and sets of
// options are left out.
func (r *reader) args(at, to int) (out []string) {
	joins := false
	add := func(s string) {
		if joins = joins && len(out) > 0; joins {
			out[len(out)-1] += s
		} else if len(out) < maxItems {
			out = append(out, s)
		}
		joins = false
	}
	for ; at < to; at++ {
		switch t := r.toks[at]; {
		case t.kind == literal, t.kind == number:
			add(t.s)
		case t.s == glue, slices.Contains(strings.Fields(r.join), t.s),
			r.join == "" && t.kind == name && at > 0 && r.token(at-1).kind != sign:
			if joins = true; t.kind == name {
				add(Gap)
			}
		case t.kind == name && r.is(at+1, "=") && strings.IndexByte(r.sigils+" ", t.s[0]) < 0:
			return out
		case t.kind == name && !slices.Contains(constants, t.s):
			n := t.s
			for ; r.member(at + 1); at += 2 {
				n += "." + r.toks[at+2].s
			}
			switch e, _ := r.entry(n); e.kind {
			case home:
				add("~")
			case here:
				add(".")
			case same:
			default:
				add(Gap)
			}
		case r.is(at, "{"):
			at = r.close[at]
		}
	}
	return out
}

// redirected records the target of a redirection in awk, or the source of a getline.
func (r *reader) redirected(at int) {
	from, end := r.before(at), r.statement(at+1, "getline")
	switch to := r.args(at+1, end); {
	case r.token(end).s == "getline":
		r.record(Call{Kind: Run, Name: "getline", Args: r.args(from, at)})
	case r.is(at, "|"):
		r.record(Call{Kind: Run, Name: "pipe", Args: []string{strings.Join(to, "")}})
		if text := strings.Join(to, ""); strings.HasSuffix(text, "sh") || strings.Contains(text, Gap) {
			r.record(Call{Kind: Run, Name: "pipe", Args: r.args(from, at)})
		}
	default:
		for i := from; i < at; i++ {
			if slices.Contains([]string{"print", "printf"}, r.toks[i].s) {
				r.record(Call{Kind: Write, Name: "print", Args: to})
				return
			}
		}
	}
}

// use records the call or the variable that the name at an index is, and returns the index
// after the name and its members.
func (r *reader) use(from int) int {
	n := r.toks[from].s
	if r.member(from - 1) {
		n = "." + n
	}
	at := from + 1
	for ; r.member(at); at += 2 {
		n += "." + r.toks[at+1].s
	}
	called := r.is(at, "(") && (r.toks[at].solid || !r.bare)
	end := r.statement(at, enders...)
	if called {
		at, end = at+1, r.close[at]
	}
	e, ok := r.entry(n)
	c := Call{Kind: e.kind, Name: strings.TrimLeft(n, ".")}
	last := n[strings.LastIndexByte(n, '.')+1:]
	switch {
	case r.own[last], slices.Contains(keywords, n) && !ok:
	case !ok && called:
		if len(r.p.Unknown) < maxItems {
			r.p.Unknown = append(r.p.Unknown, c.Name)
		}
	case !ok && strings.Contains(n, "."): // a variable of the environment
		if e, ok := r.entry(n[:strings.LastIndexByte(n, '.')]); ok && e.kind == Env && e.args == none {
			r.record(Call{Kind: Env, Name: n, Args: []string{last}})
		}
	case !ok:
	case e.kind == Env && e.args == none:
		if r.is(at, "[", "{") {
			if c.Args = r.args(at+1, r.close[at]); r.token(at+1).kind == name {
				c.Args = []string{r.toks[at+1].s}
			}
		}
		r.record(c)
	case called, r.bare && r.argument(at), r.ticks == 't' && r.token(at).kind == literal && r.toks[at].solid:
		r.call(c, e, from, at, end)
	case e.kind.runs() || e.kind == Fork || last == "delete":
		if r.bare || e.args == receiver {
			r.call(c, e, from, at, at)
		} else if r.is(from-1, "(", ",", "=", "[") && !r.is(at, "=", "=>", "}") { // as a value
			c.Args = []string{Gap}
			r.record(c)
		}
	}
	return max(from+1, at-map[bool]int{true: 1}[called])
}

// argument reports whether the argument of a call without parentheses follows.
func (r *reader) argument(at int) bool {
	t := r.token(at)
	return t.kind == literal || t.kind == number || t.kind == name && !slices.Contains(enders, t.s) ||
		r.is(at, "[", "$", "%", "@", "\\", "<", "*", "-") || r.is(at, "(") && !t.solid
}

// entry looks a name up in the language's table: as it is, as a method of any receiver, or
// by its library.
func (r *reader) entry(n string) (entry, bool) {
	if n == ticks {
		return entry{Run, first}, true
	}
	if r.folds {
		n = strings.ToLower(n)
	}
	n = strings.ReplaceAll(strings.TrimLeft(n, "&\\@"), "\\", ".")
	for _, prefix := range []string{"globalThis.", "Kernel.", "CORE.", "node:"} {
		n = strings.TrimPrefix(n, prefix)
	}
	if root, rest, ok := strings.Cut(n, "."); r.alias[root] != "" {
		if n = r.alias[root]; ok {
			n += "." + rest
		}
	}
	at := strings.LastIndexByte(n, '.')
	for _, n := range []string{n, n[max(at, 0):], "." + n} {
		if e, ok := r.calls[n]; ok {
			return e, true
		}
	}
	for ; at > 0; at = strings.LastIndexByte(n[:at], '.') {
		if e, ok := r.calls[n[:at]+".*"]; ok {
			return e, true
		}
	}
	return entry{}, false
}

// call records a call whose arguments are between two indexes.
func (r *reader) call(c Call, e entry, from, at, end int) {
	switch c.Args = r.args(at, end); e.args {
	case first:
		if !r.is(at, "[") {
			c.Args = r.args(at, min(end, r.statement(at, ",")))
		} else if at < end {
			c.Args = r.args(at+1, r.close[at])
		}
	case last:
		c.Args = c.Args[max(0, len(c.Args)-1):]
	case none:
		c.Args = nil
	case receiver:
		c.Args = r.args(r.before(from), from)
	case opened:
		c.open()
	}
	switch c.Kind {
	case Harmless:
		if on := r.args(r.before(from), from); c.Name == "delete" && len(on) > 0 && strings.ContainsAny(on[0], "/~") {
			r.record(Call{Kind: Delete, Name: c.Name, Args: on}) // a method of a path
		}
		return
	case decodes:
		r.p.Hidden = true
	case module:
		r.p.Opaque = r.p.Opaque || !c.Plain()
	case named:
		for i, a := range c.Args {
			if e, ok := r.entry(a); ok && e.kind.runs() {
				r.record(Call{Kind: e.kind, Name: a, Args: append(slices.Clone(c.Args[i+1:]), Gap)})
			}
			r.p.Opaque = r.p.Opaque || a == Gap && i == len(c.Args)-1
		}
	case Delete:
		for i := at; i < end; i++ {
			if r.toks[i].s == "recursive" {
				c.Kind = DeleteTree
			}
		}
	}
	r.record(c)
}

// open sets the arguments of a call to the files that it opens for writing. Opening can
// also run a command.
func (c *Call) open() {
	var files []string
	c.Kind = Harmless
	for i, a := range c.Args {
		text, mode := strings.Trim(a, "| "), strings.Trim(a, "rwabxt+<>|-: ") == "" && a != ""
		switch {
		case i > 0 && mode && strings.Contains(a, "|") || !mode && text != strings.TrimSpace(a):
			c.Kind = Run
		case i > 0 && mode && strings.ContainsAny(a, "wax+>") || a == Gap && i == 1, strings.HasPrefix(a, ">"):
			c.Kind = Write
		}
		if !mode && a != Gap {
			files = append(files, strings.TrimLeft(text, "<>+ "))
		}
	}
	c.Args = files
}

// record adds a call to the program, and reads the text that it evaluates.
func (r *reader) record(c Call) {
	if c.Kind == Harmless || c.Kind >= decodes {
		return
	}
	if len(r.p.Calls) >= maxItems {
		r.p.Opaque = true
		return
	}
	if r.p.Calls = append(r.p.Calls, c); c.Kind == Eval {
		r.p.Opaque = r.p.Opaque || !c.Plain()
		for _, a := range c.Args {
			r.text(a)
		}
	}
}
