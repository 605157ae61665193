package policy

import (
	"path"
	"strings"
)

// commandPattern is one entry of a command list, see [Commands].
type commandPattern struct {
	text string
	args bool // the pattern includes arguments
}

func commandPatterns(list []string) []commandPattern {
	out := make([]commandPattern, 0, len(list))
	for _, s := range list {
		words := strings.Fields(s)
		if len(words) == 0 {
			continue
		}
		out = append(out, commandPattern{text: strings.Join(words, " "), args: len(words) > 1})
	}
	return out
}

// match reports whether the pattern matches a resolved command, program first. A pattern
// without a directory also matches the program in any directory, because /usr/bin/curl is
// curl. A pattern with a directory matches only that directory.
func (c commandPattern) match(command string) bool {
	program, rest, hasArgs := strings.Cut(strings.Join(strings.Fields(command), " "), " ")
	for _, name := range []string{program, path.Base(program)} {
		subject := name
		if c.args && hasArgs {
			subject += " " + rest
		}
		if wildcard(c.text, subject) || c.args && wildcard(c.text, subject+" ") {
			return true
		}
	}
	return false
}

// wildcard reports whether pattern matches s; * matches any text.
func wildcard(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// matchAny returns the first pattern that matches any of the commands.
func matchAny(patterns []commandPattern, commands []string) (pattern, command string, ok bool) {
	for _, c := range commands {
		for _, p := range patterns {
			if p.match(c) {
				return p.text, c, true
			}
		}
	}
	return "", "", false
}

// matchAll reports whether each command is matched by some pattern, and returns the
// patterns. It reports false if there are no commands.
func matchAll(patterns []commandPattern, commands []string) (string, bool) {
	var used []string
	for _, c := range commands {
		p, _, ok := matchAny(patterns, []string{c})
		if !ok {
			return "", false
		}
		used = append(used, p)
	}
	return strings.Join(used, "; "), len(used) > 0
}
