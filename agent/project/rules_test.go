package project

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ruled is a repository with rules by place and by name.
var ruled = map[string]string{
	"AGENTS.md":            "Root. See @docs/a.md, mail a@b.c, @kim, `@docs/no.md`.\n```\n@docs/no.md\n```\n",
	"docs/a.md":            "A. @b.md @docs/a.md @../../etc/passwd",
	"docs/b.md":            "B.",
	"docs/no.md":           "NO",
	"web/AGENTS.md":        "Web.",
	"web/CLAUDE.md":        "Web.",
	"web/src/CLAUDE.md":    "Src.",
	"web/hidden/AGENTS.md": "HIDDEN",
	".agentignore":         "web/hidden/AGENTS.md\n",
	".github/instructions/go.instructions.md":  "---\napplyTo: '**/*.go,**/{a,b}.mod'\n---\nGo.\n",
	".github/instructions/all.instructions.md": "---\napplyTo: \"**\"\n---\nAll.\n",
	".github/instructions/notes.md":            "NO",
	".cursor/rules/web.mdc":                    "---\ndescription:\nglobs: web/**\nalwaysApply: false\n---\nCursor.\n",
	".cursor/rules/list.mdc":                   "---\nglobs:\n  - \"*.tsx\"\n  - docs/\n---\nList.\n",
	".cursor/rules/asked.mdc":                  "---\ndescription: for migrations\n---\nAsked.\n",
	".cursor/rules/plain.mdc":                  "Plain.\n",
	"web/src/a.tsx":                            "", "b.go": "",
}

// Rules of every file are in the first prompt, with the files that they include; those of
// a part are not.
func TestRulesAtStart(t *testing.T) {
	got, err := start(t, open(t, ruled))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## AGENTS.md\n\nRoot.", "### docs/a.md\n\nA.", "### docs/b.md\n\nB.", "instructions/all.instructions.md\n\nAll.", "- .cursor/rules/asked.mdc: for migrations"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for _, not := range []string{"NO", "Web.", "Go.", "List.", "Asked.", "Plain.", "root:"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is in\n%s", not, got)
		}
	}
}

// Rules of a part are given for its files, the nearest last, and once.
func TestRulesAt(t *testing.T) {
	r := &Rules{Files: open(t, ruled)}
	for _, tt := range []struct {
		files, known, want []string
	}{
		{[]string{"b.go"}, nil, []string{".github/instructions/go.instructions.md"}},
		{[]string{"x/a.mod"}, nil, []string{".github/instructions/go.instructions.md"}},
		{[]string{"web/src/a.tsx"}, nil, []string{"web/AGENTS.md", "web/src/CLAUDE.md", ".cursor/rules/list.mdc", ".cursor/rules/web.mdc"}},
		{[]string{"./web/src/a.tsx", "web/b.go"}, []string{"web/AGENTS.md", ".cursor/rules/web.mdc"}, []string{"web/src/CLAUDE.md", ".github/instructions/go.instructions.md", ".cursor/rules/list.mdc"}},
		{[]string{"web/hidden/a.txt"}, []string{"web/AGENTS.md", ".cursor/rules/web.mdc"}, nil},
		{[]string{"docs/x"}, nil, []string{".cursor/rules/list.mdc"}},
		{[]string{"README", "../x/y", "/etc/passwd", "b.txt/c"}, nil, nil},
	} {
		items, err := r.At(t.Context(), tt.files, tt.known)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range items {
			if got = append(got, it.Name); it.Text == "" || strings.HasPrefix(it.Text, "---") {
				t.Errorf("%s: %q", it.Name, it.Text)
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%v: %s", tt.files, d)
		}
	}
}

// Front matter is read as editors on other systems write it.
func TestFrontMatter(t *testing.T) {
	for name, tt := range map[string]struct {
		text    string
		applies []string // files
		not     []string
		always  bool
	}{
		"CRLF":                {"---\r\napplyTo: '**/*.cs'\r\n---\r\nRule.\r\n", []string{"a/b.cs"}, []string{"b.go"}, false},
		"a mark of order":     {"\ufeff---\nglobs: web/**\n---\nRule.\n", []string{"web/a.ts"}, []string{"a.ts"}, false},
		"a comment":           {"---\napplyTo: src/** # the library\n---\nRule.\n", []string{"src/a.c"}, []string{"a.c"}, false},
		"from here":           {"---\nglobs: ./src/**\n---\nRule.\n", []string{"src/a.c"}, []string{"lib/a.c"}, false},
		"a list in a line":    {"---\napplyTo: [\"*.go\", 'go.mod']\n---\nRule.\n", []string{"a.go", "go.mod"}, []string{"a.py"}, false},
		"a class at the end":  {"---\nglobs: src/*.[ch]\n---\nRule.\n", []string{"src/a.c", "src/a.h"}, []string{"src/a.go"}, false},
		"quoted, with a hash": {"---\nglobs: 'src/a #1/**'\n---\nRule.\n", []string{"src/a #1/x"}, []string{"src/a"}, false},
		"always, CRLF":        {"---\r\nalwaysApply: true\r\n---\r\nRule.", nil, []string{"a.go"}, true},
		"braces in braces":    {"---\nglobs: \"src/**/*.{ts,{js,jsx},m{t,c}s}\"\n---\nRule.\n", []string{"src/a.ts", "src/x/a.jsx", "src/a.mts", "src/a.mcs"}, []string{"src/a.ms", "src/a.j"}, false},
		"open braces":         {"---\nglobs: a}b{c, *.go\n---\nRule.\n", []string{"a}b{c"}, []string{"a.go.x"}, false},
		"UTF-16":              {"\xff\xfe" + wide("---\nglobs: *.go\n---\nRule.\n"), []string{"a.go"}, nil, false},
		"Latin-1":             {"---\nglobs: stra\xdfe/**\n---\nRule.\n", []string{"straße/a"}, []string{"strae/a"}, false},
		"a colon in a text":   {"---\ndescription: Style: for Go\nglobs: *.go\n---\nRule.\n", []string{"a.go"}, []string{"a.py"}, false},
		"spaces at the fence": {"--- \nglobs: *.go\n---  \nRule.\n", []string{"a.go"}, []string{"a.py"}, false},
		"from the root":       {"---\nglobs: /src/**\n---\nRule.\n", []string{"src/a.c"}, []string{"lib/src/a.c"}, false},
		"with exceptions":     {"---\nglobs: src/**, !src/gen/**\n---\nRule.\n", []string{"src/a.c"}, []string{"src/gen/a.c", "a.c"}, false},
		"all with exceptions": {"---\napplyTo: '**, !docs/**'\n---\nRule.\n", []string{"src/a.c"}, []string{"docs/a.md"}, false},
		"a tab":               {"---\nglobs:\t*.go\n---\nRule.\n", []string{"a.go"}, []string{"a.py"}, false},
		"empty":               {"---\n---\nRule.\n", nil, []string{"a.go"}, false},
	} {
		r := &Rules{Files: open(t, map[string]string{".cursor/rules/x.mdc": tt.text})}
		list, err := r.scopes(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %d instructions, %v", name, len(list), err)
		}
		s := list[0]
		if s.text != "Rule." || s.always != tt.always {
			t.Errorf("%s: text %q, always %v", name, s.text, s.always)
		}
		for _, file := range tt.applies {
			if !s.matches(file) {
				t.Errorf("%s: does not apply to %s", name, file)
			}
		}
		for _, file := range tt.not {
			if s.matches(file) {
				t.Errorf("%s: applies to %s", name, file)
			}
		}
	}
}

// wide returns ASCII in UTF-16.
func wide(text string) string { return strings.Join(strings.Split(text, ""), "\x00") + "\x00" }

// A file of instructions is shown once, although others include it, and also in circles.
func TestIncludedOnce(t *testing.T) {
	files := open(t, map[string]string{
		"AGENTS.md": "ROOT @docs/style.md", "CLAUDE.md": "@AGENTS.md CLAUDE @docs/style.md", "docs/style.md": "STYLE @../CLAUDE.md @style.md",
		"web/AGENTS.md": "WEB @CLAUDE.md", "web/CLAUDE.md": "@AGENTS.md PLACE",
	})
	got, err := start(t, files)
	if err != nil {
		t.Fatal(err)
	}
	items, err := (&Rules{Files: files}).At(t.Context(), []string{"web/a.ts"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		got += it.Text
	}
	for _, want := range []string{"ROOT", " CLAUDE ", "STYLE", "WEB", "PLACE"} {
		if n := strings.Count(got, want); n != 1 {
			t.Errorf("%s stands %d times in\n%s", want, n, got)
		}
	}
}

// An include is a name of a file in running text: code, accounts and packages are none. A link from
// one name of instructions to the other shows them once.
func TestNoIncludes(t *testing.T) {
	files := open(t, map[string]string{
		"AGENTS.md": "ROOT. Ask @kim or kim@docs/a.md, see @docs/real.md.\n```\n@docs/code.md\n```\nand `@docs/inline.md`, @types/node, @docs/, @~/home.md",
		"docs/a.md": "MAIL", "docs/real.md": "REAL", "docs/code.md": "FENCED", "docs/inline.md": "INLINE", "kim": "ACCOUNT", "home.md": "HOME",
		"CLAUDE.md": "AGENTS.md",
	})
	got, err := start(t, files)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(got, "ROOT") != 1 || strings.Count(got, "REAL") != 1 {
		t.Errorf("not once:\n%s", got)
	}
	for _, not := range []string{"MAIL", "FENCED", "INLINE", "HOME", "ACCOUNT"} {
		if strings.Contains(got, not) {
			t.Errorf("%s is in\n%s", not, got)
		}
	}
}

// Files beyond the limit are told.
func TestManyInstructions(t *testing.T) {
	files := map[string]string{}
	for i := range maxScoped + 3 {
		files[fmt.Sprintf(".cursor/rules/%d.mdc", i)] = "---\nglobs: a/**\n---\nRule.\n"
	}
	if got, err := start(t, open(t, files)); err != nil || !strings.Contains(got, "- 3 more files in .github/instructions and .cursor/rules") {
		t.Errorf("%v: %s", err, got)
	}
}

// No comment of a README is shown, in any of its languages.
func TestReadmeComments(t *testing.T) {
	for name, text := range map[string]string{
		"README.markdown": "<!-- HIDDEN\n-->\n# Shown\n\n[//]: # (HIDDEN)\n",
		"readme.adoc":     "// HIDDEN\n= Shown\n\n////\nHIDDEN\n////\nText. https://x//y\n",
		"README.ASCIIDOC": "= Shown\n////\nHIDDEN\n",
		"docs/README.md":  "# Shown\n<!--\nHIDDEN",
		"README.md":       "# Shown\r\n\r\n[//]: # (a note\r\nHIDDEN\r\n)\r\n\r\nText. https://x//y\r\n",
		"readme":          "# Shown\n\n[comment]: <> (HIDDEN)\n[note]: # \"HIDDEN\n HIDDEN\"\n",
		"readme.asciidoc": "= Shown\r\n////\r\nHIDDEN\r\n////\r\nText. https://x//y\r\n",
		"README.rst":      "..\n   HIDDEN\n\nTool\n====\n\n.. HIDDEN\n   HIDDEN\n\n   HIDDEN\n\n.. note:: Shown\n\n.. _a: https://x//y\n",
	} {
		f, err := Discover(t.Context(), open(t, map[string]string{name: text}))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(f.Readme, "Shown") || strings.Contains(f.Readme, "HIDDEN") || strings.Contains(text, "//y") && !strings.Contains(f.Readme, "//y") {
			t.Errorf("%s: %q", name, f.Readme)
		}
	}
}

// Skills and commands are listed with one line each, and read when they are asked for;
// hidden ones do not exist.
func TestFetchInstructions(t *testing.T) {
	r := &Rules{Files: open(t, map[string]string{
		"AGENTS.md":                             "Root.",
		"docs/tags.md":                          "Sign tags.",
		".agentignore":                          ".github/agent/skills/secret/\n",
		".github/agent/skills/release/SKILL.md": "---\nname: release\ndescription: how a release is made\n---\nTag first. See @docs/tags.md.\n",
		".github/agent/skills/release/other.md": "OTHER",
		".github/agent/skills/secret/SKILL.md":  "---\ndescription: BURIED\n---\nBURIED\n",
		".github/agent/skills/plain/SKILL.md":   "Plain.",
		".github/agent/commands/triage.md":      "---\ndescription: sorts an issue\n---\nSort it.\n",
		".github/agent/commands/README.md":      "README",
		".cursor/rules/asked.mdc":               "---\ndescription: for migrations\n---\nAsked.\n",
	})}
	first, err := r.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := "## Read if it fits the task\n\n- .cursor/rules/asked.mdc: for migrations\n- .github/agent/commands/triage.md: sorts an issue\n" +
		"- .github/agent/skills/plain/SKILL.md\n- .github/agent/skills/release/SKILL.md: how a release is made"
	if !strings.Contains(first, want) || strings.Contains(first, "BURIED") || strings.Contains(first, "Tag first") {
		t.Errorf("the first prompt has %s", first)
	}
	for name, text := range map[string]string{
		"release": "Tag first. See @docs/tags.md.\n\n### docs/tags.md\n\nSign tags.", ".github/agent/skills/release": "Tag first. See @docs/tags.md.\n\n### docs/tags.md\n\nSign tags.",
		"Triage": "Sort it.", "./AGENTS.md": "Root.", ".cursor/rules/asked.mdc": "---\ndescription: for migrations\n---\nAsked.",
		"": "", "secret": "", ".github/agent/skills/secret/SKILL.md": "", "../../etc/passwd": "", "docs/tags.md": "", "README": "", ".github/agent/skills/release/other.md": "",
	} {
		got, err := r.Fetch(t.Context(), name)
		if err != nil || got.Text != text || len(got.Names) != 5 || (text == "") != (got.Path == "") {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
}
