package project

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// manifest is a file that declares the build of a project.
type manifest struct {
	name string
	read func(m *manifestReader)
}

// manifestReader collects the declarations of one manifest.
type manifestReader struct {
	text string
	has  func(name string) bool // in the manifest's directory
	read func(name string) string
	any  func(match func(name string) bool) bool // a file in or below the manifest's directory

	kind     string
	commands []Command
}

// find reports whether a file in or below the manifest's directory begins with a path.
func (m *manifestReader) find(begin string) bool {
	return m.any(func(name string) bool { return strings.HasPrefix(name, begin) })
}

func (m *manifestReader) runs(does, line string) {
	m.commands = append(m.commands, Command{Does: does, Line: line})
}

// manifestsKnown are read in this order: explicit targets and scripts precede the defaults
// of a language.
var manifestsKnown = [...]manifest{
	{"Makefile", makeTargets}, {"makefile", makeTargets}, {"GNUmakefile", makeTargets},
	{
		"justfile",
		justTargets,
	}, {"Justfile", justTargets}, {"Taskfile.yml", tasks}, {"Taskfile.yaml", tasks}, {"Rakefile", rake},
	{"tox.ini", tox}, {"tox.toml", tox}, {"noxfile.py", nox}, {"package.json", nodePackage},
	{"go.mod", goModule}, {"pyproject.toml", python}, {"setup.py", python}, {"setup.cfg", python},
	{
		"requirements.txt",
		python,
	}, {"Cargo.toml", cargo}, {"pom.xml", maven}, {"build.gradle", gradle}, {"build.gradle.kts", gradle},
	{"Gemfile", ruby}, {"composer.json", composer}, {"mix.exs", fixed("Elixir project", "mix compile", "mix test")},
	{"CMakeLists.txt", fixed("CMake project", "cmake -B build && cmake --build build", "ctest --test-dir build")},
	{
		"deno.json",
		fixed("Deno project", "", "deno test"),
	}, {"Package.swift", fixed("Swift package", "swift build", "swift test")},
	{
		"pubspec.yaml",
		fixed("Dart package", "", "dart test"),
	}, {"stack.yaml", fixed("Haskell project", "stack build", "stack test")},
	{
		"build.sbt",
		fixed("Scala project", "sbt compile", "sbt test"),
	}, {"build.zig", fixed("Zig project", "zig build", "zig build test")},
	{"meson.build", fixed("Meson project", "meson setup build && ninja -C build", "meson test -C build")},
	{
		"dune-project",
		fixed("OCaml project", "dune build", "dune test"),
	}, {"MODULE.bazel", fixed("Bazel workspace", "bazel build //...", "bazel test //...")},
}

func isManifest(base string) bool {
	return slices.ContainsFunc(manifestsKnown[:], func(m manifest) bool { return m.name == base })
}

// readManifests reads the manifests in dir.
func (f *Facts) readManifests(ctx context.Context, t *tree, dir string) {
	f.scripts(ctx, t, dir, scriptsForTests[:])
	beside := func(name string) string { return path.Join(dir, name) }
	for _, known := range manifestsKnown {
		name := beside(known.name)
		if !t.has(name) {
			continue
		}
		m := &manifestReader{
			text: t.read(ctx, name),
			has:  func(n string) bool { return t.has(beside(n)) },
			read: func(n string) string { return t.read(ctx, beside(n)) },
			any: func(match func(string) bool) bool {
				for n := range t.names {
					if below, ok := strings.CutPrefix("/"+n, path.Join("/", dir)); ok && match(strings.TrimPrefix(below, "/")) {
						return true
					}
				}
				return false
			},
		}
		known.read(m)
		f.add(m, name, dir)
	}
	f.dotnet(t, dir)
	if !slices.ContainsFunc(f.Commands, func(c Command) bool { return c.Does == "test" && c.Dir == dir }) {
		f.scripts(ctx, t, dir, scriptsWithoutManifest[:])
	}
}

// add adds the declarations of a manifest to the facts, without duplicate kinds or
// commands.
func (f *Facts) add(m *manifestReader, name, dir string) {
	if m.kind != "" && !slices.Contains(f.Kinds, m.kind) {
		f.Kinds = append(f.Kinds, m.kind)
	}
	for _, c := range m.commands {
		c.Dir, c.From = dir, name
		same := slices.ContainsFunc(f.Commands, func(have Command) bool { return have.Line == c.Line && have.Dir == c.Dir })
		if c.Line != "" && !same && len(f.Commands) < maxCommands {
			f.Commands = append(f.Commands, c)
		}
	}
}

func (f *Facts) dotnet(t *tree, dir string) {
	for name := range t.names {
		ext := path.Ext(name)
		if path.Dir(name) == path.Clean(dir) && (ext == ".sln" || ext == ".csproj" || ext == ".fsproj" || ext == ".slnx") {
			m := &manifestReader{kind: ".NET project"}
			m.runs("build", "dotnet build")
			m.runs("test", "dotnet test")
			f.add(m, name, dir)
			return
		}
	}
}

func fixed(kind, build, test string) func(*manifestReader) {
	return func(m *manifestReader) {
		m.kind = kind
		m.runs("build", build)
		m.runs("test", test)
	}
}

// purposeOf returns the purpose of a script or target by its name, or "" if unknown.
func purposeOf(name string) string {
	switch name {
	case "test", "tests", "check", "unit", "test-unit", "unit-test", "test:unit", "ci":
		return "test"
	case "build", "compile", "all":
		return "build"
	case "lint", "vet":
		return "lint"
	case "typecheck", "type-check", "check-types", "tsc", "types", "mypy":
		return "types"
	case "format", "fmt":
		return "format"
	}
	return ""
}

var (
	goModuleLine = pattern.Lazy(`(?m)^module\s+(\S+)`)
	goVersion    = pattern.Lazy(`(?m)^go\s+(\S+)`)
)

func goModule(m *manifestReader) {
	m.kind = "Go module"
	if found := goModuleLine().FindStringSubmatch(m.text); found != nil {
		m.kind += " " + found[1]
	}
	if found := goVersion().FindStringSubmatch(m.text); found != nil {
		m.kind += ", Go " + found[1]
	}
	m.runs("build", "go build ./...")
	m.runs("test", "go test ./...")
	m.runs("lint", "go vet ./...")
}

func nodePackage(m *manifestReader) {
	var p struct {
		Name    string            `json:"name"`
		Scripts map[string]string `json:"scripts"`
	}
	m.kind = "Node package"
	if json.Unmarshal([]byte(m.text), &p) != nil {
		return
	}
	m.kind = strings.TrimSpace("Node package " + p.Name)
	runner := "npm"
	switch {
	case m.has("pnpm-lock.yaml"):
		runner = "pnpm"
	case m.has("yarn.lock"):
		runner = "yarn"
	case m.has("bun.lock"), m.has("bun.lockb"):
		runner = "bun"
	}
	var names []string
	for name := range p.Scripts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		d := purposeOf(name)
		if d == "" || strings.Contains(p.Scripts[name], "no test specified") || !acting(p.Scripts[name]) {
			continue
		}
		if name == "test" && runner != "bun" {
			m.runs(d, runner+" test")
			continue
		}
		m.runs(d, runner+" run "+name)
	}
	m.namedTestsFirst()
}

var pythonName = pattern.Lazy(`(?m)^\s*name\s*=\s*["']([^"']+)["']`)

func python(m *manifestReader) {
	m.kind = "Python project"
	if found := pythonName().FindStringSubmatch(m.text); found != nil {
		m.kind += " " + found[1]
	}
	prefix := ""
	switch {
	case m.has("uv.lock"):
		prefix = "uv run "
	case m.has("poetry.lock"):
		prefix = "poetry run "
	}
	uses := func(tool string) bool {
		return strings.Contains(m.text, tool) || strings.Contains(m.read("requirements.txt"), tool) ||
			strings.Contains(m.read("requirements-dev.txt"), tool) || strings.Contains(m.read("setup.cfg"), tool)
	}
	if strings.Contains(m.text, "[tool.tox") || strings.Contains(m.text, "[tox:tox]") {
		m.runs("test", "tox")
	}
	switch {
	case uses("pytest") || m.has("conftest.py") || m.has("tests/conftest.py") || m.has("pytest.ini"):
		m.runs("test", prefix+"python -m pytest")
	case m.find("tests/") || m.find("test_") || m.find("test/"):
		m.runs("test", prefix+"python -m unittest")
	}
	if uses("ruff") {
		m.runs("lint", prefix+"ruff check .")
	}
	if uses("mypy") {
		m.runs("types", prefix+"mypy .")
	}
}

func cargo(m *manifestReader) {
	m.kind = "Rust crate"
	if strings.Contains(m.text, "[workspace]") {
		m.kind = "Rust workspace"
	} else if found := pythonName().FindStringSubmatch(m.text); found != nil {
		m.kind += " " + found[1]
	}
	m.runs("build", "cargo build")
	m.runs("test", "cargo test")
}

func maven(m *manifestReader) {
	m.kind = "Maven project"
	program := "mvn"
	if m.has("mvnw") {
		program = "./mvnw"
	}
	m.runs("build", program+" -q compile")
	m.runs("test", program+" -B test") // -q would hide which tests ran
}

func gradle(m *manifestReader) {
	m.kind = "Gradle project"
	program := "gradle"
	if m.has("gradlew") {
		program = "./gradlew"
	}
	m.runs("build", program+" assemble")
	m.runs("test", program+" test")
}

func ruby(m *manifestReader) {
	m.kind = "Ruby project"
	if m.any(func(name string) bool { return strings.HasPrefix(name, "spec/") && strings.HasSuffix(name, "_spec.rb") }) { //control:specs-are-there
		m.runs("test", "bundle exec rspec")
	}
}

func composer(m *manifestReader) {
	m.kind = "PHP project"
	var p struct {
		Scripts map[string]any `json:"scripts"`
	}
	if json.Unmarshal([]byte(m.text), &p) == nil && p.Scripts["test"] != nil {
		m.runs("test", "composer test")
		return
	}
	if m.has("phpunit.xml") || m.has("phpunit.xml.dist") {
		m.runs("test", "vendor/bin/phpunit")
	}
}
