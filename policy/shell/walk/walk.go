// Package walk follows a shell program through its syntax tree without running
// it: its variables, functions, substitutions, redirections and files, as far
// as they can be known. It has the rules of what belongs to the shell itself,
// of text tools and of programs that run others; each other program goes to
// the rule that it is given.
package walk

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/finding"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/word"
)

// The limits of one analysis. Whoever exceeds one is critical.
const (
	MaxLine  = 64 << 10 // bytes of one command line or nested program
	maxText  = 64 << 10 // bytes of one value
	maxDepth = 100      // nesting of programs, blocks and expansions
	maxLoop  = 256      // rounds of a loop that are followed
)

// Elided stands for a long text that was left out. No program may hold it.
const Elided = "%elided"

// Short names for what is said on every other line.
const (
	unknown = mark.Unknown
	secret  = mark.Secret
	remote  = mark.Remote
)

// Input is what a command reads from its standard input.
type Input struct {
	Text string
	file bool // it is a file's
	pos  int
}

// Rule follows a command of a program that it knows, records what it finds,
// and returns what the command prints.
type Rule func(c *Command) string

// function is a shell function and whether it was called.
type function struct {
	body    *syntax.Stmt
	called  bool
	running int
}

// status is what is known of how the last command ended.
type status int

const (
	unsure status = iota
	succeeded
	failed
)

// files is what the program wrote to files, and what it reads.
type files struct {
	variables
	Content map[string]string
	links   map[string]string         // what the program made links to
	In      *Input                    // nil: not given by the program
	open    map[string]target         // files under the number of a descriptor, for output
	readers map[string]syntax.Command // what waits for what others write to a file
}

// Walk follows a program over values that are known, and over marks where
// they are not. Every branch is taken.
type Walk struct {
	files
	RuleOf   func(c *Command) Rule
	Branch   string // that the work goes to; "" when it is not known
	funcs    map[string]*function
	aliases  map[string]string
	calls    []string // functions being run
	depth    int
	parallel int // pipes and background jobs around this command
	endless  int // loops without an end around this command
	status   status
	shown    []target // where the shell's own output goes instead
	quiet    bool     // the standard output is not shown
	filed    bool     // the standard output goes to a file
	exports  bool     // each variable is passed on to programs
	atExit   []string // what runs when the shell ends
	texts    []string // the texts in the line itself
}

// New returns a walk whose commands go to the rules that ruleOf finds.
func New(f *finding.Finding, ruleOf func(c *Command) Rule) *Walk {
	w := &Walk{RuleOf: ruleOf, funcs: map[string]*function{}, aliases: map[string]string{}}
	w.variables = variables{Found: f, vars: map[string]variable{}, keyed: map[string]bool{}, ways: 1, Zero: "bash", foreign: true}
	w.links, w.Content, w.open, w.readers = map[string]string{}, map[string]string{}, map[string]target{}, map[string]syntax.Command{}
	return w
}

// Enter counts one unit of work and goes one level deeper, until the function
// that it returns is called.
func (w *Walk) Enter(bytes int) (leave func()) {
	w.depth++
	w.Found.Step(bytes)
	if w.depth > maxDepth {
		w.Found.Exhaust()
	}
	return func() { w.depth-- }
}

// Program parses and follows the text of a program and returns its output.
func (w *Walk) Program(text string) string {
	defer w.Enter(0)()
	if len(text) > MaxLine || strings.Contains(text, Elided) && w.depth > 1 { //control:elided-text
		w.Found.Exhaust()
	}
	if strings.Contains(text, remote) {
		w.Found.Hit("remote-code", "")
	}
	w.Found.Step(len(text))
	file, err := parse(text)
	if err != nil {
		w.Found.Hit("unparsable", err.Error())
		Crude(w, text)
		return unknown
	}
	if w.depth == 1 {
		w.texts = literals(file)
	}
	return w.stmts(file.Stmts)
}

// parsers are those of bash: one is used again and again.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parse parses a text as bash, or else as another shell reads it. What looks
// like arithmetic may also be a subshell in a substitution.
func parse(text string) (*syntax.File, error) {
	try := func(v syntax.LangVariant, text string) (*syntax.File, error) {
		if v == syntax.LangBash {
			p := parsers.Get().(*syntax.Parser)
			defer parsers.Put(p)
			return p.Parse(strings.NewReader(text), "")
		}
		return syntax.NewParser(syntax.Variant(v)).Parse(strings.NewReader(text), "")
	}
	file, err := try(syntax.LangBash, text)
	if err == nil {
		return file, nil
	}
	if _, end, ok := strings.Cut(err.Error(), "unclosed here-document "); ok { // the end of the text ends it
		if file, err := try(syntax.LangBash, text+"\n"+strings.Trim(end, "`'\"\\ ")+"\n"); err == nil {
			return file, nil
		}
	}
	if strings.Contains(text, "((") {
		if file, err := try(syntax.LangBash, strings.ReplaceAll(text, "((", "( (")); err == nil {
			return file, nil
		}
	}
	for _, v := range []syntax.LangVariant{syntax.LangZsh, syntax.LangMirBSDKorn, syntax.LangPOSIX} {
		if file, err := try(v, text); err == nil {
			return file, nil
		}
	}
	return nil, err
}

// Nested follows a program text that another program is given to run.
func (w *Walk) Nested(text string) string {
	if strings.Contains(text, remote) {
		w.Found.Hit("remote-code", "")
	}
	if strings.ContainsAny(text, unknown+secret) {
		w.Found.Hit("opaque-code", text)
	}
	return w.subshell(func() string { return w.Program(text) })
}

// Runs follows a program text that an option of a tool holds.
func (w *Walk) Runs(c *Command, text string) {
	w.Found.Hit("program-runs", c.Line())
	w.Nested(text)
}

// Finish follows the functions that were defined and never called: a later
// command of the same shell can call them. Then it looks at the texts of a line
// that ran what is not known.
func (w *Walk) Finish() {
	exit(w)
	defer func() {
		if w.Found.RanUnknown() {
			suspects(w, w.texts)
		}
	}()
	for range maxDepth {
		var names []string
		for name, f := range w.funcs {
			if !f.called {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return
		}
		w.invoke(slices.Min(names), nil)
	}
}

// stmts follows a list of statements and returns what they print.
func (w *Walk) stmts(list []*syntax.Stmt) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(w.stmt(s))
		if b.Len() > maxText {
			w.Found.Exhaust()
		}
	}
	return b.String()
}

func (w *Walk) stmt(s *syntax.Stmt) string {
	defer w.Enter(0)()
	if s.Background || s.Coprocess || s.Disown {
		w.parallel++
		defer func() { w.parallel-- }()
		if w.endless > 0 {
			w.Found.Hit("endless-jobs", "")
		}
	}
	out := ""
	if len(s.Redirs) == 0 {
		out = w.clause(s.Cmd)
	} else {
		out = w.redirected(s)
	}
	if s.Negated {
		w.status = [...]status{unsure: unsure, succeeded: failed, failed: succeeded}[w.status]
	}
	return out
}

// clause follows one command of the syntax.
func (w *Walk) clause(c syntax.Command) string {
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
		return w.caseClause(c)
	case *syntax.FuncDecl:
		define(w, c)
	case *syntax.DeclClause:
		return w.declare(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return w.stmt(c.Stmt)
		}
	case *syntax.CoprocClause:
		w.parallel++
		defer func() { w.parallel-- }()
		return coprocess(w, c)
	case *syntax.ArithmCmd:
		w.status = compared(word.Number(w, c.X))
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			word.Number(w, x)
		}
	case *syntax.TestClause:
		test(w, c.X)
	case *syntax.TestDecl:
		return w.stmt(c.Body)
	}
	return ""
}

// compared is the status of a comparison by numbers.
func compared(n int64, ok bool) status {
	switch {
	case !ok:
		return unsure
	case n != 0:
		return succeeded
	}
	return failed
}

func define(w *Walk, c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	for _, n := range names {
		if shadows(n.Value, c.Body) {
			w.Found.Hit("shadow", n.Value)
		}
		w.funcs[n.Value] = &function{body: c.Body}
	}
}

func (w *Walk) both(c *syntax.BinaryCmd) string {
	if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
		out := w.stmt(c.X)
		return out + w.maybe(func() string { return w.stmt(c.Y) })
	}
	w.parallel++
	defer func() { w.parallel-- }()
	quiet := w.quiet
	out := w.subshell(func() string { w.quiet, w.filed, w.shown = true, false, nil; return w.stmt(c.X) })
	in := w.In
	w.In = &Input{Text: out}
	defer func() { w.In, w.quiet = in, quiet }()
	if _, simple := c.X.Cmd.(*syntax.CallExpr); out == "" && !simple {
		w.In.Text = unknown // a loop or a group may print what was not computed
	}
	w.quiet = quiet
	out = w.maybe(func() string { return w.stmt(c.Y) })
	if !w.quiet && strings.Contains(out, secret) {
		w.Found.Hit("secret-shown", "")
	}
	return out
}

func (w *Walk) ifClause(c *syntax.IfClause) string {
	var out string
	if len(c.Cond) > 0 {
		out = w.stmts(c.Cond)
	}
	out += w.maybe(func() string { return w.stmts(c.Then) })
	if c.Else != nil {
		defer w.Enter(0)()
		out += w.maybe(func() string { return w.ifClause(c.Else) })
	}
	return out
}

func (w *Walk) caseClause(c *syntax.CaseClause) string {
	word.Text(w, c.Word)
	var b strings.Builder
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			word.Pattern(w, p)
		}
		b.WriteString(w.maybe(func() string { return w.stmts(item.Stmts) }))
	}
	return b.String()
}

// numericTests evaluate their operands as expressions.
var numericTests = [...]syntax.BinTestOperator{syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr}

// test follows the words of [[ … ]]: only substitutions in them can do harm.
func test(w *Walk, x syntax.TestExpr) {
	defer w.Enter(0)()
	switch x := x.(type) {
	case *syntax.BinaryTest:
		if slices.Contains(numericTests[:], x.Op) {
			for _, side := range [...]syntax.TestExpr{x.X, x.Y} {
				if operand, ok := side.(*syntax.Word); ok {
					word.Number(w, operand)
				}
			}
			break
		}
		test(w, x.X)
		test(w, x.Y)
	case *syntax.UnaryTest:
		if operand, ok := x.X.(*syntax.Word); ok && x.Op == syntax.TsVarSet {
			word.Name(w, word.Text(w, operand))
		}
		test(w, x.X)
	case *syntax.ParenTest:
		test(w, x.X)
	case *syntax.Word:
		word.Text(w, x)
	}
	w.status = unsure
}

// call follows a simple command, once for each alternative of the variables
// in its words. When their outputs differ, they follow each other, so that
// none is lost.
func (w *Walk) call(c *syntax.CallExpr) string {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			if w.assign(a); w.exports && a.Name != nil {
				w.passOn(a.Name.Value)
			}
		}
		w.status = succeeded
		return ""
	}
	var out string
	w.alternatives(0, func() {
		next := w.callOnce(c)
		if w.way == 0 || next == out {
			out = next
		} else {
			out += next
		}
	})
	if out == "" {
		return ""
	}
	for _, t := range w.shown {
		t.add = true // it was emptied when it was opened
		w.deliver(t, out)
		w.Found.Step(len(out))
	}
	if len(w.shown) > 0 {
		return ""
	}
	return out
}

func (w *Walk) callOnce(c *syntax.CallExpr) string {
	args := word.Fields(w, c.Args...)
	before := map[string]variable{}
	for _, a := range c.Assigns {
		if a.Name == nil {
			continue
		}
		if _, twice := before[a.Name.Value]; !twice {
			before[a.Name.Value] = w.vars[a.Name.Value]
		}
		w.assign(a)
		w.passOn(a.Name.Value)
	}
	out := w.Exec(args)
	for name, v := range before {
		if w.vars[name] = v; len(v.alts) == 0 && v.ref == "" {
			delete(w.vars, name)
		}
	}
	return out
}

// passOn rates a variable that programs are given.
func (w *Walk) passOn(name string) {
	if list, ok := w.get(name); ok && len(list) == 1 {
		Pass(w, name, list[0])
	}
}

// Output follows a substitution and returns what stands in its place: its
// output, or the name under which it is opened.
func (w *Walk) Output(part syntax.WordPart) string {
	switch p := part.(type) {
	case *syntax.CmdSubst:
		return w.subshell(func() string {
			w.quiet, w.filed, w.shown = true, false, nil
			out := strings.TrimRight(w.stmts(p.Stmts), "\n")
			if strings.Contains(out, unknown) && printsFile(p) {
				out += mark.Written
			}
			return out
		})
	case *syntax.ProcSubst:
		return w.openProcess(p)
	}
	return unknown
}

// PassOn is the output of a program about which nothing is known: unknown,
// and as secret or remote as what it was given.
func (c *Command) PassOn() string {
	marks := unknown
	for _, a := range c.List {
		marks += mark.Of(a.S)
	}
	if c.Given() {
		marks += mark.Of(c.Stdin())
	}
	return mark.Of(marks)
}
