package untrusted

import (
	"bytes"
	"cmp"
	"html"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
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
	code        []span            // content that is shown as it is
	fences      []span            // fenced and indented code with the lines that delimit it
	blocks      []span            // HTML blocks
	raw         []span            // HTML inside paragraphs
	alts        []span            // alternative texts of images
	known       bool              // the parser took the text
	infos       []span            // what stands behind a fence's language
	definitions []span            // link reference definitions
	links       map[string]string // label as the parser folds it, destination
}

// edit replaces a range of bytes.
type edit struct {
	span
	with string
}

// cleaner collects the edits of one pass over one text.
type cleaner struct {
	src   string
	lay   layout
	edits []edit
	n     *Removed
}

func (c *cleaner) replace(start, end int, with string) {
	c.edits = append(c.edits, edit{span{start, end}, with})
}

// cleanMarkup makes one pass over the Markdown in s.
func cleanMarkup(s string, n *Removed) string {
	if !strings.ContainsAny(s, "<>&[~`") {
		return s
	}
	c := &cleaner{src: s, lay: readLayout(s), n: n}
	for _, d := range c.lay.definitions {
		c.replace(d.start, d.end, "")
		n.Definitions++
	}
	for _, i := range c.lay.infos {
		c.replace(i.start, i.end, "")
		n.Definitions++
	}
	for _, a := range c.lay.alts {
		c.replace(a.start, a.end, "")
		n.AltTexts++
	}
	c.html()
	c.brackets()
	c.footnotes()
	c.entities()
	return c.apply()
}

// apply carries the edits out; of two that overlap the outer or earlier one.
func (c *cleaner) apply() string {
	slices.SortStableFunc(c.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var b strings.Builder
	at := 0
	for _, e := range c.edits {
		if e.start < at {
			continue
		}
		b.WriteString(c.src[at:e.start])
		b.WriteString(e.with)
		at = e.end
	}
	b.WriteString(c.src[at:])
	return b.String()
}

// inside returns the span of a sorted list that holds i.
func inside(list []span, i int) (span, bool) {
	k, found := slices.BinarySearchFunc(list, i, func(s span, i int) int {
		switch {
		case s.end <= i:
			return -1
		case s.start > i:
			return 1
		}
		return 0
	})
	if !found {
		return span{}, false
	}
	return list[k], true
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
	ctx := parser.NewContext()
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList))
	doc := md.Parser().Parse(text.NewReader(src), parser.WithContext(ctx))
	lay.links = map[string]string{}
	for _, r := range ctx.References() {
		lay.links[util.ToLinkReference(r.Label())] = string(r.Destination())
	}
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			lay.add(n, src)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return layout{}
	}
	lay.known = true
	for _, list := range [][]span{lay.code, lay.blocks, lay.raw} {
		slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	}
	return lay
}

// add adds what one node says about the text.
func (lay *layout) add(n ast.Node, src []byte) {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		lay.code = appendLines(lay.code, n.Lines())
		lay.addFence(n, src)
		if n.Info != nil {
			lay.addInfo(n.Info.Segment, src)
		}
	case *ast.CodeBlock:
		lay.code = appendLines(lay.code, n.Lines())
	case *ast.CodeSpan:
		for child := n.FirstChild(); child != nil; child = child.NextSibling() {
			if t, ok := child.(*ast.Text); ok {
				lay.code = append(lay.code, span{t.Segment.Start, t.Segment.Stop})
			}
		}
	case *ast.HTMLBlock:
		lay.addBlock(n)
	case *ast.RawHTML:
		if k := n.Segments.Len(); k > 0 {
			lay.raw = append(lay.raw, span{n.Segments.At(0).Start, n.Segments.At(k - 1).Stop})
		}
	case *ast.Image:
		lay.addAlt(n)
	case *ast.LinkReferenceDefinition:
		if !bytes.HasPrefix(n.Label, []byte("^")) { // those are footnotes on GitHub
			lay.definitions = appendLines(lay.definitions, n.Lines())
		}
	}
}

// addBlock adds an HTML block as one span, from its first line to its last.
func (lay *layout) addBlock(n *ast.HTMLBlock) {
	all := appendLines(nil, n.Lines())
	if n.HasClosure() {
		all = append(all, span{n.ClosureLine.Start, n.ClosureLine.Stop})
	}
	if len(all) > 0 {
		lay.blocks = append(lay.blocks, span{all[0].start, all[len(all)-1].end})
	}
}

// addAlt adds the text inside an image.
func (lay *layout) addAlt(n ast.Node) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok && t.Segment.Start < t.Segment.Stop {
			lay.alts = append(lay.alts, span{t.Segment.Start, t.Segment.Stop})
		}
		lay.addAlt(child)
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

// addInfo adds what follows the language of a fence. A language is one
// word of ordinary length; anything else is not shown and goes.
func (lay *layout) addInfo(seg text.Segment, src []byte) {
	info := string(seg.Value(src))
	word := strings.IndexFunc(info, unicode.IsSpace)
	if word < 0 {
		word = len(info)
	}
	word = min(word, 40)
	if strings.TrimSpace(info[word:]) != "" {
		lay.infos = append(lay.infos, span{seg.Start + word, seg.Stop})
	}
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

// entities decodes character references outside code. It reads a decoded ampersand
// again together with the text behind it, so that a reference that was encoded many
// times takes one pass.
func (c *cleaner) entities() {
	for i := 0; i < len(c.src); i++ {
		if c.src[i] != '&' {
			continue
		}
		if s, ok := inside(c.lay.code, i); ok {
			i = s.end - 1
			continue
		}
		if decoded, end := decodeReference(c.src, i); end > i {
			c.replace(i, end, decoded)
			c.n.Entities++
			i = end - 1
		}
	}
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
