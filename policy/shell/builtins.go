package shell

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/code"
)

// builtin handles shell builtins without output.
func builtin(c *command) string {
	c.rated()
	switch c.name {
	case "test", "[", "let":
		for _, text := range c.words() {
			c.nameRuns(text)
		}
	case "cd", "pushd":
		dir := "~"
		if to := c.operandsAfter(); to.at(0) == "-" {
			dir = "."
		} else if len(to) > 0 {
			dir = c.resolve(to[0].s)
		}
		c.set("PWD", dir)
	case "popd":
		c.set("PWD", ".")
	case "shift":
		n := 1
		if len(c.list) > 0 {
			n, _ = strconv.Atoi(c.at(0))
		}
		if n >= 0 && n <= len(c.pos) {
			c.pos = c.pos[n:]
		}
	case "unset":
		for _, a := range c.operandsAfter() {
			c.nameRuns(a.s)
			delete(c.vars, a.s)
		}
	}
	return ""
}

func echo(c *command) string {
	words, newline, decode := c.words(), "\n", false
	for len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' && strings.Trim(words[0][1:], "neE") == "" {
		if strings.Contains(words[0], "n") {
			newline = ""
		}
		decode = decode || strings.Contains(words[0], "e")
		words = words[1:]
	}
	out := strings.Join(words, " ")
	if decode {
		out = code.Unescape(out)
	}
	prints(c, out)
	return out + newline
}

func prints(c *command, out string) {
	c.found.step(len(out))
	if !c.quiet && strings.Contains(out, secret) {
		c.found.hit("secret-shown", out)
	}
	if holds(out, "::set-env", "::add-path", "::stop-commands", "##vso[") {
		c.found.hit("runner-command", out)
	}
}

// printfBuiltin computes the output of printf, or stores it if -v is given.
func printfBuiltin(c *command) string {
	args, name := c.words(), ""
	if v, ok := c.option("v"); ok && strings.HasPrefix(c.at(0), "-v") {
		name, args = v, args[slices.Index(args, v)+1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	out := formatted(args)
	if name != "" {
		c.assignText(name, out)
		return ""
	}
	prints(c, out)
	return out
}

// formatted returns the output of printf for formats of %s alone. The format is repeated
// until all arguments are used.
func formatted(args []string) string {
	if len(args) == 0 {
		return ""
	}
	parts := strings.Split(code.Unescape(strings.NewReplacer("%b", "%s", "%q", "%s").Replace(args[0])), "%s")
	if strings.Contains(strings.Join(parts, ""), "%") {
		return opaqueMarks(strings.Join(args, ""))
	}
	var b strings.Builder
	rest := args[1:]
	for range maxItems {
		for i, part := range parts {
			b.WriteString(part)
			if i == len(parts)-1 || len(rest) == 0 {
				continue
			}
			if strings.Contains(args[0], "%b") {
				b.WriteString(code.Unescape(rest[0]))
			} else {
				b.WriteString(rest[0])
			}
			rest = rest[1:]
		}
		if len(rest) == 0 || len(parts) == 1 {
			break
		}
	}
	return b.String()
}

func setBuiltin(c *command) string {
	if len(c.list) == 0 {
		c.hit("environment-dump")
		return secret
	}
	for i, a := range c.list {
		switch {
		case a.s == "--" || a.s == "-":
			c.pos, c.foreign = c.from(i+1).words(), false
			return ""
		case a.s != "" && (a.s[0] == '-' || a.s[0] == '+'):
			if strings.Contains(a.s, "a") && !strings.HasPrefix(a.s, "--") || c.at(i+1) == "allexport" {
				c.exports = a.s[0] == '-'
			}
		case i > 0 && strings.HasSuffix(c.at(i-1), "o"): // an option name
		default:
			c.pos, c.foreign = c.from(i).words(), false
			return ""
		}
	}
	return ""
}

func eval(c *command) string {
	text := strings.Join(c.words(), " ")
	c.rateText(text)
	return c.program(text)
}

func source(c *command) string {
	c.found.changes = true
	if ops := c.operandsAfter(); len(ops) > 0 {
		if text, ok := c.script(ops[0].s); ok {
			return c.nested(text)
		}
	}
	return unknown
}

func trap(c *command) string {
	switch ops := c.operandsAfter(); {
	case len(ops) == 2 && oneOf(ops[1].s, "EXIT", "0"): // with the variables' values at exit
		c.atExit = append(slices.Clone(c.atExit), ops[0].s)
	case len(ops) > 0:
		c.nested(ops[0].s)
	}
	return ""
}

func alias(c *command) string {
	for _, a := range c.operandsAfter() {
		name, text, ok := strings.Cut(a.s, "=")
		if !ok {
			continue
		}
		if shadows(name, text) {
			c.hit("shadow")
		}
		c.aliases[name] = text
		calls := c.calls
		c.calls = append(slices.Clone(calls), "alias "+name)
		c.nested(text)
		c.calls = calls
	}
	return ""
}

// shadows reports whether a function or an alias takes the place of a program that others
// rely on, without running it.
func shadows(name, body string) bool {
	return inList("shadowed", name) && !slices.ContainsFunc(strings.FieldsFunc(body, func(r rune) bool {
		return strings.ContainsRune(" \t\n;{}()", r)
	}), func(w string) bool { return programName(w) == name })
}

// everyProcess represents the ids of all processes.
const everyProcess = "%all"

// processes returns the ids of all processes, or unknown ids if the command selects some.
func processes(c *command) string {
	pattern := strings.Trim(c.operands().at(0), "^.*$+ ")
	if c.is("pidof") || c.is("pgrep") && pattern != "" || c.has("C", "p", "ppid", "pid") || c.exactly("-u", "-U") {
		return unknown
	}
	return everyProcess + unknown
}

func pwd(c *command) string {
	v, _ := c.get("PWD")
	return strings.Join(v, "") + "\n"
}

// printenv prints the environment, or some of its variables.
func printenv(c *command) string {
	ops := c.operandsAfter()
	if len(ops) == 0 && !c.asksHelp() {
		c.hit("environment-dump")
		return secret
	}
	for _, a := range ops {
		if secretName(a.s) {
			c.hit("secret-shown")
			return secret + unknown
		}
	}
	return unknown
}

// commandBuiltin runs a command, ignoring functions and aliases of its name.
func commandBuiltin(c *command) string {
	for i, a := range c.list {
		switch {
		case a.s == "--" || a.s == "-p":
		case len(a.s) > 1 && a.s[0] == '-' && strings.Trim(a.s[1:], "pvV") == "":
			return unknown
		default:
			fn, text := c.funcs[a.s], c.aliases[a.s]
			delete(c.funcs, a.s)
			delete(c.aliases, a.s)
			out := c.exec(c.list[i:])
			if fn != nil {
				c.funcs[a.s] = fn
			}
			if text != "" {
				c.aliases[a.s] = text
			}
			return out
		}
	}
	return ""
}

// readBuiltin reads the input into variables. The first known word goes to the first
// variable, the rest to the last.
func readBuiltin(c *command) string {
	text, ops := strings.TrimSpace(c.givenText()), c.operands()
	first, _, _ := strings.Cut(text, "\n")
	if !c.given() || c.exactly("-u") || !c.is("read") || !isKnown(first) {
		first = unknown
	}
	if !c.given() || c.exactly("-u") || !isKnown(text) {
		text = first + of(text)
	}
	switch {
	case !c.is("read"):
		c.set(cmp.Or(ops.at(len(ops)-1), "MAPFILE"), strings.Split(text, "\n")...)
		return ""
	case c.has("a"):
		c.set(ops.at(0), strings.Fields(text)...)
		return ""
	case len(ops) == 0:
		ops = argsOf("REPLY")
	}
	for i, a := range ops {
		value := text
		if first, rest, _ := strings.Cut(text, " "); i < len(ops)-1 && isKnown(text) {
			value, text = first, rest
		}
		c.assignText(a.s, value)
	}
	return ""
}
