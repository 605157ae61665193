package code

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
)

// statement reads the statements that bind the names of other modules, and
// the print of awk.
func (r *reader) statement() (value, bool) {
	start := r.pos
	t := r.peek()
	done := false
	switch t.Text {
	case "import":
		done = r.imports()
	case "from":
		done = r.lang == lex.Python && r.fromImport()
	case "const", "let", "var":
		if r.isOp(1, "{") && r.lang == lex.JS {
			r.pos++
			done = r.unpack()
		}
	case "use":
		done = r.use()
	case "print", "printf":
		if r.lang == lex.Awk {
			r.awkPrint(t)
			done = true
		}
	}
	if !done {
		r.pos = start
	}
	for i := start; done && t.Text[0] != 'p' && i < r.pos; i++ {
		r.done[i] = true // it only binds names
	}
	return value{text: lex.Gap}, done
}

// dotted reads a name with its dots.
func (c *cursor) dotted() string {
	var b strings.Builder
	for c.peek().Kind == lex.Name || c.isOp(0, ".", "::") {
		if c.peek().Kind == lex.Op {
			b.WriteByte('.')
		} else if s := b.String(); s != "" && !strings.HasSuffix(s, ".") {
			break
		} else {
			b.WriteString(c.peek().Text)
		}
		c.pos++
	}
	return b.String()
}

func (r *reader) alias(name, full string) {
	r.vars[name] = value{kind: valueName, name: full}
}

// imports reads an import statement of Python, JavaScript or Go.
func (r *reader) imports() bool {
	r.pos++
	switch r.lang {
	case lex.Python:
		for {
			full := r.dotted()
			if full == "" {
				return false
			}
			if r.isName(0, "as") {
				r.alias(r.ahead(1).Text, full)
				r.pos += 2
			}
			if !r.isOp(0, ",") {
				return true
			}
			r.pos++
		}
	case lex.Golang:
		if r.isOp(0, "(") {
			r.pos++
		}
		for n := 0; n < maxStrings && r.pos < len(r.toks) && !r.isOp(0, ")"); n++ {
			if t := r.ahead(1); r.peek().Kind == lex.Name && t.Kind == lex.Text {
				r.alias(r.peek().Text, t.Text[strings.LastIndexByte(t.Text, '/')+1:])
			}
			if k := r.peek().Kind; k != lex.Name && k != lex.Text && k != lex.Newline && !r.isOp(0, ".", ";") {
				return true
			}
			if r.isName(0, "func", "var", "const", "type") {
				return true
			}
			r.pos++
		}
		return true
	case lex.JS:
		return r.importJS()
	}
	return false
}

// importJS reads import x, {a as b}, * as y from "m".
func (r *reader) importJS() bool {
	var names [][2]string
	for n := 0; n < 256; n++ {
		t := r.peek()
		switch {
		case t.Kind == lex.Text:
			r.pos++
			for _, v := range names {
				full := module(t.Text)
				if v[1] != "*" {
					full += "." + v[1]
				}
				r.alias(v[0], full)
			}
			return true
		case r.isOp(0, "("):
			return false
		case t.Kind == lex.Name && r.isName(1, "as"):
			names = append(names, [2]string{r.ahead(2).Text, t.Text})
			r.pos += 2
		case r.isOp(0, "*"):
			names = append(names, [2]string{r.ahead(2).Text, "*"})
			r.pos += 2
		case t.Kind == lex.Name && t.Text != "from":
			what := t.Text
			if n == 0 {
				what = "*" // the whole module
			}
			names = append(names, [2]string{t.Text, what})
		}
		r.pos++
	}
	return false
}

func (r *reader) fromImport() bool {
	r.pos++
	from := r.dotted()
	if from == "" || !strings.HasSuffix(from, ".import") && !r.isName(0, "import") {
		return false
	}
	r.pos++
	if r.isOp(0, "(") {
		r.pos++
	}
	for {
		r.pos += skipNewlines(r, r.pos > 0 && r.isOp(-1, "(", ","))
		name := r.peek().Text
		switch {
		case r.isOp(0, "*"):
			for full := range r.calls {
				if last, ok := strings.CutPrefix(full, from+"."); ok && !strings.Contains(last, ".") {
					r.alias(last, full)
				}
			}
		case r.peek().Kind != lex.Name:
			return true
		case r.isName(1, "as"):
			r.alias(r.ahead(2).Text, from+"."+name)
			r.pos += 2
		default:
			r.alias(name, from+"."+name)
		}
		r.pos++
		if !r.isOp(0, ",") {
			return true
		}
		r.pos++
	}
}

func skipNewlines(r *reader, really bool) int {
	n := 0
	for really && r.pos+n < len(r.toks) && r.ahead(n).Kind == lex.Newline {
		n++
	}
	return n
}

// unpack reads {a, b: c} = module.
func (r *reader) unpack() bool {
	r.pos++
	var names [][2]string
	for !r.isOp(0, "}") {
		t := r.peek()
		switch {
		case t.Kind == lex.Newline && r.pos < len(r.toks) || r.isOp(0, ","):
		case t.Kind != lex.Name && t.Kind != lex.Text || len(names) > 256:
			return false
		case r.isOp(1, ":"):
			if r.ahead(2).Kind != lex.Name {
				return false
			}
			names = append(names, [2]string{r.ahead(2).Text, t.Text})
			r.pos += 2
		case r.isOp(1, "="):
			return false
		default:
			names = append(names, [2]string{t.Text, t.Text})
		}
		r.pos++
	}
	r.pos++
	if !r.isOp(0, "=") {
		return false
	}
	r.pos++
	w := r.expr()
	for _, n := range names {
		v := memberOf(w, n[1])
		if w.kind == valueName || w.kind == valueComputed {
			r.vars[n[0]] = v
			continue
		}
		if e, ok := r.lookup(v); ok && e.executes() {
			r.vars[n[0]] = v
		}
	}
	return true
}

// use reads use a::b as c and use a::{b, c} of Rust, and use function of PHP.
func (r *reader) use() bool {
	r.pos++
	if r.isName(0, "function") {
		r.pos++
	}
	full := strings.TrimSuffix(r.dotted(), ".as")
	if r.isName(0, "as") && r.ahead(1).Kind == lex.Name {
		r.alias(r.ahead(1).Text, full[strings.LastIndexAny(full, ".\\")+1:])
		r.pos += 2
		return true
	}
	return false
}

// assign gives a variable its value, and reports functions that are kept in a
// place that is not followed.
func (r *reader) assign(name string, w value) value {
	if name == "" {
		return r.escape(w)
	}
	if old, ok := r.vars[name]; ok && (old.kind == valueName || old.kind == valueComputed) {
		if e, listed := r.lookup(old); listed && e.executes() || old.kind == valueComputed {
			return r.escape(w) // it may still be what it was
		}
	}
	switch w.kind {
	case valueName:
		if e, ok := r.lookup(w); ok && e.kind == Env {
			r.escape(w)
		}
		if w.name != name {
			r.done[w.at-1] = true
			r.vars[name] = w
		}
	case valueText, valueList, valueComputed:
		r.vars[name] = w
	case valuePattern, valueFunction:
		if r.bound.count[name] == 1 {
			r.vars[name] = w
		}
	}
	w.key = ""
	return w
}

// awkPrint reads print and where its output goes.
func (r *reader) awkPrint(t lex.Token) {
	r.pos++
	printing := r.print
	r.print = true
	args := []value{}
	for r.pos < len(r.toks) {
		start := r.pos
		if r.isOp(0, ">", ">>", "|", "|&") {
			break
		}
		args = append(args, flatten([]value{r.expr()})...)
		if r.pos == start || !r.isOp(0, ",") {
			break
		}
		r.pos++
	}
	r.print = printing
	op := r.peek()
	if op.Kind != lex.Op {
		return
	}
	switch op.Text {
	case ">", ">>":
		r.pos++
		if v := r.expr(); v.kind != valueName || v.name != "" {
			r.record(Write, t.Text, []value{v}, op.Line)
		}
	case "|", "|&":
		r.pos++
		if r.pipe(t.Text, r.escape(r.expr()), op.Line).call == 0 {
			return
		}
		c := &r.p.Calls[len(r.p.Calls)-1]
		if len(args) == 0 || args[0].kind == valueOther && len(args) == 1 {
			args = []value{{text: lex.Gap}}
		}
		c.Input = []Arg{toArg(joined(args, " "))}
	}
}

// pipe records a command at the other end of a pipe of awk. One that starts
// with /inet is a connection, and no command.
func (r *reader) pipe(name string, v value, line int) value {
	if strings.HasPrefix(v.text, "/inet") {
		return value{text: lex.Gap}
	}
	return r.record(Shell, name+" |", []value{v}, line)
}
