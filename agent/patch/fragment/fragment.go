// Package fragment merges definitions that a model printed without the rest of their
// file into that file. A lone function written as the whole file would lose all
// others.
package fragment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace/outline"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Is reports whether text, given as the whole file, has only some of its definitions:
// the others would be lost.
func Is(name, before, text string) bool {
	old, is := definitions(name, before), definitions(name, text)
	lost, _ := missing(old, is)
	outside := outsideOf(before, old, 2)
	kept := shared(outside, text)
	switch known := func(d definition) bool { return named(old, d.name) != nil }; {
	case !slices.ContainsFunc(is, known):
		return lines(before) >= minCompared && lines(text)*3 < lines(before)
	case len(lost) == 0: // all of the definitions, and nothing of the rest or in its place, is a fragment, too
		return kept == 0 && len(outsideOf(text, is, 2)) < len(outside)
	}
	return kept < len(outside) || lines(text)*5 < lines(before)*3
}

// missing returns the names of outer definitions that a text lacks, and the number of all outer ones.
func missing(old, is []definition) (lost []string, all int) {
	for _, d := range old {
		if d.depth > 0 {
			continue
		}
		all++
		if named(is, d.name) == nil {
			lost = append(lost, d.name)
		}
	}
	return lost, all
}

// minParts is the minimum number of functions of a file that is changed by them.
const minParts = 3

// Parts reports whether a file can be changed by writing some of its functions: it has several.
func Parts(name, text string) bool {
	defs, _, _ := outline.Of(name, []byte(text))
	return len(slices.DeleteFunc(defs, outline.Def.IsType)) >= minParts
}

// maxHidden is the maximum length in lines of a function that is written anew.
const maxHidden = 40

// Named returns the functions of a file whose name is one of words and whose body can be hidden.
func Named(name, text string, words []string) (out []string) {
	defs, _, _ := outline.Of(name, []byte(text))
	for _, d := range defs {
		if fn := lastName(d.Name); !d.IsType() && slices.Contains(words, fn) && Hide(name, text, fn) != text {
			out = append(out, fn)
		}
	}
	return out
}

// Hide returns a file without the body of a function, in whose place stands a comment. It
// returns text as it is if the function is missing, too long, or has no body on lines of its own.
func Hide(name, text, function string) string {
	d := named(definitions(name, text), function)
	if d == nil || d.to-d.line > maxHidden {
		return text
	}
	all := strings.Split(text, "\n")
	from, to := bodyOf(all[:d.to], d.line)
	if from >= to {
		return text
	}
	mark := "// ..."
	switch outline.Language(name) {
	case "python", "ruby", "shell", "elixir", "perl":
		mark = "# ..."
	case "lua", "haskell":
		mark = "-- ..."
	}
	indent := all[from][:indentOf(all[from])]
	return strings.Join(slices.Replace(all, from, to, indent+mark), "\n")
}

// bodyOf returns the lines [from, to) of the body of the function whose name is in line at, and
// that ends with all: behind its signature and its docstring, before its closing line.
func bodyOf(all []string, at int) (from, to int) {
	indent, open := indentOf(all[at]), 0
	for from = at; from < len(all); from++ {
		if open += strings.Count(all[from], "(") - strings.Count(all[from], ")"); open <= 0 {
			break
		}
	}
	if from++; from < len(all) && indentOf(all[from]) == indent && opening().MatchString(all[from]) {
		from++
	}
	if to = len(all); to > from && closer().MatchString(all[to-1]) && indentOf(all[to-1]) == indent {
		to--
	}
	if from < to {
		from = afterDocstring(all[:to], from)
	}
	return from, to
}

// afterDocstring returns the line behind a docstring in line at.
func afterDocstring(all []string, at int) int {
	for _, q := range []string{`"""`, "'''"} {
		if !strings.HasPrefix(strings.TrimSpace(all[at]), q) {
			continue
		}
		for i := at; i < len(all); i++ {
			line := strings.TrimSpace(all[i])
			if strings.HasSuffix(line, q) && (i > at || len(line) >= 2*len(q)) {
				return i + 1
			}
		}
	}
	return at
}

// Gone returns the definitions that would be lost if text replaced before, if text is
// an entirely different file: most definitions and most lines of before are missing, and it is no
// part that has mostly definitions of before.
func Gone(name, before, text string) (lost []string) {
	old, is := definitions(name, before), definitions(name, text)
	known := slices.DeleteFunc(slices.Clone(is), func(d definition) bool { return named(old, d.name) == nil })
	lost, all := missing(old, is)
	if 2*len(lost) <= all || 2*len(known) > len(is) && Is(name, before, text) {
		return nil
	}
	if had := outsideOf(before, nil, 1); 2*shared(had, text) >= len(had) {
		return nil
	}
	return lost
}

// shared returns the number of lines that a text has, whatever the white space around them.
func shared(list []string, text string) (n int) {
	have := map[string]bool{}
	for line := range strings.Lines(text) {
		have[strings.TrimSpace(line)] = true
	}
	for _, line := range list {
		if have[strings.TrimSpace(line)] {
			n++
		}
	}
	return n
}

// LosesExports reports whether a module of JavaScript or TypeScript would export nothing any more with
// content as its text: a use of the module took its place.
func LosesExports(name, before, content string) bool {
	exports := func(text string) bool {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			for _, begin := range []string{"module.exports", "exports.", "export ", "export{", "export*"} {
				if strings.HasPrefix(line, begin) {
					return true
				}
			}
		}
		return false
	}
	switch outline.Language(name) {
	case "javascript", "typescript", "tsx":
		return exports(before) && !exports(content)
	}
	return false
}

// LeftOut returns the definitions of before that text, a file or a part of it, names without their content: functions
// without a body, and at least half of the methods of a type.
func LeftOut(name, before, text string) (lost []string) {
	old, is := definitions(name, before), definitions(name, text)
	had, have := strings.Split(before, "\n"), strings.Split(text, "\n")
	methods, missing := map[string]int{}, map[string][]string{}
	part := Is(name, before, text) // of a type its other methods stay
	for _, d := range old {
		now, owner := named(is, d.name), ownerOf(d.name)
		if now != nil && now.name == owner {
			now = nil // the type of a constructor
		}
		switch {
		case now != nil && isHollow(have, *now) && !isHollow(had, d):
			lost = append(lost, d.name)
		case part || owner == "" || d.depth == 0 || named(is, owner) == nil:
			continue
		case now == nil:
			missing[owner] = append(missing[owner], d.name)
		}
		methods[owner]++
	}
	for _, owner := range slices.Sorted(maps.Keys(missing)) {
		if names := missing[owner]; 2*len(names) >= methods[owner] { //control:methods-stay
			lost = append(lost, names...)
		}
	}
	return lost
}

// isHollow reports whether a function has a body of placeholders or comments alone.
func isHollow(all []string, d definition) bool {
	from, to := bodyOf(all[:d.to], d.line)
	if from >= to {
		return false
	}
	return !slices.ContainsFunc(all[from:to], func(line string) bool {
		s := strings.TrimSpace(line)
		return s != "" && s != "pass" && !strings.HasPrefix(s, "...") && !aboveDefinition().MatchString(s)
	})
}

// minCompared is the minimum size in lines of a file without definitions to be
// compared.
const minCompared = 12

func lines(s string) int { return strings.Count(strings.TrimSpace(s), "\n") + 1 }

// outsideOf returns the lines of at least a number of bytes outside the definitions of a file, without comments.
func outsideOf(text string, defs []definition, least int) (out []string) {
	for i, line := range strings.Split(text, "\n") {
		covered := slices.ContainsFunc(defs, func(d definition) bool { return i >= d.from && i < d.to })
		if len(strings.TrimSpace(line)) >= least && !covered && !aboveDefinition().MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

// Put replaces the definitions of before that text also has, and returns their names.
// New definitions go next to their neighbors in text, and new imports to the imports
// of before. The error asks for the whole file.
func Put(name, before, text string) (after string, replaced []string, err error) {
	needWhole := func(why string) (string, []string, error) {
		return "", nil, fmt.Errorf("this is only a part of %s, and %s: write the whole file, or a SEARCH/REPLACE block",
			name, why)
	}
	old, is := definitions(name, before), definitions(name, text)
	if len(old) == 0 || len(is) == 0 {
		return needWhole("the place it belongs to is not known")
	}
	had, have := strings.Split(before, "\n"), strings.Split(text, "\n")
	imports, rest := between(name, text, is, had)
	if rest != "" {
		return needWhole(fmt.Sprintf("the place of the line %q is not known", strings.TrimSpace(rest)))
	}
	var pending []string // new definitions, waiting for their neighbor
	type edit struct {
		from, to int // lines of before
		put      []string
	}
	var edits []edit
	for _, d := range is {
		if owner := named(is, ownerOf(d.name)); d.depth > 0 && owner != nil && !isOpened(old, is, *owner) {
			continue // inside another definition of text
		}
		if isOpened(old, is, d) {
			if line := ownLine(is, d, have, had); line != "" {
				return needWhole(fmt.Sprintf("the place of the line %q is not known", line))
			}
			continue
		}
		body := have[d.from:d.to]
		was, several := place(old, d, had, body)
		if several {
			return needWhole(fmt.Sprintf("there are several %s in it", lastName(d.name)))
		}
		if was == nil {
			pending = append(append(pending, body...), "")
			continue
		}
		from := was.from
		if d.from == d.line { // sent without the comment and decorators above it
			from = was.line
		}
		edits = append(edits, edit{from, was.to, append(pending, reindent(body, was.indent-d.indent, had[was.line])...)})
		pending = nil
		replaced = append(replaced, d.name)
	}
	if len(edits) == 0 {
		return needWhole("none of its definitions is in the file")
	}
	if len(pending) > 0 {
		last := &edits[len(edits)-1]
		last.put = append(append(last.put, ""), pending[:len(pending)-1]...)
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	for i := 1; i < len(edits); i++ {
		if edits[i].from < edits[i-1].to {
			return needWhole("its definitions overlap")
		}
	}
	for _, e := range slices.Backward(edits) {
		had = slices.Replace(had, e.from, e.to, e.put...)
	}
	if outline.Language(name) == "go" {
		return strings.Join(mendImports(had, before, text), "\n"), replaced, nil
	}
	if had = addImports(had, imports); had == nil {
		return needWhole("the place of its imports is not known")
	}
	return strings.Join(had, "\n"), replaced, nil
}

// definition is the lines [from, to) of one definition, including the comment and
// decorators directly above it. line has its name.
type definition struct {
	name           string
	from, line, to int
	depth, indent  int
}

// isOpened reports whether a definition stands for the methods in it alone: before has more of them.
func isOpened(old, is []definition, d definition) bool {
	was := named(old, d.name)
	within := func(list []definition, owner string) (names []string) {
		for _, m := range list {
			if ownerOf(m.name) == owner {
				names = append(names, lastName(m.name))
			}
		}
		return names
	}
	if was == nil || was.name != d.name {
		return false
	}
	have := within(is, d.name)
	return len(have) > 0 && slices.ContainsFunc(within(old, d.name), func(m string) bool { //control:type-with-some-methods
		return !slices.Contains(have, m)
	})
}

// ownLine returns the first line of a type in text, outside of its methods, that before lacks, or "".
func ownLine(is []definition, d definition, have, before []string) string {
	inner := slices.DeleteFunc(slices.Clone(is), func(m definition) bool { return ownerOf(m.name) != d.name })
	for i := d.line; i < d.to; i++ {
		line := strings.TrimSpace(have[i])
		covered := slices.ContainsFunc(inner, func(m definition) bool { return i >= m.from && i < m.to })
		if line != "" && !covered && shared([]string{line}, strings.Join(before, "\n")) == 0 {
			return line
		}
	}
	return ""
}

// place returns the definition that d takes the place of, one of its name or with the same last part: of
// several the one that has the most lines of body. several reports that none is.
func place(old []definition, d definition, had, body []string) (was *definition, several bool) {
	first, best := named(old, d.name), -1
	known := first != nil && first.name == d.name && ownerOf(d.name) != "" // with its type
	body = slices.DeleteFunc(slices.Clone(body), func(line string) bool { return strings.TrimSpace(line) == "" })
	for i := range old {
		o := &old[i]
		if o.name != d.name && (known || lastName(o.name) != lastName(d.name)) {
			continue
		}
		switch n := shared(body, strings.Join(had[o.from:o.to], "\n")); {
		case n > best:
			was, best, several = o, n, false
		case n == best:
			several = true
		}
	}
	return was, several //control:several-of-a-name
}

// named returns the definition of a name, or else of one with the same last part. It is nil if there is none.
func named(list []definition, name string) *definition {
	i := slices.IndexFunc(list, func(d definition) bool { return d.name == name })
	if i < 0 {
		i = slices.IndexFunc(list, func(d definition) bool { return lastName(d.name) == lastName(name) })
	}
	if i < 0 || name == "" {
		return nil
	}
	return &list[i]
}

func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func ownerOf(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return ""
}

// definitions finds the definitions of a file and their ends. It relies on
// indentation, so the code must have its language's usual layout.
func definitions(name, text string) []definition {
	defs := outlineOf(name, text)
	all := strings.Split(text, "\n")
	var out []definition
	var owners []definition
	for _, d := range defs {
		at := d.Line - 1
		if at < 0 || at >= len(all) {
			continue
		}
		n := definition{name: d.Name, from: at, line: at, to: blockEnd(all, at), depth: d.Depth, indent: indentOf(all[at])}
		for n.from > 0 && belongsBelow(all[n.from-1]) && indentOf(all[n.from-1]) == n.indent {
			n.from--
		}
		for len(owners) > 0 && owners[len(owners)-1].to <= at {
			owners = owners[:len(owners)-1]
		}
		if len(owners) > 0 && !strings.Contains(n.name, ".") {
			n.name = owners[len(owners)-1].name + "." + n.name
		}
		n.depth = len(owners)
		owners = append(owners, n)
		out = append(out, n)
	}
	return out
}

// outlineOf returns the definitions of a file or of a part of it: in some languages methods look like
// definitions only inside a class, in PHP all code only behind its mark.
func outlineOf(name, text string) []outline.Def {
	defs, _, _ := outline.Of(name, []byte(text))
	head := "class C {\n"
	switch outline.Language(name) {
	case "javascript", "typescript", "tsx", "java", "csharp":
	case "php":
		head = "<?php " + head
	default:
		return defs
	}
	if len(defs) > 0 {
		return defs
	}
	defs, _, _ = outline.Of(name, []byte(head+text+"\n}\n"))
	if len(defs) > 0 && defs[0].Name == "C" {
		defs = defs[1:]
	}
	for i := range defs {
		d := &defs[i]
		d.Name, d.Line, d.Depth = strings.TrimPrefix(strings.TrimPrefix(d.Name, "C."), "C::"), d.Line-1, max(d.Depth-1, 0)
	}
	return defs
}

var aboveDefinition = pattern.Lazy(`^\s*(@|#|//|/\*|\*|--|"""|'''|;;)`)

func belongsBelow(line string) bool {
	return aboveDefinition().MatchString(line) && !strings.HasPrefix(line, "#!")
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

var closer = pattern.Lazy(`^\s*(\}|\)|\]|end\b|fi\b|done\b|esac\b)`)

// blockEnd returns the index after the block that begins at a line.
func blockEnd(all []string, at int) int {
	indent := indentOf(all[at])
	last := at
	for i := at + 1; i < len(all); i++ {
		line := all[i]
		if strings.TrimSpace(line) == "" {
			continue
		}
		switch n := indentOf(line); {
		case n > indent:
			last = i
			continue
		case n == indent && closer().MatchString(line):
			if last = i; opensAgain(line) {
				continue
			}
		case n == indent && opening().MatchString(line): // a brace on a line of its own
			last = i
			continue
		}
		break
	}
	return last + 1
}

var opening = pattern.Lazy(`^\s*\{\s*$`)

// opensAgain reports whether a closing line continues, as "} else {" and ") (int,
// error) {" do.
func opensAgain(line string) bool {
	s := strings.TrimSpace(line)
	return strings.HasSuffix(s, "{") || strings.HasSuffix(s, "(") || strings.HasSuffix(s, ":")
}

var importLine = pattern.Lazy(
	`^(import\b|from\s+\S+\s+import\b|(const|let|var)\s.*=\s*require\(|require\b|require_relative\b|#include\b|use\s+\S+;|using\s+\S+;)`,
)

// header matches lines at the beginning of a file that a part of it may repeat.
var header = pattern.Lazy(
	`^(package\s+\w+|#!.*|['"]use strict['"];?|<\?php|# frozen_string_literal.*|# -\*- .*|namespace\s+\S+;?)\s*$`,
)

// between examines the lines of text outside its definitions. It returns the new
// imports and the first other line that before lacks.
func between(name, text string, is []definition, before []string) (imports []string, rest string) {
	if outline.Language(name) == "go" {
		_, text = importsOf(text)
	}
	had := map[string]bool{}
	for _, line := range before {
		had[strings.TrimSpace(line)] = true
	}
	for _, line := range outsideOf(text, is, 1) {
		switch s := strings.TrimSpace(line); {
		case had[s] || header().MatchString(s):
		case importLine().MatchString(line):
			imports = append(imports, line)
		case rest == "":
			rest = line
		}
	}
	return imports, rest
}

// addImports puts imports after the last one of a file, or at its beginning. It
// returns nil if the file has an import block.
func addImports(had, imports []string) []string {
	if len(imports) == 0 {
		return had
	}
	at := -1
	for i, line := range had {
		if strings.HasPrefix(line, "import (") {
			return nil
		}
		if importLine().MatchString(line) {
			at = i
		}
	}
	if at < 0 {
		for at+1 < len(had) && (header().MatchString(had[at+1]) || strings.HasPrefix(had[at+1], "#")) {
			at++
		}
	}
	return slices.Insert(had, at+1, imports...)
}

// reindent shifts lines by a number of columns, with the character by which line is indented.
func reindent(body []string, by int, line string) []string {
	unit := " "
	if strings.HasPrefix(line, "\t") {
		unit = "\t"
	}
	out := slices.Clone(body)
	for i, line := range out {
		if by != 0 && strings.TrimSpace(line) == "" {
			out[i] = ""
		} else {
			out[i] = strings.Repeat(unit, max(by, 0)) + line[min(max(-by, 0), indentOf(line)):]
		}
	}
	return out
}
