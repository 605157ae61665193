package terminal

import (
	"fmt"
	"html"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/handrail-bot/handrail/policy/untrusted"
)

// markdown shows a text of the model, each line with a bar. Where colours are shown,
// Markdown is formatted; elsewhere it stays as it is written.
func (l Look) markdown(s string) string {
	if !l.Colour || l.Width == 0 {
		return l.withBars(s)
	}
	width := max(l.Width-len([]rune(bar))-1, 16)
	d := document{look: l, source: []byte(expandTabs(strings.ReplaceAll(strings.TrimSpace(s), "\r\n", "\n")))}
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(d.source))
	lines := d.blocks(root, width)
	for i, line := range lines {
		lines[i] = strings.TrimRight(l.in(dim, bar)+line, " ")
	}
	return strings.Join(lines, "\n")
}

const (
	italic    tone = "3"
	underline tone = "4"
	struck    tone = "9"
)

// document is a Markdown text while it is formatted. All of its text passes tones.
type document struct {
	look   Look
	source []byte
}

// blocks returns the lines of the blocks below a node, with an empty line between them,
// but not between the items of a tight list.
func (d *document) blocks(n ast.Node, width int) (out []string) {
	list, _ := n.(*ast.List)
	number := 0
	if list != nil {
		number = list.Start
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		var lines []string
		switch {
		case list != nil && list.IsOrdered():
			lines = d.item(c, fmt.Sprintf("%d. ", number), width)
			number++
		case list != nil:
			lines = d.item(c, "• ", width)
		default:
			lines = d.block(c, width)
		}
		inner := c.Kind() == ast.KindList && n.Kind() == ast.KindListItem
		tight := inner || list != nil && list.IsTight
		if c.PreviousSibling() != nil && !tight && len(lines) > 0 {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

// item returns the lines of an item of a list, which begin below each other.
func (d *document) item(n ast.Node, mark string, width int) []string {
	in := ansi.StringWidth(mark)
	lines := d.blocks(n, max(width-in, 16))
	if len(lines) == 0 {
		return []string{strings.TrimSpace(mark)}
	}
	for i := range lines {
		before := strings.Repeat(" ", in)
		if i == 0 {
			before = d.look.in(dim, mark)
		}
		lines[i] = before + lines[i]
	}
	return lines
}

// block returns the lines of a block.
func (d *document) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return d.flow(d.inline(n, bold), width)
	case *ast.List, *ast.Document:
		return d.blocks(n, width)
	case *ast.Blockquote:
		lines := d.blocks(n, max(width-2, 16))
		for i := range lines {
			lines[i] = d.look.in(dim, "▏ ") + lines[i]
		}
		return lines
	case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
		return d.verbatim(n, width)
	case *ast.ThematicBreak:
		return []string{d.look.in(dim, strings.Repeat("─", min(width, 40)))}
	case *extast.Table:
		return d.table(n, width)
	}
	return d.flow(d.inline(n, plain), width)
}

// flow wraps a text between its words.
func (d *document) flow(s string, width int) []string {
	return strings.Split(ansi.Wrap(s, width, ""), "\n")
}

// verbatim returns the lines of a block of code, set in and broken at the edge.
func (d *document) verbatim(n ast.Node, width int) (out []string) {
	lines := n.Lines()
	for i := range lines.Len() {
		at := lines.At(i)
		line := strings.TrimRight(string(at.Value(d.source)), "\n")
		for part := range strings.SplitSeq(ansi.Hardwrap(untrusted.EscapeLine(line), max(width-2, 16), true), "\n") {
			out = append(out, "  "+d.look.in(cyan, part))
		}
	}
	return out
}

// inline returns the text below a node in a tone. Each word has its own control codes, so
// that lines can be broken between them.
func (d *document) inline(n ast.Node, c tone) string {
	var b strings.Builder
	for k := n.FirstChild(); k != nil; k = k.NextSibling() {
		switch k := k.(type) {
		case *ast.Text:
			b.WriteString(d.words(c, string(k.Value(d.source))))
			switch {
			case k.HardLineBreak():
				b.WriteString("\n")
			case k.SoftLineBreak():
				b.WriteString(" ")
			}
		case *ast.String:
			b.WriteString(d.words(c, string(k.Value)))
		case *ast.CodeSpan:
			for part := k.FirstChild(); part != nil; part = part.NextSibling() {
				if t, ok := part.(*ast.Text); ok {
					code := strings.ReplaceAll(string(t.Value(d.source)), "\n", " ")
					b.WriteString(d.tones(c.with(cyan), code))
				}
			}
		case *ast.Emphasis:
			b.WriteString(d.inline(k, c.with(map[int]tone{1: italic, 2: bold}[k.Level])))
		case *extast.Strikethrough:
			b.WriteString(d.inline(k, c.with(struck)))
		case *extast.TaskCheckBox:
			b.WriteString(map[bool]string{true: "☑ ", false: "☐ "}[k.IsChecked])
		case *ast.AutoLink:
			b.WriteString(d.tones(c.with(underline), string(k.Label(d.source))))
		case *ast.Link:
			b.WriteString(d.link(d.inline(k, c.with(underline)), string(k.Destination)))
		case *ast.Image:
			b.WriteString(d.link(d.inline(k, c), string(k.Destination)))
		case *ast.RawHTML:
			for i := range k.Segments.Len() {
				at := k.Segments.At(i)
				b.WriteString(d.tones(c, string(at.Value(d.source))))
			}
		default:
			b.WriteString(d.inline(k, c))
		}
	}
	return b.String()
}

// link returns the text of a link and its address, unless they are the same.
func (d *document) link(shown, address string) string {
	if address == "" || ansi.Strip(shown) == address {
		return shown
	}
	return shown + " " + d.tones(dim, "("+address+")")
}

// words returns a text in a tone, without its entities and escapes.
func (d *document) words(c tone, s string) string {
	return d.tones(c, html.UnescapeString(string(util.UnescapePunctuations([]byte(s)))))
}

// tones returns a text in a tone, each word by itself. Its control characters, which an
// entity may have been, are made visible.
func (d *document) tones(c tone, s string) string {
	s = untrusted.EscapeLine(s) //control:terminal-markdown
	if c == plain {
		return s
	}
	parts := strings.Split(s, " ")
	for i, p := range parts {
		parts[i] = d.look.in(c, p)
	}
	return strings.Join(parts, " ")
}

// with adds a tone to another one.
func (c tone) with(more tone) tone {
	if c == plain || more == plain {
		return c + more
	}
	return c + ";" + more
}

// table returns the lines of a table. The columns of one that is too wide are not aligned.
func (d *document) table(n *extast.Table, width int) []string {
	var rows [][]string
	var widths []int
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		c := plain
		if r.Kind() == extast.KindTableHeader {
			c = bold
		}
		var row []string
		for cell := r.FirstChild(); cell != nil; cell = cell.NextSibling() {
			s := strings.ReplaceAll(d.inline(cell, c), "\n", " ")
			if len(row) == len(widths) {
				widths = append(widths, 0)
			}
			widths[len(row)] = max(widths[len(row)], ansi.StringWidth(s))
			row = append(row, s)
		}
		rows = append(rows, row)
	}
	all := 3 * max(len(widths)-1, 0)
	for _, w := range widths {
		all += w
	}
	var out []string
	for i, row := range rows {
		if all > width {
			out = append(out, d.flow(strings.Join(row, d.look.in(dim, " │ ")), width)...)
			continue
		}
		for k := range row {
			row[k] += strings.Repeat(" ", widths[k]-ansi.StringWidth(row[k]))
		}
		out = append(out, strings.Join(row, d.look.in(dim, " │ ")))
		if i == 0 {
			out = append(out, d.look.in(dim, strings.Repeat("─", all)))
		}
	}
	return out
}
