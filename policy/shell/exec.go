package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/pattern"
)

// exec follows one expanded command and returns its output.
func (w *walk) exec(args list) string {
	defer w.enter(0)()
	if len(args) == 0 {
		return ""
	}
	name := args[0]
	switch {
	case name.pat != "":
		return w.execGlob(args)
	case !isKnown(name.s):
		return w.execUnknown(args)
	case name.s == "":
		return w.exec(args[1:])
	}
	s := render(args.words())
	w.found.step(len(s))
	w.found.ran(s)
	if out, ok := w.shellWord(name.s, args); ok {
		return out
	}
	c := &command{walk: w, list: args[1:], name: programName(name.s), path: name.s}
	if len(c.list) > 16 {
		c.text = c.line()
	}
	if strings.Contains(c.path, "/") || c.path == w.zero {
		c.runsFile(w.resolve(c.path))
	}
	return c.follow()
}

// follow applies the rule of a program, and the checks that apply to all programs: the
// data that they read, send and print.
func (c *command) follow() string {
	f := c.found
	if !readsOnly(c) {
		f.changes = true
	}
	if strings.Contains(c.waiting(), elided) && inList("input-programs", c.name) {
		f.exhaust()
	}
	seen, in := c.inspect(), c.waiting()
	if r, ok := rowOf("setup", c.name); ok && c.fitsAll(r[0]) {
		return ""
	}
	c.rateNamingOptions()
	out := programRule(c)(c) + seen
	if seen != "" && inList("transformers", c.name) {
		f.leaked = true // its output contains the credential
	}
	if inList("senders", c.name) && (seen != "" || c.holdsSecret()) {
		f.hit("secret-sent", c.line())
	}
	if !c.asksHelp() {
		c.runsProject(in)
	}
	if (inList("remote-output", c.name) || asksAddress(c)) && !c.asksHelp() { //control:remote-output
		r, _ := rowOf("saves", c.name)
		for _, file := range c.options(r[0]...) {
			if file != "" && file != "-" && inList("remote-output", c.name) {
				c.store(c.resolve(file), remote)
			}
		}
		if out != "" {
			out += remote
		}
	}
	switch {
	case c.completes():
		return ""
	case inList("counters", c.name), c.has("c", "count"): // a number
		return strings.ReplaceAll(out, filed, "")
	}
	return out
}

// runsProject rates programs that build or test a project, and thereby run its code: in a
// downloaded project, in files written by the line, or in settings on the command line.
func (c *command) runsProject(in string) {
	runs := inList("project-runners", c.name)
	if !runs && !inList("obeys-files", c.name) {
		return
	}
	for name, marks := range c.made {
		if strings.HasPrefix(name, opens) {
			continue
		}
		c.unsure = true
		if strings.Contains(marks, remote) && inList("manifests", path.Base(name)) {
			c.hit("remote-code")
		}
	}
	if !inList("languages", c.name) {
		c.mayRun(append(c.settings(), in)) //control:said-settings
	}
	dirs := append(c.options("C", "directory", "prefix", "cwd", "project-directory", "manifest-path", "f"), ".")
	for _, a := range c.operandsAfter() {
		if strings.Contains(a.s, "/") {
			dirs = append(dirs, a.s)
		}
	}
	if runs && slices.ContainsFunc(dirs, func(dir string) bool {
		p := c.resolve(dir)
		return c.made[p] == remoteDir || p != "." && c.downloaded(p)
	}) {
		c.hit("remote-code")
	}
}

func (c *command) settings() []string {
	var out []string
	for i, a := range c.list {
		option, _, ok := strings.Cut(a.s, "=")
		if strings.ContainsAny(a.s, " \t(") && !inList("text-options", c.at(i-1)) &&
			(!ok || !inList("text-options", option)) {
			out = append(out, a.s)
		}
	}
	return out
}

// rateNamingOptions rates the values of options that the tables describe: a program, a
// command, a library, settings that run programs, or an output file.
func (c *command) rateNamingOptions() {
	for _, kind := range []string{"run", "load", "text", "config", "variable", "writes"} {
		for _, r := range rowsOf(kind, c.name) {
			for _, name := range r[0] {
				if value, ok := c.option(name); ok && value != "" && value[0] != '-' {
					c.rateNamedValue(kind, name, value)
				}
			}
		}
	}
	if r, ok := rowOf("edits", c.name); ok {
		ops := c.operandsAfter(r[0]...)
		place, _ := strconv.Atoi(strings.Join(r[1], ""))
		switch {
		case place > 0:
			ops = ops[min(place-1, len(ops)):min(place, len(ops))]
		case place < 0:
			ops = ops[max(1, len(ops)-1):]
		case !c.fitsAll(r[2]):
			ops = nil
		}
		for _, a := range ops {
			if isKnown(a.s) {
				c.write(a.s)
			}
		}
	}
	for _, a := range c.list { // an unlisted option may name an output file
		if option, value, ok := strings.Cut(a.s, "="); ok && strings.HasPrefix(option, "--") &&
			!inList("text-takers", c.name) &&
			!inList("text-options", option) {
			if oneOf(string(zoneOf(c.resolve(value))), "vital", "system", "startup", "device") {
				c.hit("option-path") //control:unknown-options
			}
		}
	}
	if !inList("loads-options", c.name) {
		return
	}
	for i, a := range c.list { // code outside of usual project locations
		at := max(strings.Index(a.s, "/tmp/"), strings.Index(a.s, "/dev/shm/"), strings.Index(a.s, "/Downloads/"))
		if before := strings.ToLower(c.at(i-1) + " " + a.s[:max(at, 0)]); at >= 0 && strings.Contains(before, "-") &&
			slices.ContainsFunc(wordsIn("loading-parts"), func(part string) bool { return strings.Contains(before, part) }) {
			c.hit("outside-code")
		}
	}
}

// rateNamedValue rates the value of an option according to its kind in the tables.
func (c *command) rateNamedValue(kind, name, value string) {
	outside := ownPlace(value) && zoneOf(c.resolve(value)) != workspace
	switch kind {
	case "text":
		c.nested(value)
	case "run":
		if name != "pager" || !inList("safe-programs", programName(firstWord(value))) {
			c.runProgram(c, value)
		}
	case "load":
		c.hit("program-runs") //control:running-options
		c.mayRun([]string{value})
	case "config":
		c.mayRun([]string{value})
		if outside {
			c.hit("program-runs")
		}
	case "variable":
		pass(c.walk, strings.ReplaceAll(strings.ToUpper(name), "-", "_"), value)
	case "writes":
		if text, ok := strings.CutPrefix(value, "|"); ok {
			c.runProgram(c, text)
		} else {
			c.write(value) //control:written-options
		}
	}
}

// asksAddress reports whether a program's output may come from the network: a remote
// address is among its arguments.
func asksAddress(c *command) bool {
	return slices.ContainsFunc(c.list, func(a arg) bool {
		return strings.Contains(a.s, "://") && !strings.HasPrefix(a.s, "file:") && !strings.Contains(a.s, " ") && !local(a.s)
	})
}

// shellWord runs an alias or a function, if there is one.
func (w *walk) shellWord(name string, args list) (string, bool) {
	if f := w.funcs[name]; f != nil {
		return w.invoke(name, args[1:].words()), true
	}
	text, ok := w.aliases[name]
	if !ok || slices.Contains(w.calls, "alias "+name) {
		return "", false
	}
	for _, a := range args[1:] {
		text += " '" + strings.ReplaceAll(a.s, "'", `'\''`) + "'"
	}
	calls := w.calls
	w.calls = append(slices.Clone(calls), "alias "+name)
	out := w.program(text)
	w.calls = calls
	return out, true
}

// execUnknown follows a command with an unknown name.
func (w *walk) execUnknown(args list) string {
	name, rest := args[0].s, args[1:]
	w.found.changes = true
	line := render(args.words())
	w.found.step(len(line))
	w.found.ran(line)
	w.found.hit("unknown-command", strings.Join(args.words(), " "))
	switch {
	case strings.Contains(name, remote):
		w.found.hit("remote-code", name)
	case strings.Contains(name, hidden):
		w.found.hit("hidden-code", name)
	}
	mayWrap(&command{walk: w, list: rest})
	if rest.has("r", "R", "f", "recursive", "force") {
		w.onlyCritical(append(argsOf("rm"), rest...), line)
	}
	return unknown + of(name)
}

// execGlob follows a command with a pattern as name, as every dangerous program that
// matches.
func (w *walk) execGlob(args list) string {
	w.found.hit("unknown-command", args[0].s)
	w.found.changes = true
	if n, ok := glob(path.Base(args[0].pat), pattern.EntireString); ok {
		for _, name := range wordsIn("dangerous") {
			if n.MatchString(name) {
				w.exec(append(argsOf(name), args[1:]...))
			}
		}
	}
	return unknown
}

func (w *walk) withPositions(args list, foreign bool, f func() string) string {
	pos, old := w.pos, w.foreign
	w.pos, w.foreign = args.words(), foreign
	out := f()
	w.pos, w.foreign = pos, old
	return out
}

// mayRun follows texts that may be run: each as it is, all of them joined, and the
// commands that they contain in another notation. Only critical findings count.
func (w *walk) mayRun(texts []string) {
	for _, text := range append(slices.Clone(texts), strings.Join(texts, " "), strings.Join(texts, "")) {
		if !strings.ContainsAny(text, " :/") || !isKnown(text) || len(text) > maxLine || strings.Contains(text, elided) {
			continue
		}
		w.onlyCritical(argsOf("sh", "-c", text), text)
		for _, words := range embeddedCommands(text) {
			w.onlyCritical(argsOf(words...), text)
		}
	}
}

// embeddedCommands returns the commands that a text in another notation may contain: from the name
// of a destructive program on, without quotes, brackets and commas.
func embeddedCommands(text string) [][]string {
	var out [][]string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\n;|&", r) }) {
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\"'`,()[]{}<>\\", r) })
		for i, word := range words {
			word = word[strings.LastIndexByte(word, '=')+1:]
			switch name := word[strings.LastIndexAny(word, ".:")+1:]; {
			case inList("destroying-programs", programName(word)):
				out = append(out, append([]string{word}, words[i+1:]...))
			case inList("destroying-calls", strings.ToLower(name)):
				out = append(out, append([]string{"rm", "-rf"}, words[i+1:]...))
			}
		}
	}
	return out[:min(len(out), maxSpoken)]
}

// maxSpoken is the maximum number of commands followed in a text in another notation.
const maxSpoken = 32

// inspect rates reading the files in a command's arguments, which any program may do. It
// returns secret if there is a credential.
func (c *command) inspect() string {
	if c.namesOnly() {
		return ""
	}
	args := c.list
	if n := len(args); n > 1 && c.is("cp", "mv", "install", "ln", "rsync", "scp") { // the last one is written
		args = args[:n-1]
	}
	marks := ""
	for _, a := range args {
		for _, p := range pathsIn(a.s) {
			if strings.Contains(c.readSecret(c.resolve(p)), secret) {
				marks = secret
			}
		}
		if a.pat == "" {
			continue
		}
		for _, p := range couldBe(c.resolve(a.pat)) {
			if secretOf(p) == machineSecret && c.readSecret(p) == secret {
				marks = secret
			}
		}
	}
	return marks
}

// namesOnly reports whether a program does not output the files in its arguments, so that
// naming a credential is harmless.
func (c *command) namesOnly() bool {
	switch {
	case c.is("sed", "gsed"):
		return c.has("i", "in-place")
	case c.is("grep", "rg"):
		return c.has("q", "quiet", "c", "l", "L")
	}
	return inList("named", c.name) || wraps(c.name)
}

// readsOnly reports whether a command only reads. Whether a wrapper does depends on the
// command in it, as with the sub-commands of git.
func readsOnly(c *command) bool {
	return wraps(c.name) || c.is("git") ||
		slices.ContainsFunc(rowsOf("reads", c.name), func(r row) bool { return c.fitsAll(r[0]) })
}

func (w *walk) onlyCritical(args list, line string) {
	f := w.found
	w.found = f.aside()
	defer func() {
		found := w.found
		w.found = f
		f.join(found, line)
	}()
	w.subshell(func() string {
		if w.in != nil { // the input stays there
			in := *w.in
			w.in = &in
		}
		return w.exec(args)
	})
}
