package review

import (
	"strings"
	"testing"
)

// Sections of the rules that are for other files are left out.
func TestPathRules(t *testing.T) {
	const text = "Look at sums.\n\n## `src/db/`, `*.sql`\nMind transactions.\n### `!src/db/old/` and `web/**/*.ts`:\nMind the types.\n## How `a.go` works\nIt adds.\n#notes\n"
	for files, want := range map[string]string{
		"src/db/x/y.go": "sums transactions adds", "q.sql": "sums transactions adds", "a.go": "sums adds", "web/x/y/z.ts a.go": "sums types adds",
		"src/db/a.go web/a.ts": "sums transactions types adds", "": "sums adds", "/etc/passwd ../x": "sums adds",
	} {
		got := rulesFor(text, strings.Fields(files))
		for word := range strings.FieldsSeq("sums transactions types adds") {
			if strings.Contains(got, word) != strings.Contains(want, word) {
				t.Errorf("%q: %s\n%s", files, word, got)
			}
		}
	}
	if !pathRules(text) || pathRules("## How `a.go` works\n`a.go`\n") {
		t.Error("it is not seen whether there are rules for some files")
	}
}

func TestRankOf(t *testing.T) {
	for name, want := range map[string]Rank{
		"a.go": logic, "src/latest/run.py": logic, "contest.ts": logic, "Makefile": logic, "vendored.go": logic, "distance/a.go": logic, "protest/x.py": logic,
		"a_test.go": Tests, "test_a.py": Tests, "conftest.py": Tests, "web/a.spec.ts": Tests, "web/__tests__/a.ts": Tests, "src/FooTest.java": Tests, "testdata/a.go": Tests, "tests/util.py": Tests,
		"README.md": words, "docs/a.rst": words,
		"go.sum": Generated, "web/package-lock.json": Generated, "Cargo.lock": Generated, "vendor/a/b.go": Generated, "x/vendor/b.go": Generated, "a.pb.go": Generated, "a_pb2.py": Generated, "a.min.js": Generated, "dist/a.js": Generated, "x/node_modules/y.js": Generated, "logo.svg": Generated, "types_generated.go": Generated,
	} {
		if got := RankOf(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

func TestCoverage(t *testing.T) {
	if got := (input{Again: true, Read: 3}).Coverage(); got != "" {
		t.Errorf("a second look says %q", got)
	}
	for want, in := range map[string]input{
		"":                  {Read: 1},
		"Read all 3 files.": {Read: 3},
		"Read both files.":  {Read: 2},
		"Read 2 of 4 files. Not read for lack of time or room: `a.go`. Left out as generated: `go.sum`.": {Read: 2, Unread: []string{"a.go", "go.sum"}},
		"Read 1 of 2 files. Left out as generated: `go.sum`.":                                            {Read: 1, Unread: []string{"go.sum"}},
	} {
		if got := in.Coverage(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
