// Package outline finds the definitions in a file without a language server: types,
// functions and methods, with their lines. Go is read by its own parser. For the other
// languages a lexer takes comments and texts out, and what is left is looked through for
// the words and shapes that define something. What a file means is not known; a file with
// mistakes in it is read as far as it can be.
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
	Kind     string // "class", "func" and the like, as the language says it
	Name     string // with its owner where the definition itself says it: "M.run", "Stack.push"
	Line     int    // where the name is, 1-based
	Depth    int    // how many definitions it is in
	Exported bool   // others can use it, as far as its line says so
	Text     string // the line without what begins a body
}

// IsType reports whether it defines a type, or something that types and functions are in.
func (d Def) IsType() bool {
	switch d.Kind {
	case "func", "method", "macro":
		return false
	}
	return true
}

// longest is how many bytes of a line are shown.
const longest = 120

// Language returns the language of a file by its name, "" for one that is not known here.
func Language(name string) string {
	base := strings.ToLower(path.Base(name))
	if l, ok := byName[base]; ok {
		return l
	}
	return byExtension[strings.TrimPrefix(path.Ext(base), ".")]
}

// Of returns the definitions in a file, by line, and how they were found. ok is false for
// a language that is not known here.
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

// source is a file, and what it is made of.
type source struct {
	lang   string
	rules  *rules
	src    []byte
	all    string // the same
	starts []int  // where each line begins
	toks   []token
	steps  int   // bytes that were looked at to find where texts end
	pair   []int // for each bracket the index of its other one, 0 for none
}

// file is a source that is looked through.
type file struct {
	source
	scopes []scope
	saved  [][]scope // at each #if that is open
	stmt   int       // index of the first token of the statement
	next   scope     // what the next brace opens
	last   scope     // what the last bracket that closed was of
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

// line returns a line without white space around it, and how far it is indented.
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

// add adds a definition whose name is on a line.
func (f *file) add(kind, name string, line int) {
	if name != "" && line > 0 && line <= len(f.starts) {
		f.defs = append(f.defs, Def{Kind: kind, Name: name, Line: line})
	}
}

// done puts the definitions in order and says of each what its line tells.
func (f *file) done() []Def {
	sortByLine(f.defs)
	var in []int // indents of the definitions that are open
	out := f.defs[:0]
	for i, d := range f.defs {
		if i > 0 && d.Line == f.defs[i-1].Line && d.Name == f.defs[i-1].Name {
			continue
		}
		text, indent := f.line(d.Line)
		for len(in) > 0 && in[len(in)-1] >= indent {
			in = in[:len(in)-1]
		}
		d.Depth, d.Text = len(in), shown(text)
		in = append(in, indent)
		d.Exported = exported(f.lang, d, text)
		out = append(out, d)
	}
	return out
}

// shown returns a line as it is shown: without the brace of a body.
func shown(text string) string {
	text = strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(text), "{"), " \t;")
	if len(text) > longest {
		n := longest
		for n > 0 && text[n]&0xC0 == 0x80 {
			n--
		}
		text = text[:n] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// visibility says by which words a language tells what others can use.
type visibility struct {
	shown  []string // one of them makes it so
	hidden []string // one of them does not
}

var visible = map[string]visibility{
	"rust":   {shown: []string{"pub"}},
	"java":   {shown: []string{"public", "protected", "interface", "@interface"}},
	"csharp": {shown: []string{"public", "protected", "namespace"}},
	"c":      {hidden: []string{"static"}},
	"cpp":    {hidden: []string{"static"}},
	"lua":    {hidden: []string{"local"}},
}

// exported reports whether others can use a definition, by its line.
func exported(lang string, d Def, text string) bool {
	name := d.Name[strings.LastIndexAny(d.Name, ".:\\")+1:]
	if name == "" || name[0] == '#' || name[0] == '_' && !strings.HasPrefix(name, "__") {
		return false
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(" "+text, " "+w+" ") || strings.HasPrefix(text, w+"(") })
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
