package shell

import (
	"slices"
	"strings"
)

func wrapperOf(program string) (rule, bool) {
	switch program {
	case "xargs", "gxargs":
		return xargs, true
	case "parallel":
		return parallel, true
	case "su", "sg", "newgrp", "sudoedit":
		return su, true
	}
	return wrapper, wraps(program)
}

// wrapper finds and follows the command of a program in the table of wrappers. The value
// of an option may be the command itself, in versions in which that option has no value.
func wrapper(c *command) string {
	t := tables().Wraps[c.name]
	if t.Rule != "privilege" && c.asksHelp() ||
		c.is("sudo") && len(c.list) == 1 && c.exactly("-V", "--version", "--help", "-h") {
		return unknown
	}
	if t.Rule != "" {
		c.hit(t.Rule)
	}
	if _, ok := c.option("p", "attach"); ok && c.is("strace", "ltrace") {
		c.hit("process-memory")
	}
	out, skip := "", t.Skip
	if text, ok := c.option("c", "command"); ok && c.is("flock", "runuser", "unshare") {
		out = c.nested(text)
	}
	for i := 0; i < len(c.list); i++ {
		switch s := c.at(i); {
		case s == "--":
			if i+1 < len(c.list) && skip == 0 {
				return out + c.exec(c.list[i+1:])
			}
		case len(s) > 1 && s[0] == '-':
			if c.is("env") && (strings.HasPrefix(s, "--split-string") || s[1] != '-' && strings.Contains(s, "S")) {
				text, _ := c.option("S", "split-string")
				return c.nested(text + " " + strings.Join(c.from(i+1).words(), " "))
			}
			if !takesValue(s, t.Takes) {
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
			return out + wrapped(c, i)
		}
	}
	return out + bare(c)
}

// wrapped runs the command at index i. If the option before it is unknown, that may be
// the option's value, so the next arguments are checked too.
func wrapped(c *command, i int) string {
	out := c.exec(c.list[i:])
	if text := c.at(i); i == len(c.list)-1 && strings.Contains(text, " ") { // some pass it to a shell
		out += c.nested(text)
	}
	if strings.HasPrefix(c.at(i-1), "-") {
		for j := i + 1; j < min(len(c.list), i+3); j++ {
			if dangerous(programName(c.at(j))) {
				c.exec(c.list[j:])
				break
			}
		}
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
	case c.given() && (c.is("chroot", "nsenter", "unshare", "flock", "busybox") || c.is("sudo", "doas") && c.has("i", "s", "login", "shell")):
		return c.stdinProgram()
	}
	return ""
}

func su(c *command) string {
	c.hit("privilege")
	if text, ok := c.option("c", "command"); ok {
		return c.nested(text)
	}
	if c.is("sg") && len(c.list) > 1 {
		return c.nested(strings.Join(c.from(1).words(), " "))
	}
	return c.nested(c.givenText())
}

// xargs follows the command that xargs builds from its input.
func xargs(c *command) string {
	in, start := unknown, c.command(
		"I", "n", "P", "L", "d", "a", "E", "s", "max-args", "max-procs", "delimiter", "arg-file", "replace",
		"max-lines", "max-chars", "process-slot-var",
	)
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
	var items []string
	if _, ok := own.option("d", "delimiter"); replaces || ok || own.has("0", "null") {
		items = strings.FieldsFunc(
			in,
			func(r rune) bool { return r == '\n' || r == 0 || ok && !replaces && strings.ContainsRune(":,; ", r) },
		)
	} else {
		items = strings.Fields(strings.NewReplacer(`'`, "", `"`, "", `\`, "", "\x00", " ").Replace(in))
	}
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

// parallel follows GNU parallel.
func parallel(c *command) string {
	args, items := c.list, strings.Split(strings.TrimSuffix(c.stdin(), "\n"), "\n")
	if i := slices.IndexFunc(c.list, func(a arg) bool { return strings.HasPrefix(a.s, ":::") }); i >= 0 {
		args, items = c.list[:i], c.from(i+1).words()
	}
	text := ""
	if start := args.command("j", "jobs", "a", "I", "n", "N", "S", "sshlogin", "joblog", "timeout", "colsep", "C", "d"); start >= 0 {
		text = strings.Join(args[start:].words(), " ")
	}
	for _, item := range items {
		if text != "" && !strings.Contains(text, "{}") {
			item = text + " " + item
		} else if text != "" {
			item = strings.ReplaceAll(text, "{}", item)
		}
		c.exec(argsOf(strings.Fields(item)...))
		if isKnown(item) {
			c.nested(item)
		}
	}
	return unknown
}
