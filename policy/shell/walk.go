package shell

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/code"
)

// The limits of one analysis. Exceeding one is critical.
const (
	maxLine  = 64 << 10 // size of a command line or nested program, in bytes
	maxText  = 64 << 10 // size of a value, in bytes
	maxDepth = 100      // nesting of programs, blocks and expansions
)

// elided replaces a long text. No program may contain it.
const elided = "%elided"

// rule follows a command of a known program, records its findings, and returns the
// command's output.
type rule func(c *command) string

// function is a shell function and the state of its calls.
type function struct {
	body    *syntax.Stmt
	called  bool
	running int
}

// input is the standard input of a command.
type input struct {
	text string
	pos  int
}

// walk follows a program, with known values or with marks for unknown ones. It takes
// every branch.
type walk struct {
	found    *finding
	rules    map[string]rule
	branch   string              // branch of the session; "" if unknown
	vars     map[string][]string // a scalar variable is a list of one
	pos      []string            // positional parameters
	foreign  bool                // positional parameters are unknown
	zero     string              // $0
	funcs    map[string]*function
	aliases  map[string]string
	made     map[string]string // marks of the files created by the line
	links    map[string]string // targets of the links created by the line
	in       *input            // nil if the line does not redirect it
	calls    []string          // functions and aliases being run
	depth    int
	parallel int      // number of enclosing pipes and background jobs
	endless  int      // number of enclosing endless loops
	quiet    bool     // standard output is not shown
	filed    bool     // standard output goes to a file
	exports  bool     // each variable is exported
	atExit   []string // programs to run on exit of the shell
	texts    []string // literal texts of the line itself
	unsure   bool     // text written by the line may run
}

func newWalk(f *finding, branch string) *walk {
	return &walk{
		found: f, branch: branch, vars: map[string][]string{}, zero: "bash", foreign: true,
		funcs: map[string]*function{}, aliases: map[string]string{}, made: map[string]string{}, links: map[string]string{},
	}
}

func (w *walk) enter(bytes int) (leave func()) {
	w.depth++
	w.found.step(bytes)
	if w.depth > maxDepth {
		w.found.exhaust()
	}
	return func() { w.depth-- }
}

// program parses and follows a program text and returns its output.
func (w *walk) program(text string) string {
	defer w.enter(0)()
	if len(text) > maxLine || strings.Contains(text, elided) && w.depth > 1 { //control:elided-text
		w.found.exhaust()
	}
	w.found.step(len(text))
	file, err := parse(text)
	if err != nil {
		w.found.hit("unparsable", err.Error())
		w.crude(text)
		return unknown
	}
	if w.depth == 1 {
		w.texts = literals(file)
	}
	return w.stmts(file.Stmts)
}

// parsers are reusable bash parsers.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parse parses a text as bash. Arithmetic syntax may also be a subshell in a substitution.
func parse(text string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	file, err := p.Parse(strings.NewReader(text), "")
	if err == nil {
		return file, nil
	}
	if _, end, ok := strings.Cut(err.Error(), "unclosed here-document "); ok { // it ends at the end of the text
		end = text + "\n" + strings.Trim(end, "`'\"\\ ") + "\n"
		if file, err := p.Parse(strings.NewReader(end), ""); err == nil {
			return file, nil
		}
	}
	if strings.Contains(text, "((") {
		return p.Parse(strings.NewReader(strings.ReplaceAll(text, "((", "( (")), "")
	}
	return nil, err
}

// crude follows a text that cannot be parsed as if it were separate commands.
func (w *walk) crude(text string) {
	if dense := strings.Join(strings.Fields(text), ""); strings.Contains(dense, "(){") {
		name, body, _ := strings.Cut(dense, "(){")
		name = name[strings.LastIndexAny(name, ";&|(){}")+1:]
		if name != "" && strings.Contains(body, name+"|"+name) {
			w.found.hit("fork-bomb", text)
		}
	}
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(";|&\n(){}`", c) }) {
		words := strings.FieldsFunc(part, func(c rune) bool { return strings.ContainsRune(" \t'\"\\", c) })
		for i, s := range words {
			if i == 0 || dangerous(s) {
				w.exec(argsOf(words[i:]...))
			}
		}
	}
}

// literals returns the texts in a program: each quoted text, and the joined words of each
// command.
func literals(file *syntax.File) []string {
	var out []string
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			if text := plainParts(n.Parts); n.Lit() == "" || strings.ContainsAny(text, " \n") {
				out = append(out, text)
			}
		case *syntax.CallExpr:
			if len(n.Args) > 2 {
				var words []string
				for _, a := range n.Args[1:] {
					words = append(words, plainParts(a.Parts))
				}
				out = append(out, strings.Join(words, " "))
			}
		}
		return true
	})
	for _, text := range out[:min(len(out), maxItems)] {
		if strings.Contains(text, "\\n") || strings.Contains(text, "\\t") {
			out = append(out, code.Unescape(text))
		}
	}
	return out
}

func plainParts(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(plainParts(p.Parts))
		}
	}
	return b.String()
}

func (w *walk) nested(text string) string {
	w.rateText(text)
	return w.subshell(func() string { return w.program(text) })
}

func (w *walk) rateText(text string) {
	shown := text
	if !strings.ContainsAny(strings.Trim(text, all), " \n") {
		shown = ""
	}
	switch {
	case strings.Contains(text, remote):
		w.found.hit("remote-code", shown)
	case strings.Contains(text, hidden):
		w.found.hit("hidden-code", shown)
	case !isKnown(text):
		w.found.hit("opaque-code", shown)
	}
}

func (w *walk) runProgram(c *command, text string) {
	w.found.hit("program-runs", c.line())
	w.nested(text)
}

// finish follows functions that were defined but not called: a later command of the same
// shell can call them. If the line ran unknown code, that may be any text in the line.
func (w *walk) finish() {
	w.exit()
	for range maxDepth {
		var names []string
		for name, f := range w.funcs {
			if !f.called {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			break
		}
		w.invoke(slices.Min(names), nil)
	}
	if w.unsure || w.found.ranUnknown() {
		w.mayRun(w.texts) //control:texts-of-the-line
	}
}

// subshell runs f in a copy of the shell. Its assignments are discarded.
func (w *walk) subshell(f func() string) string {
	saved := *w
	w.vars, w.atExit = maps.Clone(w.vars), nil
	out := f()
	w.exit()
	saved.unsure = saved.unsure || w.unsure
	*w = saved
	return out
}

func (w *walk) exit() {
	texts := w.atExit
	w.atExit = nil
	for _, text := range texts {
		w.nested(text)
	}
}

// maybe runs f for code that may or may not run: variables that it changes are unknown
// afterwards.
func (w *walk) maybe(f func() string) string {
	before := maps.Clone(w.vars)
	out := f()
	for name, old := range before {
		if now := w.vars[name]; !slices.Equal(old, now) && name != "PWD" {
			w.vars[name] = []string{opaqueMarks(strings.Join(old, "") + strings.Join(now, ""))}
			for _, s := range append(slices.Clone(old), now...) {
				if zoneOf(clean(s)) == vital { // keep the more dangerous value
					w.vars[name] = []string{s + unknown}
				}
			}
		}
	}
	return out
}

func (w *walk) set(name string, list ...string) {
	size := len(strings.Join(list, ""))
	if size > maxText {
		w.found.exhaust()
	}
	w.found.step(size)
	w.vars[name] = list
}

func (w *walk) get(name string) ([]string, bool) {
	if list, ok := w.vars[name]; ok {
		return list, true
	}
	if name == "IFS" {
		return []string{" \t\n"}, true
	}
	r, ok := rowOf("value", name)
	return []string{strings.Join(r[0], " ")}, ok
}

// ownJob represents the id of a background job of this shell.
const ownJob = "%!"

// holds returns the value of a variable or a special parameter.
func (w *walk) holds(name string) ([]string, bool) {
	switch n, err := strconv.Atoi(name); {
	case name == "!":
		return []string{ownJob}, true
	case name == "0":
		return []string{w.zero}, true
	case name == "-", name == "$", name == "?":
		return []string{aNumber}, true
	case err == nil && n >= 1 && n <= len(w.pos):
		return w.pos[n-1 : n], true
	case w.foreign && err == nil:
		return []string{unknown}, true
	case name == "#":
		return []string{aNumber}, true
	case err == nil:
		return nil, false
	}
	return w.get(name)
}

// assign performs one assignment.
func (w *walk) assign(a *syntax.Assign) {
	w.found.step(0)
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	old, _ := w.get(name)
	switch {
	case a.Array != nil:
		var list []string
		if a.Append {
			list = slices.Clone(old)
		}
		for _, e := range a.Array.Elems {
			w.substitutions(e.Index)
			if e.Value != nil {
				list = append(list, w.fields(e.Value).words()...)
			}
		}
		w.set(name, list...)
		return
	case a.Naked:
		return
	}
	value := w.wordText(a.Value)
	switch {
	case a.Append && len(old) > 0:
		value = old[0] + value
	case a.Append && secretName(name): // it is set in the environment
		value = secret + value
	}
	if a.Index != nil {
		w.evaluate(a.Index)
		if name == "BASH_CMDS" || name == "BASH_ALIASES" { // the shell looks up programs there
			w.found.hit("shadow", name+"="+value)
		}
		list := slices.Clone(w.vars[name])
		if literalIndex(a.Index) == strconv.Itoa(len(list)) && len(list) < maxItems {
			w.set(name, append(list, value)...)
		} else { // it may be any element
			w.set(name, opaqueMarks(strings.Join(append(list, value), "")))
		}
		return
	}
	w.assignText(name, value)
}

// maxItems is the maximum length of a list that is followed.
const maxItems = 256

func (w *walk) assignText(name, value string) {
	w.nameRuns(name)
	w.nameRuns(value)
	name, _, _ = strings.Cut(name, "[")
	rateVariable(w, name, value)
	w.set(name, value)
}

// nameRuns follows a text with a substitution in a subscript: bash runs it if it
// evaluates the text as a number or as the name of a variable.
func (w *walk) nameRuns(text string) {
	if _, sub, ok := strings.Cut(text, "["); ok && (strings.Contains(sub, "$(") || strings.Contains(sub, "`")) { //control:evaluated-names
		w.subshell(func() string { return w.program(": \"" + strings.ReplaceAll(text, `"`, `\"`) + "\"") })
	}
}

// declare follows export, declare, local, readonly, typeset and nameref.
func (w *walk) declare(c *syntax.DeclClause) string {
	variant := c.Variant.Value
	words, flags := []string{variant}, list{}
	show := len(c.Args) == 0
	passed := func(name string) {
		if variant == "export" || flags.has("x") {
			w.passOn(name)
		}
	}
	for _, a := range c.Args {
		if a.Name != nil {
			name := a.Name.Value
			words = append(words, name)
			w.assign(a)
			switch value := strings.Join(w.vars[name], ""); {
			case variant == "nameref" || flags.has("n"): // its value is that of another variable
				w.set(name, unknown)
			case flags.has("i") && strings.Contains(strings.Join(w.vars[value], ""), filed):
				w.found.hit("evaluated-text", name)
			}
			passed(name)
			continue
		}
		for _, f := range w.fields(a.Value) {
			words = append(words, f.s)
			if name, value, ok := strings.Cut(f.s, "="); ok && !strings.HasPrefix(f.s, "-") {
				w.assignText(name, value)
				passed(name)
			} else {
				w.nameRuns(f.s)
			}
			flags = append(flags, f)
			show = show || f.s == "-p" || variant != "export" && flags.has("p", "x")
		}
	}
	w.found.ran(render(words))
	if show && len(c.Args) < 2 {
		w.found.hit("environment-dump", strings.Join(words, " "))
		return secret
	}
	return ""
}

func (w *walk) stmts(list []*syntax.Stmt) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(w.stmt(s))
		if b.Len() > maxText {
			w.found.exhaust()
		}
	}
	return b.String()
}

func (w *walk) stmt(s *syntax.Stmt) string {
	defer w.enter(0)()
	if s.Background || s.Coprocess || s.Disown {
		w.parallel++
		defer func() { w.parallel-- }()
		if w.endless > 0 {
			w.found.hit("endless-jobs", "")
		}
	}
	if len(s.Redirs) == 0 {
		return w.clause(s.Cmd)
	}
	return w.redirected(s)
}

// clause follows one command.
func (w *walk) clause(c syntax.Command) string {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return w.call(c)
	case *syntax.BinaryCmd:
		return w.both(c)
	case *syntax.Subshell:
		return w.subshell(func() string { return w.stmts(c.Stmts) })
	case *syntax.Block:
		return w.stmts(c.Stmts)
	case *syntax.IfClause:
		return w.ifClause(c)
	case *syntax.WhileClause:
		return w.while(c)
	case *syntax.ForClause:
		return w.forClause(c)
	case *syntax.CaseClause:
		w.wordText(c.Word)
		var b strings.Builder
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				w.wordText(p)
			}
			b.WriteString(w.maybe(func() string { return w.stmts(item.Stmts) }))
		}
		return b.String()
	case *syntax.FuncDecl:
		w.define(c)
	case *syntax.DeclClause:
		return w.declare(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return w.stmt(c.Stmt)
		}
	case *syntax.CoprocClause:
		w.parallel++
		defer func() { w.parallel-- }()
		w.set("COPROC", "63", "60")
		return w.subshell(func() string { w.in = &input{text: unknown}; return w.stmt(c.Stmt) })
	case *syntax.TestDecl:
		return w.stmt(c.Body)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		w.evaluate(c)
	}
	return ""
}

func (w *walk) define(c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	for _, n := range names {
		if shadows(n.Value, printed(c.Body)) {
			w.found.hit("shadow", n.Value)
		}
		w.funcs[n.Value] = &function{body: c.Body}
	}
}

func (w *walk) both(c *syntax.BinaryCmd) string {
	if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
		out := w.stmt(c.X)
		return out + w.maybe(func() string { return w.stmt(c.Y) })
	}
	w.parallel++
	defer func() { w.parallel-- }()
	quiet := w.quiet
	out := w.subshell(func() string { w.quiet, w.filed = true, false; return w.stmt(c.X) })
	in := w.in
	w.in = &input{text: out}
	defer func() { w.in, w.quiet = in, quiet }()
	if _, simple := c.X.Cmd.(*syntax.CallExpr); out == "" && !simple {
		w.in.text = unknown // a loop or a group may print uncomputed text
	}
	w.quiet = quiet
	out = w.stmt(c.Y)
	if !w.quiet && strings.Contains(out, secret) {
		w.found.hit("secret-shown", "")
	}
	return out
}

func (w *walk) ifClause(c *syntax.IfClause) string {
	out := w.stmts(c.Cond)
	out += w.maybe(func() string { return w.stmts(c.Then) })
	if c.Else != nil {
		defer w.enter(0)()
		out += w.maybe(func() string { return w.ifClause(c.Else) })
	}
	return out
}

func (w *walk) while(c *syntax.WhileClause) string {
	out := w.stmts(c.Cond)
	if len(c.Cond) == 1 && alwaysTrue(c.Cond[0].Cmd, c.Until) {
		defer w.noEnd(c.Do)()
	}
	return out + w.maybe(func() string { return w.stmts(c.Do) })
}

// The words that end an endless loop, and those that pause it.
var (
	loopEnds   = lazily(`\b(?:break|exit|return|wait)\b`)
	loopPauses = lazily(`\b(?:u?sleep|read|inotifywait|fswatch|select|timeout)\b`)
)

func (w *walk) noEnd(body []*syntax.Stmt) func() {
	text := ""
	for _, s := range body {
		text += printed(s) + "\n"
	}
	if loopEnds().MatchString(text) {
		return func() {}
	}
	if !loopPauses().MatchString(text) {
		w.found.hit("exhaust", "")
	}
	w.endless++
	return func() { w.endless-- }
}

func alwaysTrue(c syntax.Command, until bool) bool {
	text := strings.TrimSpace(printed(c))
	if until {
		return oneOf(text, "false", "! true")
	}
	return oneOf(text, "true", ":", "/bin/true", "[ 1 ]", "[[ 1 ]]", "((1))", "((true))", "test 1", "[ 1 = 1 ]", "[ 1 -eq 1 ]")
}

func printed(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, n); err != nil {
		return ""
	}
	return b.String()
}

// forClause follows the body of a loop once for each of its words.
func (w *walk) forClause(c *syntax.ForClause) string {
	var b strings.Builder
	body := func() string { return w.maybe(func() string { return w.stmts(c.Do) }) }
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		items := w.fields(loop.Items...).words()
		if !loop.InPos.IsValid() {
			items = w.pos
		}
		if len(items) == 0 {
			items = []string{unknown}
		}
		for _, item := range items {
			w.set(loop.Name.Value, item)
			b.WriteString(body())
		}
	case *syntax.CStyleLoop:
		if loop.Cond == nil {
			defer w.noEnd(c.Do)()
		}
		w.substitutions(loop)
		b.WriteString(body())
	}
	return b.String()
}

// call follows a simple command.
func (w *walk) call(c *syntax.CallExpr) string {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			if w.assign(a); w.exports && a.Name != nil {
				w.passOn(a.Name.Value)
			}
		}
		return ""
	}
	args := w.fields(c.Args...)
	before := maps.Clone(w.vars)
	for _, a := range c.Assigns {
		if a.Name != nil {
			w.assign(a)
			w.passOn(a.Name.Value)
		}
	}
	out := w.exec(args)
	for _, a := range c.Assigns {
		if a.Name == nil {
			continue
		}
		delete(w.vars, a.Name.Value)
		if old, ok := before[a.Name.Value]; ok {
			w.vars[a.Name.Value] = old
		}
	}
	return out
}

func (w *walk) passOn(name string) {
	if list, ok := w.get(name); ok && len(list) == 1 {
		pass(w, name, list[0])
	}
}

func (w *walk) output(p *syntax.CmdSubst) string {
	return w.subshell(func() string {
		w.quiet, w.filed = true, false
		return strings.TrimRight(w.stmts(p.Stmts), "\n")
	})
}

// conditional matches the words that may end a recursion.
var conditional = lazily(`\b(?:if|case|return|for|while|until)\b|&&|\|\|`)

// invoke runs the body of a function. It does not follow recursion: with a pipe or a
// background job in between that is a fork bomb, and without a condition it is endless.
func (w *walk) invoke(name string, pos []string) string {
	f := w.funcs[name]
	f.called = true
	if f.running > 0 {
		switch {
		case w.parallel > 0:
			w.found.hit("fork-bomb", name)
		case !conditional().MatchString(printed(f.body)):
			w.found.hit("endless-recursion", name)
		}
		return unknown
	}
	saved := *w
	w.pos, w.calls, w.foreign = pos, append(slices.Clone(w.calls), name), len(pos) == 0
	if len(saved.calls) == 0 {
		w.parallel = 0
	}
	f.running++
	out := w.stmt(f.body)
	f.running--
	w.pos, w.calls, w.foreign, w.parallel = saved.pos, saved.calls, saved.foreign, saved.parallel
	return out
}

// passedOn returns the output of an unknown program: unknown, with the marks of its
// arguments and input.
func (c *command) passedOn() string {
	marks := unknown
	for _, a := range c.list {
		marks += of(a.s)
	}
	if c.given() {
		marks += of(c.stdin())
	}
	return of(marks)
}
