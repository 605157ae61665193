package mend

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// IsShell reports whether a code fence with that language holds commands.
func IsShell(lang string) bool {
	return slices.Contains([]string{"bash", "sh", "shell", "zsh", "console", "terminal", "shell-session", "shellscript"}, lang)
}

// placeholder is a name that a reader is to fill in.
var placeholder = pattern.Lazy(`<[a-z][a-z _-]*>|path/to/|\byour[-_]`)

// Commands returns the lines of a block of shell without the prompts before them. What
// has the output of commands in it, or names to be filled in, is none.
func Commands(text string) (string, bool) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	prompts, code := 0, 0
	for i, l := range lines {
		if rest, ok := strings.CutPrefix(l, "$ "); ok {
			prompts, lines[i] = prompts+1, rest
		}
		if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
			code++
		}
	}
	here := strings.Contains(text, "<<")
	return strings.Join(lines, "\n"), code > 0 && (prompts == 0 || prompts == code) && (here || !placeholder().MatchString(text))
}
