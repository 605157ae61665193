package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

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
	t.Parallel()
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

// TestMergedDeclarations: the uses of an interface and of the constant that TypeScript merges with it are one
// answer, at both.
func TestMergedDeclarations(t *testing.T) {
	t.Parallel()
	needServer(t, "typescript-language-server")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tsconfig.json": "{}\n", "a.ts": "export interface Hub { a: number }\nexport const Hub = { a: 1 };\n",
		"b.ts": "import { Hub } from './a';\nexport const x: Hub = { a: 2 };\nexport const y = Hub.a;\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ws := realServers(t, dir)
	for line := 1; line <= 2; line++ {
		a, err := ws.Code(t.Context(), workspace.CodeQuery{
			Ask: workspace.AskReferences, Path: "a.ts", Name: "Hub", Line: line, Declaration: true, Max: 100,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := linesOf(a); !slices.Equal(got, []string{"a.ts:1", "a.ts:2", "b.ts:1", "b.ts:2", "b.ts:3"}) {
			t.Errorf("line %d: %q: %+v", line, got, a)
		}
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
	t.Parallel()
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

// BenchmarkDefinition asks for a definition in this repository, with warm servers: by turns through the tool host, and
// a server alone, over its standard input and output. It reports the median times, and the memory of one server.
func BenchmarkDefinition(b *testing.B) {
	needServer(b, "gopls")
	dir, err := filepath.Abs("../../..")
	if err != nil {
		b.Fatal(err)
	}
	const name, file = "NewConn", "agent/workspace/host/host.go"
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		b.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), name)
	if !ok {
		b.Fatalf("%s does not name %s", file, name)
	}
	at := map[string]int{"line": strings.Count(before, "\n"), "character": len(before) - strings.LastIndex(before, "\n") - 1}
	b.Logf("%d lines of Go", linesBelow(b, dir, ".go"))
	ws := realServers(b, dir)
	through := func() (int, error) {
		q := workspace.CodeQuery{Ask: workspace.AskDefinition, Path: file, Name: name, Max: 10}
		a, err := ws.Code(b.Context(), q)
		return len(a.Items), err
	}
	timed := func(ask func() (int, error)) time.Duration {
		began := time.Now()
		if n, err := ask(); err != nil || n != 1 {
			b.Fatalf("%d definitions, %v", n, err)
		}
		return time.Since(began)
	}
	for began := time.Now(); ; { // a server without caches loads the packages first
		n, err := through()
		if err != nil || n == 0 && time.Since(began) > 5*time.Minute {
			b.Fatalf("%d definitions, %v", n, err)
		}
		if n > 0 {
			break
		}
	}
	c := plainServer(b, dir, "gopls")
	doc := map[string]any{"uri": "file://" + filepath.Join(dir, file), "languageId": "go", "version": 1, "text": string(text)}
	if err := c.Notify(b.Context(), "textDocument/didOpen", map[string]any{"textDocument": doc}); err != nil {
		b.Fatal(err)
	}
	alone := func() (int, error) {
		var places []json.RawMessage
		err := c.Call(b.Context(), "textDocument/definition", map[string]any{"textDocument": doc, "position": at}, &places)
		return len(places), err
	}
	for began := time.Now(); time.Since(began) < 20*time.Second; { // the servers still check all packages
		timed(through)
		timed(alone)
	}
	var ours, theirs []time.Duration
	for b.Loop() {
		ours, theirs = append(ours, timed(through)), append(theirs, timed(alone))
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2].Microseconds()) / 1000
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ours), "handrail-ms")
	b.ReportMetric(median(theirs), "alone-ms")
	b.ReportMetric(float64(childMemory(b)>>10)/2, "MB")
}

// plainServer starts a server and greets it, with nothing in between.
func plainServer(b *testing.B, dir, program string) *jsonrpc2.Conn {
	b.Helper()
	stream := jsonrpc2.NewBufferedStream(startRaw(b, dir, program), jsonrpc2.VSCodeObjectCodec{})
	c := jsonrpc2.NewConn(b.Context(), stream, jsonrpc2.HandlerWithError(
		func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) { return nil, nil }, //nolint:nilnil // an empty answer
	))
	var res json.RawMessage
	err := c.Call(b.Context(), "initialize", map[string]any{
		"processId": os.Getpid(), "rootUri": "file://" + dir, "capabilities": map[string]any{},
	}, &res)
	if err == nil {
		err = c.Notify(b.Context(), "initialized", map[string]any{})
	}
	if err != nil {
		b.Fatal(err)
	}
	return c
}
