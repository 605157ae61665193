package visible

import (
	"regexp"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// blockForm is one way in which a block of HTML begins and ends. A nil end is the
// next blank line.
type blockForm struct {
	begin, end func() *regexp.Regexp
	interrupts bool // it may come right behind a paragraph
}

var blockForms = []blockForm{
	{pattern.Lazy(`(?i)^<(?:script|pre|style)(?:` + tagSpace + `|>|$)`), pattern.Lazy(`(?i)</(?:script|pre|style)>`), true},
	{pattern.Lazy(`^<!--`), pattern.Lazy(`-->`), true},
	{pattern.Lazy(`^<\?`), pattern.Lazy(`\?>`), true},
	{pattern.Lazy(`^<![A-Z]`), pattern.Lazy(`>`), true},
	{pattern.Lazy(`^<!\[CDATA\[`), pattern.Lazy(`\]\]>`), true},
	{pattern.Lazy(`(?i)^</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|` +
		`fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|` +
		`ol|optgroup|option|p|param|section|title|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:` + tagSpace + `|/?>|$)`), nil, true},
	{pattern.Lazy(`^(?:<[A-Za-z][A-Za-z0-9-]*(?:` + attributeForm + `)*` + tagSpace + `*/?>|</[A-Za-z][A-Za-z0-9-]*` + tagSpace + `*>)` + tagSpace + `*$`), nil, false},
}

// htmlBlockParser finds blocks of HTML by the rules of the version of
// CommonMark that GitHub's parser follows.
type htmlBlockParser struct{}

// htmlBlock is a block of HTML.
type htmlBlock struct {
	ast.BaseBlock
	form   blockForm
	closed bool
}

var kindHTMLBlock = ast.NewNodeKind("Block of HTML")

func (*htmlBlock) Kind() ast.NodeKind           { return kindHTMLBlock }
func (*htmlBlock) IsRaw() bool                  { return true }
func (n *htmlBlock) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

func (htmlBlockParser) Trigger() []byte             { return []byte{'<'} }
func (htmlBlockParser) CanInterruptParagraph() bool { return true }
func (htmlBlockParser) CanAcceptIndentedLine() bool { return false }

func (htmlBlockParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	bare := util.TrimRightSpace(util.TrimLeftSpace(line))
	last := pc.LastOpenedBlock().Node
	behind := last != nil && ast.IsParagraph(last) && last.Parent() == parent
	for _, f := range blockForms {
		if !f.begin().Match(bare) || !f.interrupts && behind {
			continue
		}
		n := &htmlBlock{form: f, closed: f.end != nil && f.end().Match(bare)}
		n.Lines().Append(segment)
		reader.AdvanceToEOL()
		return n, parser.NoChildren
	}
	return nil, parser.NoChildren
}

func (htmlBlockParser) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	n := node.(*htmlBlock)
	line, segment := reader.PeekLine()
	if n.closed || n.form.end == nil && util.IsBlank(line) {
		return parser.Close
	}
	n.Lines().Append(segment)
	reader.AdvanceToEOL()
	if n.form.end != nil && n.form.end().Match(line) {
		return parser.Close
	}
	return parser.Continue | parser.NoChildren
}

func (htmlBlockParser) Close(ast.Node, text.Reader, parser.Context) {}
