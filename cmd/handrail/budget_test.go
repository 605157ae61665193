package main

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// The budgets of the house. A file or function that outgrows them is telling
// something about the design.
const (
	maxFileLines    = 500
	maxFuncLines    = 80
	p95FuncLines    = 50
	maxNesting      = 4
	maxParams       = 4 // after ctx
	maxMethods      = 5
	maxOwnImports   = 8
	maxOwnImportsIn = 12 // roots
)

func TestFileBudget(t *testing.T) {
	for _, s := range sources(t) {
		if n := s.fset.File(s.tree.Pos()).LineCount(); n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", s.file, n, maxFileLines)
		}
	}
}

func TestFunctionBudget(t *testing.T) {
	var sizes []int
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			sizes = append(sizes, lines)
			at := s.fset.Position(f.Pos())
			if lines > maxFuncLines {
				t.Errorf("%s: %s has %d lines, more than %d", at, f.Name.Name, lines, maxFuncLines)
			}
			if n := params(f.Type); n > maxParams {
				t.Errorf("%s: %s has %d parameters after ctx, more than %d", at, f.Name.Name, n, maxParams)
			}
			if n := nesting(f.Body); n > maxNesting {
				t.Errorf("%s: %s nests %d deep, more than %d", at, f.Name.Name, n, maxNesting)
			}
		}
	}
	slices.Sort(sizes)
	if p := sizes[len(sizes)*95/100]; p > p95FuncLines {
		t.Errorf("95 of 100 functions have up to %d lines, more than %d", p, p95FuncLines)
	}
}

func params(f *ast.FuncType) int {
	n := 0
	for i, field := range f.Params.List {
		if i == 0 {
			if sel, ok := field.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" {
				continue
			}
		}
		n += max(1, len(field.Names))
	}
	return n
}

// nesting counts blocks inside blocks; the body itself is 0, and an else-if
// does not go deeper than its if.
func nesting(n ast.Node) int {
	deepest := 0
	var walk func(ast.Node, int)
	walk = func(n ast.Node, depth int) {
		deepest = max(deepest, depth)
		ast.Inspect(n, func(c ast.Node) bool {
			if c == n || c == nil {
				return true
			}
			switch c := c.(type) {
			case *ast.FuncLit:
				walk(c.Body, 0)
				return false
			case *ast.IfStmt:
				walkIf(c, depth, walk)
				return false
			case *ast.ForStmt:
				walk(c.Body, depth+1)
				return false
			case *ast.RangeStmt:
				walk(c.Body, depth+1)
				return false
			case *ast.SwitchStmt:
				walk(c.Body, depth+1)
				return false
			case *ast.TypeSwitchStmt:
				walk(c.Body, depth+1)
				return false
			case *ast.SelectStmt:
				walk(c.Body, depth+1)
				return false
			}
			return true
		})
	}
	walk(n, 0)
	return deepest
}

func walkIf(s *ast.IfStmt, depth int, walk func(ast.Node, int)) {
	walk(s.Body, depth+1)
	switch e := s.Else.(type) {
	case *ast.IfStmt:
		walkIf(e, depth, walk)
	case *ast.BlockStmt:
		walk(e, depth+1)
	}
}

func TestInterfaceBudget(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.tree, func(n ast.Node) bool {
			ts, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if it, ok := ts.Type.(*ast.InterfaceType); ok && len(it.Methods.List) > maxMethods {
				t.Errorf("%s: interface %s has %d methods, more than %d", s.fset.Position(ts.Pos()), ts.Name.Name, len(it.Methods.List), maxMethods)
			}
			return true
		})
	}
}

func TestImportBudget(t *testing.T) {
	own := map[string]map[string]bool{}
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.dir, "cmd/") {
			continue
		}
		for _, im := range imports(s) {
			if target, ok := strings.CutPrefix(im, module+"/"); ok {
				if own[s.dir] == nil {
					own[s.dir] = map[string]bool{}
				}
				own[s.dir][target] = true
			}
		}
	}
	for dir, set := range own {
		limit := maxOwnImports
		if dir == "agent" || dir == "bot" {
			limit = maxOwnImportsIn
		}
		if len(set) > limit {
			t.Errorf("%s imports %d own packages, more than %d", dir, len(set), limit)
		}
	}
}

func TestPackageComments(t *testing.T) {
	has := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		has[s.dir] = has[s.dir] || s.tree.Doc != nil
	}
	for dir, ok := range has {
		if !ok {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

func TestNoVaguePackages(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains([]string{"util", "utils", "common", "shared", "types", "models", "helpers"}, s.tree.Name.Name) {
			t.Errorf("%s: package name %s says nothing", s.file, s.tree.Name.Name)
		}
	}
}
