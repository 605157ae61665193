package visible

import (
	"bytes"
	"fmt"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// footnotes finds footnotes and the references to them, and removes the ones that
// nothing refers to: GitHub does not show them.
type footnotes struct{}

// footnote is the definition of a footnote.
type footnote struct {
	ast.BaseBlock
	label string
	index int
}

// footnoteRef is a reference to a footnote.
type footnoteRef struct {
	ast.BaseInline
	label, raw string
	index      int
}

var (
	kindFootnote    = ast.NewNodeKind("Footnote of GitHub")
	kindFootnoteRef = ast.NewNodeKind("Reference to a footnote")
	footnoteStart   = pattern.Lazy(`^\[\^([^\] \r\n\t]+)\]:[ \t]*`)
	footnoteMark    = pattern.Lazy(`^\[\^([^\[\] \r\n\t]+)\]`)
)

func (*footnote) Kind() ast.NodeKind              { return kindFootnote }
func (n *footnote) Dump(src []byte, level int)    { ast.DumpHelper(n, src, level, nil, nil) }
func (*footnoteRef) Kind() ast.NodeKind           { return kindFootnoteRef }
func (n *footnoteRef) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

// footnoteBlocks reads definitions.
type footnoteBlocks struct{}

func (footnoteBlocks) Trigger() []byte             { return []byte{'['} }
func (footnoteBlocks) CanInterruptParagraph() bool { return true }
func (footnoteBlocks) CanAcceptIndentedLine() bool { return false }

func (footnoteBlocks) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	at := max(pc.BlockOffset(), 0)
	m := footnoteStart().FindSubmatchIndex(line[at:])
	if m == nil {
		return nil, parser.NoChildren
	}
	n := &footnote{label: util.ToLinkReference(line[at+m[2] : at+m[3]])}
	reader.Advance(at + m[1])
	return n, parser.HasChildren
}

func (footnoteBlocks) Continue(_ ast.Node, reader text.Reader, _ parser.Context) parser.State {
	line, seg := reader.PeekLine()
	if line[0] == '\n' && (seg.Start == 0 || reader.Source()[seg.Start-1] == '\n') { // not a space, nor the end of a quote
		return parser.Continue | parser.HasChildren
	}
	pos, padding := util.IndentPosition(line, reader.LineOffset(), 4)
	if pos < 0 {
		return parser.Close
	}
	reader.AdvanceAndSetPadding(pos, padding)
	return parser.Continue | parser.HasChildren
}

func (footnoteBlocks) Close(ast.Node, text.Reader, parser.Context) {}

func (footnotes) Trigger() []byte { return []byte{'!', '['} }

func (footnotes) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, seg := block.PeekLine()
	bang := 0
	if line[0] == '!' {
		bang = 1
	}
	line = line[bang:]
	m := footnoteMark().FindSubmatch(line)
	if m == nil || len(line) > len(m[0]) && line[len(m[0])] == '(' {
		return nil
	}
	if bang > 0 {
		ast.MergeOrAppendTextSegment(parent, seg.WithStop(seg.Start+1))
		block.Advance(1)
	}
	block.Advance(len(m[0]))
	return &footnoteRef{label: util.ToLinkReference(m[1]), raw: string(m[0])}
}

// Transform numbers the footnotes that are referred to and puts them at the end. It
// counts the others, and fences with more than one word behind them.
func (footnotes) Transform(doc *ast.Document, r text.Reader, pc parser.Context) {
	defined := map[string]*footnote{}
	var all, used []*footnote
	var refs []*footnoteRef
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *footnote:
			if entering {
				all = append(all, n)
			} else if defined[n.label] == nil { // one inside another comes first
				defined[n.label] = n
			}
		case *footnoteRef:
			if entering {
				refs = append(refs, n)
			}
		case *ast.FencedCodeBlock:
			if entering && n.Info != nil && len(bytes.Fields(n.Info.Value(r.Source()))) > 1 {
				*hiddenIn(pc)++
			}
		}
		return ast.WalkContinue, nil
	})
	for _, ref := range refs {
		if def := defined[ref.label]; def != nil {
			if def.index == 0 {
				used = append(used, def)
				def.index = len(used)
			}
			ref.index = def.index
		}
	}
	for _, n := range all {
		n.Parent().RemoveChild(n.Parent(), n)
	}
	*hiddenIn(pc) += len(all) - len(used)
	for _, n := range used {
		doc.AppendChild(doc, n)
	}
}

func (f footnotes) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(kindFootnote, f.definition)
	reg.Register(kindFootnoteRef, f.reference)
}

func (footnotes) definition(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	html := "</li>\n</ol>\n"
	if entering {
		html = fmt.Sprintf("<ol start=\"%d\">\n<li>", node.(*footnote).index)
	}
	_, err := w.WriteString(html)
	return ast.WalkContinue, err
}

func (footnotes) reference(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*footnoteRef)
	html := string(util.EscapeHTML([]byte(n.raw)))
	if n.index > 0 {
		html = fmt.Sprintf(`<sup class="footnote-ref"><a href="#fn%d" id="fnref%[1]d">%[1]d</a></sup>`, n.index)
	}
	_, err := w.WriteString(html)
	return ast.WalkContinue, err
}
