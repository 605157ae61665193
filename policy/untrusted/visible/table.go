package visible

import (
	"bytes"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// tableParser finds tables line by line, as GitHub does: the line of dashes turns
// the last line of the paragraph before it into a header with as many cells, and
// each line that begins nothing else is a row. What a row has more than the header
// is not shown.
type tableParser struct{}

// row is one line of a table.
type row struct {
	ast.BaseBlock
	columns int
	header  bool
}

// cell is one cell of a row.
type cell struct{ ast.BaseBlock }

var (
	kindRow  = ast.NewNodeKind("Row")
	kindCell = ast.NewNodeKind("Cell")
	dashes   = pattern.Lazy(`^\|?[ \t\v\f]*:?-+:?[ \t\v\f]*(?:\|[ \t\v\f]*:?-+:?[ \t\v\f]*)*\|?[ \t\v\f]*$`)
)

func (*row) Kind() ast.NodeKind                 { return kindRow }
func (n *row) Dump(src []byte, level int)       { ast.DumpHelper(n, src, level, nil, nil) }
func (*cell) Kind() ast.NodeKind                { return kindCell }
func (n *cell) Dump(src []byte, level int)      { ast.DumpHelper(n, src, level, nil, nil) }
func (tableParser) Trigger() []byte             { return nil }
func (tableParser) CanInterruptParagraph() bool { return true }
func (tableParser) CanAcceptIndentedLine() bool { return false }

func (tableParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	last := pc.LastOpenedBlock().Node
	if last == nil || last.Parent() != parent || util.IsBlank(line) {
		return nil, parser.NoChildren
	}
	switch last := last.(type) {
	case *row:
		reader.AdvanceToEOL()
		return newRow(pc, segment, reader.Source(), last.columns), parser.NoChildren
	case *ast.Paragraph:
		bare := util.TrimRightSpace(util.TrimLeftSpace(line))
		if !dashes().Match(bare) {
			break
		}
		lines := last.Lines()
		columns := len(cells(text.NewSegment(0, len(bare)), bare))
		head := lines.At(lines.Len() - 1)
		if len(cells(head, reader.Source())) != columns {
			break
		}
		if lines.Len() > 1 {
			parent.InsertBefore(parent, last, plain(lines.Sliced(0, lines.Len()-1), reader.Source()))
		}
		parent.RemoveChild(parent, last)
		reader.AdvanceToEOL()
		n := newRow(pc, head, reader.Source(), columns)
		n.header = true
		return n, parser.NoChildren
	}
	return nil, parser.NoChildren
}

// plain is a paragraph in which no definitions are looked for any more.
func plain(lines []text.Segment, src []byte) *ast.Paragraph {
	n := ast.NewParagraph()
	for i, s := range lines {
		s = s.TrimLeftSpace(src)
		if i == len(lines)-1 {
			s = s.TrimRightSpace(src)
		}
		n.Lines().Append(s)
	}
	return n
}

func (tableParser) Continue(ast.Node, text.Reader, parser.Context) parser.State { return parser.Close }

func (tableParser) Close(ast.Node, text.Reader, parser.Context) {}

func newRow(pc parser.Context, line text.Segment, src []byte, columns int) *row {
	n := &row{columns: columns}
	for i, s := range cells(line, src) {
		if i >= columns {
			*hiddenIn(pc)++
			continue
		}
		c := &cell{}
		c.Lines().Append(s)
		n.AppendChild(n, c)
	}
	return n
}

// cells cuts a line at the bars that have no backslash before them.
func cells(line text.Segment, src []byte) []text.Segment {
	line = trimmed(line.Start, line.Stop, src)
	if line.Start < line.Stop && src[line.Start] == '|' {
		line.Start++
	}
	var out []text.Segment
	from := line.Start
	for i := line.Start; i < line.Stop; i++ {
		if src[i] == '|' && (i == 0 || src[i-1] != '\\') {
			out = append(out, trimmed(from, i, src))
			from = i + 1
		}
	}
	if from < line.Stop {
		out = append(out, trimmed(from, line.Stop, src))
	}
	return out
}

func trimmed(from, to int, src []byte) text.Segment {
	s := text.NewSegment(from, to)
	s = s.TrimLeftSpace(src)
	return s.TrimRightSpace(src)
}

// tableHTML writes rows, and code, in which a cell has its bars without backslash.
type tableHTML struct{}

func (t tableHTML) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(kindRow, t.row)
	reg.Register(kindCell, t.cell)
	reg.Register(ast.KindCodeSpan, t.code)
}

func (tableHTML) row(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*row)
	_, before := n.PreviousSibling().(*row)
	after, more := n.NextSibling().(*row)
	html := "</tr>\n"
	switch {
	case entering && (n.header || !before):
		html = "<table>\n<tr>"
	case entering:
		html = "<tr>"
	case !more || after.header:
		html = "</tr>\n</table>\n"
	}
	_, err := w.WriteString(html)
	return ast.WalkContinue, err
}

func (tableHTML) cell(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	html := "<td>"
	if node.Parent().(*row).header {
		html = "<th>"
	}
	if !entering {
		html = "</" + html[1:]
	}
	_, err := w.WriteString(html)
	return ast.WalkContinue, err
}

func (tableHTML) code(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var code []byte
	for c := node.FirstChild(); c != nil; c = c.NextSibling() {
		code = append(code, c.(*ast.Text).Segment.Value(src)...)
	}
	if node.Parent().Kind() == kindCell {
		code = bytes.ReplaceAll(code, []byte(`\|`), []byte("|"))
	}
	code = bytes.ReplaceAll(code, []byte("\n"), []byte(" "))
	if n := len(code); n > 1 && code[0] == ' ' && code[n-1] == ' ' && !util.IsBlank(code) {
		code = code[1 : n-1]
	}
	_, err := w.WriteString("<code>" + string(util.EscapeHTML(code)) + "</code>")
	return ast.WalkSkipChildren, err
}
