package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var mutateControls = flag.String("controls", "", `take these controls out, one after the other ("all", or names with commas)`)

// notBuilt matches the line of a package that did not compile.
var notBuilt = regexp.MustCompile(`(?m)^FAIL\t\S+ \[(?:build|setup) failed\]$`)

// TestMutations takes one control after the other out of the program and
// checks that the test that is named for it fails then. A control whose
// removal nobody notices is no promise. The tree itself is never changed: the
// compiler is given another file in place of the one with the mark.
// `.ci/mutations` runs it.
func TestMutations(t *testing.T) {
	if *mutateControls == "" {
		t.Skip("no controls named: .ci/mutations runs this")
	}
	wanted := strings.Split(*mutateControls, ",")
	marked := marks(t)
	for _, c := range controls {
		name, mark := c.mark()
		if *mutateControls != "all" && !slices.Contains(wanted, name) {
			continue
		}
		wanted = slices.DeleteFunc(wanted, func(w string) bool { return w == name || w == "all" })
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			result := unnoticed(t, marked[mark], c)
			fmt.Printf("%-26s %-52s %5.1f s  %s\n", name, c.test, time.Since(start).Seconds(), result)
			if !strings.HasPrefix(result, noticed) {
				t.Error(result)
			}
		})
	}
	if len(wanted) > 0 {
		t.Errorf("there is no control %s", strings.Join(wanted, ", "))
	}
}

// noticed begins the result of a control whose test fails, or hangs, without it.
const noticed = "noticed"

// unnoticed runs the test of a control without it.
func unnoticed(t *testing.T, at place, c control) string {
	t.Helper()
	text, err := mutant(at, c.change)
	if err != nil {
		return err.Error()
	}
	root, err := filepath.Abs("../..")
	must(t, err)
	changed := filepath.Join(t.TempDir(), filepath.Base(at.file))
	must(t, os.WriteFile(changed, text, 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, at.file): changed}})
	must(t, err)
	list := filepath.Join(t.TempDir(), "overlay.json")
	must(t, os.WriteFile(list, overlay, 0o600))
	run := exec.CommandContext(t.Context(), "go", append([]string{"test", "-vet=off", "-count=1", "-timeout", "300s", "-run", c.test}, strings.Fields(c.packages)...)...)
	run.Dir = root
	// By the environment it reaches the programs that a test builds, too.
	run.Env = append(os.Environ(), "HANDRAIL_LONG=1", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+list))
	out, err := run.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	switch {
	case err == nil:
		return "NOT NOTICED"
	case notBuilt.Match(out):
		return "does not compile: " + strings.Join(lines[:min(3, len(lines))], " ")
	case bytes.Contains(out, []byte("panic: test timed out after ")): // it hangs
		return noticed + ", by its time limit"
	case !bytes.Contains(out, []byte("--- FAIL")):
		return "failed for another reason: " + lines[len(lines)-1]
	}
	return noticed
}

// codeLine is the line that a mark speaks of: its own, or the next one with
// code.
func codeLine(s source, g *ast.CommentGroup, line int) int {
	own := false
	ast.Inspect(s.tree, func(n ast.Node) bool {
		if n == nil || own {
			return false
		}
		switch n.(type) {
		case *ast.Comment, *ast.CommentGroup:
			return false
		}
		own = s.fset.Position(n.Pos()).Line == line && n.Pos() < g.Pos()
		return true
	})
	if own {
		return line
	}
	return s.fset.Position(g.End()).Line + 1
}

// target is what a mark speaks of: the outermost statement or element that
// begins on its line, and the expressions that begin there.
type target struct {
	text  []byte
	base  token.Pos // of the file
	node  ast.Node
	exprs []ast.Expr
}

func targetOf(p place) (*target, error) {
	name := filepath.Join("../..", p.file)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	t := &target{text: text, base: p.fset.File(p.tree.Pos()).Pos(0)}
	ast.Inspect(p.tree, func(n ast.Node) bool {
		if n == nil || p.fset.Position(n.Pos()).Line > p.line || p.fset.Position(n.End()).Line < p.line {
			return false
		}
		if p.fset.Position(n.Pos()).Line != p.line {
			return true
		}
		switch n := n.(type) {
		case *ast.BlockStmt:
		case ast.Stmt, *ast.KeyValueExpr:
			if t.node == nil {
				t.node = n
			}
		}
		if e, ok := n.(ast.Expr); ok {
			t.exprs = append(t.exprs, e)
		}
		return true
	})
	if t.node == nil && len(t.exprs) == 0 {
		return nil, errors.New("nothing begins on the line of its mark")
	}
	return t, nil
}

// edit replaces the text of a node.
type edit struct {
	from, to token.Pos
	text     string
}

// changeOf says how a change is made:
//
//	drop           the statement does nothing; what it computes is computed
//	true, false    the condition holds always, or never
//	without N…     the condition without these of its operands, counted from 1
//	ignore N       the N-th result of the call is not assigned
//	skip           the loop ends before its first round
//	element N      the literal without its N-th element
//	also TEXT      one more element behind this one
//	call F TEXT    TEXT in place of the call of F; $1 is its first argument
//	value TEXT     TEXT in place of what is assigned, returned, called or asked
func (t *target) changeOf(change string) (edit, error) {
	op, arg, _ := strings.Cut(change, " ")
	switch op {
	case "true", "false":
		return t.condition(op)
	case "without":
		return t.without(strings.Fields(arg))
	case "drop":
		return t.drop(), nil
	case "ignore":
		return t.ignore(arg)
	case "skip":
		switch n := t.node.(type) {
		case *ast.RangeStmt:
			return edit{n.Body.Lbrace + 1, n.Body.Lbrace + 1, " break; "}, nil
		case *ast.ForStmt:
			return edit{n.Body.Lbrace + 1, n.Body.Lbrace + 1, " break; "}, nil
		}
	case "element":
		return t.element(arg)
	case "also":
		return edit{t.node.End(), t.node.End(), ", " + arg}, nil
	case "call":
		return t.call(arg)
	case "value":
		if from, to := t.values(); from.IsValid() {
			return edit{from, to, arg}, nil
		}
	}
	return edit{}, fmt.Errorf("%q does not fit a %T", change, t.node)
}

// mutant is the file of a mark with the control taken out.
func mutant(p place, change string) ([]byte, error) {
	t, err := targetOf(p)
	if err != nil {
		return nil, err
	}
	e, err := t.changeOf(change)
	if err != nil {
		return nil, err
	}
	out := slices.Concat(t.text[:e.from-t.base], []byte(e.text), t.text[e.to-t.base:])
	tree, err := parser.ParseFile(token.NewFileSet(), p.file, out, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return unimported(out, tree, speaks(p.tree)), nil
}

// unimported keeps the imports that were used before and are not any more: the
// compiler refuses them as they are.
func unimported(text []byte, tree *ast.File, before map[string]bool) []byte {
	after := speaks(tree)
	for _, im := range slices.Backward(tree.Imports) {
		if name := path.Base(strings.Trim(im.Path.Value, `"`)); im.Name == nil && before[name] && !after[name] {
			at := int(im.Path.Pos()) - int(tree.FileStart)
			text = slices.Insert(text, at, '_', ' ')
		}
	}
	return text
}

// speaks are the names in front of a dot: packages, and more.
func speaks(tree *ast.File) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

func (t *target) source(n ast.Node) string { return string(t.text[n.Pos()-t.base : n.End()-t.base]) }

// asked is the condition of a statement.
func (t *target) asked() ast.Expr {
	switch n := t.node.(type) {
	case *ast.IfStmt:
		return n.Cond
	case *ast.ForStmt:
		return n.Cond
	case *ast.CaseClause:
		if len(n.List) == 1 {
			return n.List[0]
		}
	case *ast.ReturnStmt:
		i := slices.IndexFunc(n.Results, func(e ast.Expr) bool { _, ok := e.(*ast.BinaryExpr); return ok })
		if i >= 0 {
			return n.Results[i]
		}
	case nil:
		return t.exprs[0]
	}
	return nil
}

func (t *target) condition(op string) (edit, error) {
	c := t.asked()
	if c == nil {
		return edit{}, fmt.Errorf("a %T asks nothing", t.node)
	}
	return edit{c.Pos(), c.End(), constant(op, t.source(c))}, nil
}

// constant is always true or false and still uses what is in the condition.
func constant(op, source string) string {
	if op == "true" {
		return "(true || (" + source + "))"
	}
	return "(false && (" + source + "))"
}

func (t *target) without(numbers []string) (edit, error) {
	c, ok := t.asked().(*ast.BinaryExpr)
	if !ok {
		return edit{}, errors.New("its condition has no operands")
	}
	operands := operandsOf(c, c.Op)
	parts := make([]string, len(operands))
	for i, o := range operands {
		parts[i] = t.source(o)
	}
	for _, number := range numbers {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(parts) || len(parts) < 2 {
			return edit{}, fmt.Errorf("its condition has no operand %s", number)
		}
		parts[n-1] = constant(map[token.Token]string{token.LAND: "true", token.LOR: "false"}[c.Op], parts[n-1])
	}
	return edit{c.Pos(), c.End(), strings.Join(parts, " "+c.Op.String()+" ")}, nil
}

func operandsOf(e ast.Expr, op token.Token) []ast.Expr {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == op && (op == token.LAND || op == token.LOR) {
		return append(operandsOf(b.X, op), operandsOf(b.Y, op)...)
	}
	return []ast.Expr{e}
}

func (t *target) drop() edit {
	e := edit{from: t.node.Pos(), to: t.node.End()}
	used := func(list []ast.Expr) string {
		var parts []string
		for _, x := range list {
			parts = append(parts, "_ = "+t.source(x))
		}
		return strings.Join(parts, "; ")
	}
	switch n := t.node.(type) {
	case *ast.AssignStmt:
		e.text = strings.TrimSuffix(strings.Repeat("_, ", len(n.Lhs)), ", ") + " = " + t.list(n.Rhs)
	case *ast.ReturnStmt:
		e.text = used(n.Results)
	}
	return e
}

func (t *target) list(l []ast.Expr) string {
	return string(t.text[l[0].Pos()-t.base : l[len(l)-1].End()-t.base])
}

func (t *target) ignore(number string) (edit, error) {
	a, ok := t.node.(*ast.AssignStmt)
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > len(a.Lhs) {
		return edit{}, fmt.Errorf("a %T assigns no result %s", t.node, number)
	}
	return edit{a.Lhs[n-1].Pos(), a.Lhs[n-1].End(), "_"}, nil
}

func (t *target) element(number string) (edit, error) {
	kv, ok := t.node.(*ast.KeyValueExpr)
	n, err := strconv.Atoi(number)
	if ok && err == nil {
		if lit, ok := kv.Value.(*ast.CompositeLit); ok && n >= 1 && n < len(lit.Elts) {
			return edit{lit.Elts[n-1].Pos(), lit.Elts[n].Pos(), ""}, nil
		}
	}
	return edit{}, fmt.Errorf("it is no literal with an element %s and one behind it", number)
}

func (t *target) call(arg string) (edit, error) {
	name, text, _ := strings.Cut(arg, " ")
	for _, e := range t.exprs {
		c, ok := e.(*ast.CallExpr)
		if !ok || callee(c) != name {
			continue
		}
		for i, a := range c.Args {
			text = strings.ReplaceAll(text, fmt.Sprint("$", i+1), t.source(a))
		}
		return edit{c.Pos(), c.End(), text}, nil
	}
	return edit{}, fmt.Errorf("it does not call %s", name)
}

func callee(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// values is the extent of what a statement assigns, returns, calls or asks.
func (t *target) values() (from, to token.Pos) {
	var list []ast.Expr
	switch n := t.node.(type) {
	case *ast.AssignStmt:
		list = n.Rhs
	case *ast.ReturnStmt:
		list = n.Results
	case *ast.ExprStmt:
		list = []ast.Expr{n.X}
	default:
		if c := t.asked(); c != nil {
			list = []ast.Expr{c}
		}
	}
	if len(list) == 0 {
		return token.NoPos, token.NoPos
	}
	return list[0].Pos(), list[len(list)-1].End()
}

// testNames lists the tests of each folder, and allTests those of each
// package name.
func testNames(t *testing.T) map[string][]string {
	t.Helper()
	return testsBy(t, func(s source) string { return s.dir })
}

func allTests(t *testing.T) map[string][]string {
	t.Helper()
	return testsBy(t, func(s source) string { return strings.TrimSuffix(s.tree.Name.Name, "_test") })
}

func testsBy(t *testing.T, key func(source) string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, s := range sources(t) {
		for _, d := range s.tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test && f.Recv == nil {
				out[key(s)] = append(out[key(s)], f.Name.Name)
			}
		}
	}
	return out
}
