package around

import (
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// outsideCode rates a program, or a file that a program takes for one, that
// lies outside the workspace: nobody saw it, and the session did not write it.
// What the line itself wrote is followed where it runs.
func outsideCode(c *walk.Command) {
	interprets := known.In("shells", c.Name) || known.In("languages", c.Name) || c.Is("source", ".")
	files := append(loaded(c), c.Path)
	if interprets || known.In("runs-operands", c.Name) || c.Is("go", "cargo") && c.At(0) == "run" {
		files = append(files, scripts(c, interprets)...)
	}
	for _, name := range files {
		if strings.Contains(name, "/") && outside(c, name) {
			c.Hit("outside-code") //control:outside-code
			return
		}
	}
}

// scripts are the operands that a program runs: an interpreter only the first,
// unless its program text stands before it.
func scripts(c *walk.Command, first bool) []string {
	var out []string
	for i := 0; i < len(c.List); i++ {
		s := c.At(i)
		switch {
		case len(s) > 1 && s[0] == '-':
			if first && s[1] != '-' && strings.ContainsAny(s, "cemE") || walk.OneOf(s, "--eval", "--command", "--print") {
				return out
			}
			if argv.Takes(s, []string{"W", "X", "l", "d", "o", "O", "k", "m", "n", "p"}) {
				i++
			}
		case first && walk.OneOf(s, "run", "test", "watch") && c.Is("deno", "bun", "tsx"):
		case first:
			return append(out, s)
		default:
			out = append(out, s)
		}
	}
	return out
}

// loaded are the files and directories that options of an interpreter or a
// build tool make it take its program from.
func loaded(c *walk.Command) []string {
	if !loads(c) {
		return nil
	}
	var out []string
	for i, a := range c.List {
		if len(a.S) < 2 || a.S[0] != '-' {
			continue
		}
		name, value := option(a.S, c.At(i+1))
		if writes := strings.Contains(name, "out") || name == "o" || strings.Contains(name, "report"); writes {
			continue
		}
		if searches(c, name) || known.In("program-endings", path.Ext(value)) {
			out = append(out, strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ',' })...)
		}
	}
	return out
}

// loads reports whether options of a program may name parts of what it runs.
func loads(c *walk.Command) bool {
	if c.Is("git", "docker-compose") {
		return false
	}
	return slices.ContainsFunc([]string{"languages", "shells", "obeys-files", "project-runners", "loads-options"}, func(list string) bool { return known.In(list, c.Name) })
}

// searches reports whether an option names a place where a program finds parts
// of what it runs.
func searches(c *walk.Command, option string) bool {
	switch {
	case option == "B" && c.Is("cmake"), option == "I" && c.Is("gcc", "g++", "cc", "clang", "clang++", "c++"):
		return false
	}
	return known.In("loading-options", option)
}

// option is the name and the value of an option: --x=y, -javaagent:y, -xy for a
// path y, or -x before y.
func option(s, next string) (name, value string) {
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		name, value, ok = strings.Cut(s, ":")
	}
	if !ok && len(s) > 2 && s[1] != '-' && strings.ContainsRune("/~.", rune(s[2])) {
		name, value, ok = s[:2], s[2:], true
	}
	if !ok {
		value = next
	}
	return strings.Trim(name, "-"), value
}

// outside reports whether a path lies where neither the repository nor the
// system keeps programs.
func outside(c *walk.Command, name string) bool {
	if _, own := c.File(name); own {
		return false
	}
	p := c.Resolve(name)
	if c.Found.Wrote(p) { // the line made it
		return false
	}
	switch zone.Of(p) {
	case zone.Temp:
		return zone.Under(p, "/tmp", "/var/tmp", "/private/tmp", "/dev/shm")
	case zone.Outside:
		return p != "/tmp" && !zone.Under(p, "/opt", "/nix", "/snap", "/home/linuxbrew")
	case zone.Home:
		return !strings.HasPrefix(p, "~/.") && !zone.Under(p, "~/go", "~/Library", "~/miniconda3", "~/anaconda3")
	case zone.Above:
		return true
	}
	return false
}
