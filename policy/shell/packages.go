package shell

import (
	"encoding/json"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// goTool is go.
func goTool(c *command, f *finding) string {
	for _, v := range c.Values("-exec", "--exec", "-toolexec", "--toolexec") {
		if v != "" {
			c.runs(c, v)
		}
	}
	for _, v := range c.Values("-vettool", "--vettool") {
		if v != "" {
			c.nested(v)
		}
	}
	ops := c.OperandsAfter("o", "exec", "toolexec", "C", "mod", "tags", "ldflags", "gcflags")
	sub := ops.At(0)
	if sub == "run" && strings.Contains(ops.At(1), "@") {
		f.network = true
		f.hit("package-run", c.line())
		return unknown
	}
	if oneOf(sub, "run", "build", "test") {
		ownSource(c, f, "go", ops[1:])
	}
	if v, ok := c.Value("o"); ok && oneOf(sub, "build", "test") {
		c.write(v)
	}
	return subcommands(c, f)
}

// packageTool is for package managers with scripts. What a script does is
// unknown: its name says what it is for.
func packageTool(c *command, f *finding) string {
	if at, ok := projectTool(c); ok {
		return c.exec(c.List[at:])
	}
	ops := c.OperandsAfter(tables().takes[c.name]...)
	if key := ops.At(2); ops.At(0) == "config" && ops.At(1) == "get" && (strings.Contains(key, "_auth") || strings.Contains(key, "_password") || zone.SecretName(key)) {
		f.hit("secret-read", c.line())
		return secret
	}
	if v, ok := c.Value("script-shell"); ok {
		c.runs(c, v)
	}
	switch {
	case len(ops) > 1 && oneOf(ops[0].S, "run", "run-script"):
		rateScriptName(c, f, ops[1].S)
		ownScript(c, f, ops[1].S)
		return unknown
	case ops.At(0) == "npm" && ops.At(1) == "publish":
		f.hit("publish", c.line())
		return unknown
	}
	return subcommands(c, f)
}

// ownScript follows a script of a package file that the line itself wrote.
func ownScript(c *command, f *finding, name string) {
	text, ok := c.file("package.json")
	if !ok {
		return
	}
	var file struct{ Scripts map[string]string }
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		f.hit("opaque-code", "package.json")
		return
	}
	for _, n := range []string{"pre" + name, name, "post" + name} {
		c.nested(file.Scripts[n])
	}
}

// rateScriptName rates a script or a target that is named after a release.
func rateScriptName(c *command, f *finding, name string) {
	base, _, _ := strings.Cut(name, ":")
	if endsWith(name, "dry-run", "-check") {
		return
	}
	if first, _, _ := strings.Cut(base, "-"); in("release-names", base) || in("release-names", first) {
		f.hit("deploy-script", c.line())
	}
}

// build is make and its relatives.
func build(c *command, f *finding) string {
	databaseTask(c, f)
	for _, code := range c.Values("--eval", "-E") {
		makeText(c, f, code)
	}
	for _, a := range c.List {
		name, value, _ := strings.Cut(a.S, "=")
		if !isAssignment(a.S) {
			continue
		}
		if strings.Contains(value, "$(shell") {
			makeText(c, f, value)
		}
		if name == "SHELL" || name == ".SHELLFLAGS" {
			c.runs(c, value)
		}
	}
	if v, ok := c.Value("command"); ok && c.is("just") {
		c.nested(v)
	}
	file, ok := c.Value("f", "file", "makefile")
	if !ok {
		file = "Makefile"
	} else if oneOf(file, "", unknown) {
		f.hit("unknown-code", c.line())
	}
	if text, own := c.file(file); own {
		makeText(c, f, text)
	} else if oneOf(file, "-", "/dev/stdin") {
		makeText(c, f, c.givenText())
	}
	if c.Has("n", "dry-run", "just-print", "recon") {
		return unknown
	}
	for _, a := range c.OperandsAfter("C", "f", "o", "W", "I", "E", "eval", "file", "directory") {
		if a.S == "install" && !c.is("just", "task") {
			f.hit("packages", c.line())
		}
		rateScriptName(c, f, a.S)
	}
	return unknown
}

// makeText follows the recipes and $(shell …) calls of a make file.
func makeText(c *command, f *finding, text string) {
	if strings.Contains(text, remote) {
		f.hit("remote-code", "make")
	}
	if strings.Contains(text, unknown) {
		f.hit("opaque-code", "make")
	}
	for i, part := range strings.Split(text, "$(shell ") {
		if code, _, _ := strings.Cut(part, ")"); i > 0 {
			c.nested(code)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if _, recipe, ok := strings.Cut(line, ";"); ok && strings.Contains(line, ":") && !strings.HasPrefix(line, "\t") {
			line = "\t" + recipe
		}
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			c.nested(strings.ReplaceAll(strings.TrimLeft(recipe, "@-+ "), "$$", "$"))
		}
	}
}

// cmake follows what cmake runs under names of its own.
func cmake(c *command, _ *finding) string {
	at := c.Index("-E") + 1
	if at == 0 || at >= len(c.List) {
		if file, ok := c.Value("P"); ok {
			if text := c.readFile(file); text != unknown {
				crude(c.walk, strings.ReplaceAll(text, "COMMAND", ";"))
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
	c.exec(append(wordsOf(words), c.List[at+1:]...))
	return unknown
}

// runner follows tools whose run or exec sub-command runs a command.
func runner(c *command, f *finding) string {
	if at, ok := projectTool(c); ok {
		return c.exec(c.List[at:])
	}
	databaseTask(c, f)
	first := c.OperandsAfter(tables().takes[c.name]...).At(0)
	for i, a := range c.List {
		switch {
		case c.is("cross-env"), c.is("aws-vault", "npx") && a.S == "--":
			if isAssignment(a.S) {
				name, value, _ := strings.Cut(a.S, "=")
				rateVariable(c.walk, name, value)
				continue
			}
			rest := c.From(i)
			if a.S == "--" {
				rest = c.From(i + 1)
			}
			c.exec(rest)
			if c.is("cross-env") {
				return unknown
			}
			return subcommands(c, f)
		case a.S == first && oneOf(first, "run", "exec", "x"):
			if c.is("cargo", "nix", "npx", "bunx", "pnpx") {
				return subcommands(c, f)
			}
			return runnerCommand(c, i+1)
		default:
			runnerText(c, i)
		}
	}
	return subcommands(c, f)
}

// runnerText follows a command that a runner is given as one text.
func runnerText(c *command, i int) {
	word, next := c.At(i), c.At(i+1)
	switch {
	case c.is("cargo") && word == "watch":
		if v, ok := c.Value("s", "shell"); ok {
			c.nested(v)
		}
	case c.is("nodemon") && oneOf(word, "--exec", "-x"):
		c.nested(next)
	case c.is("nix") && oneOf(word, "--command", "-c"):
		c.exec(c.From(i + 1))
	case c.is("concurrently") && !strings.HasPrefix(word, "-"):
		c.nested(word)
	}
}

func runnerCommand(c *command, i int) string {
	for ; i < len(c.List); i++ {
		s := c.At(i)
		switch {
		case s == "--":
		case len(s) > 1 && s[0] == '-':
			if in("runner-options", s) {
				i++
			}
		case c.is("mise", "asdf") && strings.Contains(s, "@"):
		case c.is("direnv"):
			if i+1 < len(c.List) {
				c.exec(c.List[i+1:])
				return unknown
			}
		default:
			c.exec(c.List[i:])
			return unknown
		}
	}
	return unknown
}

// projectTool is the place of the tool's name in a command that runs a tool
// which a project has among its own packages.
func projectTool(c *command) (int, bool) {
	start := 0
	switch {
	case c.is("npx", "bunx", "pnpx"):
	case c.is("npm", "pnpm", "yarn") && len(c.List) > 1 && c.At(0) == "exec", c.is("bun") && len(c.List) > 1 && c.At(0) == "x":
		start = 1
		if c.At(1) == "--" {
			start = 2
		}
	default:
		return 0, false
	}
	for i := start; i < len(c.List); i++ {
		if !oneOf(c.At(i), "--no-install", "--no", "--offline", "--quiet", "-q", "--bun") {
			return i, in("project-tools", c.At(i))
		}
	}
	return 0, false
}

// packageSource looks for packages from places nobody vouches for.
func packageSource(c *command, f *finding) {
	doubt := false
	for i, a := range c.List {
		s := a.S
		_, value, ok := strings.Cut(s, "=")
		if !ok {
			value = c.At(i + 1)
		}
		switch option, _, _ := strings.Cut(s, "="); {
		case startsWith(s, "--index-url", "--extra-index-url", "--registry", "--find-links"), oneOf(s, "--index", "--default-index"), s == "-i" && c.is("pip"), s == "--source" && !c.is("dotnet"):
			doubt = doubt || !publicRegistry(value)
		default:
			doubt = doubt || strings.HasPrefix(s, "--trusted-host") || in("doubtful-options", option) || startsWith(s, "git+", "http://", "https://", "git://", "git@", "github:")
		}
	}
	if doubt {
		f.hit("package-source", c.line())
	}
	for _, v := range []string{"script-shell", "node-options"} {
		if text, ok := c.Value(v); ok {
			c.runs(c, text)
		}
	}
	if t, ok := c.Value("target", "root", "prefix"); ok && zone.Of(c.resolve(t)) >= zone.Startup {
		c.write(t)
	}
}

func startsWith(s string, beginnings ...string) bool {
	for _, b := range beginnings {
		if strings.HasPrefix(s, b) {
			return true
		}
	}
	return false
}

// packageSetting rates a setting of a package manager.
func packageSetting(c *command, f *finding) {
	line := c.line()
	switch {
	case c.says("script-shell"):
		f.hit("source-redirect", line)
		c.nested(c.At(len(c.List) - 1))
	case c.says("registry", "index-url", "proxy", "strict-ssl", "trusted-host", "cafile"):
		f.hit("source-redirect", line)
	case c.holdsSecret() || c.says("oken", "_auth"):
		f.hit("secret-stored", line)
	default:
		f.hit("package-setting", line)
	}
}

func goSetting(c *command, f *finding) {
	switch {
	case !c.Exactly("-w", "-u"):
	case c.says("PROXY", "SUMDB", "INSECURE", "toolexec", "CC="):
		f.hit("source-redirect", c.line())
	default:
		f.hit("package-setting", c.line())
	}
}
