package project

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/local"
)

// open puts files into a real workspace.
func open(t testing.TB, files map[string]string) *workspace.Workspace {
	t.Helper()
	src := t.TempDir()
	for name, text := range files {
		p := filepath.Join(src, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!/bin/sh") {
			mode = 0o755
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	e, err := local.New(local.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ws, err := e.Open(t.Context(), workspace.Spec{Session: "s", Source: src, State: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return ws
}

func TestCommands(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		kinds string
		want  []string
	}{
		{"go", map[string]string{"go.mod": "module example.com/a\n\ngo 1.26\n"}, "Go module example.com/a, Go 1.26",
			[]string{"build: go build ./...", "test: go test ./...", "lint: go vet ./..."}},
		{"make first", map[string]string{"go.mod": "module a\n", "Makefile": ".PHONY: test\nCC := gcc\ntest: build\n\tgo test -race ./...\nbuild:\n\tgo build\nrelease:\n\tno\n"}, "Go module a",
			[]string{"test: make test", "build: make build", "build: go build ./...", "test: go test ./...", "lint: go vet ./..."}},
		{"node with pnpm", map[string]string{"package.json": `{"name":"web","scripts":{"test":"vitest","build":"vite build","check-types":"tsc","dev":"vite"}}`, "pnpm-lock.yaml": ""}, "Node package web",
			[]string{"build: pnpm run build", "types: pnpm run check-types", "test: pnpm test"}},
		{"node without tests", map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`}, "Node package", nil},
		{"node broken", map[string]string{"package.json": `{`}, "Node package", nil},
		{"python with uv", map[string]string{"pyproject.toml": "[project]\nname = \"thing\"\n[tool.pytest.ini_options]\n[tool.ruff]\n", "uv.lock": ""}, "Python project thing",
			[]string{"test: uv run python -m pytest", "lint: uv run ruff check ."}},
		{"python plain", map[string]string{"setup.py": "setup()", "tests/test_a.py": ""}, "Python project", []string{"test: python -m unittest"}},
		{"rust", map[string]string{"Cargo.toml": "[package]\nname = \"x\"\n"}, "Rust crate x", []string{"build: cargo build", "test: cargo test"}},
		{"maven wrapper", map[string]string{"pom.xml": "<project/>", "mvnw": ""}, "Maven project", []string{"build: ./mvnw -q compile", "test: ./mvnw -B test"}},
		{"gradle", map[string]string{"build.gradle.kts": "", "gradlew": ""}, "Gradle project", []string{"build: ./gradlew assemble", "test: ./gradlew test"}},
		{"ruby", map[string]string{"Gemfile": "", "spec/a_spec.rb": ""}, "Ruby project", []string{"test: bundle exec rspec"}},
		{"php", map[string]string{"composer.json": `{"scripts":{"test":["phpunit"]}}`}, "PHP project", []string{"test: composer test"}},
		{".NET", map[string]string{"App.sln": ""}, ".NET project", []string{"build: dotnet build", "test: dotnet test"}},
		{"cmake", map[string]string{"CMakeLists.txt": ""}, "CMake project", []string{"build: cmake -B build && cmake --build build", "test: ctest --test-dir build"}},
		{"CI first", map[string]string{"go.mod": "module a\n", "Makefile": "test:\n\tgo test ./...\n",
			".github/workflows/release.yml": "jobs:\n  a:\n    steps:\n    - run: make check\n",
			".github/workflows/ci.yml":      "defaults: {run: {working-directory: web}}\njobs:\n  w: {runs-on: [windows-latest], steps: [{run: npm run test:win}]}\n  a:\n    runs-on: ubuntu-latest\n    steps:\n    - uses: actions/checkout@v4\n    - run: npm ci && npm test\n    - {run: ./gradlew test, working-directory: .}\n    - {run: npm t, shell: pwsh}\n    - run: go test ${{ matrix.flags }}\n    - run: npm test\n"}, "Go module a",
			[]string{"test: npm test in web", "test: ./gradlew test", "test: make check", "test: make test", "build: go build ./...", "test: go test ./...", "lint: go vet ./..."}},
		{"broken workflow", map[string]string{".github/workflows/ci.yml": "jobs: [a\n", ".github/workflows/x.yml": "jobs: {a: {steps: x}}\n", "a.txt": ""}, "", nil},
		{"script", map[string]string{"script/test": "#!/bin/sh\n", "go.mod": "module a\n"}, "Go module a",
			[]string{"test: script/test", "build: go build ./...", "test: go test ./...", "lint: go vet ./..."}},
		{"script that may not be executed", map[string]string{"script/test": "#!/usr/bin/env bash\n"}, "", []string{"test: bash script/test"}},
		{"script at the root", map[string]string{"check.sh": "set -e\n", "README.md": ""}, "", []string{"test: sh check.sh"}},
		{"executable script at the root", map[string]string{"run_tests.sh": "#!/bin/sh\n"}, "", []string{"test: ./run_tests.sh"}},
		{"script beside a manifest", map[string]string{"check.sh": "set -e\n", "go.mod": "module a\n"}, "Go module a",
			[]string{"build: go build ./...", "test: go test ./...", "lint: go vet ./..."}},
		{"idle targets", map[string]string{"Makefile": ".PHONY: test check\ntest:\n\t@echo no tests\ncheck: test # nothing\ntests: other.o\nci: real ; @true\nreal:\n\t-./run\nbuild: ; cc a.c\nlint:\n"}, "",
			[]string{"test: make tests", "build: make build", "test: make ci"}},
		{"just", map[string]string{"justfile": "check *args: lint\ntest *args:\n    cargo test {{args}}\nlint:\n    true\n"}, "", []string{"test: just test"}},
		{"Taskfile", map[string]string{"Taskfile.yml": "version: '3'\ntasks:\n  check: {cmds: [echo x]}\n  test:\n    cmds:\n    - task: unit\n  build: go build\n  lint: {deps: [a]}\n"}, "",
			[]string{"test: task test", "build: task build", "lint: task lint"}},
		{"minitest", map[string]string{"Gemfile": "gem 'rake'\n# gem 'rspec'\n", "Rakefile": "Minitest::TestTask.create\ntask default: :test\n", "test/test_a.rb": ""}, "Ruby project",
			[]string{"test: bundle exec rake test"}},
		{"rspec task", map[string]string{"Rakefile": "RSpec::Core::RakeTask.new(:spec)\ntask :deploy do\nend\n"}, "", []string{"test: rake spec"}},
		{"rails", map[string]string{"Gemfile": "", "Rakefile": "Rails.application.load_tasks\n", "bin/rails": "", "test/models/a_test.rb": ""}, "Ruby project", []string{"test: bin/rails test"}},
		{"spec without specs", map[string]string{"Gemfile": "gem 'rspec'\n", "spec/openapi.yaml": ""}, "Ruby project", nil},
		{"tox", map[string]string{"tox.ini": "[testenv]\ncommands = pytest\n", "setup.cfg": "[options.extras_require]\ntest = pytest\n"}, "Python project",
			[]string{"test: tox", "test: python -m pytest"}},
		{"tox.ini of a linter", map[string]string{"tox.ini": "[flake8]\n"}, "", nil},
		{"nox", map[string]string{"noxfile.py": "import nox\n\n@nox.session(python=['3.12'])\n@nox.parametrize('a', [1])\ndef tests(session):\n    pass\n\n@nox.session\ndef lint(session):\n    pass\n"}, "",
			[]string{"test: nox -s tests"}},
		{"idle script", map[string]string{"package.json": `{"scripts":{"test":"echo none && exit 0","check":"tsc"}}`}, "Node package", []string{"test: npm run check"}},
		{"scripts before manifests", map[string]string{"go.mod": "module a\n", "package.json": `{"scripts":{"test":"jest"}}`}, "Node package; Go module a",
			[]string{"test: npm test", "build: go build ./...", "test: go test ./...", "lint: go vet ./..."}},
		{"below the root", map[string]string{"api/go.mod": "module api\n", "node_modules/x/package.json": "{}"}, "Go module api",
			[]string{"build: go build ./... in api", "test: go test ./... in api", "lint: go vet ./... in api"}},
		{"nothing", map[string]string{"a.txt": ""}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Discover(t.Context(), open(t, tt.files))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range f.Commands {
				line := c.Does + ": " + c.Line
				if c.Dir != "" {
					line += " in " + c.Dir
				}
				got = append(got, line)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if got := strings.Join(f.Kinds, "; "); got != tt.kinds {
				t.Errorf("kinds %q, want %q", got, tt.kinds)
			}
		})
	}
}

func TestString(t *testing.T) {
	f, err := Discover(t.Context(), open(t, map[string]string{
		"go.mod": "module m\n", "README.md": "<!--\nHIDDEN\n-->\n[![badge](x)](y)\n# M\n\nDoes<!-- HIDDEN --> things.\n", "cmd/a.go": "", "cmd/b.go": "", "web/package.json": `{}`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := "- build: `go build ./...` (go.mod)\n- test: `go test ./...` (go.mod)\n- lint: `go vet ./...` (go.mod)\n- Go module m\n" +
		"- More manifests: web/package.json\n- Layout: cmd/ (2), web/ (1), README.md, go.mod\n\nThe README begins:\n\n    # M\n    \n    Does things."
	if d := cmp.Diff(want, f.String()); d != "" {
		t.Error(d)
	}
}

// A repository can be as large as it likes; what is said of it stays small.
func TestStringStaysSmall(t *testing.T) {
	files := map[string]string{"README.md": strings.Repeat("A long line of the read-me.\n", 2000), "Makefile": strings.Repeat("test:\nlint:\nbuild:\n", 500)}
	for n := range 300 {
		files[fmt.Sprintf("dir%03d/%s/package.json", n, strings.Repeat("d", 60))] = "{}"
		files[fmt.Sprintf("file%03d-%s", n, strings.Repeat("f", 60))] = ""
	}
	f, err := Discover(t.Context(), open(t, files))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.String()); n > maxText+20 || n < 1000 {
		t.Errorf("%d bytes", n)
	}
	if s := f.String(); !strings.Contains(s, "more directories") {
		t.Errorf("it does not say that there is more:\n%s", s)
	}
}

func start(t *testing.T, files Files) (string, error) {
	t.Helper()
	return (&Rules{Files: files}).Start(t.Context())
}

func TestInstructions(t *testing.T) {
	got, err := start(t, open(t, map[string]string{
		"AGENTS.md": "Use tabs.\n", "CLAUDE.md": "Use tabs.", ".github/copilot-instructions.md": "Write tests.", ".cursorrules": "", "docs/AGENTS.md": "not this",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := "## AGENTS.md\n\nUse tabs.\n\n## .github/copilot-instructions.md\n\nWrite tests."
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got, err = start(t, open(t, map[string]string{"AGENTS.md": strings.Repeat("rule\n", 9000), "CLAUDE.md": "\x00binary"}))
	if err != nil || len(got) > maxRule+100 || !strings.Contains(got, "[cut] 36999 bytes more: read AGENTS.md") || strings.Contains(got, "binary") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	got, err = start(t, open(t, map[string]string{"AGENTS.md": strings.Repeat("rule\n", 90000), "CLAUDE.md": "Use tabs."}))
	if err != nil || !strings.Contains(got, "## AGENTS.md\n\nIt has more than 262144 bytes") || !strings.Contains(got, "Use tabs.") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := start(t, open(t, map[string]string{"a": ""})); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestMentions(t *testing.T) {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	for _, tt := range []struct {
		name, text string
		want       []mention
	}{
		{"path", "fix src/a.go please", []mention{{Path: "src/a.go"}}},
		{"lines", "see a.go:10-20 and b.go:7.", []mention{{Path: "a.go", From: 10, To: 20}, {Path: "b.go", From: 7, To: 7}}},
		{"hash lines", "`src/a.go#L3-L9`", []mention{{Path: "src/a.go", From: 3, To: 9}}},
		{"column", "src/a.go:10:5: undefined", []mention{{Path: "src/a.go", From: 10, To: 10}}},
		{"quoted", "(\"a.go\", 'b/c.py') **d.ts**", []mention{{Path: "a.go"}, {Path: "b/c.py"}, {Path: "d.ts"}}},
		{"dot slash", "./x/y.go and /abs/z.go", []mention{{Path: "x/y.go"}, {Path: "abs/z.go"}}},
		{"at", "look at @src/a.go", []mention{{Path: "src/a.go"}}},
		{"well-known", "the Makefile and .env", []mention{{Path: "Makefile"}, {Path: ".env"}}},
		{"permalink", "https://github.com/o/r/blob/" + sha + "/src/a%20b.go#L10-L50", []mention{{Repo: "o/r", Ref: sha, Path: "src/a b.go", From: 10, To: 50}}},
		{"permalink, one line, plain", "<https://github.example.com/o/r/blob/" + sha + "/a.md?plain=1#L4>", []mention{{Repo: "o/r", Ref: sha, Path: "a.md", From: 4, To: 4}}},
		{"permalink with columns", "https://github.com/o/r/blob/" + sha + "/a.go#L4C2-L6C10", []mention{{Repo: "o/r", Ref: sha, Path: "a.go", From: 4, To: 6}}},
		{"in Markdown", "[here](https://github.com/o/r/blob/main/a.go).", []mention{{Repo: "o/r", Ref: "main", Path: "a.go"}}},
		{"other links", "https://example.com/a/b.html and mailto:x", nil},
		{"prose", "Please make it faster. Thanks", nil},
		{"twice", "a.go a.go", []mention{{Path: "a.go"}}},
		{"outside", "../../etc/passwd", []mention{{Path: "etc/passwd"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, mentions(tt.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	now := open(t, map[string]string{
		"src/a.go": "1\n2\n3\n4\n", "docs/only.md": "text", "x/same.go": "", "y/same.go": "", "big.txt": strings.Repeat("ö", 9000),
		"bin.dat": "a\x00b", "secret/key.txt": "s3cret", ".agentignore": "secret/\n", "deep/feature/a.go": "",
	})
	then := open(t, map[string]string{"src/a.go": "old 1\nold 2\n"})
	at := func(_ context.Context, repo, ref string) Files {
		if repo == "o/r" && (ref == "abc" || ref == "feature/x") {
			return then
		}
		return nil
	}
	for _, tt := range []struct {
		name, text string
		want       []session.Item
	}{
		{"lines", "src/a.go:2-3", []session.Item{{Kind: "selection", Name: "src/a.go:L2-L3", Text: "2\n3"}}},
		{"beyond the end", "src/a.go:3-99", []session.Item{{Kind: "selection", Name: "src/a.go:L3-L4", Text: "3\n4"}}},
		{"wholly beyond", "src/a.go:50", nil},
		{"base name", "only.md", []session.Item{{Kind: "file", Name: "docs/only.md", Text: "text"}}},
		{"ambiguous", "same.go", nil},
		{"not there", "nowhere.go and etc/passwd", nil},
		{"binary", "bin.dat", nil},
		{"kept away", "secret/key.txt", nil},
		{"link", "https://h/o/r/blob/abc/src/a.go#L1", []session.Item{{Kind: "selection", Name: "src/a.go:L1", Text: "old 1"}}},
		{"branch with a slash", "https://h/o/r/blob/feature/x/src/a.go#L2", []session.Item{{Kind: "selection", Name: "src/a.go:L2", Text: "old 2"}}},
		{"other repository", "https://h/p/q/blob/abc/src/a.go", nil},
		{"whole and part", "src/a.go and src/a.go:1", []session.Item{{Kind: "file", Name: "src/a.go", Text: "1\n2\n3\n4\n"}, {Kind: "selection", Name: "src/a.go:L1", Text: "1"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Resolve(t.Context(), tt.text, Sources{Now: now, At: at})); d != "" {
				t.Error(d)
			}
		})
	}
	got := Resolve(t.Context(), "big.txt", Sources{Now: now})
	if len(got) != 1 || len([]rune(got[0].Text)) > maxFile+60 || !strings.Contains(got[0].Text, "[cut") {
		t.Errorf("a big file gives %d items", len(got))
	}
	var many strings.Builder
	for n := range 100 {
		fmt.Fprintf(&many, "src/a.go:%d docs/only.md ", n%4+1)
	}
	if got := Resolve(t.Context(), many.String(), Sources{Now: now}); len(got) > maxMentions || len(got) < 4 {
		t.Errorf("%d items", len(got))
	}
}

// A request that names many large files does not fill the model's context.
func TestResolveStaysSmall(t *testing.T) {
	files := map[string]string{}
	var text strings.Builder
	for n := range 8 {
		name := fmt.Sprintf("big%d.txt", n)
		files[name] = strings.Repeat("a line of text\n", 2000)
		text.WriteString(name + " ")
	}
	got := Resolve(t.Context(), text.String(), Sources{Now: open(t, files)})
	size := 0
	for _, it := range got {
		size += len(it.Text)
	}
	if size > maxContext || len(got) < 4 {
		t.Errorf("%d items of %d bytes", len(got), size)
	}
}

// failing is a tree that cannot be looked at.
type failing struct{}

func (failing) ReadAll(context.Context, string, int64) ([]byte, fs.FileMode, error) {
	return nil, 0, workspace.ErrGone
}

func (failing) List(context.Context, string, bool, int) (workspace.Listing, error) {
	return workspace.Listing{}, workspace.ErrGone
}

// full is a tree whose files from b on are beyond the limit.
type full struct{ failing }

func (full) List(_ context.Context, _ string, recursive bool, _ int) (out workspace.Listing, err error) {
	names := []string{"a/", "b/", "go.mod", "z.txt"}
	if recursive {
		names, out.Left = []string{"a/", "a/1.go", "a/2.go"}, 1
	}
	for _, n := range names {
		out.Entries = append(out.Entries, workspace.Entry{Path: n})
	}
	return out, nil
}

// The root is shown whole, though the list of all files ends before.
func TestRootBeyondTheLimit(t *testing.T) {
	f, err := Discover(t.Context(), full{})
	if want := "- Layout: a/ (2), b/, go.mod, z.txt, and more than was counted"; err != nil || !strings.Contains(f.About(), want) {
		t.Errorf("%v: %q is not in\n%s", err, want, f.About())
	}
}

func TestFailures(t *testing.T) {
	if _, err := Discover(t.Context(), failing{}); err == nil {
		t.Error("Discover hides that the workspace is gone")
	}
	if _, err := start(t, failing{}); err == nil {
		t.Error("Rules hides that the workspace is gone")
	}
	if got := Resolve(t.Context(), "a.go", Sources{Now: failing{}}); got != nil {
		t.Errorf("%v", got)
	}
}

func TestManifestNames(t *testing.T) {
	for _, m := range manifestsKnown {
		if path.Base(m.name) != m.name || !isManifest(m.name) {
			t.Errorf("%s", m.name)
		}
	}
	if slices.ContainsFunc(manifestsKnown[:], func(m manifest) bool { return m.read == nil }) {
		t.Error("a manifest that nobody reads")
	}
}
