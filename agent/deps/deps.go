// Package deps knows the package managers: which of them a repository needs, how to
// install its packages before a session, and how a command's output shows that they are
// missing.
//
//	deps.go     the managers, and the proposal for a repository
//	output.go   missing packages and refused connections in a command's output
//	install.go  commands that only a network or a cache can satisfy
package deps

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Manager is a package manager. Its name is that of its program.
type Manager struct {
	Name  string
	Place string // directory of the installed packages in the repository; "" if they are in a cache
	// Caches are directories below the home directory with packages, and their places
	// below the caches of a workspace.
	Caches map[string]string

	uses     func(r repository) bool
	preset   string   // name in setup.presets
	cache    string   // name in setup.caches
	installs []string // verbs that fetch packages
	offline  []string // options that fetch nothing
	missing  string   // pattern of output about a missing package; a group names it
	// commands install the packages and, in languages that compile them, compile them: sessions do not
	// have to. They may fail in that, since the repository's own code may not compile.
	commands func(r repository) []string
	files    []string // that change the packages
}

// repository has the files at the root of a repository, and of its directory requirements.
type repository struct {
	names []string
	read  func(name string) string
}

func (r repository) has(name string) bool { return slices.Contains(r.names, name) }

// first returns the first of these files, "" if there is none.
func (r repository) first(names ...string) string {
	for _, name := range names {
		if r.has(name) {
			return name
		}
	}
	return ""
}

func lines(commands ...string) func(repository) []string {
	return func(repository) []string { return commands }
}

// home installs a program into the home directory unless the workspace has it.
func home(program, with string) string {
	return "command -v " + program + " >/dev/null || " + with + " " + program
}

// Patterns of output about missing packages, of the languages that have several managers.
const (
	nodeMissing = `(?:Cannot find (?:module|package)|Failed to resolve import|Can't resolve|Could not resolve:?) ['"]((?:@[\w.-]+/)?[\w][\w./-]*)['"]|` +
		`(?m:^(?:sh|bash|/bin/sh): (?:\d+: |line \d+: )?([\w.-]+): (?:command )?not found$)`
	pythonMissing = `(?:ModuleNotFoundError|ImportError)[^\n]*: No module named '?([A-Za-z_][\w.]*)|: No module named ([A-Za-z_][\w.]*)|` +
		`No matching distribution found for ([^\s=<>~!;]+)`
)

const (
	byNPM = "npm install --global --prefix ~/.local"
	byPip = "python3 -m pip install --user --break-system-packages"
)

// managers are in an order in which the one of a lock file comes before those that read
// the same manifest.
var managers = [...]Manager{
	{
		Name: "pnpm", uses: locked("", nil, "pnpm-lock.yaml"),
		Place: "node_modules", preset: "npm", cache: "pnpm",
		Caches:   map[string]string{".local/share/pnpm/store": "home/.local/share/pnpm/store"},
		installs: []string{"install", "i", "add", "up", "update", "fetch"}, offline: []string{"--offline"},
		missing:  nodeMissing + `|ERR_PNPM_(?:META_FETCH_FAIL|NO_OFFLINE_\w+)|Local package\.json exists, but node_modules missing`,
		commands: lines(home("pnpm", byNPM), "pnpm install --frozen-lockfile"),
		files:    []string{"package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc"},
	},
	{
		Name: "yarn", uses: locked("", nil, "yarn.lock"),
		Place: "node_modules", preset: "npm", cache: "yarn",
		installs: []string{"install", "add", "up", "upgrade", ""}, offline: []string{"--offline", "--immutable-cache"},
		missing:  nodeMissing + `|Couldn't find the node_modules state file|isn't declared in your dependencies|The lockfile would have been modified`,
		commands: yarnInstall,
		files:    []string{"package.json", "yarn.lock", ".yarnrc.yml"},
	},
	{
		Name: "bun", uses: locked("", nil, "bun.lock", "bun.lockb"),
		Place: "node_modules", preset: "npm",
		Caches:   map[string]string{".bun/install/cache": "home/.bun/install/cache"},
		installs: []string{"install", "i", "add", "update"}, offline: []string{"--offline"},
		missing:  nodeMissing,
		commands: lines(home("bun", byNPM), "bun install --frozen-lockfile"),
		files:    []string{"package.json", "bun.lock", "bun.lockb", "bunfig.toml"},
	},
	{
		Name: "npm", uses: locked("package.json", nodeLists, "package-lock.json", "npm-shrinkwrap.json"),
		Place: "node_modules", preset: "npm", cache: "npm",
		Caches:   map[string]string{".npm/_cacache": "home/.npm/_cacache"},
		installs: []string{"install", "i", "ci", "add", "update", "up", "install-test", "it"}, offline: []string{"--offline"},
		missing:  nodeMissing,
		commands: npmInstall,
		files:    []string{"package.json", "package-lock.json", "npm-shrinkwrap.json", ".npmrc"},
	},
	{
		Name: "uv", uses: locked("", nil, "uv.lock"),
		Place: ".venv", preset: "pip", cache: "pip",
		Caches:   map[string]string{".cache/uv": "uv"},
		installs: []string{"sync", "add", "lock", "pip install", "pip sync", "tool install"}, offline: []string{"--offline"},
		missing:  pythonMissing + "|(?:Failed to download|Failed to fetch:) `([^`]+)`" + `|Because ([\w.-]+) was not found in the (?:cache|package registry)`,
		commands: lines(home("uv", byPip), "uv sync --frozen --all-extras --all-groups"),
		files:    []string{"pyproject.toml", "uv.lock"},
	},
	{
		Name: "poetry", uses: locked("", nil, "poetry.lock"),
		Place: ".venv", preset: "pip", cache: "pip",
		installs: []string{"install", "add", "update", "lock", "sync"},
		missing:  pythonMissing + `|All attempts to connect to (?:pypi\.org|\S+) failed|Command not found: (\S+)`,
		commands: lines(home("poetry", byPip), "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction"),
		files:    []string{"pyproject.toml", "poetry.lock"},
	},
	{
		Name: "pip", uses: pythonUses,
		Place: ".venv", preset: "pip", cache: "pip",
		Caches:   map[string]string{".cache/pip": "pip"},
		installs: []string{"install", "download", "wheel"}, offline: []string{"--no-index", "--dry-run", "--no-build-isolation", "--no-deps"},
		missing:  pythonMissing,
		commands: pipInstall,
		files:    []string{"pyproject.toml", "setup.py", "setup.cfg"},
	},
	{
		Name: "go", uses: locked("go.mod", matches(`(?m)^require\b`)),
		preset: "go", cache: "go",
		Caches:   map[string]string{"go/pkg/mod": "go/pkg/mod"},
		installs: []string{"get", "install", "mod download", "mod tidy", "mod vendor"},
		missing:  `(?:^|[\s:])((?:[\w-]+\.)+[\w-]+/\S+?)(?:@\S+)?: (?:Get "https?://|dial tcp|module lookup disabled)|no required module provides package (\S+?);`,
		commands: lines("go mod download", "go vet ./... || true"), files: []string{"go.mod", "go.sum"},
	},
	{
		Name: "cargo", uses: locked("Cargo.toml", matches(`(?m)^\s*\[(?:[\w-]+\.)*(?:dev-|build-)?dependencies[\].]|^\s*\[workspace\]`)),
		preset: "cargo", cache: "cargo",
		Caches: map[string]string{
			".cargo/registry": "home/.cargo/registry", ".cargo/git": "home/.cargo/git",
		},
		installs: []string{"fetch", "add", "install", "update"}, offline: []string{"--offline"},
		missing: `no matching package named .([\w-]+). found|failed to (?:download|get) ["'` + "`" + `]([\w-]+)|` +
			`failed to download from .https://(?:index|static)\.crates\.io`,
		commands: cargoFetch, files: []string{"Cargo.toml", "Cargo.lock"},
	},
	{
		Name: "bundle", uses: locked("Gemfile", matches(`(?m)^\s*(?:gem|gemspec)\b`), "Gemfile.lock"),
		Place: "vendor/bundle", preset: "gem", cache: "gem",
		installs: []string{"install", "add", "update", "lock", ""}, offline: []string{"--local"},
		missing: `Could not find (?:gem ')?([\w-]+?)(?:-\d[\w.]*)?(?:'| \([^)]*\))?(?:,[^\n]*)? in (?:any of the sources|locally installed gems|cached gems)|` +
			`cannot load such file -- ([a-z][\w/-]*)|Could not reach host \S*rubygems\.org`,
		commands: lines("bundle config set --local path vendor/bundle", "bundle install"),
		files:    []string{"Gemfile", "Gemfile.lock"},
	},
	{
		Name: "composer", uses: locked("composer.json", phpLists, "composer.lock"),
		Place: "vendor", preset: "composer",
		Caches:   map[string]string{".cache/composer": "composer"},
		installs: []string{"install", "update", "require", "create-project"},
		missing:  `Failed opening required '[^']*(vendor/autoload\.php)'|(vendor/(?:autoload\.php|bin/[\w-]+))[^\n]*(?:No such file|not found)|curl error \d+ while downloading https://repo\.packagist\.org`,
		commands: lines("composer install --no-interaction --no-progress --prefer-dist"),
		files:    []string{"composer.json", "composer.lock"},
	},
	{
		Name: "mvn", uses: locked("pom.xml", matches(`<project\b`)),
		preset: "maven", cache: "maven",
		Caches:  map[string]string{".m2/repository": "home/.m2/repository"},
		offline: []string{"-o", "--offline"}, installs: []string{"dependency:go-offline", "dependency:resolve", "dependency:get"},
		missing:  `Could not (?:transfer|find) artifact ([\w.-]+:[\w.-]+)|(?:Plugin|Unresolveable build extension:?) ([\w.-]+:[\w.-]+)\S* or one of its dependencies could not be resolved`,
		commands: mavenInstall, files: []string{"pom.xml"},
	},
	{
		Name: "gradle", uses: locked("", nil, "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
		preset: "gradle", cache: "gradle",
		Caches:   map[string]string{".gradle/caches/modules-2": "home/.gradle/caches/modules-2"},
		offline:  []string{"--offline"},
		missing:  `Could not (?:resolve|GET) '?([\w.-]+:[\w.-]+|https?://\S+?)[:'\s]|Plugin \[id: '([\w.-]+)'[^\n]* was not found|services\.gradle\.org`,
		commands: gradleInstall,
		files: []string{
			"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
			"gradle.lockfile", "gradle/libs.versions.toml", "gradle/wrapper/gradle-wrapper.properties",
		},
	},
	{
		Name: "dotnet", uses: dotnetUses,
		preset:   "nuget",
		Caches:   map[string]string{".nuget/packages": "home/.nuget/packages"},
		installs: []string{"restore", "add package", "tool install", "tool restore"},
		missing:  `error NU1(?:101|301|102|100): (?:Unable to (?:find package|load the service index for source) (https?://\S+|[\w.-]+))?|project\.assets\.json' not found`,
		commands: lines("dotnet restore"), files: []string{"global.json", "Directory.Packages.props", "packages.lock.json"},
	},
	{
		Name: "mix", uses: locked("mix.exs", matches(`\{:\w+, *["'~>]`), "mix.lock"),
		Place: "deps", preset: "hex",
		installs: []string{"deps.get", "deps.update", "local.hex", "local.rebar", "archive.install"},
		missing:  `the dependency is not available|Unchecked dependencies for environment|Failed to fetch record for .*?hexpm/([\w-]+)|Could not find Hex`,
		commands: lines(
			"mix local.hex --force --if-missing", "mix local.rebar --force --if-missing", "mix deps.get", "MIX_ENV=test mix deps.compile",
		),
		files: []string{"mix.exs", "mix.lock"},
	},
	{
		Name: "swift", uses: locked("Package.swift", matches(`\.package\(\s*(?:name:[^,]*,\s*)?url:`), "Package.resolved"),
		Place: ".build", preset: "swift",
		installs: []string{"package resolve", "package update"},
		missing:  `(?:error: )?(?:Failed to clone repository|failed to retrieve|Couldn.t fetch updates from)[^\n]*?(https?://\S+)|unable to access '(https?://\S+?)'`,
		commands: lines("swift package resolve"), files: []string{"Package.swift", "Package.resolved"},
	},
}

func matches(expr string) func(string) bool {
	re := pattern.Lazy(expr)
	return func(text string) bool { return re().MatchString(text) }
}

// nodeLists reports whether a package.json lists packages.
func nodeLists(text string) bool {
	var p struct {
		Dependencies, DevDependencies map[string]string
		Workspaces                    json.RawMessage
	}
	return json.Unmarshal([]byte(text), &p) == nil && len(p.Dependencies)+len(p.DevDependencies)+len(p.Workspaces) > 0
}

// phpLists reports whether a composer.json lists packages, and not only PHP and its
// extensions.
func phpLists(text string) bool {
	var p struct {
		Require map[string]string
		Dev     map[string]string `json:"require-dev"`
	}
	if json.Unmarshal([]byte(text), &p) != nil {
		return false
	}
	for _, list := range []map[string]string{p.Require, p.Dev} {
		for name := range list {
			if strings.Contains(name, "/") {
				return true
			}
		}
	}
	return false
}

var pythonLists = matches(`(?m)^\s*(?:dependencies|test|tests|dev|testing)\s*=\s*\[\s*(?:"|'|#|$)|^\s*install_requires\s*=|^\s*\[(?:tool\.poetry\.[\w.-]*dependencies|dependency-groups|options\.extras_require)\]`)

// locked returns a function that reports whether a repository has one of the lock files,
// or a manifest that lists packages.
func locked(manifest string, lists func(text string) bool, locks ...string) func(repository) bool {
	return func(r repository) bool {
		return r.first(locks...) != "" || manifest != "" && r.has(manifest) && lists(r.read(manifest))
	}
}

func pythonUses(r repository) bool {
	return len(r.requirements()) > 0 ||
		pythonLists(r.read("pyproject.toml")) || pythonLists(r.read("setup.cfg")) || pythonLists(r.read("setup.py"))
}

func dotnetUses(r repository) bool { return slices.ContainsFunc(r.names, isDotnet) }

func isDotnet(name string) bool {
	return slices.Contains([]string{".sln", ".slnx", ".csproj", ".fsproj"}, path.Ext(name))
}

// lists reports whether a requirements file names packages.
func lists(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// Needed returns the managers whose packages a repository needs, at most one for the same
// manifest. names are the files at its root and in requirements.
func Needed(names []string, read func(name string) string) (out []*Manager) {
	r := repository{names, read}
	family := map[string]bool{}
	for i := range managers {
		m := &managers[i]
		if same := familyOf(m); !family[same] && m.uses(r) {
			family[same] = true
			out = append(out, m)
		}
	}
	return out
}

// familyOf returns the name shared by the managers of the same manifest.
func familyOf(m *Manager) string {
	switch m.Name {
	case "mvn", "gradle":
		return "java"
	}
	return m.preset
}

// Names returns the names of managers, as in a sentence.
func Names(list []*Manager) string {
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	return strings.Join(names, " and ")
}

// Propose returns the set-up that installs the packages of these managers. Its network is
// that of their public hosts.
func Propose(list []*Manager, names []string, read func(name string) string) policy.SetUp {
	r := repository{names, read}
	out := policy.SetUp{Network: "allowlist"}
	for _, m := range list {
		out.Commands = append(out.Commands, m.commands(r)...)
		for _, f := range m.files {
			if r.has(f) || strings.Contains(f, "/") && read(f) != "" {
				out.Files = append(out.Files, f)
			}
		}
		switch m.Name {
		case "dotnet":
			out.Files = append(out.Files, slices.DeleteFunc(slices.Clone(names), func(f string) bool { return !isDotnet(f) })...)
		case "pip":
			out.Files = append(out.Files, r.requirements()...)
		}
		if m.cache != "" && !slices.Contains(out.Caches, m.cache) {
			out.Caches = append(out.Caches, m.cache)
		}
		if !slices.Contains(out.Presets, m.preset) {
			out.Presets = append(out.Presets, m.preset)
		}
		if strings.Contains(strings.Join(m.commands(r), "\n"), byNPM) && !slices.Contains(out.Presets, "npm") {
			out.Presets = append(out.Presets, "npm")
		}
	}
	return out
}

// npmInstall installs packages without their scripts if one of these fails: npm keeps none then,
// and scripts of tools for developers load browsers and the like from other hosts.
func npmInstall(r repository) []string {
	line := "npm install --no-package-lock --no-audit --no-fund"
	if r.first("package-lock.json", "npm-shrinkwrap.json") != "" {
		line = "npm ci --no-audit --no-fund"
	}
	return []string{line + " || " + line + " --ignore-scripts"}
}

func yarnInstall(r repository) []string {
	if strings.Contains(r.read("yarn.lock"), "# yarn lockfile v1") {
		return []string{home("yarn", byNPM), "yarn install --frozen-lockfile"}
	}
	return []string{home("yarn", byNPM), "corepack yarn install --immutable || yarn install --immutable"}
}

var (
	extras = pattern.Lazy(`(?ms)^\[project\.optional-dependencies\]\s*$(.*?)(?:^\[|\z)`)
	groups = pattern.Lazy(`(?ms)^\[dependency-groups\]\s*$(.*?)(?:^\[|\z)`)
	key    = pattern.Lazy(`(?m)^\s*["']?(tests?|testing|dev)["']?\s*=`)
)

// requirements returns the lists of packages that tests need, as pip reads them: all of the root,
// and of those in a directory that of the tests, or else that of developers.
func (r repository) requirements() (out []string) {
	var below []string
	for _, name := range r.names {
		words := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return strings.ContainsRune("/_.-", c) })
		dev, test := slices.Contains(words, "dev"), workspace.IsTest(name) || slices.Contains(words, "testing")
		switch own := path.Base(name) == name; {
		case path.Ext(name) != ".txt", !slices.Contains(words, "requirements"), !dev && !test && name != "requirements.txt":
		case !lists(r.read(name)):
		case own:
			out = append(out, name)
		case test:
			below = append([]string{name}, below...)
		default:
			below = append(below, name)
		}
	}
	return append(out, below[:min(1, len(below))]...)
}

// pipInstall installs requirements files, and else the project with its extras for tests.
func pipInstall(r repository) []string {
	out := []string{"python3 -m venv .venv"}
	add := func(words string) { out = append(out, ".venv/bin/python -m pip install "+words) }
	if r.first("pyproject.toml", "setup.py") != "" && strings.Contains(r.read("pyproject.toml"), "[project]") || r.has("setup.py") {
		project := "-e ."
		if found := extras().FindStringSubmatch(r.read("pyproject.toml")); found != nil {
			if name := key().FindStringSubmatch(found[1]); name != nil {
				project = "-e '.[" + name[1] + "]'"
			}
		}
		add(project)
		if found := groups().FindStringSubmatch(r.read("pyproject.toml")); found != nil {
			if name := key().FindStringSubmatch(found[1]); name != nil {
				out = append(out, ".venv/bin/python -m pip install --upgrade pip")
				add("--group " + name[1])
			}
		}
	}
	for _, name := range r.requirements() {
		add("-r " + name)
	}
	if said := r.read("pyproject.toml") + r.read("setup.cfg") + r.read("tox.ini"); strings.Contains(said, "pytest") || r.has("pytest.ini") || r.has("conftest.py") {
		add("pytest")
	}
	return out
}

func cargoFetch(r repository) []string {
	if r.has("Cargo.lock") {
		return []string{"cargo fetch --locked", "cargo test --locked --no-run || true"}
	}
	return []string{"cargo fetch", "cargo test --no-run || true"}
}

// mavenInstall runs the tests phase, because only that resolves the plugins which run tests. The
// pattern matches all classes and none of their tests: without a class, Surefire resolves no
// provider. An old Surefire may run some, and a red one does not matter.
func mavenInstall(r repository) []string {
	program := "mvn"
	if r.has("mvnw") {
		program = "sh ./mvnw"
	}
	return []string{program + " -B -ntp test -Dtest='*#none' -Dsurefire.failIfNoSpecifiedTests=false " +
		"-DfailIfNoTests=false -Dmaven.test.failure.ignore=true"}
}

// gradleInstall runs the tests, because only that resolves all that they need; a red test
// does not matter.
func gradleInstall(r repository) []string {
	program := "gradle"
	if r.has("gradlew") {
		program = "sh ./gradlew"
	}
	return []string{program + " --no-daemon test || " + program + " --no-daemon testClasses"}
}
