package visible

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// definitions takes the definitions of links off the beginning of a paragraph.
type definitions struct{}

// A definition has a label, a destination and maybe a title. A title that something
// follows is none, and begins the rest of the paragraph when it has a line of its own.
var (
	defineLabel = lazily(`^[ \t]*\[((?:[^\[\]\\]|\\.|\\\n)+)\]:[ \t]*\n?[ \t]*`)
	defineTo    = lazily(`^(?:<((?:[^<>\n\\]|\\.)*)>|([^\s<\x00-\x1f\x7f][^\s\x00-\x1f\x7f]*))`)
	defineTitle = lazily(`^(?:[ \t]+\n?[ \t]*|\n[ \t]*)(?:"(?:[^"\\]|\\.|\\\n)*"|'(?:[^'\\]|\\.|\\\n)*'|\((?:[^()\\]|\\.|\\\n)*\))[ \t]*(?:\n|$)`)
	defineEnd   = lazily(`^[ \t]*(?:\n|$)`)
)

// definition returns the length of the definition that s begins with, its label and
// where it leads; 0 when there is none.
func definition(s []byte) (n int, label, to []byte) {
	m := defineLabel().FindSubmatch(s)
	if m == nil || len(bytes.TrimSpace(m[1])) == 0 || len(m[1]) > 1000 {
		return 0, nil, nil
	}
	at := len(m[0])
	d := defineTo().FindSubmatch(s[at:])
	if d == nil || !balanced(d[2]) {
		return 0, nil, nil
	}
	at += len(d[0])
	end := defineTitle().Find(s[at:])
	if end == nil {
		if end = defineEnd().Find(s[at:]); end == nil {
			return 0, nil, nil
		}
	}
	return at + len(end), m[1], append(d[1], d[2]...)
}

// balanced reports whether the parentheses of a destination are.
func balanced(s []byte) bool {
	depth := 0
	for i := 0; i < len(s) && depth >= 0; i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			depth--
		}
	}
	return depth == 0
}

func (definitions) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	for lines.Len() > 0 {
		all := lines.Value(reader.Source())
		if first := bytes.TrimLeft(all, " \t"); len(first) == 0 || first[0] != '[' {
			return
		}
		n, label, to := definition(all)
		if n == 0 {
			return
		}
		pc.AddReference(parser.NewReference(label, to, nil))
		used := 0
		for i, seen := 0, 0; i < lines.Len() && seen < n; i++ {
			line := lines.At(i)
			seen += len(line.Value(reader.Source()))
			used++
		}
		lines.SetSliced(used, lines.Len())
	}
	if node.Parent() != nil {
		node.Parent().RemoveChild(node.Parent(), node)
	}
}
