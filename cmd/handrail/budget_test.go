package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// The budgets of the house. What outgrows one is telling something about the
// design; spreading one type over more files does not meet them.
const (
	maxFileLines    = 500
	maxFuncLines    = 80
	p95FuncLines    = 50
	maxNesting      = 4
	maxComplexity   = 20 // branches of a function, counted by cyclomatic complexity
	maxParams       = 4  // after ctx
	maxInterface    = 5  // methods
	maxMethods      = 40 // of a type
	maxFields       = 20 // of a struct
	maxFiles        = 25 // of a package, tests apart
	maxLines        = 4000
	maxOwnImports   = 8
	maxOwnImportsIn = 12 // roots

	maxVerbFiles = 45 // cmd/handrail: short files, one a verb
	maxVerbLines = 3500

	maxTotalLines = 132_000 // of Go that the program works with: not what only tests or the demo need
)

// exceptions are what is over its budget, with its measure. The list may only
// shrink: what grows beyond its measure fails, and so does what has come back
// within its budget and is still listed.
var exceptions = map[string]int{
	"own imports of bot":      15, // a worker calls each of its rooms
	"own imports of bot/live": 12, // what people see of a session is written in each of them
}

// mostExceptions is how many there may be.
const mostExceptions = 10

// figure is one measure of the source.
type figure struct {
	what    string
	is, max int
}

// TestBudget holds every measure to its budget.
func TestBudget(t *testing.T) {
	over := map[string]bool{}
	for _, f := range slices.Concat(fileFigures(t), funcFigures(t), typeFigures(t), packageFigures(t), exportFigures(t)) {
		if f.is <= f.max {
			continue
		}
		over[f.what] = true
		if most := max(f.max, exceptions[f.what]); f.is > most {
			t.Errorf("%s: %d, more than %d", f.what, f.is, most)
		}
	}
	for what := range exceptions {
		if !over[what] {
			t.Errorf("%s: within its budget, or gone; take it from the list of exceptions", what)
		}
	}
	if len(exceptions) > mostExceptions {
		t.Errorf("%d exceptions, more than %d", len(exceptions), mostExceptions)
	}
}

func fileFigures(t *testing.T) (out []figure) {
	for _, s := range sources(t) {
		out = append(out, figure{"lines of " + s.file, s.lines(), maxFileLines})
	}
	return out
}

func (s source) lines() int { return s.fset.File(s.tree.Pos()).LineCount() }

func funcFigures(t *testing.T) (out []figure) {
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
			name := s.dir + "." + f.Name.Name
			if f.Recv != nil {
				name = s.dir + "." + receiver(f) + "." + f.Name.Name
			}
			out = append(out,
				figure{"lines of " + name, lines, maxFuncLines},
				figure{"parameters after ctx of " + name, params(f.Type), maxParams},
				figure{"nesting of " + name, nesting(f.Body), maxNesting},
				figure{"complexity of " + name, complexity(f.Body), maxComplexity})
		}
	}
	slices.Sort(sizes)
	return append(out, figure{"lines of 95 of 100 functions", sizes[len(sizes)*95/100], p95FuncLines})
}

// receiver is the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	e := f.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return fmt.Sprintf("%T", e)
		}
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

// complexity is one more than the branches: if, for, case, && and ||. A
// function inside counts where it stands.
func complexity(body ast.Node) int {
	n := 1
	ast.Inspect(body, func(c ast.Node) bool {
		switch c := c.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if c.List != nil {
				n++
			}
		case *ast.CommClause:
			if c.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if c.Op == token.LAND || c.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func typeFigures(t *testing.T) (out []figure) {
	methods := map[string]int{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[s.dir+"."+receiver(f)]++
			}
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			ts, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			switch x := ts.Type.(type) {
			case *ast.InterfaceType:
				out = append(out, figure{"methods of interface " + s.dir + "." + ts.Name.Name, len(x.Methods.List), maxInterface})
			case *ast.StructType:
				out = append(out, figure{"fields of " + s.dir + "." + ts.Name.Name, x.Fields.NumFields(), maxFields})
			}
			return true
		})
	}
	for name, n := range methods {
		out = append(out, figure{"methods of " + name, n, maxMethods})
	}
	return out
}

func packageFigures(t *testing.T) (out []figure) {
	files, lines, own := map[string]int{}, map[string]int{}, map[string]map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		files[s.dir]++
		lines[s.dir] += s.lines()
		for _, im := range imports(s) {
			if target, ok := strings.CutPrefix(im, module+"/"); ok {
				if own[s.dir] == nil {
					own[s.dir] = map[string]bool{}
				}
				own[s.dir][target] = true
			}
		}
	}
	total := 0
	for dir := range worksWith(t) {
		total += lines[dir]
	}
	t.Logf("%d lines of Go that the program works with", total)
	for dir := range files {
		mostFiles, mostLines, mostImports := maxFiles, maxLines, maxOwnImports
		if strings.HasPrefix(dir, "cmd/") { // which joins the parts
			mostImports = len(files)
		}
		switch dir {
		case "cmd/handrail":
			mostFiles, mostLines = maxVerbFiles, maxVerbLines
		case "agent", "bot":
			mostImports = maxOwnImportsIn
		}
		out = append(out,
			figure{"files of " + dir, files[dir], mostFiles},
			figure{"lines of package " + dir, lines[dir], mostLines},
			figure{"own imports of " + dir, len(own[dir]), mostImports})
	}
	slices.SortFunc(out, func(a, b figure) int { return cmp.Compare(a.what, b.what) })
	return append(out, figure{"lines of Go that the program works with", total, maxTotalLines})
}

// worksWith returns the packages that the program links for its work. The demo and
// simulate bring a GitHub, and the demo a model, which are those of the tests.
func worksWith(t *testing.T) map[string]bool {
	needs := map[string][]string{}
	for _, s := range sources(t) {
		if s.test || s.file == "cmd/handrail/demo.go" {
			continue
		}
		for _, im := range imports(s) {
			target, ok := strings.CutPrefix(im, module+"/")
			if ok && (s.dir != "cmd/simulate" || !strings.HasPrefix(target, "bot/ghapp/ghtest")) {
				needs[s.dir] = append(needs[s.dir], target)
			}
		}
	}
	found := map[string]bool{}
	var visit func(dir string)
	visit = func(dir string) {
		if found[dir] {
			return
		}
		found[dir] = true
		for _, target := range needs[dir] {
			visit(target)
		}
	}
	visit("cmd/handrail")
	if found["bot/ghapp/ghtest"] || !found["agent"] {
		t.Error("the GitHub of the tests is counted, or the agent is not")
	}
	return found
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
