package mend

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// IsShell reports whether code fences of a language contain shell commands.
func IsShell(lang string) bool {
	return slices.Contains(
		[]string{"bash", "sh", "shell", "zsh", "console", "terminal", "shell-session", "shellscript"},
		lang,
	)
}

// placeholder matches a name to be filled in by the reader.
var placeholder = pattern.Lazy(`<[a-z][a-z _-]*>|path/to/|\byour[-_]`)

// Commands returns the lines of a shell block without their prompts. It returns false if
// the block also contains command output, or placeholders to be filled in.
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
