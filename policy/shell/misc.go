package shell

import (
	"encoding/json"
	"strings"
)

// tools follows programs of the table that have more to them, and others
// whose arguments can hold a program.
func (m *machine) tools(c command) (string, bool) {
	m.databaseTask(c)
	switch c.name {
	case "ansible", "vagrant", "salt", "pdsh", "clush", "pssh", "dsh":
		m.elsewhere(c)
		return "", false
	case "go":
		return m.goTool(c)
	case "npm", "pnpm", "yarn", "bun":
		return m.packageScript(c)
	case "make", "gmake", "just", "task", "rake", "mage":
		m.build(c)
		return unknown, true
	case "psql", "mysql", "mariadb", "sqlite3", "redis-cli", "mongo", "mongosh", "duckdb", "cqlsh", "clickhouse-client", "sqlcmd", "dropdb", "dropuser", "mysqladmin", "createdb", "pg_restore":
		m.database(c)
		return unknown, true
	case "man", "git-help", "info":
		return m.manual(c), true
	case "m4":
		m.macros(c)
		return unknown, true
	case "cmake":
		m.buildCommand(c)
		return unknown, true
	case "jq", "gojq", "jaq":
		return m.jqProgram(c) + unknown, true
	case "poetry", "pipenv", "uv", "pdm", "rye", "hatch", "bundle", "conda", "mamba", "mise", "asdf", "direnv", "nix", "op", "doppler", "aws-vault", "pixi", "rbenv", "pyenv", "nvm", "dotenvx", "npx", "bunx", "pnpx", "cargo", "hatchling", "chamber", "infisical", "devbox", "flox", "nodemon", "concurrently", "turbo", "npm-run-all", "cross-env", "wireit", "tsx-watch", "coverage":
		return m.runner(c)
	case "kubectl", "oc":
		if c.exactly("config") && c.has("raw") || c.exactly("get") && (c.exactly("secret", "secrets") || strings.Contains(c.line(), " secret/")) && c.has("o", "output") {
			m.r.hit("secret-read", c.line())
			return secret, true
		}
	case "docker", "podman", "nerdctl":
		if v, ok := c.value("H", "host", "url"); ok && strings.Contains(v, "://") && !strings.HasPrefix(v, "unix:") {
			m.r.hit("container-control", c.line())
		}
		if c.exactly("inspect") && strings.Contains(c.line(), ".Env") {
			m.r.hit("environment-dump", c.line())
			return secret, true
		}
	case "printenv":
		return m.printenv(c), true
	case "ssh-add", "ssh-keygen", "gpg", "gpg2":
		return m.keys(c), true
	case "logger", "wall", "write", "notify-send":
		if argsSecret(c) {
			m.r.hit("secret-shown", c.line())
		}
		return "", true
	case "gcc", "cc", "clang", "g++", "tcc", "clang++":
		m.compile(c)
		return unknown, true
	case "rustc", "javac", "java", "kotlinc", "ghc", "dotnet", "zig", "swiftc", "ocamlopt", "crystal", "dmd", "nim":
		m.ownSource(c.name, c.operands())
	}
	return "", false
}

// elsewhere follows the command text that runs on other machines.
func (m *machine) elsewhere(c command) {
	for _, o := range []string{"a", "args", "c", "command"} {
		if v, ok := c.value(o); ok && strings.Contains(v, " ") {
			m.nested(v)
			return
		}
	}
	if ops := c.operands("w", "g", "h", "i", "m"); c.name != "ansible" && c.name != "vagrant" && len(ops) > 0 {
		m.nested(ops[len(ops)-1].s)
	}
}

func (m *machine) goTool(c command) (string, bool) {
	for i, a := range c.args {
		for _, o := range []string{"-exec", "-toolexec", "-vettool"} {
			value, ok := strings.CutPrefix(strings.TrimPrefix(a.s, "-"), o+"=")
			if !ok {
				value, ok = strings.CutPrefix(a.s, o+"=")
			}
			if !ok && (a.s == o || a.s == "-"+o) && i+1 < len(c.args) {
				value, ok = c.args[i+1].s, true
			}
			if ok && value != "" {
				if o != "-vettool" {
					m.r.hit("program-runs", c.line())
				}
				m.nested(value)
			}
		}
	}
	ops := c.operands("o", "exec", "toolexec", "C", "mod", "tags", "ldflags", "gcflags")
	if len(ops) > 1 && ops[0].s == "run" && strings.Contains(ops[1].s, "@") {
		m.r.network = true
		m.r.hit("package-run", c.line())
		return unknown, true
	}
	if len(ops) > 0 && (ops[0].s == "run" || ops[0].s == "build" || ops[0].s == "test") {
		m.ownSource("go", ops[1:])
	}
	if v, ok := c.value("o"); ok && len(ops) > 0 && (ops[0].s == "build" || ops[0].s == "test") {
		m.write(m.resolve(v))
	}
	return "", false
}

// packageScript is for the scripts of a package file, which are unknown:
// their name says what they are for.
func (m *machine) packageScript(c command) (string, bool) {
	if at, ok := localTool(c); ok {
		return m.exec(c.args[at:]), true
	}
	ops := c.operands(programOptions(c.name)...)
	if len(ops) > 2 && ops[0].s == "config" && ops[1].s == "get" && (strings.Contains(ops[2].s, "_auth") || strings.Contains(ops[2].s, "_password") || secretName(ops[2].s)) {
		m.r.hit("secret-read", c.line())
		return secret, true
	}
	if v, ok := c.value("script-shell"); ok {
		m.r.hit("program-runs", c.line())
		m.nested(v)
	}
	if len(ops) < 2 || ops[0].s != "run" && ops[0].s != "run-script" {
		if len(ops) > 1 && ops[0].s == "npm" && ops[1].s == "publish" {
			m.r.hit("publish", c.line())
			return unknown, true
		}
		return "", false
	}
	m.scriptName(c, ops[1].s)
	m.ownScript(ops[1].s)
	return unknown, true
}

// ownScript follows a script of a package file that the line itself wrote.
func (m *machine) ownScript(name string) {
	text, ok := m.files[m.resolve("package.json")]
	if !ok {
		return
	}
	var file struct{ Scripts map[string]string }
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		m.r.hit("opaque-code", "package.json")
		return
	}
	for _, n := range []string{"pre" + name, name, "post" + name} {
		m.nested(file.Scripts[n])
	}
}

func (m *machine) scriptName(c command, name string) {
	base, _, _ := strings.Cut(name, ":")
	if strings.HasSuffix(name, "dry-run") || strings.HasSuffix(name, "-check") {
		return
	}
	for _, w := range []string{base, strings.SplitN(base, "-", 2)[0]} {
		switch w {
		case "publish", "deploy", "release", "destroy", "ship", "upload", "promote", "rollback":
			m.r.hit("deploy-script", c.line())
			return
		}
	}
}

func (m *machine) build(c command) {
	for i, a := range c.args {
		if code, ok := strings.CutPrefix(a.s, "--eval="); ok || a.s == "--eval" || a.s == "-E" {
			if !ok && i+1 < len(c.args) {
				code = c.args[i+1].s
			}
			m.makeText(code)
		}
		if name, value, ok := strings.Cut(a.s, "="); ok && isAssignment(a.s) {
			if strings.Contains(value, "$(shell") {
				m.makeText(value)
			}
			if name == "SHELL" || name == ".SHELLFLAGS" {
				m.r.hit("program-runs", c.line())
				m.nested(value)
			}
		}
	}
	if v, ok := c.value("command"); ok && c.name == "just" {
		m.nested(v)
	}
	file, ok := c.value("f", "file", "makefile")
	if ok && file != "-" && strings.Trim(file, allMarks) == "" {
		m.r.hit("unknown-code", c.line())
	}
	switch {
	case ok && (file == "-" || file == "/dev/stdin") && m.given():
		m.makeText(m.stdin())
	case ok && m.hasFile(m.resolve(file)):
		m.makeText(m.files[m.resolve(file)])
	case !ok && m.hasFile(m.resolve("Makefile")):
		m.makeText(m.files[m.resolve("Makefile")])
	}
	if c.has("n", "dry-run", "just-print", "recon") {
		return
	}
	for _, a := range c.operands("C", "f", "o", "W", "I", "E", "eval", "file", "directory") {
		if a.s == "install" && c.name != "just" && c.name != "task" {
			m.r.hit("packages", c.line())
		}
		m.scriptName(c, a.s)
	}
}

// makeText follows the recipes and $(shell …) calls of a make file.
func (m *machine) makeText(text string) {
	if strings.Contains(text, remote) {
		m.r.hit("remote-code", "make")
	}
	if strings.Contains(text, unknown) {
		m.r.hit("opaque-code", "make")
	}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "$(shell ")
		if !ok {
			break
		}
		code, _, _ := strings.Cut(after, ")")
		m.nested(code)
		rest = after
	}
	for line := range strings.SplitSeq(text, "\n") {
		if _, recipe, ok := strings.Cut(line, ";"); ok && strings.Contains(line, ":") && !strings.HasPrefix(line, "\t") {
			line = "\t" + recipe
		}
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			m.nested(strings.ReplaceAll(strings.TrimLeft(recipe, "@-+ "), "$$", "$"))
		}
	}
}

// pagerCommand follows the command a pager is started with.
func (m *machine) pagerCommand(c command) {
	for _, a := range c.args {
		if code, ok := strings.CutPrefix(a.s, "+!"); ok {
			m.r.hit("program-runs", c.line())
			m.nested(code)
		}
	}
}

func (m *machine) manual(c command) string {
	for i, a := range c.args {
		for _, o := range []string{"-H", "--html", "-P", "--pager"} {
			value, ok := strings.CutPrefix(a.s, o+"=")
			if !ok && (o == "-H" || o == "-P") && strings.HasPrefix(a.s, o) && len(a.s) > 2 {
				value, ok = a.s[2:], true
			}
			if !ok && a.s == o && o != "-H" && o != "--html" && i+1 < len(c.args) {
				value, ok = c.args[i+1].s, true
			}
			if ok && c.name == "man" && !baseIs(programName(value), "cat", "less", "more") {
				m.r.hit("program-runs", c.line())
				m.nested(value)
			}
		}
	}
	return unknown
}

// runner follows tools whose run or exec sub-command runs a command.
func (m *machine) runner(c command) (string, bool) {
	if at, ok := localTool(c); ok {
		return m.exec(c.args[at:]), true
	}
	first := ""
	if ops := c.operands(programOptions(c.name)...); len(ops) > 0 {
		first = ops[0].s
	}
	for i, a := range c.args {
		switch {
		case c.name == "cross-env" || c.name == "aws-vault" && a.s == "--" || c.name == "npx" && a.s == "--":
			if isAssignment(a.s) {
				name, value, _ := strings.Cut(a.s, "=")
				m.environment(name, value)
				continue
			}
			start := i
			if a.s == "--" {
				start++
			}
			m.exec(c.args[start:])
			return unknown, c.name == "cross-env"
		case a.s == first && (a.s == "run" || a.s == "exec" || a.s == "x"):
			return m.runnerCommand(c, i+1)
		case a.s == "watch" && c.name == "cargo":
			if v, ok := c.value("s", "shell"); ok {
				m.nested(v)
			}
		case (a.s == "--exec" || a.s == "-x") && c.name == "nodemon" && i+1 < len(c.args):
			m.nested(c.args[i+1].s)
		case a.s == "--command" && c.name == "nix" && i+1 < len(c.args), a.s == "-c" && c.name == "nix" && i+1 < len(c.args):
			m.exec(c.args[i+1:])
		case c.name == "concurrently" && !strings.HasPrefix(a.s, "-"):
			m.nested(a.s)
		}
	}
	return "", false
}

// localTools are the development tools that a project has among its own
// packages, so that npx does not download them.
const localTools = "tsc vue-tsc eslint prettier jest vitest mocha ava tap nyc c8 playwright cypress webpack vite rollup esbuild tsup swc babel next nuxt astro svelte-check stylelint biome @biomejs/biome oxlint turbo nx lerna lint-staged prisma typedoc madge depcheck knip jsdoc concurrently nodemon cross-env gulp grunt ng vue-cli-service react-scripts markdownlint markdownlint-cli2 commitlint tailwindcss postcss graphql-codegen openapi-typescript wdio karma tsx ts-node sequelize sequelize-cli typeorm knex jasmine standard xo hardhat expo remix gatsby storybook eleventy"

// localTool is the place of the tool's name in an npx command that runs a
// tool of the project.
func localTool(c command) (int, bool) {
	start := 0
	switch {
	case hasWord("npx bunx pnpx", c.name):
	case hasWord("npm pnpm yarn", c.name) && len(c.args) > 1 && c.args[0].s == "exec", c.name == "bun" && len(c.args) > 1 && c.args[0].s == "x":
		start = 1
		if c.args[1].s == "--" {
			start = 2
		}
	default:
		return 0, false
	}
	for i, a := range c.args[start:] {
		if baseIs(a.s, "--no-install", "--no", "--offline", "--quiet", "-q", "--bun") {
			continue
		}
		return start + i, hasWord(localTools, a.s)
	}
	return 0, false
}

func (m *machine) runnerCommand(c command, i int) (string, bool) {
	if baseIs(c.name, "cargo", "nix", "npx", "bunx", "pnpx") {
		return "", false
	}
	for ; i < len(c.args); i++ {
		s := c.args[i].s
		switch {
		case s == "--":
		case len(s) > 1 && s[0] == '-':
			if baseIs(s, "-n", "--name", "-p", "--prefix", "--python", "--env", "-e", "--with", "--extra", "--group", "-C", "--directory", "--env-file", "--project") {
				i++
			}
		case c.name == "direnv" || (c.name == "mise" || c.name == "asdf") && strings.Contains(s, "@"):
			if c.name == "direnv" && i+1 < len(c.args) {
				m.exec(c.args[i+1:])
				return unknown, true
			}
		default:
			m.exec(c.args[i:])
			return unknown, true
		}
	}
	return unknown, true
}

func (m *machine) printenv(c command) string {
	ops := c.operands()
	if len(ops) == 0 {
		if !c.asksHelp() {
			m.r.hit("environment-dump", c.line())
		}
		return secret
	}
	out := ""
	for _, a := range ops {
		if secretName(a.s) {
			m.r.hit("secret-shown", c.line())
			out = secret
		}
	}
	return out + unknown
}

func (m *machine) keys(c command) string {
	switch {
	case c.has("export-secret-keys", "export-secret-subkeys") && strings.HasPrefix(c.name, "gpg"):
		m.r.hit("secret-read", c.line())
		return secret
	case strings.HasPrefix(c.name, "gpg") && c.has("recv-keys", "import", "send-keys", "delete-secret-keys", "refresh-keys"):
		m.r.hit("key-change", c.line())
	case c.name == "ssh-keygen" && !c.has("l", "F", "Y"):
		m.r.hit("key-change", c.line())
	case c.name == "ssh-add" && !c.has("l", "L"):
		m.r.hit("key-change", c.line())
	}
	return unknown
}

// ownSource looks at sources that the command line itself wrote, or gives on
// standard input.
func (m *machine) ownSource(lang string, files []arg) {
	for _, a := range files {
		text, ok := m.files[m.resolve(a.s)]
		if a.s == "-" && m.given() {
			text, ok = m.stdin(), true
		}
		if !ok && (a.s == "." || a.s == "./...") {
			for name, other := range m.files {
				if strings.HasSuffix(name, "."+lang) && !strings.Contains(name, "/") {
					text, ok = text+other, true
				}
			}
		}
		if ok && text != "" {
			m.scanCode(lang, text)
		}
	}
}

// compile looks at a C program that the command line itself holds.
func (m *machine) compile(c command) {
	text := ""
	if m.given() && c.exactly("-") {
		text = m.stdin()
	}
	for _, a := range c.operands("o", "x", "I", "L", "l", "D") {
		if t, ok := m.files[m.resolve(a.s)]; ok {
			text += t
		}
	}
	if text != "" {
		m.scanCode("c", text)
	}
	if v, ok := c.value("o"); ok {
		m.write(m.resolve(v))
	}
}
