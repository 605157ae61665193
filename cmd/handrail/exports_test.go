package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// typed is a package of the module with its types. Those it imports come from
// the compiler, so that a thing has a different object in each package that
// sees it; names tell that they are the same.
type typed struct {
	dir   string
	fset  *token.FileSet
	files []*ast.File
	pkg   *types.Package
	info  *types.Info
}

var typedOnce = sync.OnceValues(loadTypes)

// typedPackages returns all packages of the module, and each one's tests as
// packages of their own.
func typedPackages(t *testing.T) []typed {
	t.Helper()
	all, err := typedOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func loadTypes() (all []typed, err error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles"}
	if raceDetector {
		args = append(args, "-race") // what is built already
	}
	foreign, err := testImports()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", append(append(args, "./..."), foreign...)...)
	cmd.Dir = "../.."
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var own []listed
	for dec := json.NewDecoder(out); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module+"/") {
			own = append(own, p)
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		dir := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, names := range [][]string{slices.Concat(p.GoFiles, p.TestGoFiles), p.XTestGoFiles} {
			one := typed{dir: dir, fset: fset, info: &types.Info{
				Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
			}}
			for _, name := range names {
				f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
				if err != nil {
					return nil, err
				}
				one.files = append(one.files, f)
			}
			// An outside test may use what only an inside one declares; what
			// it does not find there is no export of the package.
			conf := types.Config{Importer: imp, Error: func(error) {}}
			one.pkg, _ = conf.Check(p.ImportPath, fset, one.files, one.info)
			all = append(all, one)
		}
	}
	return all, nil
}

// testImports lists what tests import from other modules; to let go list find
// it would compile every test.
func testImports() ([]string, error) {
	all, err := parsed()
	found := map[string]bool{}
	for _, s := range all {
		for _, im := range imports(s) {
			if s.test && !strings.HasPrefix(im, module) {
				found[im] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), err
}

// TestExports: each export of a package has a user elsewhere. Exports are
// identifiers of the package and methods of exported types.
// Fields do not count, since encoders and literals reach them, nor do methods
// of interfaces, which are needed when the interface is. A thing is needed
// when another package, or a test of another package, names it; when a needed
// thing's type speaks of it; a constant also when another one of its type is;
// and a method also when its type satisfies an interface with it. A package's
// own tests need nothing.
func TestExports(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for dir, names := range unusedExports(typedPackages(t)) {
		slices.Sort(names)
		t.Errorf("exports of %s without a user in another package (make them lower case, or delete them): %s", dir, strings.Join(names, " "))
	}
}

// nameOf is a package-level object or a method: "agent/llm.Model", or
// "agent/llm.Model.Name".
func nameOf(o types.Object) string {
	if o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path(), module+"/") {
		return ""
	}
	dir := strings.TrimPrefix(o.Pkg().Path(), module+"/")
	if f, ok := o.(*types.Func); ok {
		if recv := f.Origin().Signature().Recv(); recv != nil {
			if n, ok := namedType(recv.Type()); ok {
				return dir + "." + n.Obj().Name() + "." + o.Name()
			}
			return ""
		}
	}
	if o.Parent() != o.Pkg().Scope() {
		return ""
	}
	return dir + "." + o.Name()
}

func namedType(t types.Type) (*types.Named, bool) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return n, ok
}

func unusedExports(all []typed) map[string][]string {
	defined, needed := map[string]types.Object{}, map[string]bool{}
	var interfaces []*types.Interface
	seen := map[*types.Package]bool{}
	for _, p := range all {
		for _, im := range p.pkg.Imports() {
			if !seen[im] {
				seen[im] = true
				interfaces = append(interfaces, interfacesOf(im)...)
			}
		}
		interfaces = append(interfaces, interfacesOf(p.pkg)...)
		for _, o := range p.info.Uses {
			if name := nameOf(o); name != "" && o.Pkg().Path() != p.pkg.Path() {
				needed[name] = true
			}
		}
		for _, o := range p.info.Defs {
			if p.exported(o) {
				if name := nameOf(o); name != "" {
					defined[name] = o
				}
			}
		}
	}
	for name, o := range defined {
		if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil && satisfies(f, interfaces) {
			needed[name] = true
		}
	}
	spread(defined, needed)
	out := map[string][]string{}
	for name, o := range defined {
		if !needed[name] {
			dir := strings.TrimPrefix(o.Pkg().Path(), module+"/")
			out[dir] = append(out[dir], strings.TrimPrefix(name, dir+"."))
		}
	}
	return out
}

// spread goes from what is needed to what that speaks of, until nothing new
// is found.
func spread(defined map[string]types.Object, needed map[string]bool) {
	constants := map[string][]string{} // of a type
	for name, o := range defined {
		if _, ok := o.(*types.Const); ok {
			if n, ok := namedType(o.Type()); ok {
				constants[nameOf(n.Obj())] = append(constants[nameOf(n.Obj())], name)
			}
		}
	}
	for more := true; more; {
		more = false
		need := func(name string) {
			more = more || !needed[name]
			needed[name] = true
		}
		for name := range needed {
			o := defined[name]
			if o == nil {
				continue
			}
			spokenOf(o.Type(), need)
			if n, ok := namedType(o.Type()); ok && slices.Contains(constants[nameOf(n.Obj())], name) {
				for _, other := range constants[nameOf(n.Obj())] {
					need(other)
				}
			}
		}
	}
}

// exported reports whether others can reach an object: it is no test's, and
// no method of a hidden type or of an interface.
func (p typed) exported(o types.Object) bool {
	if o == nil || !o.Exported() || strings.HasSuffix(p.fset.Position(o.Pos()).Filename, "_test.go") {
		return false
	}
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		n, ok := namedType(f.Signature().Recv().Type())
		return ok && n.Obj().Exported() && !types.IsInterface(n)
	}
	return true
}

func interfacesOf(p *types.Package) (out []*types.Interface) {
	for _, name := range p.Scope().Names() {
		if tn, ok := p.Scope().Lookup(name).(*types.TypeName); ok {
			if i, ok := tn.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 {
				out = append(out, i)
			}
		}
	}
	return out
}

// conventions are methods that packages find by looking, whatever the type is
// declared as.
var conventions = []string{"Error", "String", "Is", "As", "Unwrap", "LogValue", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "MarshalYAML", "UnmarshalYAML", "JSONSchema", "Format", "Run"}

// satisfies reports whether a method is what makes its type fit an interface.
func satisfies(f *types.Func, interfaces []*types.Interface) bool {
	if slices.Contains(conventions, f.Name()) {
		return true
	}
	recv := f.Signature().Recv().Type()
	if n, ok := namedType(recv); ok {
		recv = types.NewPointer(n)
	}
	return slices.ContainsFunc(interfaces, func(i *types.Interface) bool {
		for m := range i.Methods() {
			if m.Name() == f.Name() {
				return fits(recv, i)
			}
		}
		return false
	})
}

// fits is types.Implements for types of different packages' views: it
// compares names and the text of the signatures.
func fits(t types.Type, i *types.Interface) bool {
	set := types.NewMethodSet(t)
	for m := range i.Methods() {
		var has *types.Selection
		for s := range set.Methods() {
			if s.Obj().Name() == m.Name() {
				has = s
			}
		}
		if has == nil || signature(has.Type()) != signature(m.Type()) {
			return false
		}
	}
	return true
}

// signature is a function's type without the names of its parameters.
func signature(t types.Type) string {
	f, ok := t.(*types.Signature)
	if !ok {
		return ""
	}
	var b strings.Builder
	for _, list := range []*types.Tuple{f.Params(), f.Results()} {
		for v := range list.Variables() {
			b.WriteString(types.TypeString(v.Type(), nil) + ",")
		}
		b.WriteString(";")
	}
	return b.String()
}

// spokenOf tells the named types that a type is made of.
func spokenOf(t types.Type, tell func(string)) {
	seen := map[types.Type]bool{}
	var walk func(types.Type)
	walk = func(t types.Type) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Alias:
			tell(nameOf(t.Obj()))
			walk(t.Rhs())
		case *types.Named:
			tell(nameOf(t.Obj()))
			if t.Obj().Pkg() != nil && strings.HasPrefix(t.Obj().Pkg().Path(), module+"/") {
				walk(t.Underlying())
			}
			for a := range t.TypeArgs().Types() {
				walk(a)
			}
		case *types.Pointer:
			walk(t.Elem())
		case *types.Slice:
			walk(t.Elem())
		case *types.Array:
			walk(t.Elem())
		case *types.Chan:
			walk(t.Elem())
		case *types.Map:
			walk(t.Key())
			walk(t.Elem())
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() || f.Embedded() {
					walk(f.Type())
				}
			}
		case *types.Interface:
			for m := range t.Methods() {
				walk(m.Type())
			}
		case *types.Signature:
			walk(t.Params())
			walk(t.Results())
		case *types.Tuple:
			for v := range t.Variables() {
				walk(v.Type())
			}
		}
	}
	walk(t)
}

// TestGateOnly: nothing runs a tool but the gate, and `handrail tools call`,
// which asks the policy itself. The Run of a tool, called or taken as a value,
// stands in one function; a ruling about a tool is made in one function; and
// who lets a tool run has looked at the verdict.
func TestGateOnly(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	const rule, run, door = "agent.gate.rule", "agent.gate.carryOut", "cmd/door.toolsCallCmd.call"
	ran, ruled := map[string]int{}, map[string]int{}
	for _, p := range typedPackages(t) {
		for _, d := range p.functions() {
			who, asked := p.dir+"."+d.Name.Name, false
			if d.Recv != nil {
				who = p.dir + "." + receiver(d) + "." + d.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					s := p.info.Selections[n]
					if s == nil {
						break
					}
					name := nameOf(s.Obj())
					asked = asked || n.Sel.Name == "Verdict" || name == "policy.Policy.Check"
					runs := n.Sel.Name == "Run" && isTool(s.Recv())
					if runs {
						ran[who]++
					}
					if (name == run || runs && who != run) && !asked {
						t.Errorf("%s: %s runs a tool and has not looked at the verdict", p.fset.Position(n.Pos()), who)
					}
				case *ast.CompositeLit:
					typ, ok := namedType(p.info.TypeOf(n))
					if ok && nameOf(typ.Obj()) == "agent.ruling" && slices.ContainsFunc(n.Elts, isKey("tool")) {
						ruled[who]++
					}
				}
				return true
			})
		}
	}
	if diff := cmp.Diff(map[string]int{run: 1, door: 1}, ran); diff != "" {
		t.Errorf("functions that run tools (-want +got): only the gate may, call it instead:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{rule: 1}, ruled); diff != "" {
		t.Errorf("functions that make a ruling (-want +got): only agent.gate.rule may, call it instead:\n%s", diff)
	}
}

// functions are those of a package that are no tests, nor a suite of tests.
func (p typed) functions() (out []*ast.FuncDecl) {
	for _, f := range p.files {
		if name := p.fset.Position(f.Pos()).Filename; strings.HasSuffix(name, "_test.go") || strings.HasSuffix(p.dir, "test") {
			continue
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				out = append(out, f)
			}
		}
	}
	return out
}

// isTool reports whether a type is a tool: it has an intent to run.
func isTool(t types.Type) bool {
	set := types.NewMethodSet(t)
	if n, ok := namedType(t); ok && !types.IsInterface(n) {
		set = types.NewMethodSet(types.NewPointer(n))
	}
	return set.Lookup(nil, "Intent") != nil && set.Lookup(nil, "Run") != nil
}

func isKey(name string) func(ast.Expr) bool {
	return func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		id, ok := kv.Key.(*ast.Ident)
		return ok && id.Name == name
	}
}
