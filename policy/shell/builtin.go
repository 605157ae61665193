package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
)

// builtin follows the commands of the shell itself.
func (m *machine) builtin(c command) (string, bool) {
	switch c.name {
	case ":", "true", "false", "test", "[", "exit", "return", "break", "continue", "wait", "jobs", "fg", "bg", "disown", "shift", "getopts",
		"hash", "enable", "logout", "times", "shopt", "umask", "ulimit", "history", "pushd", "popd", "dirs", "cd", "unset", "unalias", "sleep", "caller", "suspend":
		return m.quietBuiltin(c), true
	case "echo":
		return m.echo(c), true
	case "printf":
		return m.printf(c), true
	case "set":
		return m.setBuiltin(c), true
	case "eval":
		return m.eval(c), true
	case "source", ".":
		return m.source(c), true
	case "trap":
		if ops := c.operands(); len(ops) > 0 {
			m.nested(ops[0].s)
		}
		return "", true
	case "read", "readarray", "mapfile":
		if code, ok := c.value("C"); ok && c.name != "read" {
			m.nested(code)
		}
		m.read(c)
		return "", true
	case "alias":
		return m.alias(c), true
	case "export", "declare", "local", "typeset", "readonly":
		return m.declareWords(c), true
	case "compgen", "complete":
		return m.complete(c), true
	case "bind":
		if v, ok := c.value("x"); ok {
			_, code, _ := strings.Cut(v, ":")
			m.nested(strings.Trim(code, " \"'"))
		}
		return "", true
	}
	return "", false
}

func (m *machine) quietBuiltin(c command) string {
	switch c.name {
	case ":", "true":
		m.yes = true
	case "false":
		m.no = true
	case "test", "[":
		m.testWords(texts(c.args))
	case "cd", "pushd":
		m.changeDir(c)
	case "popd":
		m.set("PWD", ".")
	case "shift":
		n := 1
		if len(c.args) > 0 {
			n, _ = strconv.Atoi(c.args[0].s)
		}
		if n >= 0 && n <= len(m.pos) {
			m.pos = m.pos[n:]
		}
	case "unset":
		for _, a := range c.operands() {
			delete(m.vars, a.s)
			if c.has("f") {
				delete(m.funcs, a.s)
			}
		}
	case "enable":
		if c.has("f") {
			m.r.hit("unknown-code", c.line())
		}
	case "hash":
		if v, ok := c.value("p"); ok {
			m.r.hit("search-path", "hash "+v)
		}
	case "history":
		return unknown
	}
	return ""
}

func (m *machine) changeDir(c command) {
	ops := c.operands()
	switch {
	case len(ops) == 0:
		m.set("PWD", "~")
	case ops[0].s == "-":
		m.set("PWD", ".")
	default:
		m.set("PWD", m.resolve(ops[0].s))
	}
	m.yes = true
}

// testWords computes a comparison of known words, so that loops over a
// counter come to their end.
func (m *machine) testWords(w []string) {
	if len(w) > 0 && w[len(w)-1] == "]" {
		w = w[:len(w)-1]
	}
	if len(w) != 3 || !known(w[0]) || !known(w[2]) {
		return
	}
	var result bool
	a, errA := strconv.Atoi(w[0])
	b, errB := strconv.Atoi(w[2])
	switch w[1] {
	case "=", "==":
		result = w[0] == w[2]
	case "!=":
		result = w[0] != w[2]
	case "-lt", "-le", "-gt", "-ge", "-eq", "-ne":
		if errA != nil || errB != nil {
			return
		}
		result = map[string]bool{"-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b, "-eq": a == b, "-ne": a != b}[w[1]]
	default:
		return
	}
	m.yes, m.no = result, !result
}

func (m *machine) echo(c command) string {
	m.yes = true
	words, newline, decode := texts(c.args), "\n", false
	for len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' && strings.Trim(words[0][1:], "neE") == "" {
		if strings.Contains(words[0], "n") {
			newline = ""
		}
		decode = decode || strings.Contains(words[0], "e")
		words = words[1:]
	}
	out := strings.Join(words, " ")
	if decode {
		out = decodeEscapes(out, true)
	}
	m.print(out)
	return out + newline
}

// print checks text that a command shows.
func (m *machine) print(out string) {
	m.r.step(len(out))
	if !m.quiet && strings.Contains(out, secret) {
		m.r.hit("secret-shown", out)
	}
	for _, w := range []string{"::set-env", "::add-path", "::stop-commands", "##vso["} {
		if strings.Contains(out, w) {
			m.r.hit("runner-command", out)
		}
	}
}

// printf computes what printf prints, or stores with -v.
func (m *machine) printf(c command) string {
	m.yes = true
	args := texts(c.args)
	name := ""
	if len(args) > 1 && args[0] == "-v" {
		name, args = args[1], args[2:]
	} else if len(args) > 0 && strings.HasPrefix(args[0], "-v") && len(args[0]) > 2 {
		name, args = args[0][2:], args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	out := formatted(args)
	if name != "" {
		base, _, _ := strings.Cut(name, "[")
		m.environment(base, out)
		m.set(base, out)
		return ""
	}
	m.print(out)
	return out
}

// formatted is the output of printf: the format is used again as long as
// there are arguments.
func formatted(args []string) string {
	if len(args) == 0 {
		return ""
	}
	format, rest := strings.NewReplacer("%q", "%s", "%Q", "%s").Replace(args[0]), args[1:]
	if strings.Contains(format, "%b") {
		format = strings.ReplaceAll(format, "%b", "%s")
		rest = slices.Clone(rest)
		for i, s := range rest {
			rest[i] = decodeEscapes(s, true)
		}
	}
	var b strings.Builder
	if wideFormat(format) {
		return opaque(strings.Join(args, ""))
	}
	for range maxLoop {
		if rest == nil {
			rest = []string{}
		}
		out, n, err := expand.Format(nil, format, rest)
		if err != nil {
			return opaque(strings.Join(args, ""))
		}
		b.WriteString(out)
		if n == 0 || n >= len(rest) {
			break
		}
		rest = rest[n:]
	}
	return b.String()
}

// wideFormat reports whether a format asks for padding without a limit.
func wideFormat(format string) bool {
	digits := 0
	for _, c := range format {
		if c < '0' || c > '9' {
			digits = 0
			continue
		}
		if digits++; digits > 3 {
			return strings.Contains(format, "%")
		}
	}
	return false
}

func (m *machine) setBuiltin(c command) string {
	if len(c.args) == 0 {
		m.r.hit("environment-dump", "set")
		return secret
	}
	for i, a := range c.args {
		if a.s == "--" || a.s == "-" {
			m.pos, m.foreign = c.rest(i+1), false
			return ""
		}
		if a.s == "" || a.s[0] != '-' && a.s[0] != '+' {
			if i > 0 && strings.HasSuffix(c.args[i-1].s, "o") {
				continue // the name of an option
			}
			m.pos, m.foreign = c.rest(i), false
			return ""
		}
	}
	return ""
}

func (m *machine) eval(c command) string {
	text := strings.Join(texts(c.args), " ")
	if strings.Contains(text, remote) {
		m.r.hit("remote-code", "eval")
	}
	if !known(text) {
		m.r.hit("opaque-code", "eval "+text)
	}
	return m.program(text)
}

func (m *machine) source(c command) string {
	ops := c.operands()
	if len(ops) == 0 {
		return ""
	}
	name := ops[0].s
	switch p := m.resolve(name); {
	case !known(name):
		if strings.Contains(name, remote) {
			m.r.hit("remote-code", name)
		}
		m.r.hit("unknown-code", "source "+name)
	case globIn(name) != "":
		m.r.hit("many-scripts", "source "+name)
	case m.hasFile(p):
		m.in = nil
		text := m.files[p]
		if text == unknown {
			m.r.hit("opaque-code", "source "+name)
		}
		return m.program(text)
	case strings.HasPrefix(p, "/dev/"):
		return m.nested(m.readFile(p))
	case secretPath(p) == High:
		m.r.hit("secret-loaded", name)
	}
	m.r.changes = true
	return unknown
}

func (m *machine) hasFile(p string) bool {
	_, ok := m.files[p]
	return ok
}

// read takes a line of the input, splits it and assigns it.
func (m *machine) read(c command) {
	line := unknown
	delim, hasDelim := c.value("d")
	whole := c.name != "read" || hasDelim && delim == ""
	switch {
	case !m.given():
	case whole:
		line = strings.TrimSuffix(m.stdin(), "\n")
	default:
		if m.in.pos >= len(m.in.text) {
			m.no = true
			return
		}
		line, _, _ = strings.Cut(m.in.text[m.in.pos:], "\n")
		m.in.pos = min(m.in.pos+len(line)+1, len(m.in.text))
	}
	if name, ok := c.value("a"); ok && c.name == "read" {
		m.set(name, m.splitLine(line, -1, c.has("r"))...)
		return
	}
	ops := c.operands("p", "d", "n", "N", "t", "u", "i", "a")
	if c.name != "read" {
		ops = c.operands("d", "n", "O", "s", "u", "C", "c")
	}
	if c.name != "read" {
		name := "MAPFILE"
		if len(ops) > 0 {
			name = ops[len(ops)-1].s
		}
		m.set(name, strings.Split(line, "\n")...)
		return
	}
	m.assignRead(ops, line, c.has("r"))
}

func (m *machine) assignRead(ops []arg, line string, raw bool) {
	if len(ops) == 0 {
		m.set("REPLY", line)
		return
	}
	fields := m.splitLine(line, len(ops), raw)
	for i, a := range ops {
		value := ""
		if i < len(fields) {
			value = fields[i]
		}
		if line == unknown {
			value = unknown
		}
		m.environment(a.s, value)
		m.set(a.s, value)
	}
}

func (m *machine) splitLine(line string, n int, raw bool) []string {
	cfg := &expand.Config{Env: expand.FuncEnviron(func(name string) string {
		if name != "IFS" {
			return ""
		}
		v, _ := m.get("IFS")
		return strings.Join(v, "")
	})}
	return expand.ReadFields(cfg, line, n, raw)
}

func (m *machine) alias(c command) string {
	for _, a := range c.operands() {
		name, text, ok := strings.Cut(a.s, "=")
		if !ok {
			continue
		}
		m.shadowAlias(name, text)
		m.aliases[name] = text
		calls := m.calls
		m.calls = append(append([]string(nil), calls...), "alias "+name)
		m.nested(text)
		m.calls = calls
	}
	return ""
}

// declareWords is declare or export when it runs through a wrapper.
func (m *machine) declareWords(c command) string {
	ops := c.operands()
	if len(ops) == 0 {
		m.r.hit("environment-dump", c.line())
		return secret
	}
	for _, a := range ops {
		if name, value, ok := strings.Cut(a.s, "="); ok {
			m.environment(name, value)
			m.set(name, value)
		}
	}
	return ""
}

func (m *machine) complete(c command) string {
	for _, o := range []string{"C", "F"} {
		if v, ok := c.value(o); ok {
			if o == "C" && c.name == "complete" {
				m.r.hit("program-runs", c.line())
			}
			m.nested(v)
		}
	}
	return unknown
}
