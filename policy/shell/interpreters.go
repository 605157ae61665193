package shell

import (
	"slices"
	"strings"
)

// runShell follows a shell: its program text, its script file, or its input.
func runShell(c *command) string {
	if c.asksHelp() {
		return unknown
	}
	for _, file := range c.options("rcfile", "init-file") {
		shellScript(c, argsOf(file))
	}
	args := slices.Clone(c.list)
	for i, a := range args { // options are also switched off
		if !startsWith(a.s, "-", "+") || strings.Contains(a.s, " ") {
			break
		}
		if rest, off := strings.CutPrefix(a.s, "+"); off {
			args[i].s = "-x" + strings.Trim(rest, "ncs")
		}
	}
	at := args.command("o", "O", "rcfile", "init-file")
	ops, letters := args.from(at), ""
	if at < 0 {
		at, ops = len(args), nil
	}
	for _, a := range args[:at] {
		if strings.HasPrefix(a.s, "-") && !isKnown(a.s) || a.s == "--command" {
			letters += "c"
		} else if strings.HasPrefix(a.s, "-") && !strings.HasPrefix(a.s, "--") {
			letters += a.s
		}
	}
	switch {
	case strings.Contains(letters, "c") && len(ops) > 0:
		return shellText(c, ops)
	case strings.Contains(letters, "n"):
		return ""
	case len(ops) > 0 && !strings.Contains(letters, "s") && ops[0].s != "-":
		return shellScript(c, ops)
	case c.given():
		if ops.at(0) == "-" {
			ops = ops[1:]
		}
		return c.withPositions(ops, len(ops) == 0, c.stdinProgram)
	case strings.Contains(letters, "i"):
		return shellSession
	}
	return ""
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
	if ops[0].pat != "" {
		c.hit("unknown-code")
	} else if text, ok := c.script(ops[0].s); ok {
		c.in = &input{text: text}
		return c.stdinProgram()
	}
	return unknown
}

// runsCode follows a program file in another language.
func (c *command) runsCode(name string) {
	if text, ok := c.script(name); ok {
		scanCode(c, text)
	}
}

// language follows the interpreter of another language.
func language(c *command) string {
	if c.asksHelp() {
		return unknown
	}
	if c.is("bun", "deno") && len(c.list) > 0 && !c.exactly("run", "eval", "-e", "-p", "--eval", "test", "-") &&
		!strings.Contains(c.at(0), ".") {
		return taskRunner(c)
	}
	c.rated()
	if mod, ok := c.option("m"); ok && (c.is("python") || strings.HasPrefix(c.name, "pypy")) {
		return pythonModule(c, mod)
	}
	args := c.list
	if end := c.index("--"); end >= 0 {
		args = args[:end]
	}
	options, _ := rowOf("code", c.name)
	if texts := args.options(options[0]...); len(texts) > 0 {
		return scanCode(c, strings.Join(texts, "\n")) + c.passedOn()
	}
	ops := c.operands()
	if c.is("deno", "bun", "crystal") && ops.at(0) == "eval" {
		return scanCode(c, ops.at(1)) + unknown
	}
	if c.is("deno", "bun") && oneOf(ops.at(0), "run", "test", "task") {
		ops = ops[1:]
	}
	if name := ops.at(0); name != "" && name != "-" {
		if r := c.rules[programName(name)]; r != nil { // a tool of the language
			r(c.with(programName(name), c.from(c.index(name)+1)))
		}
		c.runsCode(name)
	} else if c.given() {
		return unknown + scanCode(c, c.stdin())
	}
	return unknown
}

// pythonModule follows a module that python runs as a program.
func pythonModule(c *command, mod string) string {
	at := slices.IndexFunc(c.list, func(a arg) bool { return strings.HasSuffix(a.s, mod) })
	m := c.with(mod, c.from(at+1))
	if inList("code-modules", mod) {
		scanCode(c.with("python", nil), strings.Join(m.settings(), "\n"))
	}
	if r := c.rules[mod]; r != nil {
		return r(m)
	}
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
	c.rated()
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
