package fragment

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// importsOf returns the imports of a Go file or a part of it, by the name that code uses, and its text
// with empty lines in their place.
func importsOf(text string) (imports map[string]string, rest string) {
	clause := ""
	if !strings.HasPrefix(text, "package ") && !strings.Contains(text, "\npackage ") {
		clause = "package p;"
	}
	set := token.NewFileSet()
	f, _ := parser.ParseFile(set, "", clause+text, parser.ImportsOnly|parser.SkipObjectResolution)
	if f == nil {
		return nil, text
	}
	imports = map[string]string{}
	all := strings.Split(text, "\n")
	for _, d := range f.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.IMPORT {
			continue
		}
		for _, spec := range decl.Specs {
			if name, line, ok := importSpec(spec); ok {
				imports[name] = line
			}
		}
		for i := set.Position(decl.Pos()).Line; i <= set.Position(decl.End()).Line && i <= len(all); i++ {
			all[i-1] = ""
		}
	}
	return imports, strings.Join(all, "\n")
}

// version matches the last element of a module's path that is no name.
var version = pattern.Lazy(`^v\d+$`)

// importSpec returns the name that an import has in code, and its line.
func importSpec(spec ast.Spec) (name, line string, ok bool) {
	s, isImport := spec.(*ast.ImportSpec)
	if !isImport {
		return "", "", false
	}
	of, err := strconv.Unquote(s.Path.Value)
	if err != nil {
		return "", "", false
	}
	if name = path.Base(of); version().MatchString(name) {
		name = path.Base(path.Dir(of))
	}
	if s.Name == nil {
		return name, s.Path.Value, true
	}
	return s.Name.Name, s.Name.Name + " " + s.Path.Value, true
}

// mendImports gives a Go file the imports of text that it needs now, and takes those of before away that
// it needs no more: Go compiles neither without the former nor with the latter.
func mendImports(had []string, before, text string) []string {
	was, code := importsOf(strings.Join(had, "\n"))
	_, old := importsOf(before)
	more, _ := importsOf(text)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		at := slices.IndexFunc(had, func(l string) bool {
			return strings.TrimSpace(strings.TrimPrefix(l, "import ")) == was[name]
		})
		if at >= 0 && uses(old, name) && !uses(code, name) { //control:unused-import
			had = slices.Delete(had, at, at+1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if was[name] == "" && uses(code, name) {
			had = addGoImport(had, more[name])
		}
	}
	return had
}

// uses reports whether Go code selects from a package.
func uses(code, name string) bool {
	return regexp.MustCompile(`(?m)(^|[^\w.])` + regexp.QuoteMeta(name) + `\.[A-Z]`).MatchString(code)
}

// addGoImport puts an import into the first block of imports, in its order, behind single ones, or
// below the package clause.
func addGoImport(had []string, line string) []string {
	last := -1
	for i, l := range had {
		switch {
		case strings.HasPrefix(l, "import ("):
			at := i + 1
			for at < len(had) && strings.Contains(had[at], `"`) && pathIn(had[at]) < pathIn(line) {
				at++
			}
			return slices.Insert(had, at, "\t"+line)
		case strings.HasPrefix(l, "import "):
			last = i
		case strings.HasPrefix(l, "package ") && last < 0:
			last = -2 - i
		}
	}
	switch {
	case last >= 0:
		return slices.Insert(had, last+1, "import "+line)
	case last < -1:
		return slices.Insert(had, -1-last, "", "import "+line)
	}
	return had
}

// pathIn returns the path of an import's line, without its name.
func pathIn(line string) string { return line[strings.IndexByte(line, '"'):] }
