package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// needServer skips a test without a language server, unless HANDRAIL_REQUIRE_ENGINES names lsp.
func needServer(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("HANDRAIL_REQUIRE_ENGINES"), ","), "lsp") {
		t.Fatalf("%s is not on the PATH", name)
	}
	t.Skipf("%s is not on the PATH; make lsp installs it", name)
}

// realServers serves a directory with the environment of this process. The programs named in only come
// before others for their languages.
func realServers(t testing.TB, dir string, only ...string) *workspace.Workspace {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	env := append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	go func() { ended <- Serve(t.Context(), theirs, Config{Root: dir, Env: env}) }()
	ws, err := workspace.Connect(t.Context(), workspace.Config{Engine: "test", Conn: ours})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(ws.Close(t.Context()), <-ended); err != nil {
			t.Error(err)
		}
	})
	var configured []workspace.LanguageServer
	for _, k := range lsp.Known() {
		if slices.Contains(only, k.Argv[0]) {
			configured = append(configured, workspace.LanguageServer{Name: k.Name})
		}
	}
	if _, err := ws.Languages(t.Context(), configured); err != nil {
		t.Fatal(err)
	}
	return ws
}

// marked reports whether an answer says of itself that it may be wrong or incomplete.
func marked(a workspace.CodeAnswer) bool { return a.Why != "" || len(a.Also) > 0 || len(a.Notes) > 0 }

func linesOf(a workspace.CodeAnswer) (out []string) {
	for _, i := range a.Items {
		out = append(out, fmt.Sprintf("%s:%d", i.Path, i.Line))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestColdServers: the first question after the start of each server, which opens one file only. What
// it does not know is at least told.
func TestColdServers(t *testing.T) {
	for _, test := range []struct {
		program, ext string
		files        map[string]string
	}{
		{"gopls", ".go", map[string]string{
			"go.mod": "module m\n\ngo 1.24\n", "a.go": "package m\n\nfunc Hub() {}\n",
			"b.go": "package m\n\nfunc b() { Hub() }\n", "c/c.go": "package c\n\nimport \"m\"\n\nfunc c() { m.Hub() }\n",
		}},
		{"basedpyright-langserver", ".py", map[string]string{
			"pyproject.toml": "[project]\nname = \"m\"\n", "a.py": "def Hub():\n    pass\n",
			"b.py": "from a import Hub\nHub()\n", "c.py": "import a\na.Hub()\n",
		}},
		{"typescript-language-server", ".ts", map[string]string{
			"tsconfig.json": "{\"compilerOptions\": {\"module\": \"commonjs\"}}\n", "a.ts": "export function Hub() {}\n",
			"b.ts": "import { Hub } from './a';\nHub();\n", "c.ts": "import * as a from './a';\na.Hub();\n",
		}},
	} {
		t.Run(test.program, func(t *testing.T) {
			needServer(t, test.program)
			dir, want := t.TempDir(), []string{}
			for name, text := range test.files {
				if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755),
					os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
				for n, line := range strings.Split(text, "\n") {
					if strings.Contains(line, "Hub") {
						want = append(want, fmt.Sprintf("%s:%d", name, n+1))
					}
				}
			}
			slices.Sort(want)
			ws := realServers(t, dir)
			a, err := ws.Code(t.Context(), workspace.CodeQuery{
				Ask: workspace.AskReferences, Path: "a" + test.ext, Name: "Hub", Declaration: true, Max: 100,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := linesOf(a)
			t.Logf("%d of %d, marked: %t", len(got), len(want), marked(a))
			if !slices.Equal(got, want) && !marked(a) {
				t.Errorf("got %q, want %q: %+v", got, want, a)
			}
		})
	}
}

var scriptFiles = map[string]string{
	"tsconfig.json": "{\"compilerOptions\": {\"module\": \"commonjs\", \"strict\": true}}\n",
	"a.ts":          "export function Hub(): number { return 1; }\n",
	"b.ts":          "import { Hub } from './a';\nexport const x: number = Hub();\n",
}

// A step of a test of freshness writes a file or, without a text, runs a command.
type step struct {
	name, text string
	broken     bool // the user of the file has an error then
}

var scriptSteps = []step{
	{"a.ts", "export function Hub(): string { return ''; }\n", true}, {"sed -i \"s/string/number/; s/''/1/\" a.ts", "", false},
	{"rm a.ts", "", true}, {"echo 'export function Hub(): number { return 2; }' > a.ts", "", false},
}

// TestRealFreshness: a file is fine until another one changes, by an edit and by a command, and a file that
// it needs is made and removed. An answer is about the files as they are, or says that it is not.
func TestRealFreshness(t *testing.T) {
	const broken, fine = true, false
	for _, test := range []struct {
		program, user string
		files         map[string]string
		steps         []step
	}{
		{"gopls", "b.go", map[string]string{
			"go.mod": "module m\n\ngo 1.24\n", "a.go": "package m\n\nfunc Hub() {}\n",
			"b.go": "package m\n\nfunc b() { Hub() }\n",
		}, []step{
			{"a.go", "package m\n\nfunc Other() {}\n", broken}, {"sed -i s/Other/Hub/ a.go", "", fine}, {"rm a.go", "", broken},
			{"printf 'package m\\nfunc Hub() {}\\n' > c.go", "", fine},
		}},
		{"basedpyright-langserver", "b.py", map[string]string{
			"pyproject.toml": "[project]\nname = \"m\"\n", "a.py": "def Hub() -> int:\n    return 1\n",
			"b.py": "from a import Hub\nx: int = Hub()\n",
		}, []step{
			{"a.py", "def Hub() -> str:\n    return \"\"\n", broken}, {"sed -i 's/str/int/; s/\"\"/1/' a.py", "", fine},
			{"rm a.py", "", broken}, {"printf 'def Hub() -> int:\\n    return 2\\n' > a.py", "", fine},
		}},
		{"typescript-language-server", "b.ts", scriptFiles, scriptSteps},
		{"vtsls", "b.ts", scriptFiles, scriptSteps},
		{"clangd", "b.c", map[string]string{
			"compile_flags.txt": "-Wall\n", "a.h": "int hub(void);\n", "b.c": "#include \"a.h\"\nint b(void) { return hub(); }\n",
		}, []step{
			{"a.h", "int hub(int, int);\n", broken}, {"sed -i 's/int, int/void/' a.h", "", fine}, {"rm a.h", "", broken},
			{"echo 'int hub(void);' > a.h", "", fine},
		}},
	} {
		t.Run(test.program, func(t *testing.T) {
			needServer(t, test.program)
			dir := t.TempDir()
			for name, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			ws := realServers(t, dir, test.program)
			fresh := 0
			check := func(what string, want bool) {
				t.Helper()
				began := time.Now()
				list, err := ws.Problems(t.Context(), workspace.ProblemsQuery{Paths: []string{test.user}, Within: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				f := list[0]
				has := slices.ContainsFunc(f.Items, func(p workspace.Problem) bool { return p.Severity == 1 })
				t.Logf("%s: %s in %v, errors: %t %s", what, f.State, time.Since(began).Round(10*time.Millisecond), has, f.Why)
				switch {
				case f.State != "fresh":
				case has != want:
					t.Errorf("%s: errors: %t, want %t: %+v", what, has, want, f)
				default:
					fresh++
				}
			}
			check("at first", fine)
			for _, s := range test.steps {
				var err error
				if s.text != "" {
					err = ws.Write(t.Context(), s.name, []byte(s.text))
				} else {
					_, err = ws.Run(t.Context(), workspace.Command{Line: s.name}, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				check(s.name, s.broken)
			}
			if fresh < len(test.steps) && test.program != "clangd" {
				t.Errorf("only %d of %d answers are fresh", fresh, len(test.steps)+1)
			}
		})
	}
}

// copyModule copies the Go files of a module of the module cache, without tests.
func copyModule(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", name).Output()
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		t.Fatalf("%s is not in the module cache: %v", name, err)
	}
	from, to := string(bytes.TrimSpace(out)), t.TempDir()
	err = filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(from, p)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "benchmark"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case strings.HasSuffix(p, "_test.go") || !strings.HasSuffix(p, ".go") && d.Name() != "go.mod" && d.Name() != "go.sum":
			return nil
		}
		data, err := os.ReadFile(p)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, rel), data, 0o644)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// symbol is a definition with the lines that name it, by the type checker of Go.
type symbol struct {
	file         string
	line, column int
	name         string
	uses         map[string]bool
}

// typeCheck returns the package-level definitions and methods of a module with all their uses.
func typeCheck(t testing.TB, dir string) []symbol {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Standard", "./...")
	list.Dir = dir
	list.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	type pkg struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
		Standard                bool
	}
	var own []pkg
	exports := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !p.Standard && strings.HasPrefix(p.Dir, dir) {
			own = append(own, p)
		}
	}
	found := map[string]*symbol{}
	fset := token.NewFileSet()
	load := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: load}
		checked, err := conf.Check(p.ImportPath, fset, files, &info)
		if err != nil {
			t.Fatal(err)
		}
		note := func(id *ast.Ident, obj types.Object) {
			if obj == nil || obj.Pkg() == nil {
				return
			}
			if fn, ok := obj.(*types.Func); ok {
				obj = fn.Origin()
			}
			if v, ok := obj.(*types.Var); ok {
				if v.IsField() {
					return // embedded fields are types, too
				}
			}
			at := fset.Position(obj.Pos())
			rel, err := filepath.Rel(dir, at.Filename)
			if err != nil || strings.HasPrefix(rel, "..") {
				return
			}
			key := fmt.Sprintf("%s:%d:%s", rel, at.Line, obj.Name())
			if found[key] == nil {
				found[key] = &symbol{file: rel, line: at.Line, name: obj.Name(), uses: map[string]bool{}}
			}
			use := fset.Position(id.Pos())
			rel, _ = filepath.Rel(dir, use.Filename)
			found[key].uses[fmt.Sprintf("%s:%d", rel, use.Line)] = true
			if obj.Parent() == checked.Scope() && info.Defs[id] != nil {
				found[key].column = use.Column
			}
		}
		for id, obj := range info.Defs {
			note(id, obj)
		}
		for id, obj := range info.Uses {
			note(id, obj)
		}
	}
	var all []symbol
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if found[key].column > 0 {
			all = append(all, *found[key])
		}
	}
	return all
}

// TestReferencesOfAModule: of the definitions of a real module no answer is wrong without being
// marked.
func TestReferencesOfAModule(t *testing.T) {
	needServer(t, "gopls")
	dir := copyModule(t, "github.com/pelletier/go-toml/v2")
	all := typeCheck(t, dir)
	slices.SortStableFunc(all, func(a, b symbol) int { return -cmp.Compare(len(a.uses), len(b.uses)) })
	all = all[:min(len(all), 200)]
	ws := realServers(t, dir)
	right, told := 0, 0
	for _, s := range all {
		a, err := ws.Code(t.Context(), workspace.CodeQuery{
			Ask: workspace.AskReferences, Path: s.file, Line: s.line, Character: s.column, Declaration: true, Max: 10_000,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Sorted(maps.Keys(s.uses))
		switch got := linesOf(a); {
		case slices.Equal(got, want):
			right++
		case marked(a):
			told++
		default:
			t.Errorf("%s in %s:%d: got %q, want %q", s.name, s.file, s.line, got, want)
		}
	}
	t.Logf("%d definitions: %d answers are right, %d are told to be incomplete", len(all), right, told)
}

// BenchmarkDefinition asks for a definition in this repository, with a warm server.
func BenchmarkDefinition(b *testing.B) {
	needServer(b, "gopls")
	dir, err := filepath.Abs("../../..")
	if err != nil {
		b.Fatal(err)
	}
	ws := realServers(b, dir)
	ask := func() {
		a, err := ws.Code(b.Context(), workspace.CodeQuery{
			Ask: workspace.AskDefinition, Path: "agent/workspace/host/host.go", Name: "NewConn", Max: 10,
		})
		if err != nil || len(a.Items) != 1 {
			b.Fatalf("%+v, %v", a, err)
		}
	}
	ask()
	for b.Loop() {
		ask()
	}
}
