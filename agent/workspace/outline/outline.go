// Package outline finds the definitions in a file without a language server: types,
// functions and methods, with their lines. Go is read by its own parser. For other
// languages a lexer separates comments and strings from code, which is then searched for
// the words and shapes that define something. Code is not interpreted, and files with
// errors are read as far as possible.
//
// It runs inside the workspace: the files are not trusted.
package outline

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// Def is a definition.
type Def struct {
	Kind     string // "class", "func" and so on, in the language's own terms
	Name     string // qualified if the definition itself is: "M.run", "Stack.push"
	Line     int    // line of the name, 1-based
	Depth    int    // number of enclosing definitions
	Exported bool   // usable from outside, judging by its line
	Text     string // the line without the beginning of a body
}

// IsType reports whether d defines a type, or another container of definitions.
func (d Def) IsType() bool {
	switch d.Kind {
	case "func", "method", "macro":
		return false
	}
	return true
}

// maxShownLine is the maximum number of bytes shown of a line.
const maxShownLine = 120

// Language returns the language of a file by its name, "" if it is not supported.
func Language(name string) string {
	base := strings.ToLower(path.Base(name))
	if l, ok := byName[base]; ok {
		return l
	}
	return byExtension[strings.TrimPrefix(path.Ext(base), ".")]
}

// Of returns the definitions in a file, sorted by line, and the method that found them.
// ok is false if the language is not supported.
func Of(name string, text []byte) (defs []Def, how string, ok bool) {
	lang := Language(name)
	if lang == "" {
		return nil, "", false
	}
	text = bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
	f := newFile(lang, text)
	if lang == "go" {
		if goDefs(f) {
			return f.done(), "go/parser", true
		}
		f.defs = nil
	}
	f.lex()
	f.parse()
	return f.done(), "a lexer", true
}

// source is a file and its tokens.
type source struct {
	lang   string
	rules  *rules
	src    []byte
	all    string // src as a string
	starts []int  // offsets of the lines
	toks   []token
	steps  int   // bytes scanned for the ends of strings
	pair   []int // index of each bracket's partner; 0 if it has none
}

// file is a source with the state of its parser.
type file struct {
	source
	scopes []scope
	saved  [][]scope // scopes at each open #if
	stmt   int       // index of the first token of the current statement
	next   scope     // scope that the next brace opens, if known
	last   scope     // scope that closed last
	defs   []Def
}

func newFile(lang string, text []byte) *file {
	f := &file{source: source{lang: lang, rules: languages[lang], src: text, all: string(text), starts: []int{0}}}
	for i, c := range text {
		if c == '\n' {
			f.starts = append(f.starts, i+1)
		}
	}
	return f
}

// line returns a line without surrounding white space, and the width of its indent.
func (f *source) line(n int) (text string, indent int) {
	end := len(f.src)
	if n < len(f.starts) {
		end = f.starts[n] - 1
	}
	raw := f.src[f.starts[n-1]:end]
	for indent < len(raw) && (raw[indent] == ' ' || raw[indent] == '\t') {
		indent++
	}
	wide := indent + 3*bytes.Count(raw[:indent], []byte("\t"))
	return strings.TrimSpace(string(raw)), wide
}

// add adds a definition with its name on the given line.
func (f *file) add(kind, name string, line int) {
	if name != "" && line > 0 && line <= len(f.starts) {
		f.defs = append(f.defs, Def{Kind: kind, Name: name, Line: line})
	}
}

// done sorts the definitions, and derives the other fields from their lines.
func (f *file) done() []Def {
	sortByLine(f.defs)
	var in []int // indents of the enclosing definitions
	out := f.defs[:0]
	for i, d := range f.defs {
		if i > 0 && d.Line == f.defs[i-1].Line && d.Name == f.defs[i-1].Name {
			continue
		}
		text, indent := f.line(d.Line)
		for len(in) > 0 && in[len(in)-1] >= indent {
			in = in[:len(in)-1]
		}
		d.Depth, d.Text = len(in), displayLine(text)
		in = append(in, indent)
		d.Exported = exported(f.lang, d, text)
		out = append(out, d)
	}
	return out
}

// displayLine returns a line for display: without the brace of a body, and shortened.
func displayLine(text string) string {
	text = strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(text), "{"), " \t;")
	if len(text) > maxShownLine {
		n := maxShownLine
		for n > 0 && text[n]&0xC0 == 0x80 {
			n--
		}
		text = text[:n] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// visibility lists the words by which a language controls visibility.
type visibility struct {
	shown  []string // any of them makes a definition visible
	hidden []string // any of them hides a definition
}

var visible = map[string]visibility{
	"rust":   {shown: []string{"pub"}},
	"java":   {shown: []string{"public", "protected", "interface", "@interface"}},
	"csharp": {shown: []string{"public", "protected", "namespace"}},
	"c":      {hidden: []string{"static"}},
	"cpp":    {hidden: []string{"static"}},
	"lua":    {hidden: []string{"local"}},
}

// exported reports whether a definition is usable from outside, judging by its line.
func exported(lang string, d Def, text string) bool {
	name := d.Name[strings.LastIndexAny(d.Name, ".:\\")+1:]
	if name == "" || name[0] == '#' || name[0] == '_' && !strings.HasPrefix(name, "__") {
		return false
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(
			words,
			func(w string) bool { return strings.Contains(" "+text, " "+w+" ") || strings.HasPrefix(text, w+"(") },
		)
	}
	switch lang {
	case "go":
		return name[0] >= 'A' && name[0] <= 'Z' || name[0] >= 0x80
	case "javascript", "typescript", "tsx":
		return d.Depth > 0 && !has("private", "protected") || has("export") || strings.Contains(text, "exports.")
	}
	v, ok := visible[lang]
	switch {
	case len(v.shown) > 0:
		return has(v.shown...) || d.Kind == "macro"
	case ok:
		return !has(v.hidden...)
	}
	return !has("private", "fileprivate", "protected")
}
