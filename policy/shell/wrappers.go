package shell

import (
	"slices"
	"strconv"
	"strings"
)

// wrapper finds and follows the command of a program in the table of wrappers. The value
// of an option may be the command itself, in versions in which that option has no value.
func wrapper(c *command) string {
	r, _ := rowOf("wrap", c.name)
	if c.asksHelp() {
		return unknown
	}
	c.rated()
	if text, ok := c.option("S", "split-string"); ok && c.is("env") {
		return c.nested(text + " " + strings.Join(c.operandsAfter("S", "split-string").words(), " "))
	}
	skip, _ := strconv.Atoi(strings.Join(r[1], ""))
	for i := 0; i < len(c.list); i++ {
		switch s := c.at(i); {
		case s == "--":
			if i+1 < len(c.list) && skip == 0 {
				return c.exec(c.list[i+1:])
			}
		case len(s) > 1 && s[0] == '-':
			if !takesValue(s, r[0]) {
				continue
			}
			if i++; dangerous(programName(c.at(i))) {
				c.onlyCritical(c.list[i:], c.line())
			}
		case c.is("env", "sudo", "doas", "time", "cross-env") && (isAssignment(s) || strings.HasPrefix(s, "BASH_FUNC_")):
			name, value, _ := strings.Cut(s, "=")
			pass(c.walk, name, value)
		case skip > 0:
			skip--
		default:
			return wrapped(c, i)
		}
	}
	return bare(c)
}

// wrapped runs the command at index i. If the option before it is unknown, that may be
// the option's value, so the next arguments are checked too.
func wrapped(c *command, i int) string {
	out := c.exec(c.list[i:])
	if text := c.at(i); i == len(c.list)-1 && strings.Contains(text, " ") { // some pass it to a shell
		out += c.nested(text)
	}
	if strings.HasPrefix(c.at(i-1), "-") {
		mayWrap(c.with("", c.from(i+1)))
	}
	return out
}

// bare handles a wrapper without a command: env prints the environment, sudo -i starts a
// shell.
func bare(c *command) string {
	switch {
	case c.is("env"):
		c.hit("environment-dump")
		return secret
	case c.given() && (c.is("chroot", "nsenter", "unshare", "flock", "busybox", "su", "sg", "newgrp") || c.is("sudo", "doas") && c.has("i", "s", "login", "shell")):
		return c.stdinProgram()
	}
	return ""
}

// xargs follows the command that xargs builds from its input.
func xargs(c *command) string {
	r, _ := rowOf("takes", c.name)
	in, start := unknown, c.command(r[0]...)
	own := c.list
	if start >= 0 {
		own = c.list[:start]
	}
	if file, ok := own.option("a", "arg-file"); ok {
		in = c.readFile(file)
	} else if c.given() {
		in = c.stdin()
	}
	if start < 0 {
		return in
	}
	args := c.list[start:]
	place, replaces := own.option("I", "replace")
	if replaces = replaces || own.has("i"); place == "" {
		place = "{}"
	}
	if procs, _ := own.option("P", "max-procs"); procs == "0" && strings.HasPrefix(in, "y\ny\n") {
		c.hit("fork-bomb")
	}
	ends, delimited := own.option("d", "delimiter")
	if !delimited && !replaces && !own.has("0", "null") {
		ends = " \t'\"\\"
	}
	items := strings.FieldsFunc(in, func(r rune) bool {
		return r == '\n' || r == 0 || ends != `\n` && strings.ContainsRune(ends, r)
	})
	if !replaces {
		out := ""
		if !isKnown(in) {
			out = c.exec(args) // runs once even if the input is empty
		}
		return out + c.exec(append(slices.Clone(args), argsOf(items...)...))
	}
	var b strings.Builder
	for _, item := range items {
		b.WriteString(c.exec(filled(args, place, item)))
	}
	return b.String()
}

func filled(args list, place, text string) list {
	out := slices.Clone(args)
	for i, a := range out {
		if strings.Contains(a.s, place) {
			out[i] = arg{s: strings.ReplaceAll(a.s, place, text)}
		}
	}
	return out
}

// parallel follows GNU parallel, which runs its command for each line of its input, or for
// each word behind ":::".
func parallel(c *command) string {
	args, items := c.list, strings.Split(strings.TrimSuffix(c.stdin(), "\n"), "\n")
	if i := slices.IndexFunc(c.list, func(a arg) bool { return strings.HasPrefix(a.s, ":::") }); i >= 0 {
		args, items = c.list[:i], c.from(i+1).words()
	}
	r, _ := rowOf("takes", c.name)
	text := ""
	if at := args.command(r[0]...); at >= 0 {
		text = strings.Join(args[at:].words(), " ")
	}
	if !strings.Contains(text, "{}") {
		text += " {}"
	}
	for _, item := range items {
		line := strings.ReplaceAll(text, "{}", item)
		c.exec(argsOf(strings.Fields(line)...))
		if isKnown(line) {
			c.nested(line)
		}
	}
	return unknown
}
