package session

import (
	"strings"
	"testing"
)

func TestTitle(t *testing.T) {
	files := []FileChange{{Path: "win/a.py"}, {Path: "test_a.py", Kind: ChangeCreate}}
	for said, want := range map[string]string{
		"Join paths with the separator of the system":    "Join paths with the separator of the system",
		"join paths with the separator of the system.":   "Join paths with the separator of the system",
		"\"Fix the crash in a.py\"":                      "Fix the crash in a.py",
		"win: join paths":                                "win: join paths",
		"fix(win): join paths in `a.py`":                 "fix(win): join paths in `a.py`",
		"Pass the locale to win/":                        "Pass the locale to win/",
		"Fix":                                            "",
		"Fixed the crash":                                "",
		"fix: joined paths":                              "",
		"Adding a test":                                  "",
		"Fixes the crash":                                "",
		"Fix the crash in b.py":                          "",
		"Fix the crash of cmd/main":                      "",
		"Here is the title:\nFix the crash":              "",
		"Fix the crash, closes #3":                       "",
		"Fix it @team":                                   "",
		"Fix <b>it</b> now":                              "",
		"See https://x.example for the fix":              "",
		"Fix " + strings.Repeat("a very long thing ", 5): "",
		"": "",
	} {
		if got := Title(said, files); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

func TestSubject(t *testing.T) {
	for want, files := range map[string][]FileChange{
		"Take the base branch in":    nil,
		"Update a.py":                {{Path: "a.py", Kind: ChangeModify}},
		"Update a in b.py":           {{Path: "b.py", Kind: ChangeModify, In: "a"}},
		"Update a.py and test_a.py":  {{Path: "a.py", Kind: ChangeModify}, {Path: "test_a.py", Kind: ChangeModify}},
		"Update a.py, add test_a.py": {{Path: "a.py", Kind: ChangeModify}, {Path: "test_a.py", Kind: ChangeCreate}},
		"Update a/b.go, delete a/c.go, rename a/d.go": {
			{Path: "a/b.go", Kind: ChangeModify}, {Path: "a/c.go", Kind: ChangeDelete}, {Path: "a/d.go", Kind: ChangeRename}},
		"Change 4 files in a": {
			{Path: "a/b", Kind: ChangeModify}, {Path: "a/c", Kind: ChangeModify}, {Path: "a/d", Kind: ChangeModify}, {Path: "a/e", Kind: ChangeCreate}},
		"Change 4 files": {
			{Path: "b", Kind: ChangeModify}, {Path: "a/c", Kind: ChangeModify}, {Path: "a/d", Kind: ChangeModify}, {Path: "a/e", Kind: ChangeCreate}},
	} {
		if got := Subject(files); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
