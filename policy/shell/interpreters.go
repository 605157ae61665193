package shell

import (
	"slices"
	"strings"
)

var shellTakes = []string{"o", "O", "rcfile", "init-file"}

// runShell follows a shell: its program text, its script file, or its input.
func runShell(c *command) string {
	if c.asksHelp() {
		return unknown
	}
	for _, o := range shellTakes[2:] {
		if file, ok := c.option(o); ok {
			shellScript(c, argsOf(file))
		}
	}
	ops, letters := c.operandsAfter(shellTakes...), shellLetters(c)
	for len(ops) > 1 && len(ops[0].s) > 1 && ops[0].s[0] == '+' {
		ops = ops[1:]
	}
	program := strings.Contains(letters, "c") || c.exactly("--command") ||
		slices.ContainsFunc(c.list, func(a arg) bool { return strings.HasPrefix(a.s, "-") && !isKnown(a.s) })
	switch {
	case program && len(ops) > 0:
		return shellText(c, ops)
	case strings.Contains(letters, "n") && !program:
		return ""
	case len(ops) > 0 && !strings.Contains(letters, "s") && ops[0].s != "-":
		return shellScript(c, ops)
	case c.given():
		if ops.at(0) == "-" {
			ops = ops[1:]
		}
		return c.withPositions(ops, len(ops) == 0, c.stdinProgram)
	case c.has("i"):
		return shellSession
	}
	return ""
}

func shellLetters(c *command) string {
	letters := ""
	for i := 0; i < len(c.list); i++ {
		s := c.at(i)
		if len(s) < 2 || s[0] != '-' && s[0] != '+' || s == "--" {
			break
		}
		if takesValue(s, shellTakes) || s == "+o" || s == "+O" {
			i++
		} else if s[1] != '-' {
			letters += s
		}
	}
	return letters
}

func shellText(c *command, ops list) string {
	zero := c.zero
	if len(ops) > 1 {
		c.zero = ops[1].s
	}
	if c.is("fish", "nu", "elvish", "xonsh") { // have another syntax
		c.found.unlisted(c.name)
	}
	out := c.withPositions(ops.from(2), len(ops) < 3, func() string { return c.nested(ops[0].s) })
	c.zero = zero
	return out
}

func shellScript(c *command, ops list) string {
	name := ops[0].s
	switch p := c.resolve(name); {
	case strings.Contains(name, remote), !isKnown(name) && c.downloaded(p):
		c.hit("remote-code")
	case !isKnown(name) || ops[0].pat != "":
		c.hit("unknown-code")
	case globIn(name) != "":
		c.hit("many-scripts")
	case startsWith(p, "/dev/", "/proc/"):
		c.in = &input{text: c.readFile(name)}
		return c.stdinProgram()
	default:
		c.runsFile(p)
	}
	return unknown
}

// language follows the interpreter of another language.
func language(c *command) string {
	if c.is("bun", "deno") && len(c.list) > 0 && !c.exactly("run", "eval", "-e", "-p", "--eval", "test", "-") &&
		!strings.Contains(c.at(0), ".") {
		if c.is("bun") {
			return packageTool(c)
		}
		return tabled(c)
	}
	if address, ok := c.option("S"); ok && c.is("php") {
		if !local(address) || strings.HasPrefix(address, "0.0.0.0") {
			c.found.network = true
			c.hit("listens")
		}
		return unknown
	}
	if c.asksHelp() || len(c.list) == 1 && c.exactly("--version", "-V") {
		return unknown
	}
	if mod, ok := c.option("m"); ok && (c.is("python") || strings.HasPrefix(c.name, "pypy")) {
		return pythonModule(c, mod)
	}
	if c.is("perl", "ruby") && c.has("i") {
		for _, a := range c.operandsAfter("e", "E", "M", "I", "r") {
			c.write(a.s)
		}
	}
	if v, ok := c.option("r"); ok && c.is("ruby") && strings.Contains(v, "/") ||
		c.is("php") && c.says("auto_prepend", "auto_append", "extension=") {
		c.hit("program-runs")
	}
	if code, ok := inlineCode(c); ok {
		return scanCode(c, code) + c.passedOn()
	}
	if at := c.index("eval"); c.is("deno", "bun", "crystal") && at >= 0 && at+1 < len(c.list) {
		return scanCode(c, c.at(at+1)) + unknown
	}
	ops := c.operandsAfter("W", "X", "r", "I", "l", "d", "require", "import", "loader", "C")
	if len(ops) > 1 && strings.HasSuffix(ops[0].s, "setup.py") && c.exactly("upload", "register") {
		c.hit("publish")
	}
	if c.is("deno", "bun") && oneOf(ops.at(0), "run", "test", "task") {
		ops = ops[1:]
	}
	if name := ops.at(0); name != "" && name != "-" {
		if c.is("php", "python", "ruby") {
			databaseTask(c.with(programName(name), c.from(c.index(name)+1)))
		}
		codeFile(c, name)
	} else if c.given() {
		return unknown + scanCode(c, c.stdin())
	}
	return unknown
}

func inlineCode(c *command) (string, bool) {
	var texts []string
	args := c.list
	if end := c.index("--"); end >= 0 {
		args = args[:end]
	}
	for i, a := range args {
		for _, n := range tables().Code[c.name] {
			if text, ok := codeOption(args.from(i+1), a.s, n); ok {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}

func codeOption(next list, s, name string) (string, bool) {
	switch {
	case len(name) > 1 && (s == "--"+name || s == "-"+name):
		return next.at(0), len(next) > 0
	case len(name) > 1:
		return strings.CutPrefix(s, "--"+name+"=")
	case len(s) < 2 || s[0] != '-':
		return "", false
	case s[1] != '-' && strings.HasSuffix(s, name):
		return next.at(0), len(next) > 0
	}
	return s[2:], strings.HasPrefix(s, "-"+name) && len(s) > 2
}

func pythonModule(c *command, mod string) string {
	at := slices.IndexFunc(c.list, func(a arg) bool { return strings.HasPrefix(a.s, "-m") })
	if c.at(at) == "-m" {
		at++
	}
	m := c.with(mod, c.from(at+1))
	switch mod {
	case "http.server", "SimpleHTTPServer", "smtpd", "ftplib", "telnetlib", "pyftpdlib":
		c.found.network = true
		if v, ok := m.option("b", "bind"); !ok || v == "0.0.0.0" || !local(v) {
			c.hit("listens")
		}
	case "pip", "twine", "poetry", "build", "pipx", "uv", "hatch", "flit", "conda":
		return ruleOf(m)(m)
	case "base64":
		return convertText(m, c.stdin())
	case "timeit", "trace", "pdb", "cProfile", "profile", "runpy":
		for _, text := range m.settings() {
			scanCode(c.with("python", nil), text)
		}
	}
	return unknown
}

func commandTexts(c *command) string {
	for _, a := range c.list {
		if strings.Contains(a.s, " ") {
			c.nested(a.s)
		}
	}
	if at := slices.IndexFunc(c.list, func(a arg) bool { return dangerous(programName(a.s)) }); at >= 0 {
		c.exec(c.list[at:])
	}
	c.mayRun([]string{c.waiting()})
	return unknown
}

// scriptableTool handles editors, debuggers and similar programs. Their commands and input can
// run programs after a special sign.
func scriptableTool(c *command) string {
	args := c.list
	if at := c.index("--args"); at >= 0 {
		c.exec(c.list[at+1:])
		args = c.list[:at]
	}
	if c.exactly("-p", "--pid", "attach") && c.is("gdb", "lldb") {
		c.hit("process-memory")
	}
	if c.is("ed", "ex") {
		for _, a := range c.operandsAfter("c", "cmd", "u") {
			c.write(a.s)
		}
	}
	c.mayRun(c.settings())
	text := strings.Join(args.words(), "\n") + "\n" + c.waiting()
	if strings.Contains(text, "!") || c.is("emacs") && strings.Contains(text, "(") || holds(text, "shell", "python ", "py ",
		"script ", "execute(", "pipe ", "preview=", "system(", "syscmd(", "call-process", "-P", "--pager=", "--html=", "-H") {
		c.hit("program-runs")
		c.mayRun(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("!\n()'\"=", r) }))
	}
	for s := range strings.SplitSeq(text, "\n") {
		cmd, file, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(s), "+:"), " ")
		if ok && oneOf(strings.TrimRight(cmd, "!"), "w", "wq", "x", "write", "saveas", "sav", "up", "update") {
			c.write(strings.TrimSpace(file))
		}
	}
	return unknown
}
