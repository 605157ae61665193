package shell

import "strings"

// has reports whether an option is given: a single letter also inside a
// cluster such as -rf, a long name also shortened or with a value.
func (c command) has(names ...string) bool {
	for _, a := range c.args {
		if a.s == "--" {
			return false
		}
		for _, n := range names {
			if isOption(a.s, n) {
				return true
			}
		}
	}
	return false
}

func isOption(word, name string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	if len(name) == 1 {
		return word[1] != '-' && strings.Contains(word[1:], name)
	}
	long := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
	long, _, _ = strings.Cut(long, "=")
	return long == name || len(long) >= 4 && strings.HasPrefix(word, "--") && strings.HasPrefix(name, long)
}

// exactly reports whether one of the words is an argument as it stands.
func (c command) exactly(words ...string) bool {
	for _, a := range c.args {
		for _, w := range words {
			if a.s == w {
				return true
			}
		}
	}
	return false
}

// value is the value of an option: -o value, -ovalue, --opt value or
// --opt=value.
func (c command) value(names ...string) (string, bool) {
	for i, a := range c.args {
		for _, n := range names {
			dashed := "-" + n
			if len(n) > 1 {
				dashed = "--" + n
			}
			switch {
			case a.s == dashed || len(n) > 1 && a.s == "-"+n:
				if i+1 < len(c.args) {
					return c.args[i+1].s, true
				}
			case len(n) > 1 && strings.HasPrefix(a.s, dashed+"="):
				return a.s[len(dashed)+1:], true
			case len(n) == 1 && strings.HasPrefix(a.s, dashed) && len(a.s) > 2 && a.s[1] != '-':
				return a.s[2:], true
			case len(n) == 1 && len(a.s) > 2 && a.s[0] == '-' && a.s[1] != '-':
				if v, ok := c.clustered(i, n); ok {
					return v, true
				}
			}
		}
	}
	return "", false
}

// clustered is the value of a letter inside a cluster such as -qO.
func (c command) clustered(i int, letter string) (string, bool) {
	before, after, ok := strings.Cut(c.args[i].s[1:], letter)
	if !ok || len(before) > 4 || strings.Trim(before, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return "", false
	}
	if after == "" && i+1 < len(c.args) {
		return c.args[i+1].s, true
	}
	if after != "" && (after[0] < 'A' || after[0] > 'z') {
		return after, true
	}
	return "", false
}

// operands are the arguments that are not options. Options in takes have a
// value of their own in the next argument.
func (c command) operands(takes ...string) []arg {
	var out []arg
	for i := 0; i < len(c.args); i++ {
		s := c.args[i].s
		switch {
		case s == "--":
			return append(out, c.args[i+1:]...)
		case len(s) < 2 || s[0] != '-':
			out = append(out, c.args[i])
		case takesValue(s, takes):
			i++
		}
	}
	return out
}

func takesValue(word string, takes []string) bool {
	for _, t := range takes {
		if len(t) == 1 {
			if word[1] != '-' && strings.HasSuffix(word, t) && !strings.Contains(word[1:len(word)-1], t) {
				return true
			}
			continue
		}
		if word == "--"+t || word == "-"+t {
			return true
		}
	}
	return false
}

// line is the command as one text, for reasons.
func (c command) line() string {
	if c.text != "" {
		return c.text
	}
	words := append([]string{c.name}, texts(c.args)...)
	return strings.Join(words, " ")
}

// rest is the text of the arguments from i on.
func (c command) rest(i int) []string {
	if i >= len(c.args) {
		return nil
	}
	return texts(c.args[i:])
}

// asksHelp reports whether a command only prints its help or its version.
func (c command) asksHelp() bool {
	return len(c.args) == 1 && c.exactly("--help", "-h", "--version", "-V", "help", "version") ||
		len(c.args) > 0 && len(c.args) <= c.helpLimit() && c.args[len(c.args)-1].s == "--help"
}

// helpLimit is how many arguments a command may have when the last asks for
// help: after a program text or a command, that is an argument of theirs.
func (c command) helpLimit() int {
	switch c.name {
	case "python", "pypy", "pypy3", "perl", "ruby", "node", "nodejs", "php", "lua", "deno", "bun", "pwsh", "powershell", "xargs", "parallel", "su", "ssh", "watch", "script",
		"find", "awk", "gawk", "sed", "tar", "vim", "vi", "ex", "emacs", "gdb", "at", "eval", "osascript", "tclsh", "Rscript", "R":
		return 1
	case "docker", "podman", "nerdctl", "kubectl", "oc", "npx", "npm", "git":
		return 3
	}
	if isShell(c.name) || wrapsCommand(c.name) {
		return 1
	}
	if c.exactly("--") {
		return 0
	}
	return len(c.args)
}
