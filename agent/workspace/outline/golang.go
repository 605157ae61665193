package outline

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"slices"
)

// goDefs finds the definitions of a Go file, or of a part of one, with go/parser. It reports false
// if the parser found a bad declaration, or an error and no declarations.
func goDefs(f *file) bool {
	set := gotoken.NewFileSet()
	tree, err := parser.ParseFile(set, "", f.src, parser.SkipObjectResolution)
	if tree == nil || err != nil && len(tree.Decls) == 0 { // perhaps a part without the package's name
		whole := append([]byte("package p; "), f.src...)
		tree, err = parser.ParseFile(set, "", whole, parser.SkipObjectResolution)
	}
	if tree == nil || err != nil && len(tree.Decls) == 0 {
		return false
	}
	at := func(n ast.Node) int { return set.PositionFor(n.Pos(), false).Line }
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || len(d.Recv.List) == 0 {
				f.add("func", d.Name.Name, at(d.Name))
				continue
			}
			f.add("method", receiver(d.Recv.List[0].Type)+d.Name.Name, at(d.Name))
		case *ast.GenDecl:
			goTypes(f, d, at)
		case *ast.BadDecl:
			return false
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool { // types declared in functions
		if s, ok := n.(*ast.DeclStmt); ok {
			if d, ok := s.Decl.(*ast.GenDecl); ok {
				goTypes(f, d, at)
			}
		}
		return true
	})
	return true
}

func goTypes(f *file, d *ast.GenDecl, at func(ast.Node) int) {
	if d.Tok != gotoken.TYPE {
		return
	}
	for _, s := range d.Specs {
		if t, ok := s.(*ast.TypeSpec); ok {
			f.add("type", t.Name.Name, at(t.Name))
		}
	}
}

// receiver returns the name of a receiver's type, followed by a dot.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.ParenExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name + "."
	}
	return ""
}

func sortByLine(defs []Def) {
	slices.SortStableFunc(defs, func(a, b Def) int { return a.Line - b.Line })
}
