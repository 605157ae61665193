package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"
)

// command is a simple command after expansion.
type command struct {
	name string // without its directory
	path string // as written
	args []arg  // without the name
	text string // all of it, if it is long
}

// exec follows one expanded command and returns what it prints.
func (m *machine) exec(args []arg) string {
	m.enter()
	defer m.leave()
	m.yes, m.no = false, false
	if len(args) == 0 {
		return ""
	}
	name := args[0]
	switch {
	case name.pat != "":
		return m.execGlob(args)
	case !known(name.s):
		return m.execUnknown(args)
	case name.s == "":
		return m.exec(args[1:])
	}
	m.r.commands = addTo(m.r.commands, m.render(texts(args)))
	if out, ok := m.shellWord(name.s, args); ok {
		return out
	}
	m.last = args[len(args)-1].s
	c := command{name: programName(name.s), path: name.s, args: args[1:]}
	if len(c.args) > 16 {
		c.text = c.line()
	}
	if out, ok := m.written(c); ok {
		return out
	}
	if !readsOnly(c) {
		m.r.changes = true
	}
	seen := m.inspect(c)
	m.optionPrograms(c)
	if setsUp(c) {
		return ""
	}
	out := m.dispatch(c)
	return out + seen
}

// programName is the name a program is known by.
func programName(p string) string {
	name := path.Base(strings.ReplaceAll(p, "\\", "/"))
	name = strings.TrimSuffix(name, ".exe")
	if rest, ok := strings.CutPrefix(name, "python"); ok && strings.Trim(rest, "0123456789.") == "" {
		return "python"
	}
	for _, p := range []string{"pip", "perl", "ruby", "php", "lua", "node", "nodejs"} {
		if rest, ok := strings.CutPrefix(name, p); ok && rest != "" && strings.Trim(rest, "0123456789.-") == "" {
			return p
		}
	}
	return name
}

// render writes a command the way the lists of the configuration match it.
func (m *machine) render(words []string) string {
	out := make([]string, len(words))
	size := 0
	for i, w := range words {
		w = strings.Map(func(c rune) rune {
			if isMark(c) {
				return '\u2026'
			}
			return c
		}, w)
		if i == 0 {
			w = strings.Join(strings.Fields(w), `\ `)
		}
		out[i] = w
		size += len(w)
	}
	m.r.step(size)
	return strings.Join(out, " ")
}

// shellWord follows an alias or a function.
func (m *machine) shellWord(name string, args []arg) (string, bool) {
	if f, ok := m.funcs[name]; ok && f != nil {
		return m.invoke(name, texts(args[1:])), true
	}
	if text, ok := m.aliases[name]; ok && !slices.Contains(m.calls, "alias "+name) {
		calls := m.calls
		m.calls = append(slices.Clone(calls), "alias "+name)
		for _, a := range args[1:] {
			text += " " + shellQuote(a.s)
		}
		out := m.program(text)
		m.calls = calls
		return out, true
	}
	return "", false
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// invoke runs the body of a function. One that calls itself is not followed
// again; with a pipe or a background job in between it is a fork bomb.
func (m *machine) invoke(name string, pos []string) string {
	f := m.funcs[name]
	f.called = true
	if f.running > 0 {
		if m.parallel > 0 {
			m.r.hit("fork-bomb", name)
		} else if len(m.calls) < 8 && len(pos) > 0 {
			return m.body(f, name, pos)
		} else {
			m.r.hit("endless-recursion", name)
		}
		return unknown
	}
	return m.body(f, name, pos)
}

func (m *machine) body(f *function, name string, pos []string) string {
	oldPos, oldCalls, oldParallel, oldForeign := m.pos, m.calls, m.parallel, m.foreign
	m.pos, m.calls, m.foreign = pos, append(slices.Clone(oldCalls), name), len(pos) == 0
	if len(oldCalls) == 0 {
		m.parallel = 0
	}
	f.running++
	out := m.stmt(f.body)
	f.running--
	m.pos, m.calls, m.parallel, m.foreign = oldPos, oldCalls, oldParallel, oldForeign
	return out
}

// execUnknown follows a command whose name cannot be computed.
func (m *machine) execUnknown(args []arg) string {
	name := args[0].s
	m.r.changes = true
	m.r.commands = addTo(m.r.commands, m.render(texts(args)))
	if strings.Contains(name, remote) {
		m.r.hit("remote-code", name)
	}
	m.r.hit("unknown-command", strings.Join(texts(args), " "))
	rest := args[1:]
	if bare := unmarked(name); bare != "" {
		rest = append([]arg{{s: bare}}, rest...)
	}
	if len(rest) > 0 && known(rest[0].s) && dangerousName(programName(rest[0].s)) {
		m.exec(rest)
	}
	if options := (command{args: rest}); options.has("r", "R", "f", "recursive", "force") {
		m.onlyCritical(append([]arg{{s: "rm"}}, rest...), options.line())
	}
	return unknown + marksOf(name)
}

// execGlob follows a command whose name is a pattern: as every program it
// may stand for.
func (m *machine) execGlob(args []arg) string {
	m.r.hit("unknown-command", args[0].s)
	m.r.changes = true
	if n, ok := globRegexp(path.Base(args[0].pat), pattern.EntireString); ok {
		for _, name := range globCandidates() {
			if n.MatchString(name) {
				m.exec(append([]arg{{s: name}}, args[1:]...))
			}
		}
	}
	return unknown
}

func globCandidates() []string {
	return []string{
		"rm", "dd", "mkfs", "mkfs.ext4", "shred", "wipefs", "sh", "bash", "sudo", "chmod", "chown", "mv", "cp", "tee", "find", "cat", "base64", "curl", "wget", "nc",
		"reboot", "shutdown", "poweroff", "halt", "kill", "pkill", "killall", "git", "python3", "perl", "node", "ruby", "eval", "xargs", "env", "printenv", "ssh", "scp", "truncate", "unlink", "rmdir", "ln", "sed", "awk", "head", "tail", "less", "more", "busybox",
	}
}

// dangerousName reports whether a program is one whose arguments matter.
func dangerousName(name string) bool {
	if _, ok := wrapperOf(name); ok {
		return true
	}
	return slices.Contains(globCandidates(), name) || strings.HasPrefix(name, "mkfs") || isShell(name)
}

// written follows a file that the program itself wrote or downloaded before
// it runs it.
func (m *machine) written(c command) (string, bool) {
	if !strings.Contains(c.path, "/") {
		return "", false
	}
	p := m.resolve(c.path)
	text, ok := m.files[p]
	if !ok {
		if m.readSecret(p) == remote {
			m.r.hit("remote-code", c.path)
		}
		return "", false
	}
	m.r.changes = true
	zero := m.zero
	m.zero = c.path
	out := m.script(text, c.args)
	m.zero = zero
	return out, true
}

// script runs the text of a script with the interpreter its first line names.
func (m *machine) script(text string, args []arg) string {
	if strings.Contains(text, remote) {
		m.r.hit("remote-code", "")
	}
	if line, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(line, "#!") {
		words := strings.Fields(line[2:])
		if len(words) > 1 && path.Base(words[0]) == "env" {
			words = words[1:]
		}
		if len(words) > 0 && !isShell(programName(words[0])) {
			m.scanCode(programName(words[0]), rest)
			return unknown
		}
	}
	pos, foreign := m.pos, m.foreign
	m.pos, m.foreign = texts(args), len(args) == 0
	defer func() { m.pos, m.foreign = pos, foreign }()
	if text == unknown {
		return unknown
	}
	return m.subshell(func() string { return m.program(text) })
}

// dispatch finds who knows the program.
func (m *machine) dispatch(c command) string {
	for _, known := range []func(command) (string, bool){
		m.builtin, m.filter, m.wrapper, m.served, m.interpreter, m.fileCommand, m.findCommand, m.systemCommand, m.networkCommand, m.gitCommand, m.table,
	} {
		if out, ok := known(c); ok {
			return out
		}
	}
	m.inner(c)
	return m.passOn(c)
}

// inner looks for a command in the arguments of a program nobody knows: the
// program may be a wrapper. Only what would be critical counts.
func (m *machine) inner(c command) {
	for i, a := range c.args {
		if name := programName(a.s); !known(a.s) || !dangerousName(name) || strings.HasSuffix(a.s, "/") {
			continue
		}
		m.onlyCritical(c.args[i:], c.line())
		return
	}
}

// onlyCritical follows a command that may or may not be one, and keeps only
// findings that are critical.
func (m *machine) onlyCritical(args []arg, line string) {
	r := m.r
	m.r = &report{steps: r.steps, bytes: r.bytes}
	defer func() {
		found := m.r
		m.r = r
		m.r.steps, m.r.bytes = found.steps, found.bytes
		for j, reason := range found.reasons {
			if found.tiers[j] == Critical {
				m.r.hit(strings.TrimPrefix(reason.Rule, "shell."), line)
			}
		}
	}()
	m.exec(args)
}

// passOn is the output of a program about which nothing is known: unknown,
// and as secret or remote as what it was given.
func (m *machine) passOn(c command) string {
	marks := unknown
	for _, a := range c.args {
		marks += marksOf(a.s)
	}
	if m.given() {
		marks += marksOf(m.stdin())
	}
	return marksOf(marks)
}

// inspect looks at what any program would do with its arguments: read a
// credential, or write where nothing should be written.
func (m *machine) inspect(c command) string {
	if metadataOnly(c) {
		return ""
	}
	marks := ""
	args := c.args
	if n := len(args); n > 1 && lastIsTarget(c.name) {
		args = args[:n-1]
	}
	if (c.name == "jq" || c.name == "yq" || c.name == "gojq") && !c.has("f", "from-file") {
		if ops := c.operands("arg", "argjson", "indent"); len(ops) > 0 { // the first is a program text
			args = slices.DeleteFunc(slices.Clone(args), func(a arg) bool { return a.s == ops[0].s })
		}
	}
	for _, a := range args {
		for _, p := range pathsIn(a.s) {
			if text := m.readSecret(m.resolve(p)); strings.Contains(text, secret) {
				marks = secret
			}
		}
		if a.pat != "" {
			for _, p := range couldBe(m.resolve(a.pat)) {
				if secretPath(p) == Critical && m.readSecret(p) == secret {
					marks = secret
				}
			}
		}
	}
	return marks
}

// pathsIn lists the parts of an argument that may be a path: all of it, and
// what follows a "=", "@" or ":".
func pathsIn(s string) []string {
	if !strings.ContainsAny(s, "./~_") || strings.Contains(s, " ") {
		return nil
	}
	out := []string{s}
	for i, c := range s {
		if (c == '=' || c == '@' || c == ':') && i+1 < len(s) {
			out = append(out, s[i+1:])
		}
	}
	if len(s) > 2 && s[0] == '-' && s[1] != '-' {
		out = append(out, s[2:])
	}
	return out
}

// lastIsTarget lists programs whose last argument is written, not read.
func lastIsTarget(name string) bool {
	switch name {
	case "cp", "mv", "install", "ln", "rsync", "scp":
		return true
	}
	return false
}
