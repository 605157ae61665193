package visible

import (
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// reading is what reads Markdown as GitHub does and makes HTML of it. GitHub's
// sanitizer comes behind it, so HTML in the text passes. It is made when it is first
// needed: most runs of the program need none.
var reading = sync.OnceValue(func() goldmark.Markdown { return newReading(true) })

// readingPlain takes no emphasis, whose parser is slow where there is a lot of it.
var readingPlain = sync.OnceValue(func() goldmark.Markdown { return newReading(false) })

func newReading(emphasis bool) goldmark.Markdown {
	inlines := []util.PrioritizedValue{
		util.Prioritized(codeParser{}, 100),
		util.Prioritized(footnotes{}, 150),
		util.Prioritized(linkParser{parser.NewLinkParser()}, 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(tagParser{}, 400),
		util.Prioritized(addressParser{}, 450),
	}
	var more []goldmark.Extender
	if emphasis {
		inlines = append(inlines, util.Prioritized(emphasisParser{}, 500))
		more = append(more, extension.Strikethrough)
	}
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(
				util.Prioritized(parser.NewSetextHeadingParser(), 100),
				util.Prioritized(parser.NewThematicBreakParser(), 200),
				util.Prioritized(listParser{parser.NewListParser()}, 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewCodeBlockParser(), 500),
				util.Prioritized(parser.NewATXHeadingParser(), 600),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(parser.NewBlockquoteParser(), 800),
				util.Prioritized(htmlBlockParser{}, 900),
				util.Prioritized(footnoteBlocks{}, 920),
				util.Prioritized(tableParser{}, 950),
				util.Prioritized(parser.NewParagraphParser(), 1000),
			),
			parser.WithInlineParsers(inlines...),
			parser.WithASTTransformers(util.Prioritized(footnotes{}, 100)),
			parser.WithParagraphTransformers(util.Prioritized(definitions{}, 100)),
		)),
		goldmark.WithExtensions(more...),
		goldmark.WithRendererOptions(html.WithUnsafe(), html.WithHardWraps(), renderer.WithNodeRenderers(
			util.Prioritized(rawHTML{}, 1), util.Prioritized(tableHTML{}, 2), util.Prioritized(footnotes{}, 3))),
	)
}

// manyMarks reports whether s has more marks of emphasis than are read.
func manyMarks(s string) bool {
	return strings.Count(s, "*")+strings.Count(s, "_")+strings.Count(s, "~") > 4000
}

// readingFor chooses what reads s.
func readingFor(s string) goldmark.Markdown {
	if manyMarks(s) {
		return readingPlain()
	}
	return reading()
}

// maxText is the longest text that is read, in bytes: GitHub takes no longer one.
const maxText = 256 << 10

// deep is a line that begins with more quotes and lists than anybody writes, and than
// the parser reads in reasonable time.
var deep = pattern.Lazy(`(?m)^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])){64}`)

// tooSlow reports whether the parser would take unreasonable time. It reads each level
// of a quotation again.
func tooSlow(s string) bool {
	if len(s) > maxText || deep().MatchString(s) {
		return true
	}
	if strings.Count(s, "](")*len(s) > 1<<28 && doubtful().MatchString(s) { // each is read to the end of its block
		return true
	}
	return ManyLinks(s)
}

// ManyLinks reports whether the parser would take unreasonable time for what may be
// links: it reads every destination to its end, even if there is no link.
func ManyLinks(s string) bool {
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

// shownTag begins a tag that GitHub shows instead of obeying it.
var shownTag = pattern.Lazy(`(?i)<(/?(?:title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext)(?:[\s\v>]|/>))`)

// rawHTML writes HTML that stands in the text.
type rawHTML struct{}

func (r rawHTML) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(kindHTMLBlock, r.block)
	reg.Register(kindTag, r.inline)
}

func (rawHTML) block(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, err := w.Write(shownTag().ReplaceAll(node.Lines().Value(src), []byte("&lt;$1")))
	return ast.WalkContinue, err
}

func (rawHTML) inline(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, err := w.Write(shownTag().ReplaceAll(node.(*tagNode).raw, []byte("&lt;$1")))
	return ast.WalkSkipChildren, err
}
