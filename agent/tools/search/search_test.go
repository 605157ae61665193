package search_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	b.Fails("list_files", `{"path":"nowhere"}`, "no such file", "find the right path")
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
	toolstest.Contains(t, res.Content, "No matches")
	b.Fails("search_workspace", `{}`, `missing argument "query"`)
	b.Fails("search_workspace", `{"query":"(","isRegex":true}`, "not a regular expression")
	b.Fails("search_workspace", `{"query":"x","path":"/etc"}`, "outside")
}
