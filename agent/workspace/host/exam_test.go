package host

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/workspace"
)

var examAt = flag.String("lsp.exam", "", "directory with the projects of the exam that are no Go modules, see make lsp-exam")

// TestExam asks for the references of the 200 most used definitions of real projects. No answer may be wrong
// without being marked. The right answers are known from the type checkers of Go and tsc; for Python, C and
// Rust, from a second server that was given all files.
func TestExam(t *testing.T) {
	t.Parallel()
	rows := []string{
		"| project | server | lines | definitions | right | marked, right | marked, not right | wrong | of lines with the word | per answer | memory |",
		"|---|---|---|---|---|---|---|---|---|---|---|",
	}
	for _, test := range []struct {
		project, server, ext string
		make                 func(t *testing.T) string
		uses                 func(t testing.TB, dir string) []symbol
	}{
		{"go-toml", "gopls", ".go", func(t *testing.T) string { return copyModule(t, "github.com/pelletier/go-toml/v2") }, goUses},
		{"mvdan/sh", "gopls", ".go", func(t *testing.T) string { return copyModule(t, "mvdan.cc/sh/v3") }, goUses},
		{"rxjs", "typescript-language-server", ".ts", rxjs, scriptUses},
		{"rxjs", "vtsls", ".ts", rxjs, scriptUses},
		{"click", "basedpyright-langserver", ".py", func(t *testing.T) string {
			return copyTree(t, filepath.Join(*examAt, "py"), func(rel string) bool { return strings.HasPrefix(rel, "click/") })
		}, pythonUses},
		{"zstd", "clangd", ".c", zstd, clangUses},
		{"regex-syntax", "rust-analyzer", ".rs", regexSyntax, rustUses},
	} {
		t.Run(test.project+" "+test.server, func(t *testing.T) {
			if test.ext != ".go" && *examAt == "" {
				t.Skip("without -lsp.exam")
			}
			needServer(t, test.server)
			dir := test.make(t)
			var all []symbol
			t.Run("known", func(t *testing.T) { all = test.uses(t, dir) }) // its server ends with it
			slices.SortStableFunc(all, func(a, b symbol) int {
				return cmp.Or(-cmp.Compare(len(a.Uses), len(b.Uses)), cmp.Compare(a.File, b.File), a.Line-b.Line)
			})
			all = all[:min(len(all), maxAsked)]
			ws := realServers(t, dir, test.server)
			var right, over, told, wrong, uses, words int
			named := linesByWord(t, dir)
			began := time.Now()
			for _, s := range all {
				a, err := ws.Code(t.Context(), workspace.CodeQuery{
					Ask: workspace.AskReferences, Path: s.File, Line: s.Line, Character: s.Column, Declaration: true, Max: 10_000,
				})
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(s.Uses)
				uses, words = uses+len(s.Uses), words+named[s.Name]
				switch got := linesOf(a); {
				case slices.Equal(got, s.Uses) && marked(a):
					over++
				case slices.Equal(got, s.Uses):
					right++
				case marked(a):
					told++
				default:
					wrong++
					t.Errorf("%s in %s:%d: %s", s.Name, s.File, s.Line, differ(got, s.Uses))
				}
			}
			took := time.Since(began) / time.Duration(max(len(all), 1))
			rows = append(rows, fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d | %d %% | %d ms | %d MB |", test.project, test.server,
				linesBelow(t, dir, test.ext), len(all), right, over, told, wrong, 100*uses/max(words, 1), took.Milliseconds(), childMemory(t)>>10))
			if len(all) < 100 || right+over < len(all)/2 {
				t.Errorf("of %d definitions only %d answers are right", len(all), right+over)
			}
		})
	}
	t.Log("\n" + strings.Join(rows, "\n"))
}

func zstd(t *testing.T) string {
	dir := copyTree(t, filepath.Join(*examAt, "c"), func(rel string) bool {
		return !strings.Contains(rel, "/") && (strings.HasSuffix(rel, ".c") || strings.HasSuffix(rel, ".h"))
	})
	compileCommands(t, dir)
	return dir
}

// compileCommands tells clangd of the files of a directory.
func compileCommands(t testing.TB, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	for _, f := range files {
		list = append(list, map[string]any{
			"directory": dir, "file": f, "arguments": []string{"cc", "-DZSTD_LEGACY_SUPPORT=4", "-c", f},
		})
	}
	text, err := json.Marshal(list)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "compile_commands.json"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// clangUses asks a second server, which has its index of all files, for the uses of functions.
func clangUses(t testing.TB, dir string) []symbol {
	t.Helper()
	dir = copyTree(t, dir, func(string) bool { return true })
	compileCommands(t, dir)
	c := rawServer(t, dir, "clangd", "--background-index")
	return openedUses(t, c, dir, func(rel string, s lsp.Symbol) bool {
		return strings.HasSuffix(rel, ".c") && s.Kind == "function" && s.Depth == 0
	})
}

// regexSyntax makes a project without dependencies of a crate of the exam.
func regexSyntax(t *testing.T) string {
	dir := copyTree(t, filepath.Join(*examAt, "rust", "vendor", "regex-syntax"), func(rel string) bool {
		return strings.HasPrefix(rel, "src/")
	})
	names := []string{"age", "bool", "case", "gencat", "perl", "script", "segment"}
	var features strings.Builder
	for _, n := range names {
		fmt.Fprintf(&features, "unicode-%s = []\n", n)
	}
	text := "[package]\nname = \"regex-syntax\"\nversion = \"0.8.5\"\nedition = \"2021\"\n\n[features]\n" +
		"default = [\"std\", \"unicode\"]\nstd = []\nunicode = [\"unicode-" + strings.Join(names, "\", \"unicode-") + "\"]\n" +
		features.String()
	if err := os.WriteFile(filepath.Join(dir, "Cargo.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// rustUses asks a second server for the uses of functions, methods and types.
func rustUses(t testing.TB, dir string) []symbol {
	t.Helper()
	dir = copyTree(t, dir, func(string) bool { return true })
	return openedUses(t, rawServer(t, dir, "rust-analyzer"), dir, func(rel string, s lsp.Symbol) bool {
		return !strings.Contains(rel, "unicode_tables/") &&
			slices.Contains([]string{"function", "method", "struct", "enum", "interface"}, s.Kind)
	})
}

// openedUses gives a server all files, and asks it for the uses of the definitions that keep takes.
func openedUses(t testing.TB, c *lsp.Client, dir string, keep func(rel string, s lsp.Symbol) bool) (all []symbol) {
	t.Helper()
	var files []string
	texts := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".c", ".h", ".rs"}, filepath.Ext(p)) {
			return err
		}
		text, err := os.ReadFile(p)
		files, texts[p] = append(files, p), text
		return errors.Join(err, c.Sync(t.Context(), p, text))
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Ready(t.Context(), 2*time.Minute)
	for _, f := range files {
		list, err := c.Symbols(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(dir, f)
		for _, s := range list {
			if p := c.Position(s, texts[f]); keep(rel, s) {
				all = append(all, symbol{File: rel, Line: p.Line + 1, Column: p.Byte + 1, Name: s.Name})
			}
		}
	}
	t.Logf("%d definitions in %d files", len(all), len(files))
	all = frequent(all, texts)
	usesOf(t, c, dir, all)
	return all
}

// frequent returns the definitions whose names are the most frequent words for each definition of that name: to ask
// for the uses of all takes hours.
func frequent(all []symbol, texts map[string][]byte) []symbol {
	count, defined := map[string]int{}, map[string]int{}
	for _, text := range texts {
		for _, w := range regexp.MustCompile(`\w+`).FindAll(text, -1) {
			count[string(w)]++
		}
	}
	for _, s := range all {
		defined[s.Name]++
	}
	slices.SortStableFunc(all, func(a, b symbol) int {
		return count[b.Name]/defined[b.Name] - count[a.Name]/defined[a.Name]
	})
	return all[:min(len(all), maxAsked)]
}

// maxAsked is the maximum number of definitions that are asked about.
const maxAsked = 200

// differ tells the places that are too many, and those that are missing.
func differ(got, want []string) string {
	without := func(list, others []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
	}
	return fmt.Sprintf("too many are %q, missing are %q", without(got, want), without(want, got))
}

// linesByWord counts the lines that have a word, as a search for it shows them.
func linesByWord(t testing.TB, dir string) map[string]int {
	t.Helper()
	count := map[string]int{}
	eachFile(t, dir, "", func(text []byte) {
		for line := range bytes.Lines(text) {
			words := regexp.MustCompile(`\w+`).FindAllString(string(line), -1)
			slices.Sort(words)
			for _, w := range slices.Compact(words) {
				count[w]++
			}
		}
	})
	return count
}

func linesBelow(t testing.TB, dir, ext string) (n int) {
	t.Helper()
	eachFile(t, dir, ext, func(text []byte) { n += bytes.Count(text, []byte("\n")) })
	return n
}

// eachFile reads the files of an extension below a directory; "" means any.
func eachFile(t testing.TB, dir, ext string, each func(text []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || ext != "" && filepath.Ext(p) != ext {
			return err
		}
		data, err := os.ReadFile(p)
		each(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// childMemory returns the resident memory of all processes below this one, in KiB.
func childMemory(t testing.TB) (sum int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-A", "-o", "pid=,ppid=,rss=").Output()
	if err != nil {
		t.Fatal(err)
	}
	below := map[string]bool{strconv.Itoa(os.Getpid()): true}
	var list [][]string
	for line := range strings.Lines(string(out)) {
		list = append(list, strings.Fields(line))
	}
	for again := true; again; {
		again = false
		for _, f := range list {
			if len(f) == 3 && below[f[1]] && !below[f[0]] {
				below[f[0]], again = true, true
				rss, _ := strconv.Atoi(f[2])
				sum += rss
			}
		}
	}
	return sum
}

func rxjs(t *testing.T) string {
	from := filepath.Join(*examAt, "ts", "node_modules", "rxjs", "src")
	dir := copyTree(t, from, func(rel string) bool { return strings.HasSuffix(rel, ".ts") })
	config := `{"compilerOptions": {"strict": true, "target": "es2018", "module": "esnext", "moduleResolution": "node",
		"lib": ["es2018", "dom"], "types": []}, "include": ["**/*.ts"]}`
	if err := os.WriteFile(filepath.Join(dir, "tsconfig.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// scriptUses asks the type checker of tsc.
func scriptUses(t testing.TB, dir string) (all []symbol) {
	t.Helper()
	bin, err := exec.LookPath("tsc")
	if err == nil {
		bin, err = filepath.EvalSymlinks(bin)
	}
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", "testdata/uses.cjs", filepath.Join(filepath.Dir(bin), "..", "lib", "typescript.js"), dir)
	node.Stderr = os.Stderr
	out, err := node.Output()
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// serverPipes are both ends of a program.
type serverPipes struct {
	io.Reader
	io.WriteCloser
}

// rawServer starts a server without a workspace, with other arguments than usual if there are any.
func rawServer(t testing.TB, dir, program string, args ...string) *lsp.Client {
	t.Helper()
	c, err := lsp.Start(t.Context(), startRaw(t, dir, program, args...), lsp.Config{
		Root: dir, Server: knownServer(program), Call: 5 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func knownServer(program string) lsp.Server {
	known := lsp.Known()
	return known[slices.IndexFunc(known, func(k lsp.Server) bool { return k.Argv[0] == program })]
}

// startRaw starts the program of a server, with other arguments than usual if there are any.
func startRaw(t testing.TB, dir, program string, args ...string) io.ReadWriteCloser {
	t.Helper()
	k := knownServer(program)
	if len(args) == 0 {
		args = k.Argv[1:]
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), k.Argv[0], args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(k.Env, "GOFLAGS=-mod=mod", "GOWORK=off")...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return serverPipes{bufio.NewReader(out), in}
}

// pythonUses asks a server that was given all files. Asked are functions and classes at the beginning of a line.
func pythonUses(t testing.TB, dir string) (all []symbol) {
	t.Helper()
	c := rawServer(t, dir, "basedpyright-langserver")
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(p) != ".py" {
			return err
		}
		text, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		for n, line := range strings.Split(string(text), "\n") {
			for _, keyword := range []string{"def ", "class "} {
				if rest, ok := strings.CutPrefix(line, keyword); ok {
					all = append(all, symbol{File: rel, Line: n + 1, Column: len(keyword) + 1, Name: strings.FieldsFunc(rest, func(r rune) bool {
						return strings.ContainsRune("(:", r)
					})[0]})
				}
			}
		}
		return errors.Join(err, c.Sync(t.Context(), p, text))
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Ready(t.Context(), time.Minute)
	usesOf(t, c, dir, all)
	return all
}

// usesOf asks a server for the uses of each definition. The first answers warm, and are asked for again.
func usesOf(t testing.TB, c *lsp.Client, dir string, all []symbol) {
	t.Helper()
	const warms = 20
	for i := range all {
		at := lsp.Position{Line: all[i].Line - 1, Byte: all[i].Column - 1}
		for range 1 + max(0, min(1, warms-i)) {
			places, err := c.Find(t.Context(), lsp.Declared, filepath.Join(dir, all[i].File), at)
			if err != nil {
				t.Fatal(err)
			}
			all[i].Uses = nil
			for _, p := range places {
				rel, _ := filepath.Rel(dir, p.Path)
				all[i].Uses = append(all[i].Uses, fmt.Sprintf("%s:%d", rel, p.Line+1))
			}
		}
		slices.Sort(all[i].Uses)
		all[i].Uses = slices.Compact(all[i].Uses)
	}
}

// copyTree copies the files of a directory that keep takes.
func copyTree(t testing.TB, from string, keep func(rel string) bool) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(from, p)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "benchmark" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !keep(rel):
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

// copyModule copies the Go files of a module of the module cache, without tests.
func copyModule(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", name).Output()
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		t.Fatalf("%s is not in the module cache: %v", name, err)
	}
	return copyTree(t, string(bytes.TrimSpace(out)), func(rel string) bool {
		return strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go") || rel == "go.mod" || rel == "go.sum"
	})
}

// symbol is a definition with the lines that name it, as "file:line". Line and column are 1-based.
type symbol struct {
	File   string   `json:"file"`
	Line   int      `json:"line"`
	Column int      `json:"column"`
	Name   string   `json:"name"`
	Uses   []string `json:"uses"`
}

// goUses returns the package-level definitions and methods of a module with all their uses.
func goUses(t testing.TB, dir string) []symbol {
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
	found, uses := map[string]*symbol{}, map[string]map[string]bool{}
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
				found[key], uses[key] = &symbol{File: rel, Line: at.Line, Name: obj.Name()}, map[string]bool{}
			}
			use := fset.Position(id.Pos())
			rel, _ = filepath.Rel(dir, use.Filename)
			uses[key][fmt.Sprintf("%s:%d", rel, use.Line)] = true
			if obj.Parent() == checked.Scope() && info.Defs[id] != nil {
				found[key].Column = use.Column
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
		if found[key].Column > 0 {
			found[key].Uses = slices.Sorted(maps.Keys(uses[key]))
			all = append(all, *found[key])
		}
	}
	return all
}
