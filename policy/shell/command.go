package shell

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/mark"
)

// command is a simple command after expansion, and the walk that met it.
type command struct {
	*walk
	argv.List
	name string // without its directory
	path string // as written
	text string // all of it, if it is long
}

// with is the same program with other arguments.
func (c *command) with(name string, args argv.List) *command {
	return &command{walk: c.walk, List: args, name: name, path: name}
}

// line is the command as one text, for reasons.
func (c *command) line() string {
	if c.text != "" {
		return c.text
	}
	return strings.Join(append([]string{c.name}, c.Texts()...), " ")
}

// is reports whether the program has one of the names.
func (c *command) is(names ...string) bool { return oneOf(c.name, names...) }

func oneOf(s string, words ...string) bool {
	for _, w := range words {
		if s == w {
			return true
		}
	}
	return false
}

// says reports whether the command holds one of the texts.
func (c *command) says(texts ...string) bool {
	line := c.line()
	for _, t := range texts {
		if strings.Contains(line, t) {
			return true
		}
	}
	return false
}

// holdsSecret reports whether an argument is or holds a credential.
func (c *command) holdsSecret() bool { return c.Contains(secret) }

// asksHelp reports whether a command only prints its help or its version.
// Behind a program text or a command, --help is an argument of theirs.
func (c *command) asksHelp() bool {
	n := len(c.List)
	if n == 1 && c.Exactly("--help", "-h", "--version", "-V", "help", "version") {
		return true
	}
	limit := n
	switch {
	case in("help-alone", c.name), in("shells", c.name), wraps(c.name):
		limit = 1
	case in("help-behind", c.name):
		limit = 3
	case c.Exactly("--"):
		limit = 0
	}
	return n > 0 && n <= limit && c.At(n-1) == "--help"
}

// programName is the name a program is known by.
func programName(p string) string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(p, "\\", "/")), ".exe")
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

// firstWord is the first word of a command text.
func firstWord(text string) string {
	if f := strings.Fields(text); len(f) > 0 {
		return f[0]
	}
	return ""
}

func wraps(name string) bool {
	_, ok := tables().wraps[name]
	return ok
}

// dangerous reports whether a program is one whose arguments matter.
func dangerous(name string) bool {
	return wraps(name) || in("dangerous", name) || in("shells", name) || strings.HasPrefix(name, "mkfs")
}

// render writes a command the way the lists of the configuration match it.
func render(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		w = mark.Show(w)
		if i == 0 {
			w = strings.Join(strings.Fields(w), `\ `)
		}
		out[i] = w
	}
	return strings.Join(out, " ")
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// lazily returns a regular expression that is compiled when it is first
// needed: most programs that start look at no command.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
