package syntax_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/patch/syntax"
)

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		line       int
		words      string
	}{
		{"a.go", "package a\n\nfunc f() {\n", 3, "expected '}'"},
		{"a.go", "Here is the file:\npackage a\n", 1, "expected 'package'"},
		{"a.go", "", 1, "expected 'package'"},
		{"a.go", "package a\n\nvar x = [][]int{{1, 2}, {3, 4}\n", 3, "missing ','"},
		{"c.json", "{\n  \"a\": 1,\n  \"b\": 2,\n}\n", 4, "invalid character '}'"},
		{"c.json", "{\"a\": 1", 1, "not complete"},
		{"c.json", "", 1, "empty"},
		{"c.json", "{\"a\": 1}\nThis sets a.\n", 2, "more behind"},
		{"package.json", "{\n  // our name\n  \"name\": \"a\"\n}\n", 2, "invalid character '/'"},
		{"tsconfig.json", "{\n  \"a\": [1, 2,]],\n}\n", 2, "invalid character ']'"},
		{"c.yaml", "a:\n  - b\n c: d\n", 3, ""},
		{"c.yml", "```yaml\na: b\n```\n", 1, ""},
		{"w.yaml", "run: ${{ github.ref }}\non: [push\nx: 1\n", 0, ""},
		{"c.toml", "a = 1\nb =\n", 2, ""},
		{"a.py", "def f(:\n    return 1\n", 1, "'(' is not closed"},
		{"a.py", "x = [1, 2)\n", 1, "')' does not close the '[' of line 1"},
		{"a.py", "x = 1)\n", 1, "')' closes nothing"},
		{"a.py", "x = 'a\ny = 1\n", 1, "not closed on its line"},
		{"a.py", "def f():\n    \"\"\"Say.\n    return 1\n", 2, "\"\"\" is not closed"},
		{"a.js", "function f() {\n  return [1, 2];\n", 1, "'{' is not closed"},
		{"a.ts", "const s = 'a;\n", 1, "not closed on its line"},
		{"a.js", "const s = `a ${b} c;\n", 1, "template is not closed"},
		{"a.sh", "if true; then\n  echo a\n", 1, "if"},
		{"a.sh", "Here is the script:\n```bash\necho a\n```\nIt (really) says a.\n", 0, ""},
		{"pom.xml", "<project>\n  <a>1</b>\n</project>\n", 2, "<a>"},
		{"pom.xml", "<project>\n", 0, ""},
		{"a.svg", "An image:\n", 1, "no element"},
		{"a.js", "f(/[)]/.test(x);\n", 1, "'(' is not closed"},
	} {
		err := syntax.Check(tt.name, tt.text)
		if err == nil {
			t.Errorf("%s: %q passes", tt.name, tt.text)
			continue
		}
		at := fmt.Sprintf("line %d", tt.line)
		placed := strings.HasPrefix(err.Error(), at+":") || strings.HasPrefix(err.Error(), at+",")
		if tt.line > 0 && !placed || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %q: %v, want line %d and %q", tt.name, tt.text, err, tt.line, tt.words)
		}
	}
}

func TestRight(t *testing.T) {
	for name, texts := range map[string][]string{
		"a.go":                     {"package a\n", "package {{.Name}}\n\nfunc f() {\n"},
		"c.json":                   {"[1, 2]\n", "\"a\"", "{\"a\": 1}\n{\"a\": 2}\n", "\uFEFF{}"},
		"tsconfig.json":            {"{\n  // strict\n  \"a\": [1, 2,], /* b */\n  \"u\": \"http://x//y\",\n}\n", ""},
		".vscode/x.json":           {"// a\n{}\n"},
		"c.yaml":                   {"", "a: 1\n---\nb: !Ref x\n", "a: {{ .Values.a }}\n  b: [\n", "# nothing\n", "a: *other\n"},
		"c.toml":                   {"", "[a]\nb = 1\n"},
		"a.rb":                     {"def f(\n"},
		"a.py":                     {"s = f\"{x['a']:>{w}} {y!r}\"\n", "s = f'{d[\"k\"]}' # it's (\n", "x = 'a\\\nb'\n", "s = rb'\\''\n", "f\"{f(a, b=':')}\"\n", "s = f\"{x[\"a\"]}\"\n"},
		"a.js":                     {"x = a / b; y = '/'\n", "if (a) /'/.test(b)\n", "const a = <p>don't</p>\n", "s = `a ${`b ${c({})}`} '`\n", "r = /[/']/g\n", "#!/usr/bin/env node's\n", "s = `'${x.replace(/'/g, `'\\\\''`)}'`\n"},
		"a.sh":                     {"#!/bin/zsh\nfor i ($x) echo $i\n", "#!/usr/bin/env bash\n[[ $a =~ ^(a|b)$ ]] && echo ${a[@]}\ncat <<'E'\n(\nE\n", ""},
		"pom.xml":                  {"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<a b=\"&lt;\"/>\n", "<!DOCTYPE a [<!ENTITY x \"y\">]>\n<a>&x;</a>\n", "<a:b xmlns:a=\"u\"><a:c/></a:b>\n"},
		"a.ts":                     {"let a: Map<string, Array<number>> = f('a')\n"},
		strings.Repeat("a/", 9):    {"(((("},
		"testdata/binary.json":     {"\xff\xfe{"},
		"templates/deployment.yml": {"{{- if .Values.x }}\na: b\n{{- end }}\n"},
	} {
		for _, text := range texts {
			if err := syntax.Check(name, text); err != nil {
				t.Errorf("%s: %q: %v", name, text, err)
			}
		}
	}
}

// TestRealCode: no file of Go's own tree is called faulty, and most are when a bracket or
// a quote is missing.
func TestRealCode(t *testing.T) {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("there is no go: %v", err)
	}
	r := rand.New(rand.NewPCG(1, 27))
	seen, broken, found := map[string]int{}, 0, 0
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	err = filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(p, "/testdata/") || strings.Contains(p, "/test2json/") {
			return err
		}
		ext := filepath.Ext(p)
		kind := slices.Contains([]string{".go", ".py", ".js", ".json", ".yaml", ".toml"}, ext)
		if !kind || ext == ".go" && r.IntN(40) > 0 {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		seen[ext]++
		text := string(data)
		if err := syntax.Check(p, text); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		var at []int
		for i := range text {
			if strings.IndexByte("()[]{}\"'", text[i]) >= 0 {
				at = append(at, i)
			}
		}
		if len(at) > 0 {
			i := at[r.IntN(len(at))]
			broken++
			if syntax.Check(p, text[:i]+text[i+1:]) != nil {
				found++
			}
		}
		return nil
	})
	if err != nil {
		t.Skipf("the sources of Go are not here: %v", err)
	}
	t.Logf("right: %v; with a bracket or a quote less: %d of %d are found", seen, found, broken)
	if broken > 0 && found*100 < broken*70 {
		t.Errorf("only %d of %d faults are found", found, broken)
	}
}
