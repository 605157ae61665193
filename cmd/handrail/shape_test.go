package main

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

var printShape = flag.Bool("shape", false, "print how large the house is, and how its comments read")

// shape is the size of the house, which is information: no test asserts it. How its comments and
// names read is asserted.
type shape struct {
	rooms    map[string]*roomLines // by the first element of a package's path
	packages map[string]*packageSize
	types    map[string]*typeSize
	comments commentFigures
	limits   []string // names that begin with most or least
	handbook int      // words of README.md and docs/*.md
}

type roomLines struct{ product, doubles, tests int }

type packageSize struct {
	files, lines int
	importers    map[string]bool // product packages
}

type typeSize struct{ lines, methods, fields int }

// commentFigures counts lines outside of tests.
type commentFigures struct{ lines, what, people, comments, wide int }

// maxColumns is how wide a line may be before it counts as wide; a tab counts as one.
const maxColumns = 120

// maxRows is how many of the largest packages and types are shown.
const maxRows = 10

var (
	tableMarks = strings.NewReplacer("|", " ", "`", " ", "#", " ", "*", " ", ">", " ", "-", " ")
	saysWhat   = regexp.MustCompile(`(?i)\bwhat\b`)
	saysPeople = regexp.MustCompile(`(?i)\b(people|somebody|nobody|a person)\b`)
	ofLimits   = regexp.MustCompile(`^(most|least)[A-Z]`)
)

// TestShape judges the English of comments and names, and prints the shape of the house for
// `make shape`.
func TestShape(t *testing.T) {
	s := shape{rooms: map[string]*roomLines{}, packages: map[string]*packageSize{}, types: map[string]*typeSize{}}
	for _, src := range sources(t) {
		text, err := os.ReadFile(filepath.Join("../..", src.file))
		if err != nil {
			t.Fatal(err)
		}
		s.add(src, text)
	}
	c := s.comments
	if c.what*100 > c.comments || c.people*500 > c.comments {
		t.Errorf("of %d lines of comments %d have the word \"what\", %d somebody: a noun and a role read better", c.comments, c.what, c.people)
	}
	for _, name := range s.limits {
		t.Errorf("%s: limits are called max… and min…", name)
	}
	for _, page := range pages(t) {
		if dir := path.Dir(page); page == "README.md" || dir == "docs" {
			s.handbook += len(strings.Fields(tableMarks.Replace(document(t, page))))
		}
	}
	var out bytes.Buffer
	s.print(&out)
	if *printShape {
		if _, err := os.Stdout.Write(out.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
}

// double reports whether a package serves tests and the demo only.
func double(dir string) bool {
	for d := dir; d != "."; d = path.Dir(d) {
		if strings.HasSuffix(d, "test") || slices.Contains(testOnly, d) {
			return true
		}
	}
	return false
}

func (s *shape) add(src source, text []byte) {
	name, _, _ := strings.Cut(src.dir, "/")
	room := entry(s.rooms, name)
	lines := bytes.Count(text, []byte("\n"))
	switch {
	case src.test:
		room.tests += lines
		return
	case double(src.dir):
		room.doubles += lines
	default:
		room.product += lines
		p := entry(s.packages, src.dir)
		p.files++
		p.lines += lines
		s.addImports(src)
		s.addTypes(src)
	}
	s.comments.add(src, text)
	ast.Inspect(src.tree, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && ofLimits.MatchString(id.Name) {
			s.limits = append(s.limits, fmt.Sprintf("%s:%d: %s", src.file, src.line(id.Pos()), id.Name))
		}
		return true
	})
}

// entry returns the value of a key, which is made if it is missing.
func entry[T any](m map[string]*T, key string) *T {
	if m[key] == nil {
		m[key] = new(T)
	}
	return m[key]
}

func (s *shape) addImports(src source) {
	for _, im := range imports(src) {
		target, own := strings.CutPrefix(im, module+"/")
		if !own || double(target) {
			continue
		}
		p := entry(s.packages, target)
		if p.importers == nil {
			p.importers = map[string]bool{}
		}
		p.importers[src.dir] = true
	}
}

func (s *shape) addTypes(src source) {
	span := func(n ast.Node) int { return src.line(n.End()) - src.line(n.Pos()) + 1 }
	for _, d := range src.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				size := entry(s.types, src.dir+"."+receiver(d))
				size.methods++
				size.lines += span(d)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				spec, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				size := entry(s.types, src.dir+"."+spec.Name.Name)
				size.lines += span(spec)
				switch x := spec.Type.(type) {
				case *ast.StructType:
					size.fields = x.Fields.NumFields()
				case *ast.InterfaceType:
					size.methods = len(x.Methods.List)
				}
			}
		}
	}
}

func (c *commentFigures) add(src source, text []byte) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); c.lines++ {
		if len([]rune(lines.Text())) > maxColumns {
			c.wide++
		}
	}
	for _, group := range src.tree.Comments {
		for _, comment := range group.List {
			for line := range strings.Lines(comment.Text) {
				c.comments++
				if saysWhat.MatchString(line) {
					c.what++
				}
				if saysPeople.MatchString(line) {
					c.people++
				}
			}
		}
	}
}

func (s *shape) print(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...any) {
		for _, c := range cells {
			fmt.Fprintf(table, "%v\t", c)
		}
		fmt.Fprintln(table)
	}
	var all roomLines
	row("lines", "product", "doubles", "tests")
	for _, name := range slices.Sorted(maps.Keys(s.rooms)) {
		r := s.rooms[name]
		row(name, r.product, r.doubles, r.tests)
		all.product, all.doubles, all.tests = all.product+r.product, all.doubles+r.doubles, all.tests+r.tests
	}
	row("all", all.product, all.doubles, all.tests)
	row()
	row(fmt.Sprintf("largest of %d packages", len(s.packages)), "lines", "files")
	for _, name := range largest(s.packages, func(p *packageSize) int { return p.lines }) {
		row(name, s.packages[name].lines, s.packages[name].files)
	}
	row()
	row(fmt.Sprintf("largest of %d types", len(s.types)), "lines", "methods", "fields")
	for _, name := range largest(s.types, func(t *typeSize) int { return t.lines }) {
		row(name, s.types[name].lines, s.types[name].methods, s.types[name].fields)
	}
	row()
	parts := s.parts()
	row(fmt.Sprintf("%d packages with one user, a parent or sibling", len(parts)), "lines", "user")
	for _, p := range parts {
		row(p.dir, s.packages[p.dir].lines, p.user)
	}
	row()
	row("comments, without tests", "lines", "share")
	c := s.comments
	row(`with "what"`, c.what, percent(c.what, c.comments))
	row("with people, somebody, nobody, a person", c.people, percent(c.people, c.comments))
	row(fmt.Sprintf("over %d columns (all lines)", maxColumns), c.wide, percent(c.wide, c.lines))
	row()
	row("handbook, without table marks", "words", "bar")
	row("README.md, docs/*.md", s.handbook, 30000)
	if err := table.Flush(); err != nil {
		panic(err) // a buffer takes all
	}
}

func percent(part, whole int) string {
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(max(1, whole)))
}

// largest returns the names of the largest, in order.
func largest[T any](m map[string]T, size func(T) int) []string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(size(m[b]), size(m[a])), cmp.Compare(a, b))
	})
	return names[:min(maxRows, len(names))]
}

// part is a package with a single user, beside or above it.
type part struct{ dir, user string }

func (s *shape) parts() (out []part) {
	for _, dir := range slices.Sorted(maps.Keys(s.packages)) {
		users := slices.Collect(maps.Keys(s.packages[dir].importers))
		if len(users) == 1 && (users[0] == path.Dir(dir) || path.Dir(users[0]) == path.Dir(dir)) {
			out = append(out, part{dir, users[0]})
		}
	}
	return out
}
