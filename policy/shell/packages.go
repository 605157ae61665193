package shell

import (
	"cmp"
	"slices"
	"strings"
)

// build handles make and similar tools.
func build(c *command) string {
	c.rated()
	for _, a := range c.list { // variables of make
		name, value, _ := strings.Cut(a.s, "=")
		if !isAssignment(a.s) {
			continue
		}
		if name == "SHELL" || inList("make-programs", name) {
			name += "_command"
		}
		pass(c.walk, name, value)
	}
	file, ok := c.option("f", "file", "makefile")
	switch {
	case ok && oneOf(file, "", unknown):
		c.hit("unknown-code")
	case oneOf(file, "-", "/dev/stdin"):
		c.rateText(c.givenText() + unknown)
	default:
		c.runsFile(c.resolve(cmp.Or(file, "Makefile")))
	}
	return unknown
}

// taskRunner handles tools that run the command behind a word, or behind their options. Those
// of a package manager also download packages that are not in the project.
func taskRunner(c *command) string {
	start, downloads := 0, c.is("npx", "bunx", "pnpx")
	if !downloads {
		first := c.operands().at(0)
		if !oneOf(first, "run", "exec", "x") {
			return tabled(c)
		}
		start, downloads = c.index(first)+1, c.is("npm", "pnpm", "yarn", "bun")
	}
	inner := c.from(start)
	inner = inner.from(max(0, inner.command(wordsIn("runner-options")...)))
	if downloads && (!inList("project-tools", inner.at(0)) || c.from(start).has("y", "yes", "p", "package")) {
		return tabled(c)
	}
	if c.is("direnv") { // behind a directory
		inner = inner.from(1)
	}
	return c.exec(inner)
}

func startsWith(s string, beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(s, b) })
}
