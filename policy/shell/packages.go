package shell

import (
	"cmp"
	"slices"
	"strings"
)

// goTool handles go.
func goTool(c *command) string {
	ops := c.operandsAfter("o", "exec", "toolexec", "C", "mod", "tags", "ldflags", "gcflags")
	sub := ops.at(0)
	if sub == "run" && strings.Contains(ops.at(1), "@") {
		c.found.network = true
		c.hit("package-run")
		return unknown
	}
	if ops.at(1) == "-" && c.given() {
		scanCode(c, c.stdin())
	}
	return tabled(c)
}

// packageTool handles package managers with scripts. Scripts are unknown and are rated by
// their names.
func packageTool(c *command) string {
	if at, ok := projectTool(c); ok {
		return c.exec(c.list[at:])
	}
	ops := c.operandsAfter(tables().Takes[c.name]...)
	if key := ops.at(2); ops.at(0) == "config" && ops.at(1) == "get" &&
		(strings.Contains(key, "_auth") || strings.Contains(key, "_password") || secretName(key)) {
		c.hit("secret-read")
		return secret
	}
	switch {
	case len(ops) > 1 && oneOf(ops[0].s, "run", "run-script"):
		rateScriptName(c, ops[1].s)
		return unknown
	case ops.at(0) == "npm" && ops.at(1) == "publish":
		c.hit("publish")
		return unknown
	}
	return tabled(c)
}

func rateScriptName(c *command, name string) {
	base, _, _ := strings.Cut(name, ":")
	if first, _, _ := strings.Cut(base, "-"); inList("release-names", base) || inList("release-names", first) {
		c.hit("deploy-script")
	}
}

// build handles make and similar tools.
func build(c *command) string {
	databaseTask(c)
	if c.has("eval", "E") {
		c.hit("program-runs")
	}
	if code, ok := c.option("e", "p", "execute", "execute-print", "execute-continue"); ok && c.is("rake") {
		c.hit("program-runs")
		scanCode(c.with("ruby", nil), code)
	}
	assignments(c)
	file, ok := c.option("f", "file", "makefile")
	if ok && oneOf(file, "", unknown) {
		c.hit("unknown-code")
	}
	if oneOf(file, "-", "/dev/stdin") {
		c.rateText(c.givenText() + unknown)
	} else {
		c.runsFile(c.resolve(cmp.Or(file, "Makefile")))
	}
	if c.has("n", "dry-run", "just-print", "recon") {
		return unknown
	}
	for _, a := range c.operandsAfter("C", "f", "o", "W", "I", "E", "eval", "file", "directory") {
		if a.s == "install" && !c.is("just", "task") {
			c.hit("packages")
		}
		rateScriptName(c, a.s)
	}
	return unknown
}

// assignments rates the variables passed to make.
func assignments(c *command) {
	for _, a := range c.list {
		name, value, _ := strings.Cut(a.s, "=")
		if !isAssignment(a.s) {
			continue
		}
		if strings.Contains(value, "$(shell") {
			c.hit("program-runs")
		}
		switch {
		case name == "SHELL" || name == ".SHELLFLAGS":
			c.runProgram(c, value)
		case inList("variables-options", name):
			pass(c.walk, name, value)
		case inList("make-programs", name):
			pass(c.walk, name+"_command", value)
		}
	}
}

// taskRunner handles tools with a run or exec sub-command that runs a command.
func taskRunner(c *command) string {
	if at, ok := projectTool(c); ok {
		return c.exec(c.list[at:])
	}
	if at := c.index("--command", "-c"); c.is("nix") && at >= 0 {
		c.exec(c.from(at + 1))
	}
	first := c.operandsAfter(tables().Takes[c.name]...).at(0)
	if !oneOf(first, "run", "exec", "x") || c.is("nix", "npx", "bunx", "pnpx") {
		return tabled(c)
	}
	inner := c.from(c.index(first) + 1)
	inner = inner.from(max(0, inner.command(wordsIn("runner-options")...)))
	if c.is("direnv") { // behind a directory
		inner = inner.from(1)
	}
	c.exec(inner)
	return unknown
}

// projectTool returns the index of the tool's name in a command that runs one of the
// project's own packages.
func projectTool(c *command) (int, bool) {
	start := 0
	switch {
	case c.is("npx", "bunx", "pnpx"):
	case c.is("npm", "pnpm", "yarn") && len(c.list) > 1 && c.at(0) == "exec",
		c.is("bun") && len(c.list) > 1 && c.at(0) == "x":
		start = 1
		if c.at(1) == "--" {
			start = 2
		}
	default:
		return 0, false
	}
	for i := start; i < len(c.list); i++ {
		if !oneOf(c.at(i), "--no-install", "--no", "--offline", "--quiet", "-q", "--bun") {
			return i, inList("project-tools", c.at(i))
		}
	}
	return 0, false
}

// packageOptions rates the options of a package manager that name a program, or the
// directory to install into.
func packageOptions(c *command) {
	for _, v := range []string{"script-shell", "node-options"} {
		if text, ok := c.option(v); ok {
			c.runProgram(c, text)
		}
	}
	if t, ok := c.option("target", "root", "prefix"); ok && zoneOf(c.resolve(t)) >= startup {
		c.write(t)
	}
}

func startsWith(s string, beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(s, b) })
}

func packageSetting(c *command) {
	if c.holdsSecret() || c.says("oken", "_auth") {
		c.hit("secret-stored")
		return
	}
	c.mayRun(c.settings())
	c.hit("package-setting")
}
