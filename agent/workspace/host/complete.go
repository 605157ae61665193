package host

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/outline"
)

// maxDefining is the maximum number of files with a name whose outlines are compared with an answer.
const maxDefining = 300

// expectation looks for the places where an answer about a name is expected, by a search. It returns
// a function that gives those that an answer lacks, one for each file.
type expectation func(ctx context.Context, name string) (func(found []lsp.Place) []workspace.CodeItem, error)

// compared asks a question across files, and compares the answer with a search. Files that are missing
// are opened in the server, and those in which the answer names lines without the name; then it is asked
// once more. What is still missing is told. A nil expectation compares the lines only.
func (x *question) compared(
	ctx context.Context, name string, ask func() ([]lsp.Place, error), expect expectation,
) ([]lsp.Place, error) {
	found, err := ask()
	if err != nil {
		return nil, err
	}
	missing := func([]lsp.Place) []workspace.CodeItem { return nil }
	if expect != nil && name != "" {
		if missing, err = expect(ctx, name); err != nil {
			return nil, err
		}
	}
	also := missing(found)
	open := x.odd(found, name)
	for _, f := range also[:min(len(also), maxOpened)] {
		open = append(open, f.Path)
	}
	if len(open) > 0 { //control:asked-once-more
		for _, rel := range open[:min(len(open), 2*maxOpened)] {
			if text, err := (survey{x.h}).source(rel); err == nil {
				_ = x.client.Sync(ctx, path.Join(x.h.cfg.Root, rel), text) // fails only if the server is gone
			}
		}
		if !x.behind { //control:waited-for-once
			x.client.Ready(ctx, x.h.cfg.limit(readyTime))
		}
		if found, err = ask(); err != nil {
			return nil, err
		}
		also = missing(found)
	}
	if len(x.odd(found, "")) > 0 {
		x.noteBehind()
	}
	found = x.shown(found)
	also = append(x.out.Also, also...)
	x.out.AlsoMore += max(0, len(also)-maxAlso)
	x.out.Also = also[:min(len(also), maxAlso)] //control:incomplete-is-told
	return found, nil
}

// odd returns the files in which places are in lines that do not exist, or that lack a name. Names
// are missing under an alias, too, so that this is no proof of a mistake.
func (x *question) odd(found []lsp.Place, name string) (out []string) {
	seen := map[string]bool{}
	for _, p := range found {
		rel := x.rel(p.Path)
		if rel == "" || seen[rel] {
			continue
		}
		line, ok := x.lineOf(rel, p.Line)
		if !ok || name != "" && !bytes.Contains(line, []byte(name)) {
			seen[rel] = true
			out = append(out, rel)
		}
	}
	return out
}

// unnamed tells of places in lines that lack the name.
func (x *question) unnamed(found []lsp.Place, name string) {
	n := 0
	for _, p := range found {
		if line, ok := x.lineOf(x.rel(p.Path), p.Line); ok && !bytes.Contains(line, []byte(name)) {
			n++
		}
	}
	if n > 0 { //control:lines-without-the-name-are-told
		x.note("%d of the places are in lines without %s: under another name, or the language server is behind", n, name)
	}
}

// maxElsewhere is the maximum number of places without a file that are told.
const maxElsewhere = 3

// shown returns the places that can be shown, without lines that are not there. Those that are in no file on the
// disk are told: a server for Java has the classes of its library elsewhere.
func (x *question) shown(found []lsp.Place) (out []lsp.Place) {
	var elsewhere []string
	for _, p := range found {
		rel := x.rel(p.Path)
		_, ok := x.lineOf(rel, p.Line)
		switch {
		case p.Path == "":
			elsewhere = append(elsewhere, p.URI)
		case rel == "" && p.Line >= 0 || ok:
			out = append(out, p)
		}
	}
	if n := len(elsewhere); n > 0 { //control:elsewhere-is-told
		x.note("%d of the places are in no file that can be read: %s", n, strings.Join(elsewhere[:min(n, maxElsewhere)], ", "))
	}
	return out
}

// lineOf returns a line of a file in the workspace. Each file is read once for a question: an answer may name it
// a thousand times.
func (x *question) lineOf(rel string, n int) (line []byte, ok bool) {
	lines, read := x.read[rel]
	if !read {
		if text, err := (survey{x.h}).source(rel); err == nil {
			lines = bytes.Split(text, []byte("\n"))
			if lsp.OddLines(text) { //control:odd-lines-are-told
				x.note("Lines of %s may be wrong: it has ends of lines that not all programs take as such", rel)
			}
		}
		if x.read == nil {
			x.read = map[string][][]byte{}
		}
		x.read[rel] = lines
	}
	if n < 0 || n >= len(lines) {
		return nil, false
	}
	return bytes.TrimSuffix(lines[n], []byte("\r")), true
}

// hits returns the lines of the server's files that match a pattern, by file.
func (x *question) hits(ctx context.Context, pattern string) (out []workspace.FileMatches, err error) {
	matches, err := x.h.search(ctx, workspace.Query{Pattern: pattern, Regex: true, Max: maxMatches})
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			x.note("The search to compare with took too long, so the answer may be incomplete")
			return nil, nil
		}
		return nil, err
	}
	if matches.Left > 0 { //control:limit-is-told
		x.note("Compared were only the first %d of %d lines with the name, so the answer may be incomplete",
			maxMatches, maxMatches+matches.Left)
	}
	for _, m := range matches.Files {
		m.Lines = slices.DeleteFunc(m.Lines, func(l workspace.MatchLine) bool { return !l.Hit })
		if x.v.Serves(m.Path) && len(m.Lines) > 0 && lsp.Within(x.v.root, path.Join(x.h.cfg.Root, m.Path)) {
			out = append(out, m)
		}
	}
	return out, nil
}

func word(name string) string { return `\b` + regexp.QuoteMeta(name) + `\b` }

func lineItem(rel string, l workspace.MatchLine) workspace.CodeItem {
	return workspace.CodeItem{Path: rel, Line: l.N, Lines: []workspace.MatchLine{l}}
}

// otherFiles returns those of the expected places whose files an answer does not name.
func (x *question) otherFiles(expected []workspace.CodeItem) func([]lsp.Place) []workspace.CodeItem {
	return func(found []lsp.Place) (out []workspace.CodeItem) {
		in := map[string]bool{}
		for _, f := range found {
			in[x.rel(f.Path)] = true
		}
		for _, e := range expected {
			if !in[e.Path] {
				out = append(out, e)
			}
		}
		return out
	}
}

// uses expects each file with the word outside comments.
func (x *question) uses(ctx context.Context, name string) (func([]lsp.Place) []workspace.CodeItem, error) {
	files, err := x.hits(ctx, word(name))
	var expected []workspace.CodeItem
	for _, f := range files {
		expected = append(expected, lineItem(f.Path, f.Lines[0]))
	}
	inComments := map[string]bool{}
	return func(found []lsp.Place) (out []workspace.CodeItem) {
		for i, item := range x.otherFiles(expected)(found) {
			if inComments[item.Path] {
				continue
			}
			if i >= maxDefining || x.inCode(&item, name) { //control:comments-are-no-uses
				out = append(out, item)
				continue
			}
			inComments[item.Path] = true
		}
		return out
	}, err
}

// inCode reports whether the file of a place has a name outside comments, and moves the place to the
// first such line. Servers find types in comments of JavaScript and Python: there comments count.
func (x *question) inCode(item *workspace.CodeItem, name string) bool {
	switch strings.ToLower(path.Ext(item.Path)) {
	case ".js", ".jsx", ".mjs", ".cjs", ".py", ".pyi":
		return true
	}
	text, err := survey{x.h}.source(item.Path)
	re, bad := regexp.Compile(word(name))
	if err != nil || bad != nil {
		return true
	}
	n := plainUse(item.Path, text, re)
	if n < 0 {
		parts := outline.Colour(item.Path, string(text))
		if parts == nil {
			return true
		}
		before := 0
		for _, part := range parts {
			if at := re.FindStringIndex(part.Text); at != nil && part.Kind != "comment" {
				n = bytes.Count(text[:before+at[0]], []byte("\n"))
				break
			}
			before += len(part.Text)
		}
	}
	line, ok := lsp.LineAt(text, n)
	if n < 0 || !ok {
		return false
	}
	shown := strings.ToValidUTF8(string(line[:min(len(line), 300)]), "\uFFFD")
	*item = lineItem(item.Path, workspace.MatchLine{N: n + 1, Text: shown, Hit: true})
	return true
}

// slashed are the endings of languages whose comments begin with two slashes, or else with a slash and a star.
const slashed = " .go .rs .c .h .cc .hh .cpp .hpp .cxx .hxx .ts .mts .cts .tsx .java "

// plainUse returns the first line with a name in front of a comment, or -1. Only files without comments of several
// lines are looked at: colours cost a hundred times more.
func plainUse(file string, text []byte, name *regexp.Regexp) int {
	if !strings.Contains(slashed, " "+strings.ToLower(path.Ext(file))+" ") || bytes.Contains(text, []byte("/*")) {
		return -1
	}
	n := 0
	for line := range bytes.Lines(text) {
		code, _, _ := bytes.Cut(line, []byte("//"))
		if name.Match(code) {
			return n
		}
		n++
	}
	return -1
}

// definitions expects each file whose outline defines the name.
func (x *question) definitions(ctx context.Context, name string) (func([]lsp.Place) []workspace.CodeItem, error) {
	files, err := x.hits(ctx, word(name))
	if err != nil {
		return nil, err
	}
	if len(files) > maxDefining { //control:limit-of-outlines-is-told
		x.note("Compared were only the first %d of %d files with the name, so the answer may be incomplete", maxDefining, len(files))
		files = files[:maxDefining]
	}
	var expected []workspace.CodeItem
	for _, f := range files {
		if x.q.Path != "" && x.q.Ask == workspace.AskSymbol && !within(f.Path, x.q.Path) {
			continue
		}
		if l, ok := x.defines(f, name); ok {
			expected = append(expected, lineItem(f.Path, l))
		}
	}
	return x.otherFiles(expected), nil
}

// defines returns the line with the definition of a name in a file.
func (x *question) defines(f workspace.FileMatches, name string) (workspace.MatchLine, bool) {
	text, err := survey{x.h}.source(f.Path)
	if err != nil {
		return workspace.MatchLine{}, false
	}
	defs, _, _ := outline.Of(f.Path, text)
	for _, d := range defs {
		if lastName(d.Name) == name {
			for _, l := range f.Lines {
				if l.N == d.Line {
					return l, true
				}
			}
		}
	}
	return workspace.MatchLine{}, false
}

// implementers expects, for a method, each file that defines one of its name; for a type, each with a
// line that derives from it; and for an interface of Go each type with all its methods.
func (x *question) implementers(
	ctx context.Context, name string, p lsp.Position,
) (func([]lsp.Place) []workspace.CodeItem, error) {
	if path.Ext(x.abs) == ".go" {
		if methods := methodsOf(x.text, name); len(methods) > 0 {
			return x.goImplementers(ctx, methods)
		}
		return x.definitions(ctx, name)
	}
	defs, _, _ := outline.Of(x.abs, x.text)
	isType := slices.ContainsFunc(defs, func(d outline.Def) bool {
		return d.Line == p.Line+1 && lastName(d.Name) == name && d.IsType()
	})
	if !isType {
		return x.definitions(ctx, name)
	}
	const derive = `\b(?:implements|extends|impl|class|struct|record|enum|interface|object|trait)\b.*\W`
	files, err := x.hits(ctx, derive+regexp.QuoteMeta(name)+`\b`)
	self := x.rel(x.abs)
	var expected []workspace.CodeItem
	for _, f := range files {
		if f.Path != self || f.Lines[0].N != p.Line+1 || len(f.Lines) > 1 { // more than the type itself
			expected = append(expected, lineItem(f.Path, f.Lines[len(f.Lines)-1]))
		}
	}
	return x.otherFiles(expected), err
}

// methodsOf returns the methods of an interface of Go; none if the name is no interface.
func methodsOf(text []byte, name string) (out []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil && file == nil {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		if t, ok := spec.Type.(*ast.InterfaceType); ok {
			for _, m := range t.Methods.List {
				for _, id := range m.Names {
					out = append(out, id.Name)
				}
			}
		}
		return false
	})
	return out
}

// goImplementers expects the receivers that have all methods.
func (x *question) goImplementers(
	ctx context.Context, methods []string,
) (func([]lsp.Place) []workspace.CodeItem, error) {
	pattern := `^func \((?:\w+ )?\*?\w+(?:\[[^\]]*\])?\) (?:` + strings.Join(methods, "|") + `)\(`
	files, err := x.hits(ctx, pattern)
	if err != nil {
		return nil, err
	}
	type receiver struct{ dir, name string }
	has, first, order := map[receiver]int{}, map[receiver]workspace.CodeItem{}, []receiver{}
	re := regexp.MustCompile(`^func \((?:\w+ )?\*?(\w+)`)
	for _, f := range files {
		for _, l := range f.Lines {
			m := re.FindStringSubmatch(l.Text)
			if m == nil {
				continue
			}
			r := receiver{path.Dir(f.Path), m[1]}
			if has[r]++; has[r] == 1 {
				first[r], order = lineItem(f.Path, l), append(order, r)
			}
		}
	}
	return func(found []lsp.Place) (out []workspace.CodeItem) {
		named := map[receiver]bool{}
		for _, p := range found {
			rel := x.rel(p.Path)
			line, _ := x.lineOf(rel, p.Line)
			for _, name := range bytes.FieldsFunc(line, func(r rune) bool { return r < 0x80 && !isWord(byte(r)) }) {
				named[receiver{path.Dir(rel), string(name)}] = true
			}
		}
		for _, r := range order {
			if has[r] >= len(methods) && !named[r] {
				out = append(out, first[r])
			}
		}
		return out
	}, nil
}
