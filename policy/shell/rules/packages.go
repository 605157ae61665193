package rules

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/known"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// goTool is go.
func goTool(c *walk.Command) string {
	for _, v := range c.Values("-exec", "--exec", "-toolexec", "--toolexec") {
		if v != "" {
			c.Runs(c, v)
		}
	}
	for _, v := range c.Values("-vettool", "--vettool") {
		if v != "" {
			c.Nested(v)
		}
	}
	ops := c.OperandsAfter("o", "exec", "toolexec", "C", "mod", "tags", "ldflags", "gcflags")
	sub := ops.At(0)
	if dir, ok := map[string]string{"GOPATH": "~/go", "GOBIN": "~/go/bin", "GOMODCACHE": "~/go/pkg/mod", "GOCACHE": "~/.cache/go-build", "GOROOT": "/usr/local/go"}[ops.At(1)]; ok && sub == "env" && len(ops) == 2 && !c.Exactly("-w", "-u") {
		return dir + "\n"
	}
	if sub == "run" && strings.Contains(ops.At(1), "@") {
		c.Found.Network = true
		c.Hit("package-run")
		return unknown
	}
	if walk.OneOf(sub, "run", "build", "test") {
		ownSource(c, "go", ops[1:])
	}
	return subcommands(c)
}

// packageTool is for package managers with scripts. What a script does is
// unknown: its name says what it is for.
func packageTool(c *walk.Command) string {
	if at, ok := projectTool(c); ok {
		return c.Exec(c.List[at:])
	}
	ops := c.OperandsAfter(known.Tables().Takes[c.Name]...)
	if key := ops.At(2); ops.At(0) == "config" && ops.At(1) == "get" && (strings.Contains(key, "_auth") || strings.Contains(key, "_password") || zone.SecretName(key)) {
		c.Hit("secret-read")
		return secret
	}
	if name := scriptOf(c, ops); name != "" {
		ownScript(c, name)
	}
	if ops.At(0) == "set-script" {
		c.Nested(ops.At(2))
	}
	if ops.At(0) == "pkg" && ops.At(1) == "set" {
		for _, a := range ops.From(2) {
			if key, code, ok := strings.Cut(a.S, "="); ok && strings.HasPrefix(key, "scripts") {
				c.Nested(code)
			}
		}
	}
	switch {
	case len(ops) > 1 && walk.OneOf(ops[0].S, "run", "run-script"):
		rateScriptName(c, ops[1].S)
		ownScript(c, ops[1].S)
		return unknown
	case ops.At(0) == "npm" && ops.At(1) == "publish":
		c.Hit("publish")
		return unknown
	}
	return subcommands(c)
}

// scriptOf is the script of a package file that a sub-command runs by its own
// name.
func scriptOf(c *walk.Command, ops argv.List) string {
	name := ops.At(0)
	switch name {
	case "t", "tst":
		return "test"
	case "", "i", "ci", "install", "add":
		return "install"
	case "test", "start", "stop", "restart":
		return name
	}
	if _, ok := c.File("package.json"); ok && c.Is("pnpm", "yarn", "bun") {
		return name
	}
	return ""
}

// ownScript follows a script of a package file that the line itself wrote.
func ownScript(c *walk.Command, name string) {
	text, ok := c.File("package.json")
	if !ok {
		return
	}
	if strings.Contains(text, remote) {
		c.Found.Hit("remote-code", "package.json")
	}
	if strings.Trim(text, mark.All) == "" {
		return // one that was there, changed
	}
	var file struct{ Scripts map[string]string }
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		c.Found.Hit("opaque-code", "package.json")
		return
	}
	names := []string{"pre" + name, name, "post" + name}
	if name == "install" {
		names = append(names, "prepare", "prepublish")
	}
	for _, n := range names {
		c.Nested(file.Scripts[n])
	}
}

// rateScriptName rates a script or a target that is named after a release.
func rateScriptName(c *walk.Command, name string) {
	base, _, _ := strings.Cut(name, ":")
	if endsWith(name, "dry-run", "-check") {
		return
	}
	if first, _, _ := strings.Cut(base, "-"); known.In("release-names", base) || known.In("release-names", first) {
		c.Hit("deploy-script")
	}
}

// build is make and its relatives.
func build(c *walk.Command) string {
	databaseTask(c)
	for _, code := range c.Values("--eval", "-E") {
		makeText(c, code)
	}
	if code, ok := c.Value("e", "p", "execute", "execute-print", "execute-continue"); ok && c.Is("rake") {
		c.Hit("program-runs")
		walk.ScanCode(c.With("ruby", nil), code)
	}
	assignments(c)
	file, ok := c.Value("f", "file", "makefile")
	if !ok {
		file = makeFile(c)
	} else if walk.OneOf(file, "", unknown) {
		c.Hit("unknown-code")
	}
	if text, own := c.File(file); own {
		recipes(c, text)
	} else if walk.OneOf(file, "-", "/dev/stdin") {
		makeText(c, c.GivenText())
	}
	if c.Has("n", "dry-run", "just-print", "recon") {
		return unknown
	}
	for _, a := range c.OperandsAfter("C", "f", "o", "W", "I", "E", "eval", "file", "directory") {
		if a.S == "install" && !c.Is("just", "task") {
			c.Hit("packages")
		}
		rateScriptName(c, a.S)
	}
	return unknown
}

// assignments follows the variables that make is given.
func assignments(c *walk.Command) {
	for _, a := range c.List {
		name, value, _ := strings.Cut(a.S, "=")
		if !walk.IsAssignment(a.S) {
			continue
		}
		if strings.Contains(value, "$(shell") {
			makeText(c, value)
		}
		switch {
		case name == "SHELL" || name == ".SHELLFLAGS":
			c.Runs(c, value)
		case known.In("variables-options", name):
			walk.Pass(c.Walk, name, value)
		case known.In("make-programs", name):
			walk.Pass(c.Walk, name+"_command", value)
		}
	}
}

// makeFile is the file that make, or one of its relatives, reads when it is
// told none: the first that the program itself wrote.
func makeFile(c *walk.Command) string {
	dir, _ := c.Value("C", "directory")
	names := []string{"GNUmakefile", "makefile", "Makefile"}
	switch c.Name {
	case "just":
		names = []string{"justfile", "Justfile", ".justfile"}
	case "task":
		names = []string{"Taskfile.yml", "Taskfile.yaml", "taskfile.yml"}
	case "rake":
		names = []string{"Rakefile", "rakefile"}
	}
	for _, n := range names {
		if _, ok := c.File(path.Join(dir, n)); ok {
			return path.Join(dir, n)
		}
	}
	return "Makefile"
}

// recipes follows a file of tasks that the program itself wrote.
func recipes(c *walk.Command, text string) {
	switch c.Name {
	case "rake":
		walk.ScanCode(c.With("ruby", nil), text)
	case "just", "task", "mage":
		for line := range strings.SplitSeq(text, "\n") {
			if line != "" && (line[0] == ' ' || line[0] == '\t') {
				line = strings.Trim(line, " \t-@'\"[]")
				_, value, _ := strings.Cut(line, ": ")
				for _, code := range []string{line, strings.Trim(value, " []'\"")} {
					c.OnlyCritical(argv.Of("sh", "-c", code), c.Line())
				}
			}
		}
	default:
		makeText(c, text)
	}
}

// makeText follows the recipes and $(shell …) calls of a make file.
func makeText(c *walk.Command, text string) {
	if strings.Contains(text, remote) {
		c.Found.Hit("remote-code", "make")
	}
	if strings.Contains(text, unknown) {
		c.Found.Hit("opaque-code", "make")
	}
	for i, part := range strings.Split(text, "$(shell ") {
		if code, _, _ := strings.Cut(part, ")"); i > 0 {
			c.Nested(code)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if _, recipe, ok := strings.Cut(line, ";"); ok && strings.Contains(line, ":") && !strings.HasPrefix(line, "\t") {
			line = "\t" + recipe
		}
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			c.Nested(strings.ReplaceAll(strings.TrimLeft(recipe, "@-+ "), "$$", "$"))
		}
	}
}

// cmake follows what cmake runs under names of its own.
func cmake(c *walk.Command) string {
	at := c.Index("-E") + 1
	if at == 0 || at >= len(c.List) {
		if file, ok := c.Value("P"); ok {
			if text := c.ReadFile(file); text != unknown {
				walk.Crude(c.Walk, strings.ReplaceAll(text, "COMMAND", ";"))
			}
		}
		return unknown
	}
	words, ok := map[string]string{
		"remove": "rm -f", "remove_directory": "rm -rf", "rename": "mv", "make_directory": "mkdir -p", "create_symlink": "ln -s",
		"copy": "cp -r", "copy_directory": "cp -r", "copy_if_different": "cp -r", "copy_directory_if_different": "cp -r",
	}[c.At(at)]
	if !ok {
		words = c.At(at)
	}
	c.Exec(append(wordsOf(words), c.List[at+1:]...))
	return unknown
}

// runner follows tools whose run or exec sub-command runs a command.
func runner(c *walk.Command) string {
	if at, ok := projectTool(c); ok {
		return c.Exec(c.List[at:])
	}
	databaseTask(c)
	first := c.OperandsAfter(known.Tables().Takes[c.Name]...).At(0)
	for i, a := range c.List {
		switch {
		case c.Is("cross-env"), c.Is("aws-vault", "npx") && a.S == "--":
			if walk.IsAssignment(a.S) {
				name, value, _ := strings.Cut(a.S, "=")
				walk.Pass(c.Walk, name, value)
				continue
			}
			rest := c.From(i)
			if a.S == "--" {
				rest = c.From(i + 1)
			}
			c.Exec(rest)
			if c.Is("cross-env") {
				return unknown
			}
			return subcommands(c)
		case a.S == first && walk.OneOf(first, "run", "exec", "x"):
			if c.Is("cargo", "nix", "npx", "bunx", "pnpx") {
				return subcommands(c)
			}
			return runnerCommand(c, i+1)
		default:
			runnerText(c, i)
		}
	}
	return subcommands(c)
}

// runnerText follows a command that a runner is given as one text.
func runnerText(c *walk.Command, i int) {
	word, next := c.At(i), c.At(i+1)
	switch {
	case c.Is("cargo") && word == "watch":
		if v, ok := c.Value("s", "shell"); ok {
			c.Nested(v)
		}
	case c.Is("nodemon") && walk.OneOf(word, "--exec", "-x"):
		c.Nested(next)
	case c.Is("nix") && walk.OneOf(word, "--command", "-c"):
		c.Exec(c.From(i + 1))
	case c.Is("concurrently") && !startsWith(word, "-", "npm:", "yarn:", "pnpm:", "bun:"):
		c.Nested(word)
	}
}

func runnerCommand(c *walk.Command, i int) string {
	for ; i < len(c.List); i++ {
		s := c.At(i)
		switch {
		case s == "--":
		case len(s) > 1 && s[0] == '-':
			if known.In("runner-options", s) {
				i++
			}
		case c.Is("mise", "asdf") && strings.Contains(s, "@"):
		case c.Is("direnv"):
			if i+1 < len(c.List) {
				c.Exec(c.List[i+1:])
				return unknown
			}
		default:
			c.Exec(c.List[i:])
			return unknown
		}
	}
	return unknown
}

// projectTool is the place of the tool's name in a command that runs a tool
// which a project has among its own packages.
func projectTool(c *walk.Command) (int, bool) {
	start := 0
	switch {
	case c.Is("npx", "bunx", "pnpx"):
	case c.Is("npm", "pnpm", "yarn") && len(c.List) > 1 && c.At(0) == "exec", c.Is("bun") && len(c.List) > 1 && c.At(0) == "x":
		start = 1
		if c.At(1) == "--" {
			start = 2
		}
	default:
		return 0, false
	}
	for i := start; i < len(c.List); i++ {
		if !walk.OneOf(c.At(i), "--no-install", "--no", "--offline", "--quiet", "-q", "--bun") {
			return i, known.In("project-tools", c.At(i))
		}
	}
	return 0, false
}

// packageSource looks for packages from places nobody vouches for.
func packageSource(c *walk.Command) {
	doubt := false
	for i, a := range c.List {
		s := a.S
		_, value, ok := strings.Cut(s, "=")
		if !ok {
			value = c.At(i + 1)
		}
		switch option, _, _ := strings.Cut(s, "="); {
		case startsWith(s, "--index-url", "--extra-index-url", "--registry", "--find-links"), walk.OneOf(s, "--index", "--default-index"), s == "-i" && c.Is("pip"), s == "--source" && !c.Is("dotnet"):
			doubt = doubt || !walk.PublicRegistry(value)
		default:
			doubt = doubt || strings.HasPrefix(s, "--trusted-host") || known.In("doubtful-options", option) || startsWith(s, "git+", "http://", "https://", "git://", "git@", "github:")
		}
	}
	if doubt {
		c.Hit("package-source")
	}
	for _, v := range []string{"script-shell", "node-options"} {
		if text, ok := c.Value(v); ok {
			c.Runs(c, text)
		}
	}
	if t, ok := c.Value("target", "root", "prefix"); ok && zone.Of(c.Resolve(t)) >= zone.Startup {
		c.Write(t)
	}
}

func startsWith(s string, beginnings ...string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(s, b) })
}

// packageSetting rates a setting of a package manager.
func packageSetting(c *walk.Command) {
	line := c.Line()
	switch {
	case c.Says("script-shell"):
		c.Found.Hit("source-redirect", line)
		c.Nested(c.At(len(c.List) - 1))
	case c.Says("registry", "index-url", "proxy", "strict-ssl", "trusted-host", "cafile"):
		c.Found.Hit("source-redirect", line)
	case c.HoldsSecret() || c.Says("oken", "_auth"):
		c.Found.Hit("secret-stored", line)
	default:
		c.Found.Hit("package-setting", line)
	}
}

func goSetting(c *walk.Command) {
	switch {
	case !c.Exactly("-w", "-u"):
	case c.Says("PROXY", "SUMDB", "INSECURE", "toolexec", "CC="):
		c.Hit("source-redirect")
	default:
		c.Hit("package-setting")
	}
}
