package code

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code/lex"
	"github.com/handrail-bot/handrail/policy/shell/code/vocabulary"
)

// recorder knows the calls of a language, and records those of a text.
type recorder struct {
	lang   lex.Language
	g      *lex.Grammar
	calls  map[string]entry
	p      *Program
	nested int
	line   int
	joined int          // the size of the texts that were put together or decoded
	pipes  []int        // calls whose standard input the program writes
	done   map[int]bool // the tokens that were read as what the tables have
}

// inputs gives the commands that the program writes to what it may write.
func (r *recorder) inputs() {
	for _, i := range r.pipes {
		c := &r.p.Calls[i]
		c.Input = []Arg{{Text: lex.Gap}}
		for _, s := range r.p.Strings[:min(len(r.p.Strings), 64)] {
			c.Input = append(c.Input, Arg{Text: s, Plain: true})
		}
	}
}

// literal reports a text of the program. What has grown by joining texts is
// bounded by the size of the program.
func (r *recorder) literal(s string) {
	if s == "" || len(r.p.Strings) >= maxStrings {
		return
	}
	r.p.Strings = append(r.p.Strings, s)
	if strings.Contains(s, "stdin") {
		r.p.Stdin = true
	}
	if r.lang == lex.Awk && strings.HasPrefix(s, "/inet") {
		r.record(Connect, "inet", []value{{kind: valueText, text: s, plain: true}}, r.line)
	}
}

// inside reads the programs inside of a text.
func (r *recorder) inside(t lex.Token) {
	for _, c := range t.Code {
		readText(r.lang, c, r.p, r.nested+1)
	}
}

// lookup finds a name in the table of the language: its whole name, or the
// method of any receiver.
func (r *recorder) lookup(v value) (entry, bool) {
	if v.kind != valueName {
		return entry{}, false
	}
	name := v.name
	if r.lang == lex.Powershell || r.lang == lex.PHP {
		name = strings.ToLower(name)
	}
	if e, ok := r.calls[name]; ok {
		return e, true
	}
	at := strings.LastIndexAny(name, "./")
	if at >= 0 && v.recv != nil && v.recv.path {
		switch one, tree := vocabulary.DeletesIts(name[at+1:]); {
		case one:
			return verbs["own-delete"], true
		case tree:
			return verbs["own-tree"], true
		}
	}
	if at < 0 || v.recv != nil && v.recv.kind == valuePattern {
		return entry{}, false
	}
	if e, ok := r.calls["."+name[at+1:]]; ok {
		return e, true
	}
	if v.any || r.lang == lex.Ruby && (strings.HasPrefix(name, "Kernel.") || strings.HasPrefix(name, "self.")) {
		e, ok := r.calls["*"+name[at+1:]]
		return e, ok
	}
	return entry{}, false
}

// escape looks at a value that is passed on and not called: a function that
// executes may be called with anything then.
func (r *recorder) escape(v value) value {
	if v.kind != valueName || strings.Contains(" true false True False ", " "+v.name+" ") {
		return v
	}
	e, ok := r.lookup(v)
	if r.g.Bare && e.needsNoArgs() { // a call without brackets
		return r.call(v, nil, r.line)
	}
	switch {
	case ok && e.shape == shapeValue:
		if v.key != "env" && (r.lang != lex.Perl || !strings.HasPrefix(v.name, "$")) {
			r.record(Env, v.name, nil, r.line)
		}
	case ok && e.passed && (r.g.Values || v.any):
		r.record(e.kind, v.name, []value{{text: lex.Gap}}, r.line)
		r.done[v.at-1] = true
	case ok && e.kind == Fork && !r.g.Values:
		r.record(Fork, v.name, nil, r.line)
	case !ok && v.recv != nil && r.environ(*v.recv):
		return r.variableOf(v)
	}
	return value{text: lex.Gap, key: v.key}
}

// variableOf reads a variable of the environment that is a member of it.
func (r *recorder) variableOf(v value) value {
	if r.lang != lex.JS {
		return r.record(Env, v.recv.name, nil, r.line)
	}
	name := []value{{kind: valueText, text: v.name[strings.LastIndexByte(v.name, '.')+1:], plain: true}}
	r.record(Env, v.recv.name, name, r.line)
	out := directory(name)
	out.key = v.key
	return out
}

// call reads a call. Its value is what can be computed of the result.
func (r *recorder) call(f value, args []value, line int) value {
	if f.kind == valueComputed {
		r.record(Exec, "?", append([]value{{text: lex.Gap}}, args...), line)
		return value{text: lex.Gap}
	}
	if f.kind == valueText && f.full() {
		f = value{kind: valueName, name: f.text}
	}
	if f.kind != valueName {
		for _, a := range args {
			r.escape(a)
		}
		return value{text: lex.Gap}
	}
	e, ok := r.lookup(f)
	if ok && e.fold != "" {
		r.done[f.at-1] = true
		if e.place() {
			return directory([]value{{text: e.fold}})
		}
		return r.fold(e.fold, f, args)
	}
	if r.lang == lex.Lisp {
		args = slices.DeleteFunc(args, func(a value) bool {
			return a.kind == valueName && (a.name == "nil" || a.name == "t" || strings.HasPrefix(a.name, ":"))
		})
	}
	for i, a := range args {
		args[i] = r.escape(a)
	}
	if !ok {
		return r.unlisted(f, args, line)
	}
	if e.kind == Env && e.shape == shapeValue { // os.environ() is nobody's
		return value{text: lex.Gap}
	}
	before := len(r.p.Calls)
	out := r.shaped(e, f, args, line)
	if len(r.p.Calls) > before || e.executes() {
		r.done[f.at-1] = true
	}
	out.call = len(r.p.Calls)
	return out
}

// unlisted reads a call of a function that no table has.
func (r *recorder) unlisted(f value, args []value, line int) value {
	last := f.name[strings.LastIndexByte(f.name, '.')+1:]
	if last == "readFileSync" && len(args) > 0 && args[0].text == "0" {
		r.p.Stdin = true
	}
	r.listed(last, f, args)
	switch {
	case f.recv != nil && r.environ(*f.recv):
		r.record(Env, f.recv.name, nil, line)
	case f.recv != nil && r.isExecuting(*f.recv): // f.call(…), f.apply(…)
		e, _ := r.lookup(*f.recv)
		r.record(e.kind, f.name, append([]value{{text: lex.Gap}}, args...), line)
	case r.lang == lex.PHP && strings.HasPrefix(f.name, "$") && f.recv == nil, r.lang == lex.Awk && strings.HasPrefix(f.name, "@"):
		r.record(Exec, "?", append([]value{{text: lex.Gap}}, args...), line)
	case f.call == 0 || f.call > len(r.p.Calls) || last != "arg" && last != "args" && last != "truncate":
	case last == "truncate": // open(…).truncate()
		c := r.p.Calls[f.call-1]
		c.Kind = Delete
		r.p.Calls = append(r.p.Calls, c)
	default: // a command that is built word by word
		c := &r.p.Calls[f.call-1]
		c.Kind = Exec
		for _, a := range flatten(args) {
			c.Args = append(c.Args, toArg(a))
		}
	}
	return value{text: lex.Gap, call: f.call}
}

func (r *recorder) isExecuting(v value) bool {
	e, ok := r.lookup(v)
	return ok && e.executes()
}

func (r *recorder) environ(v value) bool {
	e, ok := r.lookup(v)
	return ok && e.kind == Env && e.shape == shapeValue
}

// flatten takes lists apart.
func flatten(args []value) []value {
	var out []value
	for _, a := range args {
		if a.kind == valueList && len(out) < maxStrings {
			out = append(out, flatten(a.list)...)
			continue
		}
		out = append(out, a)
	}
	return out
}

func toArg(v value) Arg {
	return Arg{Text: v.known(), Plain: v.plain && (v.kind == valueText || v.kind == valueNumber)}
}

// options splits arguments into those that stand for themselves and the
// named ones.
func options(args []value) (plain []value, named map[string]value) {
	named = map[string]value{}
	for _, a := range args {
		switch {
		case a.key != "":
			named[a.key] = a
		case a.kind == valueList && a.plain && (len(a.list) == 0 || a.list[0].key != ""):
			for _, o := range a.list {
				named[o.key] = o
			}
		default:
			plain = append(plain, a)
		}
	}
	return plain, named
}

// first is the first of the options that is given.
func first(named map[string]value, names ...string) (value, bool) {
	for _, n := range names {
		if v, ok := named[n]; ok {
			return v, true
		}
	}
	return value{}, false
}

// record adds a call.
func (r *recorder) record(kind Kind, name string, args []value, line int) value {
	if len(r.p.Calls) > maxStrings {
		r.p.Opaque = true
		return value{text: lex.Gap}
	}
	c := Call{Kind: kind, Name: name, Line: line}
	for _, a := range args {
		c.Args = append(c.Args, toArg(a))
	}
	r.p.Calls = append(r.p.Calls, c)
	return value{text: lex.Gap, call: len(r.p.Calls)}
}

// shaped records a call by the shape of its arguments.
func (r *recorder) shaped(e entry, f value, all []value, line int) value {
	args, named := options(all)
	e = e.with(named)
	if e.kind == Eval {
		return r.eval(f, args, line)
	}
	if e.kind == Fetch && sends(f, args, named) {
		e.kind = Send
	}
	if v, ok := first(named, "args", "cmd", "command", "target", "path", "url", "filename", "file"); ok && (len(args) == 0 || v.key == "args" && v.kind == valueList) {
		args = append(args, v)
	}
	if e.shape == shapeOpen {
		return r.open(f, args, line)
	}
	args = r.chosen(e, f, args)
	switch {
	case len(args) == 0 && e.shape != shapeNone && e.kind != Env:
		return value{text: lex.Gap}
	case e.kind == Exec || e.kind == Shell:
		return r.command(e, f, args, named)
	case e.shape == shapeFirst || e.shape == shapeMove:
		args = args[:min(1, len(args))]
	}
	out := r.record(e.kind, f.name, flatten(args), line)
	if e.kind == Env {
		return directory(args)
	}
	return out
}

// chosen are the arguments that count.
func (r *recorder) chosen(e entry, f value, args []value) []value {
	switch {
	case e.shape == shapeRecv && f.recv == nil:
		return nil
	case e.shape == shapeRecv && e.executes():
		return append([]value{*f.recv}, args...)
	case e.shape == shapeRecv:
		return []value{*f.recv}
	case e.shape == shapeLast:
		return args[max(0, len(args)-1):]
	case e.shape == shapeMove && len(args) > 0:
		r.record(Delete, f.name, args[:1], r.line)
		return args[max(0, min(1, len(args)-1)):]
	case e.shape == shapeMode:
		return args[min(1, len(args)):]
	}
	return args
}

// sends reports whether a call that fetches also sends something.
func sends(f value, args []value, named map[string]value) bool {
	if _, ok := first(named, "data", "json", "files", "body"); ok || len(args) > 1 && strings.HasSuffix(f.name, "urlopen") {
		return true
	}
	m, ok := first(named, "method")
	return ok && !slices.Contains([]string{"GET", "HEAD"}, strings.ToUpper(m.text))
}

// command records a call that executes: one text is a line for the shell,
// several are the words of a command.
func (r *recorder) command(e entry, f value, args []value, named map[string]value) value {
	words := args
	if e.shape == shapeFirst {
		words = args[:1]
	}
	words = slices.DeleteFunc(flatten(words), func(v value) bool { return v.kind == valueFunction })
	named0 := e.shape == shapeZero || e.shape == shapeMode
	if named0 && len(words) > 1 {
		words = slices.Concat(words[:1], words[2:])
	}
	kind := Exec
	switch shell, ok := first(named, "shell"); {
	case ok && shell.name != "False" && shell.name != "false":
		kind = Shell
		words = []value{joined(words, " ")}
	case e.shape == shapeFile || named0:
	case len(words) == 1 && args[0].kind != valueList:
		kind = Shell
	}
	out := r.record(kind, f.name, words, r.line)
	c := &r.p.Calls[len(r.p.Calls)-1]
	if dir, ok := first(named, "cwd", "chdir", "dir"); ok {
		c.Dir = []Arg{toArg(dir)}
	}
	if in, ok := first(named, "input", "stdin_data"); ok {
		c.Input = []Arg{toArg(in)}
	} else if e.piped {
		r.pipes = append(r.pipes, len(r.p.Calls)-1)
	}
	return out
}

func joined(words []value, sep string) value {
	out := value{kind: valueText, plain: true}
	for i, w := range words {
		if i > 0 {
			out.text += sep
		}
		out.text += w.known()
		out.plain = out.plain && w.plain
	}
	return out
}

// eval reads a text of the same language in place. What is not a literal is
// recorded.
func (r *recorder) eval(f value, args []value, line int) value {
	if len(args) == 0 {
		return value{text: lex.Gap}
	}
	v := args[len(args)-1]
	if f.name != "Function" && !strings.HasSuffix(f.name, ".constructor") {
		v = args[0]
	}
	switch {
	case v.full():
		readText(r.lang, v.text, r.p, r.nested+1)
		if !v.plain {
			r.record(Eval, f.name, []value{v}, line)
		}
	case v.kind == valueFunction, v.kind == valueList && v.plain, f.recv == nil && strings.HasPrefix(f.name, "set") && v.kind != valueText, r.lang == lex.Perl && v.kind == valueList:
	default:
		r.record(Eval, f.name, []value{v}, line)
	}
	return value{text: lex.Gap}
}

// open records what opening a file does: a pipe runs a command, a mode with
// w or > writes.
func (r *recorder) open(f value, args []value, line int) value {
	if r.lang == lex.Perl && len(args) > 0 {
		args = args[1:] // the handle
	}
	if len(args) == 0 {
		return value{text: lex.Gap}
	}
	path, mode := args[0], value{}
	if len(args) > 1 {
		mode = args[1]
	}
	if r.lang == lex.Perl {
		if len(args) == 1 {
			return r.openPerl(f, path, line)
		}
		path, mode = args[1], args[0]
		if m := strings.TrimSpace(mode.text); strings.Contains(m, "|") {
			return r.command(entry{kind: Shell, shape: shapeArgs, piped: strings.HasPrefix(m, "|")}, f, args[1:], nil)
		}
	}
	if r.lang == lex.Ruby || r.lang == lex.Tcl {
		if text := strings.TrimSpace(path.text); strings.HasPrefix(text, "|") {
			path.text = text[1:]
			return r.command(entry{kind: Shell, shape: shapeFirst, piped: true}, f, []value{path}, nil)
		}
	}
	if mode.text != "" && (!mode.plain || strings.ContainsAny(mode.text, "wax+>")) {
		return r.record(Write, f.name, []value{path}, line)
	}
	return value{text: lex.Gap}
}

// openPerl reads the mode and the file of an open in one text.
func (r *recorder) openPerl(f value, v value, line int) value {
	text := strings.TrimSpace(v.text)
	switch {
	case strings.HasPrefix(text, "|"):
		v.text = text[1:]
		return r.command(entry{kind: Shell, piped: true}, f, []value{v}, nil)
	case strings.HasSuffix(text, "|"):
		v.text = strings.TrimSuffix(text, "|")
		return r.command(entry{kind: Shell}, f, []value{v}, nil)
	case strings.Contains(text, "&"): // another handle
	case strings.HasPrefix(text, ">") || strings.HasPrefix(text, "+"):
		v.text = strings.TrimSpace(strings.TrimLeft(text, "+<>"))
		return r.record(Write, f.name, []value{v}, line)
	case !v.plain && strings.HasPrefix(v.known(), lex.Gap):
		return r.record(Exec, f.name, []value{v}, line)
	}
	return value{text: lex.Gap}
}
