package project

import (
	"path"
	"strings"

	"github.com/handrail-bot/handrail/policy/ignore"
)

// Leftover is a name pattern of files that builds and tests leave behind, with their
// tool. The common ignore lists for a language or tool agree on it. Names that are
// also used for own work, such as build or dist, are left out.
type Leftover struct{ Pattern, Of string }

// builtDirectories are patterns of directories made by tools, including their
// contents.
var builtDirectories = []Leftover{
	{
		"__pycache__",
		"Python",
	}, {".pytest_cache", "Python"}, {".mypy_cache", "Python"}, {".ruff_cache", "Python"}, {".pytype", "Python"}, {".pyre", "Python"},
	{
		".tox",
		"Python",
	}, {".nox", "Python"}, {".hypothesis", "Python"}, {".eggs", "Python"}, {"*.egg-info", "Python"}, {".venv", "Python"}, {"venv", "Python"},
	{"htmlcov", "Python"}, {".ipynb_checkpoints", "Jupyter"},
	{
		"node_modules",
		"Node",
	}, {"jspm_packages", "Node"}, {"bower_components", "Node"}, {".nyc_output", "Node"}, {"coverage", "Node"}, {".npm", "Node"},
	{
		".parcel-cache",
		"Node",
	}, {".next", "Next.js"}, {".nuxt", "Nuxt"}, {".svelte-kit", "Svelte"}, {".turbo", "Turborepo"}, {".angular", "Angular"}, {".sass-cache", "Sass"},
	{"target", "Rust and Maven"}, {".gradle", "Gradle"}, {".bsp", "Scala"}, {".metals", "Scala"}, {".bloop", "Scala"},
	{
		".bundle",
		"Ruby",
	}, {".dart_tool", "Dart"}, {".terraform", "Terraform"}, {".stack-work", "Haskell"}, {"dist-newstyle", "Haskell"},
	{
		".zig-cache",
		"Zig",
	}, {"zig-cache", "Zig"}, {"CMakeFiles", "CMake"}, {".ccls-cache", "C"}, {".phpunit.cache", "PHP"}, {".elixir_ls", "Elixir"}, {".vagrant", "Vagrant"},
}

// builtFiles are patterns of single files.
var builtFiles = []Leftover{
	{
		"*.pyc",
		"Python",
	}, {"*.pyo", "Python"}, {"*$py.class", "Python"}, {".coverage", "Python"}, {".coverage.*", "Python"}, {"coverage.xml", "Python"}, {".dmypy.json", "Python"},
	{
		"*.lcov",
		"Node",
	}, {"lcov.info", "Node"}, {"*.tsbuildinfo", "TypeScript"}, {".eslintcache", "Node"}, {".stylelintcache", "Node"},
	{"npm-debug.log*", "Node"}, {"yarn-debug.log*", "Node"}, {"yarn-error.log*", "Node"}, {".pnpm-debug.log*", "Node"},
	{"*.coverprofile", "Go"}, {"coverage.out", "Go"}, {"cover.out", "Go"}, {"profile.cov", "Go"},
	{"*.class", "Java"}, {"hs_err_pid*.log", "Java"},
	{
		"*.o",
		"C",
	}, {"*.obj", "C"}, {"*.gch", "C"}, {"*.pch", "C"}, {"*.gcda", "C"}, {"*.gcno", "C"}, {"*.gcov", "C"}, {"*.profraw", "LLVM"}, {"*.profdata", "LLVM"}, {"CMakeCache.txt", "CMake"},
	{
		"*.rs.bk",
		"Rust",
	}, {"*.hi", "Haskell"}, {"*.beam", "Erlang"}, {".phpunit.result.cache", "PHP"}, {".rspec_status", "Ruby"},
	{".DS_Store", "macOS"}, {"Thumbs.db", "Windows"},
}

// Own finds the files that belong to a project itself. Ask reports whether a
// directory, "." for the root, has files of the project, and returns its .gitignore.
type Own struct {
	Ask  func(dir string) (has bool, ignoreFile string)
	dirs map[string]ownDir
}

type ownDir struct {
	has   bool
	rules ignore.Rules
}

func (o *Own) dir(name string) ownDir {
	if _, ok := o.dirs[name]; !ok {
		if o.dirs == nil {
			o.dirs = map[string]ownDir{}
		}
		has, text := o.Ask(name)
		o.dirs[name] = ownDir{has, ignore.Parse(text)}
	}
	return o.dirs[name]
}

// FindLeftover returns the pattern that matches a new file, by its slash-separated
// path. A directory with files of the project is its own, regardless of its name. A
// path that its .gitignore re-includes is wanted.
func (o *Own) FindLeftover(name string) (Leftover, bool) {
	l, ok := findLeftover(name, func(dir string) bool { return o.dir(dir).has })
	if ok && ignore.Wanted(name, func(dir string) ignore.Rules { return o.dir(dir).rules }) { //control:wanted-again
		return Leftover{}, false
	}
	return l, ok
}

func findLeftover(name string, own func(dir string) bool) (Leftover, bool) {
	for i, r := range name {
		if r != '/' {
			continue
		}
		dir := name[:i]
		if l, ok := matchLeftover(builtDirectories, dir); ok && !own(dir) { //control:own-directory
			l.Pattern += "/"
			return l, true
		}
	}
	return matchLeftover(builtFiles, name)
}

func matchLeftover(list []Leftover, name string) (Leftover, bool) {
	base := path.Base(name)
	for _, l := range list {
		if ok, err := path.Match(l.Pattern, base); err == nil && ok && strings.Trim(base, ".") != "" {
			return l, true
		}
	}
	return Leftover{}, false
}
