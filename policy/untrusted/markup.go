package untrusted

import (
	"bytes"
	"cmp"
	"html"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// maxMarkdown is the longest text that is parsed as Markdown, in bytes.
// Longer text is not a GitHub comment; all of it is treated as prose.
const maxMarkdown = 256 << 10

// deepQuote is a quotation nested more deeply than anybody writes, and than
// the parser reads in reasonable time.
var deepQuote = strings.Repeat("> ", 64)

// span is a half-open range of bytes.
type span struct{ start, end int }

// layout is what the Markdown parser found in a text.
type layout struct {
	code   []span // content that is shown as it is
	fences []span // fenced and indented code with the lines that delimit it
}

// tooSlow reports whether the parser would take unreasonable time. It reads every
// destination to its end, even if there is no link, and reads each level of a
// quotation again.
func tooSlow(s string) bool {
	if strings.Contains(s, deepQuote) || strings.Contains(s, strings.ReplaceAll(deepQuote, " ", "")) {
		return true
	}
	const budget = 4 << 20
	cost, blank, angle := 0, len(s), len(s)
	for i := len(s) - 1; i > 0; i-- {
		switch s[i] {
		case ' ', '\t':
			blank = i
		case '\n':
			blank, angle = i, i
		case '>':
			angle = i
		case '(', ':':
			if s[i-1] != ']' {
				continue
			}
			if i+1 < len(s) && s[i+1] == '<' {
				cost += angle - i
			} else {
				cost += blank - i
			}
		}
	}
	return cost > budget
}

// readLayout parses s. A text that is too long, or that the parser cannot read, has
// no code in its layout, so all of it is cleaned as prose.
func readLayout(s string) (lay layout) {
	if len(s) > maxMarkdown || tooSlow(s) {
		return layout{}
	}
	defer func() {
		if recover() != nil {
			lay = layout{}
		}
	}()
	src := []byte(s)
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList))
	doc := md.Parser().Parse(text.NewReader(src))
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			lay.add(n, src)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return layout{}
	}
	slices.SortFunc(lay.code, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return lay
}

// add adds what one node says about the text.
func (lay *layout) add(n ast.Node, src []byte) {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		lay.code = appendLines(lay.code, n.Lines())
		lay.addFence(n, src)
	case *ast.CodeBlock:
		lay.code = appendLines(lay.code, n.Lines())
	case *ast.CodeSpan:
		for child := n.FirstChild(); child != nil; child = child.NextSibling() {
			if t, ok := child.(*ast.Text); ok {
				lay.code = append(lay.code, span{t.Segment.Start, t.Segment.Stop})
			}
		}
	}
}

// addFence adds a fenced block from the line that opens it to the one
// that closes it, if there is one.
func (lay *layout) addFence(n *ast.FencedCodeBlock, src []byte) {
	var start, end int
	switch {
	case n.Lines().Len() > 0:
		start, end = n.Lines().At(0).Start, n.Lines().At(n.Lines().Len()-1).Stop
		start = lineStart(src, max(0, lineStart(src, start)-1))
	case n.Info != nil:
		start, end = lineStart(src, n.Info.Segment.Start), lineEnd(src, n.Info.Segment.Stop)
	default:
		return
	}
	if k := lineEnd(src, end); strings.Trim(string(src[end:k]), " \t>`~\n") == "" {
		end = k
	}
	lay.fences = append(lay.fences, span{start, end})
}

func lineStart(src []byte, i int) int { return bytes.LastIndexByte(src[:i], '\n') + 1 }

func lineEnd(src []byte, i int) int {
	if k := bytes.IndexByte(src[i:], '\n'); k >= 0 {
		return i + k + 1
	}
	return len(src)
}

func appendLines(list []span, lines *text.Segments) []span {
	for i := range lines.Len() {
		seg := lines.At(i)
		if seg.Start < seg.Stop {
			list = append(list, span{seg.Start, seg.Stop})
		}
	}
	return list
}

// decodeReference decodes the reference at s[i], an ampersand, and returns
// the text and where the reference ends; i when there is none.
func decodeReference(s string, i int) (string, int) {
	const longest = 40
	text, end := "&", i
	for at := i + 1; text == "&"; {
		semi := strings.IndexByte(s[at:min(len(s), at+longest)], ';')
		if semi < 1 {
			break
		}
		ref := "&" + s[at:at+semi+1]
		decoded := html.UnescapeString(ref)
		if decoded == ref || strings.HasSuffix(decoded, ";") && ref != "&semi;" && ref != "&#59;" {
			break
		}
		at += semi + 1
		text, end = decoded, at
	}
	return text, end
}
