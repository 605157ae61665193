package walk

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
)

// Command is a simple command after expansion, and the walk that met it.
type Command struct {
	*Walk
	argv.List
	Name string // without its directory
	Path string // as written
	text string // all of it, if it is long
}

// With is the same program with other arguments.
func (c *Command) With(name string, args argv.List) *Command {
	return &Command{Walk: c.Walk, List: args, Name: name, Path: name}
}

// Line is the command as one text, for reasons.
func (c *Command) Line() string {
	if c.text != "" {
		return c.text
	}
	return strings.Join(append([]string{c.Name}, c.Texts()...), " ")
}

// Hit records that a rule matched the command.
func (c *Command) Hit(rule string) { c.Found.Hit(rule, c.Line()) }

// Is reports whether the program has one of the names.
func (c *Command) Is(names ...string) bool { return OneOf(c.Name, names...) }

// OneOf reports whether s is one of the words.
func OneOf(s string, words ...string) bool { return slices.Contains(words, s) }

// Says reports whether the command holds one of the texts.
func (c *Command) Says(texts ...string) bool {
	line := c.Line()
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(line, t) })
}

// HoldsSecret reports whether an argument is or holds a credential.
func (c *Command) HoldsSecret() bool { return c.Contains(secret) }

// AsksHelp reports whether a command only prints its help or its version.
// Behind a program text or a command, --help is an argument of theirs.
func (c *Command) AsksHelp() bool {
	n := len(c.List)
	if n == 1 && c.Exactly("--help", "-h", "--version", "-V", "help", "version") {
		return true
	}
	limit := n
	switch {
	case known.In("help-alone", c.Name), known.In("shells", c.Name), Wraps(c.Name):
		limit = 1
	case known.In("help-behind", c.Name):
		limit = 3
	case c.Exactly("--"):
		limit = 0
	}
	return n > 0 && n <= limit && c.At(n-1) == "--help"
}

// Completes reports whether a program prints what sets up a shell to complete
// its words.
func (c *Command) Completes() bool {
	return OneOf(c.At(0), "completion", "completions", "generate-shell-completion") && !Dangerous(c.Name)
}

// ProgramName is the name a program is known by.
func ProgramName(p string) string {
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

// FirstWord is the first word of a command text.
func FirstWord(text string) string {
	if f := strings.Fields(text); len(f) > 0 {
		return f[0]
	}
	return ""
}

// Wraps reports whether a program runs the command in its arguments.
func Wraps(name string) bool {
	_, ok := known.Tables().Wraps[name]
	return ok
}

// Dangerous reports whether a program is one whose arguments matter.
func Dangerous(name string) bool {
	return Wraps(name) || known.In("dangerous", name) || known.In("shells", name) || strings.HasPrefix(name, "mkfs")
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

// IsAssignment reports whether a word sets a variable, as NAME=VALUE.
func IsAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Lazily returns a regular expression that is compiled when it is first
// needed: most programs that start look at no command.
func Lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
