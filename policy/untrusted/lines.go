package untrusted

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// MarkLines marks lines of a page's top-level paragraphs. begins returns the length of
// the prefix of a line to be marked, or 0; mark(i) replaces the i-th prefix. A line may
// begin with a mention, but with no other markup. MarkLines returns the marked page and
// the number of marks.
func MarkLines(page string, begins func(line string) int, mark func(i int) string) (marked string, n int) {
	root, err := fragment(page)
	if err != nil {
		return page, 0
	}
	for p := range root.ChildNodes() {
		if p.DataAtom != atom.P && attr(p, "class") != "email-fragment" {
			continue
		}
		for _, line := range linesOf(p) {
			var text strings.Builder
			for _, n := range line {
				text.WriteString(n.Data)
			}
			k := begins(text.String())
			if k == 0 {
				continue
			}
			for _, n := range line {
				cut := min(k, len(n.Data))
				n.Data, k = n.Data[cut:], k-cut
			}
			line[0].Data = mark(n) + line[0].Data
			n++
		}
	}
	var b strings.Builder
	for c := range root.ChildNodes() {
		if err := html.Render(&b, c); err != nil {
			return page, 0
		}
	}
	return b.String(), n
}

// linesOf returns the plain text at the beginning of each line of a paragraph. It splits
// text nodes of several lines.
func linesOf(p *html.Node) (lines [][]*html.Node) {
	var line []*html.Node
	plain := true
	end := func() {
		if len(line) > 0 {
			lines = append(lines, line)
		}
		line, plain = nil, true
	}
	for c := p.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.DataAtom == atom.Br:
			end()
		case c.Type == html.TextNode:
			if at := strings.IndexByte(c.Data, '\n'); at >= 0 {
				rest := &html.Node{Type: html.TextNode, Data: c.Data[at+1:]}
				c.Data = c.Data[:at+1]
				p.InsertBefore(rest, c.NextSibling)
			}
			if plain {
				line = append(line, c)
			}
			if strings.HasSuffix(c.Data, "\n") {
				end()
			}
		case c.DataAtom == atom.A && strings.HasPrefix(attr(c, "class"), "user-mention") && c.FirstChild != nil && plain:
			line = append(line, c.FirstChild)
		default:
			plain = false
		}
	}
	end()
	return lines
}
