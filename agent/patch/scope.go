package patch

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// definition matches a line that defines something, in many languages: its keyword, the
// receiver of a method in Go, and the name.
var definition = pattern.Lazy(`^[ \t]*(?:(?:abstract|async|const|default|export|final|internal|override|private|` +
	`protected|pub|public|static|void)[ \t]+)*((?:class|def|enum|fn|fun|func|function|impl|interface|module|namespace|` +
	`record|struct|sub|trait|type)[ \t]+(?:\([^)]*\)[ \t]*)?[\pL\pN_$]+)`)

// callable matches a line that defines something in a heading, such as "int main(void)".
var callable = pattern.Lazy(`^[ \t]*([\pL\pN_$][^(]*)\(`)

// defined returns the definition of a line, or "". A heading is the text after @@: there,
// any line with a parenthesis is one.
func defined(line string, heading bool) string {
	m := definition().FindStringSubmatch(line)
	if m == nil && heading {
		m = callable().FindStringSubmatch(line)
	}
	if m == nil {
		return ""
	}
	return collapse(m[1])
}

// checkDefinitions returns an error if the file lacks a definition that the hunk names after
// @@ or in its context. Lines that match anyway are then not the intended ones.
func (p *applier) checkDefinitions(h hunk) error {
	if h.block {
		return nil
	}
	const maxNamed = 50 // lines to check
	named := append([]string{h.section}, h.context()...)
	for i, line := range named[:min(len(named), maxNamed)] {
		name := defined(line, i == 0)
		cutOff := len(line) > 70 && strings.HasSuffix(line, name) // by git, in a long heading
		if name == "" || cutOff || len(definitions(p.doc.lines, name)) > 0 || len(definitions(p.before, name)) > 0 {
			continue
		}
		return p.fault(h,
			"is for %q, which is not in the file: the edit was made for another state of it; read the file again",
			strings.TrimSpace(cut(line)))
	}
	return nil
}

// definitions returns the indexes of the lines with a definition.
func definitions(lines []line, name string) (out []int) {
	last := name[strings.LastIndexByte(name, ' ')+1:]
	for i, l := range lines {
		if strings.Contains(l.text, last) && defined(l.text, true) == name {
			out = append(out, i)
		}
	}
	return out
}

// scope is the region of a definition that may hold a hunk. Matches begin after index
// from and before to.
type scope struct{ from, to int }

// scopes returns the scopes of the definition named by a hunk, in order. There are
// none if the hunk names no definition of the file.
func (p *applier) scopes(h hunk) (out []scope) {
	name := defined(h.section, true)
	if name == "" || h.block {
		return nil
	}
	kind, _, _ := strings.Cut(name, " ")
	for _, s := range definitions(p.doc.lines, name) {
		indent := indentOf(p.doc.lines[s].text)
		end := slices.IndexFunc(p.doc.lines[s+1:], func(l line) bool {
			return strings.HasPrefix(defined(l.text, true), kind+" ") && indentOf(l.text) == indent
		})
		if end < 0 {
			end = len(p.doc.lines)
		}
		out = append(out, scope{s - len(h.old()), s + 1 + end}) // the hunk may include the defining line
	}
	return out
}

// within reports whether a region that begins at index at is in one of the scopes.
// Without scopes, every region is.
func within(scopes []scope, at int) bool {
	return len(scopes) == 0 || slices.ContainsFunc(scopes, func(s scope) bool { return at > s.from && at < s.to })
}
