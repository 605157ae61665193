package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// exec follows one expanded command and returns what it prints.
func (w *walk) exec(args argv.List) string {
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
		return w.exec(args[1:])
	}
	list(w, args)
	if out, ok := w.shellWord(name.S, args); ok {
		return out
	}
	w.last = args[len(args)-1].S
	c := &command{walk: w, List: args[1:], name: programName(name.S), path: name.S}
	if len(c.List) > 16 {
		c.text = c.line()
	}
	if out, ok := w.written(c); ok {
		return out
	}
	if !readsOnly(c) {
		w.f.changes = true
	}
	seen := inspect(c)
	optionPrograms(c, w.f)
	if setsUp(c) {
		return ""
	}
	return w.ruleOf(c)(c, w.f) + seen
}

// list adds a command to those of the analysis.
func list(w *walk, args argv.List) {
	s := render(args.Texts())
	w.f.step(len(s))
	w.f.commands = addTo(w.f.commands, s)
}

// shellWord follows an alias or a function.
func (w *walk) shellWord(name string, args argv.List) (string, bool) {
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
	out := w.program(text)
	w.calls = calls
	return out, true
}

// invoke runs the body of a function. One that calls itself is not followed
// again; with a pipe or a background job in between it is a fork bomb.
func (w *walk) invoke(name string, pos []string) string {
	f := w.funcs[name]
	f.called = true
	if f.running > 0 {
		if w.parallel > 0 {
			w.f.hit("fork-bomb", name)
			return unknown
		} else if len(w.calls) >= 8 || len(pos) == 0 {
			w.f.hit("endless-recursion", name)
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
func (w *walk) execUnknown(args argv.List) string {
	name, rest := args[0].S, args[1:]
	w.f.changes = true
	list(w, args)
	if strings.Contains(name, remote) {
		w.f.hit("remote-code", name)
	}
	w.f.hit("unknown-command", strings.Join(args.Texts(), " "))
	if bare := mark.Strip(name); bare != "" {
		rest = append(argv.Of(bare), rest...)
	}
	if len(rest) > 0 && mark.Known(rest[0].S) && dangerous(programName(rest[0].S)) {
		w.exec(rest)
	}
	if rest.Has("r", "R", "f", "recursive", "force") {
		w.onlyCritical(append(argv.Of("rm"), rest...), strings.Join(append([]string{""}, rest.Texts()...), " "))
	}
	return unknown + mark.Of(name)
}

// execGlob follows a command whose name is a pattern: as every program it
// may stand for.
func execGlob(w *walk, args argv.List) string {
	w.f.hit("unknown-command", args[0].S)
	w.f.changes = true
	if n, ok := zone.Glob(path.Base(args[0].Pat), pattern.EntireString); ok {
		for _, name := range sortedKeys(tables().lists["dangerous"]) {
			if n.MatchString(name) {
				w.exec(append(argv.Of(name), args[1:]...))
			}
		}
	}
	return unknown
}

func sortedKeys(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// written follows a file that the program itself wrote or downloaded before
// it runs it.
func (w *walk) written(c *command) (string, bool) {
	if !strings.Contains(c.path, "/") {
		return "", false
	}
	p := w.resolve(c.path)
	text, ok := w.content[p]
	if !ok {
		if w.readSecret(p) == remote {
			w.f.hit("remote-code", c.path)
		}
		return "", false
	}
	w.f.changes = true
	return w.script(c.path, text, c.List), true
}

// script runs the text of a script with the interpreter its first line names.
func (w *walk) script(name, text string, args argv.List) string {
	if strings.Contains(text, remote) {
		w.f.hit("remote-code", "")
	}
	if line, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(line, "#!") {
		words := strings.Fields(line[2:])
		if len(words) > 1 && path.Base(words[0]) == "env" {
			words = words[1:]
		}
		if len(words) > 0 && !in("shells", programName(words[0])) {
			scanCode(&command{walk: w, name: programName(words[0])}, w.f, rest)
			return unknown
		}
	}
	if text == unknown {
		return unknown
	}
	zero := w.zero
	w.zero = name
	out := w.withPositions(args, len(args) == 0, func() string {
		return w.subshell(func() string { return w.program(text) })
	})
	w.zero = zero
	return out
}

// withPositions runs f with other positional parameters.
func (w *walk) withPositions(args argv.List, foreign bool, f func() string) string {
	pos, old := w.pos, w.foreign
	w.pos, w.foreign = args.Texts(), foreign
	out := f()
	w.pos, w.foreign = pos, old
	return out
}

// crude looks at a text that no parser reads as if it were separate commands.
func crude(w *walk, text string) {
	if dense := strings.Join(strings.Fields(text), ""); strings.Contains(dense, "(){") {
		name, body, _ := strings.Cut(dense, "(){")
		name = name[strings.LastIndexAny(name, ";&|(){}")+1:]
		if name != "" && strings.Contains(body, name+"|"+name) {
			w.f.hit("fork-bomb", text)
		}
	}
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(";|&\n(){}`", c) }) {
		words := strings.FieldsFunc(part, func(c rune) bool { return strings.ContainsRune(" \t'\"\\", c) })
		for i, s := range words {
			if i == 0 || dangerous(s) {
				w.exec(argv.Of(words[i:]...))
			}
		}
	}
}

// onlyCritical follows a command that may or may not be one, and keeps only
// findings that are critical.
func (w *walk) onlyCritical(args argv.List, line string) {
	f := w.f
	w.f = &finding{steps: f.steps, bytes: f.bytes}
	defer func() {
		found := w.f
		w.f = f
		f.steps, f.bytes = found.steps, found.bytes
		for i, reason := range found.reasons {
			if found.tiers[i] == Critical {
				f.hit(strings.TrimPrefix(reason.Rule, "shell."), line)
			}
		}
	}()
	w.exec(args)
}

// inspect looks at what any program would do with its arguments: read a
// credential.
func inspect(c *command) string {
	if namesOnly(c) {
		return ""
	}
	args, program := c.List, -1
	if n := len(args); n > 1 && c.is("cp", "mv", "install", "ln", "rsync", "scp") { // the last is written
		args = args[:n-1]
	}
	if c.is("jq", "yq", "gojq") && !c.Has("f", "from-file") {
		if ops := args.OperandsAfter("arg", "argjson", "indent"); len(ops) > 0 { // the first is a program text
			program = args.Index(ops[0].S)
		}
	}
	marks := ""
	for i, a := range args {
		if i == program || program >= 0 && a.S == args[program].S {
			continue
		}
		for _, p := range pathsIn(a.S) {
			if strings.Contains(c.readSecret(c.resolve(p)), secret) {
				marks = secret
			}
		}
		if a.Pat == "" {
			continue
		}
		for _, p := range zone.CouldBe(c.resolve(a.Pat)) {
			if zone.SecretOf(p) == zone.MachineSecret && c.readSecret(p) == secret {
				marks = secret
			}
		}
	}
	return marks
}

// namesOnly reports whether a program does not read what its arguments name,
// so that naming a credential is harmless.
func namesOnly(c *command) bool {
	switch {
	case c.is("sed", "gsed"):
		return c.Has("i", "in-place")
	case c.is("grep", "rg"):
		return c.Has("q", "quiet", "c", "l", "L")
	}
	return in("named", c.name) || wraps(c.name)
}

// pathsIn lists the parts of an argument that may be a path: all of it, and
// what follows a "=", "@" or ":".
func pathsIn(s string) []string {
	if !strings.ContainsAny(s, "./~_") || strings.Contains(s, " ") {
		return nil
	}
	out := partsOf(s, len(s))
	if len(s) > 2 && s[0] == '-' && s[1] != '-' {
		out = append(out, s[2:])
	}
	return out
}

// partsOf is an argument and what follows a "=", "@" or ":" in it.
func partsOf(s string, limit int) []string {
	out := []string{s}
	for i, c := range s {
		if (c == '=' || c == '@' || c == ':') && i+1 < len(s) && len(out) < limit {
			out = append(out, s[i+1:])
		}
	}
	return out
}

// readsOnly reports whether a command is known to change nothing.
func readsOnly(c *command) bool {
	switch {
	case c.is("gofmt"):
		return !c.Has("w")
	case c.is("sort", "tree"):
		return !c.Has("o", "output")
	case c.is("yq", "xmllint"):
		return !c.Has("i", "inplace", "output")
	case c.is("fd"):
		return !c.Has("x", "X", "exec")
	case c.is("find"):
		return !c.Exactly("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls", "-fprint0")
	case c.is("sed"):
		return !c.Has("i", "in-place") && !c.says("w ")
	case c.is("awk", "gawk", "mawk"):
		return !c.Contains(">") && !c.Contains("|") && !c.says("system")
	case c.is("git"):
		return true // the sub-command decides
	case c.is("go"):
		return oneOf(c.OperandsAfter("C").At(0), "version", "list", "env", "doc", "help") && !c.Exactly("-w", "-u")
	}
	return in("reads", c.name) || wraps(c.name)
}

// optionPrograms follows the programs that options of a tool name.
func optionPrograms(c *command, f *finding) {
	for _, t := range tables().options[c.name] {
		for _, o := range t.options {
			value, ok := c.Value(o)
			if ok && len(o) == 1 && !c.Exactly("-"+o) {
				ok = false // a letter inside another option
			}
			if !ok && (!t.file || len(o) == 1 || !c.Exactly("-"+o, "--"+o)) {
				continue
			}
			if t.file {
				f.hit("program-runs", c.line())
				continue
			}
			packer(c, value)
		}
	}
	if c.is("apt", "apt-get", "dpkg", "aptitude") && c.says("-Invoke", "pre-invoke", "post-invoke") ||
		c.is("cargo") && c.says("--config") && c.says("runner", "wrapper", "linker") {
		f.hit("program-runs", c.line())
	}
}

// setsUp reports whether a program prints the lines with which a shell is
// set up for a tool, which is what they are evaluated for.
func setsUp(c *command) bool {
	first := c.At(0)
	switch c.name {
	case "ssh-agent", "dircolors", "resize":
		return len(c.OperandsAfter()) == 0
	case "direnv":
		return first == "hook"
	case "brew":
		return first == "shellenv"
	case "pyenv", "rbenv", "nodenv", "goenv", "jenv", "starship", "zoxide", "atuin", "thefuck":
		return first == "init"
	case "conda", "mamba":
		return strings.HasPrefix(first, "shell.")
	case "fnm", "opam", "luarocks", "mise":
		return oneOf(first, "env", "path", "activate")
	}
	return false
}
