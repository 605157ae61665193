package ignore

import (
	"path"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

// TestFixed: the quick look never turns away what the pattern matches.
func TestFixed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`(a|b|/|\*|\*\*/|/\*\*|\?|\[ab\]|\\b|\.c){1,6}`).Draw(t, "pattern")
		rel := rapid.StringMatching(`(a|b|/|\.c){1,8}`).Draw(t, "rel")
		r, ok := parseRule("x/" + pattern)
		if !ok || r.literal || r.suffix || r.nameOnly {
			t.Skip("no pattern to match")
		}
		rel = "x/" + rel
		if want := doublestar.MatchUnvalidated(r.pattern, rel); r.match(rel, path.Base(rel), true) != want {
			t.Fatalf("%s against %s: want %v", r.pattern, rel, want)
		}
	})
	r, _ := parseRule("**/gen/*.go")
	for rel, want := range map[string]bool{"gen/a.go": true, "a/gen/b.go": true, "a/gen/b.c": false, "a/b.go": false} {
		if r.match(rel, path.Base(rel), false) != want {
			t.Errorf("%s: want %v", rel, want)
		}
	}
}

// TestPathsOutside: a path that is absolute or climbs out of the top is neither excluded
// nor wanted, however it is spelt, and one that only looks like it is judged as itself.
func TestPathsOutside(t *testing.T) {
	rules := Parse("*.log\n!keep.log\nbuild/\n")
	in := func(dir string) Rules {
		if dir == "." {
			return rules
		}
		return nil
	}
	for _, rel := range []string{"/", "/a.log", "/build/x", "..", "../a.log", "../../a.log", "a/../../a.log", "//a.log", ""} {
		if Match(rel, false, in) {
			t.Errorf("%q is excluded", rel)
		}
		if Wanted(rel, in) {
			t.Errorf("%q is wanted", rel)
		}
	}
	for rel, want := range map[string]bool{"a.log": true, "./a.log": true, "a//b.log": true, "x/../a.log": true, "build/x": true, "keep.log": false, "..a/b.txt": false} {
		if Match(rel, false, in) != want {
			t.Errorf("%q: excluded is not %v", rel, want)
		}
	}
	if !Wanted("./keep.log", in) {
		t.Error("a file that a rule includes is not wanted")
	}
}
