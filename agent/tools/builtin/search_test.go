package builtin_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
)

func TestListFiles(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "", "src/b.go": "", "src/deep/c.go": "", "ignored.log": "", ".gitignore": "*.log\n"})
	action, res := b.Do("list_files", `{}`)
	if action.Kind != policy.Read || action.Paths[0] != "." {
		t.Errorf("intent is %+v", action)
	}
	toolstest.Contains(t, res.Content, "Base: .\n", "a.txt\n", "src/\n")
	if strings.Contains(res.Content, "deep") || strings.Contains(res.Content, "ignored.log") {
		t.Errorf("listing is %s", res.Content)
	}
	_, res = b.Do("list_dir", `{"directory":"src","recursive":"true"}`)
	toolstest.Contains(t, res.Content, "Base: src\n", "src/b.go\n", "src/deep/c.go\n")
	_, res = b.Do("list_files", `{"recursive":true,"max":2}`)
	toolstest.Contains(t, res.Content, "more not shown")
	b.Fails("list_files", `{"path":"nowhere"}`, "open nowhere: no such file", "directory. Use", "find the right path")
	b.Fails("list_files", `{"path":"../"}`, "outside")
	b.Fails("list_files", `{"recursive":"perhaps"}`, `"recursive" must be true or false`)
}

func TestFindFiles(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"cmd/main.go": "", "lib/main.py": "", "lib/deep/user_test.go": "", "x.log": "", ".gitignore": "*.log\n"})
	action, res := b.Do("find_files", `{"name":"main"}`)
	if action.Kind != policy.Read || action.Paths[0] != "." || res.Content != "cmd/main.go\nlib/main.py\n" {
		t.Errorf("%+v: %q", action, res.Content)
	}
	_, res = b.Do("Glob", `{"pattern":"**/*_test.go","path":"lib"}`)
	if res.Content != "lib/deep/user_test.go\n" || res.Title != "Looked for files named **/*_test.go (1)" {
		t.Errorf("%q: %q", res.Title, res.Content)
	}
	_, res = b.Do("file_search", `{"query":"main","limit":1}`)
	toolstest.Contains(t, res.Content, "1 more not shown")
	_, res = b.Do("find_files", `{"name":"mian.go"}`)
	toolstest.Contains(t, res.Content, "No file is named mian.go. Close to it:\ncmd/main.go\n")
	_, res = b.Do("find_files", `{"name":"x.log"}`)
	toolstest.Contains(t, res.Content, "No file is named x.log", ".gitignore")
	_, res = b.Do("find_files", `{"name":"ZZZZ"}`)
	toolstest.Contains(t, res.Content, "No file is named ZZZZ in the workspace. ")
	b.Fails("find_files", `{"name":"./"}`, `missing argument "name"`)
	b.Fails("find_files", `{"name":"[a"}`, "not a valid glob")
	b.Fails("find_files", `{"name":"a","path":"/etc"}`, "outside")
}

func TestSearchWorkspace(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.go": "one\ntwo\nneedle here\nfour\nfive\nsix\nseven\nNeedle\n", "sub/b.txt": "needle\n", ".agentignore": "c.txt\n", "c.txt": "needle\n"})
	_, res := b.Do("search_workspace", toolstest.Arguments("query", "needle", "context", 1))
	if want := "── a.go ──\n  2: two\n→ 3: needle here\n  4: four\n\n── sub/b.txt ──\n→ 1: needle\n"; res.Content != want {
		t.Errorf("got\n%s\nwant\n%s", res.Content, want)
	}
	_, res = b.Do("search_files", toolstest.Arguments("regex", "(?i)^needle$", "file_pattern", "*.go", "path", "."))
	toolstest.Contains(t, res.Content, "→ 8: Needle\n")
	_, res = b.Do("grep", toolstest.Arguments("pattern", "n.edle", "isRegex", "true", "include", "sub/*.txt"))
	toolstest.Contains(t, res.Content, "── sub/b.txt ──\n→ 1: needle\n")
	_, res = b.Do("search_workspace", toolstest.Arguments("query", "NEEDLE", "caseSensitive", false, "context", 0))
	toolstest.Contains(t, res.Content, "→ 3: needle here\n  …\n→ 8: Needle\n")
	_, res = b.Do("Grep", `{"pattern":"NEEDLE","-i":true,"-n":true,"-A":0,"-B":1,"-C":0,"glob":"*.go"}`)
	toolstest.Contains(t, res.Content, "  2: two\n→ 3: needle here\n  4: four\n")
	_, res = b.Do("search_workspace", toolstest.Arguments("query", "needle", "max_results", 1))
	toolstest.Contains(t, res.Content, "1 more match not shown")
	_, res = b.Do("search_workspace", toolstest.Arguments("query", "no such thing"))
	toolstest.Contains(t, res.Content, "No matches", "in the workspace. ")
	b.Fails("search_workspace", `{}`, `missing argument "query"`)
	b.Fails("search_workspace", `{"query":"(","isRegex":true}`, "not a regular expression")
	b.Fails("search_workspace", `{"query":"x","path":"/etc"}`, "outside")
}

func TestListDefinitions(t *testing.T) {
	wide := ""
	for i := range 600 {
		wide += fmt.Sprintf("func Exported%03d(first, second string, third int) (string, error) { return \"\", nil }\n\ntype unexported%03d struct{ name string }\n\n", i, i)
	}
	b := toolstest.Open(t, map[string]string{"src/a.py": "class A:\n    def f(self):\n        pass\n", "src/b.rs": "pub fn go() {}\n", "src/x.zig": "pub fn main() void {}\n", "wide/w.go": "package wide\n\n" + wide,
		"notes.xyz": "a\n", "hidden.py": "def hidden(): pass\n", ".agentignore": "hidden.py\n", "bin.py": "a\x00b"})
	action, res := b.Do("list_code_definition_names", `{"path":"src/a.py"}`)
	if action.Kind != policy.Read || action.Paths[0] != "src/a.py" || res.Title != "Outlined src/a.py" {
		t.Errorf("%+v: %s", action, res.Title)
	}
	toolstest.Contains(t, res.Content, "src/a.py (by a lexer)\n1 | class A:\n  2 | def f(self):\n")
	for _, args := range []string{`{"path":"src"}`, `{"directory":"./src","recursive":true}`, `{"path":"src/**/*.{py,rs}"}`, `{"path":".","glob":"src/*"}`} {
		_, res = b.Do("list_code_definition_names", args)
		toolstest.Contains(t, res.Content, "1 | class A:", "src/b.rs (by a lexer)\n1 | pub fn go() {}\n")
	}
	_, res = b.Do("get_outline", `{"path":"src"}`)
	toolstest.Contains(t, res.Content, "[not looked into: .zig]")

	_, res = b.Do("list_code_definition_names", `{"path":"wide"}`)
	toolstest.Contains(t, res.Content, "| func Exported000(", "more in this file]\n")
	if n := len(res.Content); n > 7700 || n < 6000 || strings.Contains(res.Content, "type unexported") {
		t.Errorf("an outline of %d bytes:\n%s", n, res.Content)
	}
	_, res = b.Do("list_code_definition_names", `{}`)
	toolstest.Contains(t, res.Content, "class A")
	if strings.Contains(res.Content, "hidden") {
		t.Errorf("it tells of a hidden file:\n%s", res.Content)
	}
	b.Fails("list_code_definition_names", `{"path":"hidden.py"}`, "agentignore", "go on without it")
	b.Fails("list_code_definition_names", `{"path":"bin.py"}`, "binary")
	b.Fails("list_code_definition_names", `{"path":"a.py"}`, "did you mean src/a.py? Use")
	b.Fails("list_code_definition_names", `{"path":"../x"}`, "outside")
	b.Fails("list_code_definition_names", `{"glob":"[a"}`, "not valid")
	_, res = b.Do("list_code_definition_names", `{"path":"notes.xyz"}`)
	toolstest.Contains(t, res.Content, "No outline of notes.xyz", "read_file")
}

// A language that is not known here is left to universal-ctags, where there is one.
func TestDefinitionsByCtags(t *testing.T) {
	if _, err := exec.LookPath("ctags"); err != nil {
		t.Skip("there is no ctags here")
	}
	b := toolstest.Open(t, map[string]string{"a.ml": "let rec go x =\n  x\n\ntype t = A | B\n", ".ctags": "--langdef=x\n", "-x.ml": "let dash = 1\n"})
	_, res := b.Do("list_code_definition_names", `{"path":"a.ml"}`)
	toolstest.Contains(t, res.Content, "a.ml (by universal-ctags)\n", "1 | function go", "4 | type t")
	_, res = b.Do("list_code_definition_names", `{"path":"-x.ml"}`)
	toolstest.Contains(t, res.Content, "by universal-ctags", "dash")
}
