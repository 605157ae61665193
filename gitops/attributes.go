package gitops

// .gitattributes files are read here, and contents converted as git does when it commits them.
// Nothing is run: the filters of a repository are only named.

import (
	"maps"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// attributesName is the name of the files.
const attributesName = ".gitattributes"

// attributeValue is the value of an attribute: a text, "" if it is unspecified, or set or unset.
type attributeValue string

// The values of attributes without a text.
const (
	set   attributeValue = "\x00set"
	unset attributeValue = "\x00unset"
)

// attributesFile is the content of one .gitattributes file. The zero value says nothing.
type attributesFile struct {
	lines  []line
	macros map[string][]assignment
}

type line struct {
	pattern string // doublestar pattern
	name    bool   // of the name alone, at any depth
	assign  []assignment
}

// assignment gives an attribute a value; "" takes an earlier one back.
type assignment struct {
	name  string
	value attributeValue
}

// maxLine is the maximum length of a line in bytes; git ignores longer ones, too.
const maxLine = 2048

// parseAttributes parses a file according to gitattributes(5). Malformed lines are ignored.
func parseAttributes(text string) attributesFile {
	f := attributesFile{macros: map[string][]assignment{}}
	for l := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		l = strings.Trim(l, " \t\r\n")
		if l == "" || l[0] == '#' || len(l) > maxLine {
			continue
		}
		pattern, rest := cutPattern(l)
		var assign []assignment
		for _, word := range strings.Fields(rest) {
			assign = append(assign, parseAssignment(word))
		}
		if name, ok := strings.CutPrefix(pattern, "[attr]"); ok {
			f.macros[name] = assign
		} else if p, ok := parsePattern(pattern); ok {
			p.assign = assign
			f.lines = append(f.lines, p)
		}
	}
	return f
}

// cutPattern splits a line after its pattern, which may be quoted.
func cutPattern(l string) (pattern, rest string) {
	if l[0] == '"' {
		var b strings.Builder
		for i := 1; i < len(l); i++ {
			switch {
			case l[i] == '"':
				return b.String(), l[i+1:]
			case l[i] == '\\' && i+1 < len(l):
				i++
			}
			b.WriteByte(l[i])
		}
	}
	if i := strings.IndexAny(l, " \t"); i >= 0 {
		return l[:i], l[i:]
	}
	return l, ""
}

// parsePattern parses a pattern. Unlike those of ignore files, it never includes what is
// below a directory, and it cannot be negated.
func parsePattern(p string) (line, bool) {
	l := line{name: !strings.Contains(p, "/")}
	p = strings.TrimPrefix(p, "/")
	if p == "" || p[0] == '!' || strings.HasSuffix(p, "/") {
		return l, false
	}
	if inner, ok := strings.CutSuffix(p, "/**"); ok {
		p = inner + "/**/*"
	}
	l.pattern = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(p)
	return l, doublestar.ValidatePattern(l.pattern)
}

func parseAssignment(word string) assignment {
	name, text, ok := strings.Cut(word, "=")
	switch {
	case word[0] == '-':
		return assignment{word[1:], unset}
	case word[0] == '!':
		return assignment{word[1:], ""}
	case ok:
		return assignment{name, attributeValue(text)}
	}
	return assignment{name, set}
}

// attributesOwner has the attributes that the owner of a clone sets, and no commit. The zero value
// says nothing.
type attributesOwner struct {
	Above attributesFile // of the repository, above all .gitattributes files
	Below attributesFile // of all of the owner's repositories, below them
	Auto  bool           // a file without another setting is text=auto

	Caseless bool // patterns match in upper and lower case
}

// Of returns the attributes of a file. in returns the content of the .gitattributes file
// of a directory; "." is the root, which like the owner's files may define macros.
func (o attributesOwner) Of(name string, in func(dir string) attributesFile) map[string]attributeValue {
	macros := map[string][]assignment{}
	maps.Copy(macros, o.Below.macros)
	maps.Copy(macros, in(".").macros)
	maps.Copy(macros, o.Above.macros)
	out := map[string]attributeValue{}
	add := func(f attributesFile, below string) {
		for i := len(f.lines) - 1; i >= 0; i-- {
			if f.lines[i].matches(below, o.Caseless) {
				assignTo(out, f.lines[i].assign, macros)
			}
		}
	}
	add(o.Above, name)
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		below := name
		if dir != "." {
			below = name[len(dir)+1:]
		}
		add(in(dir), below)
		if dir == "." {
			break
		}
	}
	add(o.Below, name)
	return out
}

func (l line) matches(below string, caseless bool) bool {
	if l.name {
		below = path.Base(below)
	}
	pattern := l.pattern
	if caseless { //control:case-of-attributes
		pattern, below = lower(pattern), lower(below)
	}
	ok, err := doublestar.Match(pattern, below)
	return ok && err == nil
}

// lower returns a text with its ASCII letters in lower case, the only ones that git takes for
// equal to others.
func lower(text string) string {
	out := []byte(text)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// assignTo adds assignments of lower priority than those in out. The last one counts.
func assignTo(out map[string]attributeValue, list []assignment, macros map[string][]assignment) {
	for i := len(list) - 1; i >= 0; i-- {
		a := list[i]
		if _, known := out[a.name]; known {
			continue
		}
		out[a.name] = a.value
		if a.value != set {
			continue
		}
		inner, ok := macros[a.name]
		if !ok && a.name == "binary" {
			inner = []assignment{{"diff", unset}, {"merge", unset}, {"text", unset}}
		}
		assignTo(out, inner, macros)
	}
}
