package shell

import (
	"slices"
	"strings"
)

func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "ksh93", "mksh", "pdksh", "yash", "fish", "csh", "tcsh", "rbash", "rzsh", "posh", "osh", "xonsh", "elvish", "nu":
		return true
	}
	return false
}

// stdinProgram follows the standard input as the text of a program.
func (m *machine) stdinProgram() string {
	if !m.given() {
		return ""
	}
	text := m.stdin()
	if strings.Contains(text, remote) {
		m.r.hit("remote-code", "")
	}
	if strings.Contains(text, unknown) || strings.Contains(text, secret) {
		m.r.hit("opaque-code", "")
	}
	m.r.step(len(text))
	return m.subshell(func() string { return m.program(text) })
}

// givenText is what is left of the standard input, unread, or nothing when
// there is none.
func (m *machine) givenText() string {
	if !m.given() {
		return ""
	}
	return m.in.text[m.in.pos:]
}

// shell follows a shell: its program text, its script, or its input.
func (m *machine) shell(c command) string {
	takes := []string{"o", "O", "rcfile", "init-file"}
	if c.asksHelp() {
		return unknown
	}
	for _, o := range []string{"rcfile", "init-file"} {
		if f, ok := c.value(o); ok {
			m.shellScript(command{name: c.name, args: []arg{{s: f}}}, []arg{{s: f}})
		}
	}
	ops := c.operands(takes...)
	for len(ops) > 1 && len(ops[0].s) > 1 && ops[0].s[0] == '+' {
		ops = ops[1:]
	}
	program, onlyCheck, fromStdin := false, false, false
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		if a.s == "+o" || a.s == "+O" {
			i++
			continue
		}
		if len(a.s) < 2 || a.s[0] != '-' && a.s[0] != '+' || a.s == "--" {
			break
		}
		if takesValue(a.s, takes) {
			i++
		}
		if a.s[1] != '-' {
			program = program || strings.Contains(a.s, "c")
			onlyCheck = onlyCheck || strings.Contains(a.s, "n")
			fromStdin = fromStdin || strings.Contains(a.s, "s")
		}
	}
	for _, a := range c.args {
		if strings.HasPrefix(a.s, "-") && !known(a.s) || a.s == "--command" {
			program = true
		}
	}
	switch {
	case onlyCheck && !program:
		return ""
	case program && len(ops) > 0:
		return m.shellText(ops)
	case len(ops) == 0 || fromStdin || ops[0].s == "-":
		if c.has("i") {
			m.stdinProgram()
			return shellSession
		}
		if !m.given() {
			return ""
		}
		if len(ops) > 0 && ops[0].s == "-" {
			ops = ops[1:]
		}
		pos, foreign := m.pos, m.foreign
		m.pos, m.foreign = texts(ops), len(ops) == 0
		out := m.stdinProgram()
		m.pos, m.foreign = pos, foreign
		return out
	}
	return m.shellScript(c, ops)
}

func (m *machine) shellText(ops []arg) string {
	pos, zero, foreign := m.pos, m.zero, m.foreign
	m.pos, m.foreign = nil, len(ops) < 3
	if len(ops) > 1 {
		m.zero = ops[1].s
		m.pos = texts(ops[2:])
	}
	out := m.nested(ops[0].s)
	m.pos, m.zero, m.foreign = pos, zero, foreign
	return out
}

func (m *machine) shellScript(c command, ops []arg) string {
	name := ops[0].s
	if strings.Contains(name, remote) {
		m.r.hit("remote-code", c.line())
	}
	if (!known(name) || ops[0].pat != "") && !m.hasFile(m.resolve(name)) {
		m.r.hit("unknown-code", c.line())
		return unknown
	}
	if globIn(name) != "" {
		m.r.hit("many-scripts", c.line())
	}
	p := m.resolve(name)
	if m.hasFile(p) {
		text := m.files[p]
		if strings.Trim(text, unknown) == "" && text != "" {
			m.r.hit("opaque-code", c.line())
		}
		zero := m.zero
		m.zero = name
		out := m.script(text, ops[1:])
		m.zero = zero
		return out
	}
	if strings.HasPrefix(p, "/dev/") || strings.HasPrefix(p, "/proc/") {
		m.in = &input{text: m.readFile(name)}
		return m.stdinProgram()
	}
	if m.readSecret(p) == remote {
		m.r.hit("remote-code", c.line())
	}
	return unknown
}

// xargs follows the command that xargs builds from its input.
func (m *machine) xargs(c command) string {
	takes := []string{"I", "n", "P", "L", "d", "a", "E", "s", "max-args", "max-procs", "delimiter", "arg-file", "replace", "max-lines", "max-chars", "process-slot-var"}
	in := unknown
	start := xargsCommand(c, takes)
	all := c.args
	if start >= 0 {
		c.args = all[:start] // its own options
	}
	if file, ok := c.value("a", "arg-file"); ok {
		in = m.readFile(file)
	} else if m.given() {
		in = m.stdin()
	}
	repl, hasRepl := c.value("I", "replace")
	if !hasRepl && c.has("i") {
		repl, hasRepl = "{}", true
	}
	if start < 0 {
		return in
	}
	if procs, ok := c.value("P", "max-procs"); ok && procs == "0" && m.in != nil && endlessText(m.in.text) {
		m.r.hit("fork-bomb", c.line())
	}
	args := all[start:]
	var b strings.Builder
	if !known(in) && !hasRepl {
		b.WriteString(m.exec(args)) // the input may be empty
	}
	for _, group := range xargsGroups(c, in, hasRepl) {
		b.WriteString(m.exec(xargsArgs(args, group, repl, hasRepl)))
	}
	return b.String()
}

// endlessText recognizes what the yes tool prints.
func endlessText(s string) bool { return len(s) > 2 && s[:len(s)/2] == s[len(s)/2:] }

func xargsCommand(c command, takes []string) int {
	for i := 0; i < len(c.args); i++ {
		s := c.args[i].s
		switch {
		case s == "--":
			if i+1 < len(c.args) {
				return i + 1
			}
			return -1
		case len(s) > 1 && s[0] == '-':
			if len(s) == 2 && takesValue(s, takes) || len(s) > 2 && s[1] == '-' && takesValue(s, takes) {
				i++
			} else if len(s) > 2 && s[1] != '-' && takesValue(s, takes) {
				i++
			}
		default:
			return i
		}
	}
	return -1
}

// xargsGroups splits the input the way xargs hands it out.
func xargsGroups(c command, in string, lines bool) [][]string {
	_, single := c.value("n", "max-args")
	if c.has("0", "null") {
		return groups(strings.FieldsFunc(in, func(r rune) bool { return r == '\n' || r == 0 }), lines || single)
	}
	if delim, ok := c.value("d", "delimiter"); ok {
		delim = decodeEscapes(delim, false)
		if delim == "" {
			delim = "\x00"
		}
		return groups(strings.Split(strings.TrimSuffix(in, delim), delim), lines || single)
	}
	if lines {
		return groups(strings.FieldsFunc(in, func(r rune) bool { return r == '\n' || r == 0 }), true)
	}
	words := strings.Fields(strings.NewReplacer(`'`, "", `"`, "", `\`, "", "\x00", " ").Replace(in))
	return groups(words, false)
}

func groups(words []string, each bool) [][]string {
	if len(words) == 0 {
		return [][]string{{}}
	}
	if !each {
		return [][]string{words}
	}
	out := make([][]string, 0, len(words))
	for w := range slices.Values(words) {
		out = append(out, []string{w})
	}
	return out
}

func xargsArgs(args []arg, group []string, repl string, hasRepl bool) []arg {
	out := slices.Clone(args)
	if !hasRepl {
		return append(out, literals(group)...)
	}
	item := strings.Join(group, " ")
	if repl == "" {
		repl = "{}"
	}
	for i := range out {
		if strings.Contains(out[i].s, repl) {
			out[i] = arg{s: strings.ReplaceAll(out[i].s, repl, item)}
		}
	}
	return out
}

// parallelTool follows GNU parallel.
func (m *machine) parallelTool(c command) string {
	args, items := c.args, []string(nil)
	for i, a := range c.args {
		if strings.HasPrefix(a.s, ":::") {
			args, items = c.args[:i], c.rest(i+1)
			break
		}
	}
	if items == nil {
		items = []string{unknown}
		if m.given() {
			items = strings.Split(strings.TrimSuffix(m.stdin(), "\n"), "\n")
		}
	}
	inner := command{args: args}
	start := xargsCommand(inner, []string{"j", "jobs", "a", "I", "n", "N", "S", "sshlogin", "joblog", "timeout", "colsep", "C", "d"})
	text := ""
	if start >= 0 {
		text = strings.Join(texts(args[start:]), " ")
	}
	for _, item := range items {
		switch {
		case text == "":
			m.nested(item)
		case strings.Contains(text, "{}"):
			m.nested(strings.ReplaceAll(text, "{}", item))
		case known(item):
			m.nested(text + " " + item)
		default:
			m.exec(append(literals(strings.Fields(text)), arg{s: item}))
		}
	}
	return unknown
}
