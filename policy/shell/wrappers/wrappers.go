// Package wrappers has the rules of programs that run the command in their
// arguments.
package wrappers

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/filter"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
)

// RuleOf is the rule of a program of the table, or of one with options that no
// table tells.
func RuleOf(program string) (walk.Rule, bool) {
	switch program {
	case "xargs", "gxargs":
		return xargs, true
	case "parallel":
		return parallel, true
	case "su", "sg", "newgrp", "sudoedit":
		return su, true
	case "tmux", "screen", "expect":
		return terminal, true
	case "script", "nix-shell", "capsh":
		return textOption, true
	}
	_, ok := known.Tables().Wraps[program]
	return wrapper, ok
}

// wrapper finds and follows the command of a program of the table of
// wrappers.
func wrapper(c *walk.Command) string {
	t := known.Tables().Wraps[c.Name]
	if onlyHelps(c, t) {
		return mark.Unknown
	}
	if t.Rule != "" {
		c.Hit(t.Rule)
	}
	out := ""
	if c.Is("strace", "ltrace") {
		tracer(c)
	} else if text, ok := c.Value("c", "command"); ok && c.Is("flock", "runuser", "unshare") {
		out = c.Nested(text)
	}
	skip, swallowed := t.Skip, -1
	for i := 0; i < len(c.List); i++ {
		switch s := c.At(i); {
		case s == "--":
			if i+1 < len(c.List) && skip == 0 {
				return out + c.Exec(c.List[i+1:])
			}
		case len(s) > 1 && s[0] == '-':
			out += splitString(c, i)
			if !argv.Takes(s, t.Takes) {
				continue
			}
			if i++; swallowed < 0 && walk.Dangerous(walk.ProgramName(c.At(i))) {
				swallowed = i
			}
		case assignsVariable(c, s):
			name, value, _ := strings.Cut(s, "=")
			walk.Pass(c.Walk, name, value)
		case skip > 0:
			skip--
		default:
			maybeSwallowed(c, swallowed)
			return out + wrapped(c, i)
		}
	}
	maybeSwallowed(c, swallowed)
	return out + bare(c)
}

// onlyHelps reports whether a wrapper says something of itself.
func onlyHelps(c *walk.Command, t known.Wrap) bool {
	if t.Rule == "privilege" {
		return c.Is("sudo") && len(c.List) == 1 && c.Exactly("-V", "--version", "--help", "-h")
	}
	return c.AsksHelp()
}

// assignsVariable reports whether a word before the command is a variable.
func assignsVariable(c *walk.Command, s string) bool {
	return c.Is("env", "sudo", "doas", "time") && (walk.IsAssignment(s) || strings.HasPrefix(s, "BASH_FUNC_"))
}

// maybeSwallowed looks at the value of an option that may be the command
// itself, in a version of the wrapper whose option has no value.
func maybeSwallowed(c *walk.Command, at int) {
	if at >= 0 {
		c.OnlyCritical(c.List[at:], c.Line())
	}
}

// wrapped runs the command at an argument. If an option before it was not
// known, that option's value may have been taken for the command: what
// follows is looked at too.
func wrapped(c *walk.Command, i int) string {
	out := c.Exec(c.List[i:])
	if text := c.At(i); i == len(c.List)-1 && strings.Contains(text, " ") { // some give it to a shell
		out += c.Nested(text)
	}
	if before := c.At(i - 1); len(before) > 1 && before[0] == '-' {
		for j := i + 1; j < min(len(c.List), i+3); j++ {
			if walk.Dangerous(walk.ProgramName(c.At(j))) {
				c.Exec(c.List[j:])
				break
			}
		}
	}
	return out
}

// tracer looks at the options with which a tracer runs another program or
// reads a running one.
func tracer(c *walk.Command) {
	if _, ok := c.Value("p", "attach"); ok {
		c.Hit("process-memory")
	}
}

// splitString follows the option of env that holds a command as one text.
func splitString(c *walk.Command, i int) string {
	s := c.At(i)
	if !c.Is("env") || strings.HasPrefix(s, "--") && !strings.HasPrefix(s, "--split-string") || !strings.Contains(s, "S") && !strings.HasPrefix(s, "--") {
		return ""
	}
	text, ok := c.Value("S", "split-string")
	if !ok {
		_, text, _ = strings.Cut(s, "S")
	}
	if text == "" {
		text = c.At(i + 1)
	}
	return c.Nested(text + " " + strings.Join(c.From(i+1).Texts(), " "))
}

// bare is a wrapper without a command: env prints the environment, sudo -i
// starts a shell.
func bare(c *walk.Command) string {
	switch c.Name {
	case "env":
		for _, a := range c.List {
			if !strings.HasPrefix(a.S, "-") && !walk.IsAssignment(a.S) {
				return ""
			}
		}
		c.Found.Hit("environment-dump", "env")
		return mark.Secret
	case "chroot", "nsenter", "unshare", "flock", "busybox":
		if c.Given() {
			return c.StdinProgram()
		}
	case "sudo", "doas":
		if c.Given() && c.Has("i", "s", "login", "shell") {
			return c.StdinProgram()
		}
	}
	return ""
}

func su(c *walk.Command) string {
	c.Hit("privilege")
	if text, ok := c.Value("c", "command"); ok {
		return c.Nested(text)
	}
	if c.Is("sg") && len(c.List) > 1 {
		return c.Nested(strings.Join(c.From(1).Texts(), " "))
	}
	if c.Given() {
		return c.StdinProgram()
	}
	return ""
}

// terminal is for programs that keep a terminal, and take a command as one
// text.
func terminal(c *walk.Command) string {
	for _, a := range c.List {
		if strings.Contains(a.S, " ") {
			c.Nested(a.S)
		}
	}
	for _, n := range []string{"c", "command", "run"} {
		if text, ok := c.Value(n); ok && c.Is("expect") {
			c.Nested(text)
		}
	}
	for i, a := range c.List {
		if walk.Dangerous(walk.ProgramName(a.S)) {
			c.Exec(c.List[i:])
			break
		}
	}
	return mark.Unknown
}

// textOption is for programs with an option that holds a command.
func textOption(c *walk.Command) string {
	if c.Is("nix-shell") && c.Has("p", "packages") {
		c.Hit("packages")
	}
	if c.Is("capsh") && (c.Exactly("--") || c.Says("--caps=", "--uid=")) {
		c.Hit("privilege")
	}
	for _, n := range []string{"c", "command", "run"} {
		if text, ok := c.Value(n); ok {
			c.Nested(text)
		}
	}
	return mark.Unknown
}

// xargs follows the command that xargs builds from its input.
func xargs(c *walk.Command) string {
	in, all := mark.Unknown, c.List
	start := all.Command("I", "n", "P", "L", "d", "a", "E", "s", "max-args", "max-procs", "delimiter", "arg-file", "replace", "max-lines", "max-chars", "process-slot-var")
	own := all
	if start >= 0 {
		own = all[:start]
	}
	if file, ok := own.Value("a", "arg-file"); ok {
		in = c.ReadFile(file)
	} else if c.Given() {
		in = c.Stdin()
	}
	repl, replaces := own.Value("I", "replace")
	if !replaces && own.Has("i") || repl == "" {
		replaces = replaces || own.Has("i")
		repl = "{}"
	}
	if start < 0 {
		return in
	}
	if procs, ok := own.Value("P", "max-procs"); ok && procs == "0" && c.Given() && endlessText(c.In.Text) {
		c.Hit("fork-bomb")
	}
	args := all[start:]
	var b strings.Builder
	if !mark.Known(in) && !replaces {
		b.WriteString(c.Exec(args)) // the input may be empty
	}
	for _, group := range inputGroups(own, in, replaces) {
		if !replaces {
			b.WriteString(c.Exec(append(slices.Clone(args), argv.Of(group...)...)))
			continue
		}
		filled := slices.Clone(args)
		for i, a := range filled {
			if strings.Contains(a.S, repl) {
				filled[i] = argv.Word{S: strings.ReplaceAll(a.S, repl, strings.Join(group, " "))}
			}
		}
		b.WriteString(c.Exec(filled))
	}
	return b.String()
}

// endlessText recognizes what the yes tool prints.
func endlessText(s string) bool { return len(s) > 2 && s[:len(s)/2] == s[len(s)/2:] }

// inputGroups splits the input the way xargs hands it out.
func inputGroups(own argv.List, in string, lines bool) [][]string {
	_, single := own.Value("n", "max-args")
	each := lines || single
	var words []string
	delim, ok := own.Value("d", "delimiter")
	switch {
	case own.Has("0", "null"):
		words = strings.FieldsFunc(in, func(r rune) bool { return r == '\n' || r == 0 })
	case ok:
		if delim = filter.Unescape(delim, false); delim == "" {
			delim = "\x00"
		}
		words = strings.Split(strings.TrimSuffix(in, delim), delim)
	case lines:
		words = strings.FieldsFunc(in, func(r rune) bool { return r == '\n' || r == 0 })
	default:
		each = false
		words = strings.Fields(strings.NewReplacer(`'`, "", `"`, "", `\`, "", "\x00", " ").Replace(in))
	}
	if !each || len(words) == 0 {
		return [][]string{words}
	}
	out := make([][]string, len(words))
	for i, s := range words {
		out[i] = []string{s}
	}
	return out
}

// parallel follows GNU parallel.
func parallel(c *walk.Command) string {
	args, items := c.List, []string(nil)
	if i := slices.IndexFunc(c.List, func(a argv.Word) bool { return strings.HasPrefix(a.S, ":::") }); i >= 0 {
		args, items = c.List[:i], append([]string{}, c.From(i+1).Texts()...)
	}
	if items == nil {
		items = []string{mark.Unknown}
		if c.Given() {
			items = strings.Split(strings.TrimSuffix(c.Stdin(), "\n"), "\n")
		}
	}
	text := ""
	if start := args.Command("j", "jobs", "a", "I", "n", "N", "S", "sshlogin", "joblog", "timeout", "colsep", "C", "d"); start >= 0 {
		text = strings.Join(args[start:].Texts(), " ")
	}
	for _, item := range items {
		switch {
		case text == "":
			c.Nested(item)
		case strings.Contains(text, "{}"):
			c.Nested(strings.ReplaceAll(text, "{}", item))
		case mark.Known(item):
			c.Nested(text + " " + item)
		default:
			c.Exec(append(argv.Of(strings.Fields(text)...), argv.Word{S: item}))
		}
	}
	return mark.Unknown
}
