package project

import (
	"path"
	"strings"
	"testing"
)

// TestFindLeftover: what builds and tests leave is known at any depth, and what people make
// is not, nor what is in a directory of the project.
func TestFindLeftover(t *testing.T) {
	own := func(dir string) bool { return dir == "testdata/target" || dir == "coverage" }
	for name, want := range map[string]string{
		"__pycache__/a.cpython-312.pyc": "__pycache__/", "pkg/deep/__pycache__/x": "__pycache__/", "a.pyc": "*.pyc", "web/node_modules/x/index.js": "node_modules/",
		"web/node_modules/x/node_modules/y.js": "node_modules/", "target/debug/app": "target/", "crate/target/x": "target/", ".pytest_cache/v/cache": ".pytest_cache/",
		".coverage": ".coverage", ".coverage.host.123": ".coverage.*", "sub/coverage/lcov.info": "coverage/", "coverage.out": "coverage.out", "my.egg-info/PKG-INFO": "*.egg-info/", "src/x.o": "*.o",
		"testdata/target/in.txt": "", "coverage/notes.md": "", "target": "", "node_modules": "", "src/target.go": "", "coverage.go": "", "main.go": "", "build/x": "", "dist/app.js": "", "bin/run": "",
		"obj/x": "", "lib/x.py": "", "env/prod.yml": "", "result.out": "", "vendor/x.go": "", "coverage_test.go": "", "docs/target.md": "", ".gitignore": "", ".github/workflows/ci.yml": "", "package-lock.json": "", "go.sum": "",
	} {
		l, ok := findLeftover(name, own)
		if l.Pattern != want || ok != (want != "") {
			t.Errorf("%s: %+v, want %q", name, l, want)
		}
	}
}

// TestLeftoverLists: every pattern is one, is there once, and matches no name of a source
// file or of a file that tools share.
func TestLeftoverLists(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range append(append([]Leftover(nil), builtDirectories...), builtFiles...) {
		if _, err := path.Match(l.Pattern, "x"); err != nil || l.Of == "" || seen[l.Pattern] || strings.Contains(l.Pattern, "/") {
			t.Errorf("%+v: %v", l, err)
		}
		seen[l.Pattern] = true
	}
	for _, ext := range strings.Fields("go py js ts tsx rs java kt c h cc cpp hpp rb php sh ps1 md txt json yml yaml toml lock sum mod xml html css sql proto cfg ini env png svg") {
		if l, ok := findLeftover("src/name."+ext, func(string) bool { return false }); ok {
			t.Errorf("a file name.%s is taken for %+v", ext, l)
		}
	}
}

// TestWantedLeftovers: what the project's own .gitignore takes in again is none, in any of
// its directories, and the rest is.
func TestWantedLeftovers(t *testing.T) {
	files := map[string]string{".": "*.log\n!coverage/\n!/keep.pyc\n/dist/*\n", "web": "!node_modules/kept\n# !*.o\n", "lib": "!*.o\n", "lib/sub": "*.o\n"}
	asked := map[string]int{}
	own := Own{Ask: func(dir string) (bool, string) { asked[dir]++; return false, files[dir] }}
	for name, want := range map[string]bool{
		"coverage/index.html": false, "sub/coverage/lcov.info": false, "keep.pyc": false, "sub/keep.pyc": true, "other.pyc": true,
		"web/node_modules/kept/x.js": false, "web/node_modules/x.js": true, "node_modules/kept/x": true, "web/a.o": true,
		"lib/a.o": false, "lib/sub/a.o": true, "a.o": true, "main.go": false,
	} {
		if l, ok := own.FindLeftover(name); ok != want {
			t.Errorf("%s: %+v, want %t", name, l, want)
		}
	}
	for dir, n := range asked {
		if n > 1 {
			t.Errorf("the rules in %s were read %d times", dir, n)
		}
	}
}
