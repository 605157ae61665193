package walk

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/word"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// Exec follows one expanded command and returns what it prints.
func (w *Walk) Exec(args argv.List) string {
	defer w.Enter(0)()
	w.status = unsure
	if len(args) == 0 {
		return ""
	}
	name := args[0]
	switch {
	case name.Pat != "":
		return execGlob(w, args)
	case !mark.Known(name.S):
		return w.execUnknown(args)
	case name.S == "":
		return w.Exec(args[1:])
	case exportedFunction(w, name.S):
		return w.Exec(args[1:])
	}
	list(w, args)
	if out, ok := w.shellWord(name.S, args); ok {
		return out
	}
	w.last = args[len(args)-1].S
	c := &Command{Walk: w, List: args[1:], Name: ProgramName(name.S), Path: name.S}
	if len(c.List) > 16 {
		c.text = c.Line()
	}
	if out, ok := w.written(c); ok {
		return out
	}
	return follow(c)
}

// exportedFunction takes a word as a function for the shells that the command
// after it starts, if it is one: BASH_FUNC_x%%=() { …; }.
func exportedFunction(w *Walk, text string) bool {
	name, value, ok := strings.Cut(text, "=")
	if !ok || !strings.HasPrefix(name, "BASH_FUNC_") {
		return false
	}
	Pass(w, name, value)
	return true
}

// follow asks the rule of a program, and adds what holds for all that run:
// what they read, send and print.
func follow(c *Command) string {
	f := c.Found
	if !readsOnly(c) {
		f.Changes = true
	}
	if strings.Contains(c.Waiting(), Elided) && known.In("input-programs", c.Name) {
		f.Exhaust()
	}
	seen := inspect(c)
	if words, ok := known.Tables().Setup[c.Name]; ok && c.Fits(words) {
		return ""
	}
	out := c.RuleOf(c)(c) + seen
	if seen != "" && known.In("transformers", c.Name) {
		f.Leaked = true // what it makes is made of it
	}
	if known.In("senders", c.Name) && (seen != "" || c.HoldsSecret()) {
		f.Hit("secret-sent", c.Line())
	}
	project(c)
	if (known.In("remote-output", c.Name) || asksAddress(c)) && !c.AsksHelp() { //control:remote-output
		if file, ok := c.Value("o", "output", "output-file", "out"); ok && file != "" && known.In("remote-output", c.Name) {
			c.Store(c.Resolve(file), remote, false)
		}
		if out != "" {
			out += remote
		}
	}
	if c.Completes() {
		return ""
	}
	return out
}

// asksAddress reports whether a program that does not only read files is given
// an address elsewhere, or asks the registry of its packages, so that what it
// prints may come from there.
func asksAddress(c *Command) bool {
	if c.Is("npm", "pnpm", "yarn", "cargo", "pip", "gem") && OneOf(c.At(0), "view", "info", "show", "search") {
		return true
	}
	if known.In("reads", c.Name) || known.In("text-tools", c.Name) || known.In("named", c.Name) || Wraps(c.Name) || known.In("shells", c.Name) || known.In("languages", c.Name) {
		return false
	}
	return slices.ContainsFunc(c.List, func(a argv.Word) bool {
		return strings.Contains(a.S, "://") && !strings.HasPrefix(a.S, "file:") && !strings.Contains(a.S, " ") && !zone.Local(a.S)
	})
}

// list adds a command to those of the analysis.
func list(w *Walk, args argv.List) {
	s := render(args.Texts())
	w.Found.Step(len(s))
	w.Found.Ran(s)
}

// shellWord follows an alias or a function.
func (w *Walk) shellWord(name string, args argv.List) (string, bool) {
	if f := w.funcs[name]; f != nil {
		return w.invoke(name, args[1:].Texts()), true
	}
	text, ok := w.aliases[name]
	if !ok || slices.Contains(w.calls, "alias "+name) {
		return "", false
	}
	for _, a := range args[1:] {
		text += " " + quoted(a.S)
	}
	calls := w.calls
	w.calls = append(slices.Clone(calls), "alias "+name)
	out := w.Program(text)
	w.calls = calls
	return out, true
}

// invoke runs the body of a function. One that calls itself is not followed
// again; with a pipe or a background job in between it is a fork bomb.
func (w *Walk) invoke(name string, pos []string) string {
	f := w.funcs[name]
	f.called = true
	if f.running > 0 {
		if word.RecursionEnds(name, f.body) {
			return unknown
		}
		if w.parallel > 0 {
			w.Found.Hit("fork-bomb", name)
			return unknown
		} else if len(w.calls) >= 8 || len(pos) == 0 {
			w.Found.Hit("endless-recursion", name)
			return unknown
		}
	}
	oldPos, oldCalls, oldParallel, oldForeign := w.pos, w.calls, w.parallel, w.foreign
	w.pos, w.calls, w.foreign = pos, append(slices.Clone(oldCalls), name), len(pos) == 0
	if len(oldCalls) == 0 {
		w.parallel = 0
	}
	f.running++
	out := w.stmt(f.body)
	f.running--
	w.pos, w.calls, w.parallel, w.foreign = oldPos, oldCalls, oldParallel, oldForeign
	return out
}

// execUnknown follows a command whose name cannot be computed.
func (w *Walk) execUnknown(args argv.List) string {
	name, rest := args[0].S, args[1:]
	w.Found.Changes = true
	list(w, args)
	if strings.Contains(name, remote) {
		w.Found.Hit("remote-code", name)
	}
	w.Found.Hit("unknown-command", strings.Join(args.Texts(), " "))
	if bare := mark.Strip(name); bare != "" {
		rest = append(argv.Of(bare), rest...)
	}
	if len(rest) > 0 && mark.Known(rest[0].S) && Dangerous(ProgramName(rest[0].S)) {
		w.Exec(rest)
	}
	if rest.Has("r", "R", "f", "recursive", "force") {
		w.OnlyCritical(append(argv.Of("rm"), rest...), strings.Join(append([]string{""}, rest.Texts()...), " "))
	}
	return unknown + mark.Of(name)
}

// execGlob follows a command whose name is a pattern: as every program it
// may stand for.
func execGlob(w *Walk, args argv.List) string {
	w.Found.Hit("unknown-command", args[0].S)
	w.Found.Changes = true
	if n, ok := zone.Glob(path.Base(args[0].Pat), pattern.EntireString); ok {
		for _, name := range known.Words("dangerous") {
			if n.MatchString(name) {
				w.Exec(append(argv.Of(name), args[1:]...))
			}
		}
	}
	return unknown
}

// written follows a file that the program itself wrote or downloaded before
// it runs it.
func (w *Walk) written(c *Command) (string, bool) {
	p := w.Resolve(c.Path)
	if !strings.Contains(c.Path, "/") && c.Path != w.Zero {
		if p = w.inSearchPath(c.Path); p == "" {
			return "", false
		}
	}
	text, ok := w.Content[p]
	if !ok {
		if w.ReadSecret(p) == remote {
			w.Found.Hit("remote-code", c.Path)
		}
		return "", false
	}
	w.Found.Changes = true
	if name, ok := strings.CutPrefix(text, systemProgram); ok { //control:copied-program
		return w.Exec(append(argv.Of(name), c.List...)), true
	}
	if strings.Trim(text, unknown) == "" {
		w.Found.Unlisted(c.Name)
		SuspectValues(c)
	}
	return w.Script(c.Path, text, c.List), true
}

// inSearchPath is the file of that name which the program itself put into a
// directory of its search path.
func (w *Walk) inSearchPath(name string) string {
	dirs, ok := w.vars["PATH"]
	if !ok || len(dirs.alts) == 0 || len(dirs.alts[0]) == 0 {
		return ""
	}
	for dir := range strings.SplitSeq(dirs.alts[0][0], ":") {
		p := w.Resolve(dir + "/" + name)
		if _, own := w.Content[p]; own && dir != "" {
			return p
		}
	}
	return ""
}

// Script runs the text of a script with the interpreter its first line names.
func (w *Walk) Script(name, text string, args argv.List) string {
	if strings.Contains(text, remote) {
		w.Found.Hit("remote-code", "")
	}
	if line, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(line, "#!") {
		words := strings.Fields(line[2:])
		if len(words) > 1 && path.Base(words[0]) == "env" {
			words = words[1:]
		}
		if len(words) > 0 && !known.In("shells", ProgramName(words[0])) {
			ScanCode(&Command{Walk: w, Name: ProgramName(words[0])}, rest)
			return unknown
		}
	}
	if text == unknown {
		return unknown
	}
	zero := w.Zero
	w.Zero = name
	out := w.WithPositions(args, len(args) == 0, func() string {
		return w.subshell(func() string { return w.Program(text) })
	})
	w.Zero = zero
	return out
}

// WithPositions runs f with other positional parameters.
func (w *Walk) WithPositions(args argv.List, foreign bool, f func() string) string {
	pos, old := w.pos, w.foreign
	w.pos, w.foreign = args.Texts(), foreign
	out := f()
	w.pos, w.foreign = pos, old
	return out
}

// Crude looks at a text that no parser reads as if it were separate commands.
func Crude(w *Walk, text string) {
	if dense := strings.Join(strings.Fields(text), ""); strings.Contains(dense, "(){") {
		name, body, _ := strings.Cut(dense, "(){")
		name = name[strings.LastIndexAny(name, ";&|(){}")+1:]
		if name != "" && strings.Contains(body, name+"|"+name) {
			w.Found.Hit("fork-bomb", text)
		}
	}
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(";|&\n(){}`", c) }) {
		words := strings.FieldsFunc(part, func(c rune) bool { return strings.ContainsRune(" \t'\"\\", c) })
		for i, s := range words {
			if i == 0 || Dangerous(s) {
				w.Exec(argv.Of(words[i:]...))
			}
		}
	}
}

// OnlyCritical follows a command that may or may not be one, and keeps only
// findings that are critical.
func (w *Walk) OnlyCritical(args argv.List, line string) {
	onlyCritical(w, line, func() { w.Exec(args) })
}

func onlyCritical(w *Walk, line string, follow func()) {
	f := w.Found
	w.Found = f.Aside()
	defer func() {
		found := w.Found
		w.Found = f
		f.Join(found, line)
	}()
	follow()
}

// inspect looks at what any program would do with its arguments: read a
// credential.
func inspect(c *Command) string {
	if namesOnly(c) {
		return ""
	}
	args, program := c.List, -1
	if n := len(args); n > 1 && c.Is("cp", "mv", "install", "ln", "rsync", "scp") { // the last is written
		args = args[:n-1]
	}
	if c.Is("jq", "yq", "gojq") && !c.Has("f", "from-file") {
		if ops := args.OperandsAfter("arg", "argjson", "indent"); len(ops) > 0 { // the first is a program text
			program = args.Index(ops[0].S)
		}
	}
	marks := ""
	for i, a := range args {
		if i == program || program >= 0 && a.S == args[program].S {
			continue
		}
		for _, p := range argv.PathsIn(a.S) {
			if strings.Contains(c.ReadSecret(c.Resolve(p)), secret) {
				marks = secret
			}
		}
		if a.Pat == "" {
			continue
		}
		for _, p := range zone.CouldBe(c.Resolve(a.Pat)) {
			if zone.SecretOf(p) == zone.MachineSecret && c.ReadSecret(p) == secret {
				marks = secret
			}
		}
	}
	return marks
}

// namesOnly reports whether a program does not read what its arguments name,
// so that naming a credential is harmless.
func namesOnly(c *Command) bool {
	switch {
	case c.Is("sed", "gsed"):
		return c.Has("i", "in-place")
	case c.Is("grep", "rg"):
		return c.Has("q", "quiet", "c", "l", "L")
	}
	return known.In("named", c.Name) || Wraps(c.Name)
}

// readsOnly reports whether a command is known to change nothing.
func readsOnly(c *Command) bool {
	if words, ok := known.Tables().Reads[c.Name]; ok {
		return c.Fits(words)
	}
	switch c.Name {
	case "sed":
		return !c.Has("i", "in-place") && !c.Says("w ")
	case "git":
		return true // the sub-command decides
	case "go":
		return OneOf(c.OperandsAfter("C").At(0), "version", "list", "env", "doc", "help") && !c.Exactly("-w", "-u")
	}
	return known.In("reads", c.Name) || Wraps(c.Name)
}
