package untrusted

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	dom "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// markdown parses and renders text like GitHub, as far as a library can. It is created on
// first use, because most runs of the program do not need it.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(extensions(extension.Strikethrough), rendering)
})

// withoutEmphasis parses no emphasis, because that parser is slow if there is a lot of it.
var withoutEmphasis = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(slices.DeleteFunc(parser.DefaultInlineParsers(), func(p util.PrioritizedValue) bool {
			return fmt.Sprintf("%T", p.Value) == fmt.Sprintf("%T", parser.NewEmphasisParser())
		})...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)), extensions(), rendering)
})

var rendering = goldmark.WithRendererOptions(html.WithUnsafe(), html.WithHardWraps())

func extensions(more ...goldmark.Extender) goldmark.Option {
	notes := extension.NewFootnote(extension.WithFootnoteBacklinkHTML(""))
	return goldmark.WithExtensions(append(more, extension.Table, extension.Linkify, extension.TaskList, notes)...)
}

// manyMarks reports whether s has too many emphasis characters to parse them.
func manyMarks(s string) bool {
	return strings.Count(s, "*")+strings.Count(s, "_")+strings.Count(s, "~") > 4000
}

// markdownOf returns the parser for s.
func markdownOf(s string) goldmark.Markdown {
	if manyMarks(s) {
		return withoutEmphasis()
	}
	return markdown()
}

// Page renders a Markdown text to HTML like GitHub. It is a substitute if GitHub's own
// HTML is not available.
func Page(s string) string {
	root, _, ok := rendered(s)
	if !ok {
		return leftOutText
	}
	var b strings.Builder
	for c := range root.ChildNodes() {
		if err := dom.Render(&b, c); err != nil { // a malformed tree, such as text in a void element
			return leftOutText
		}
	}
	return b.String()
}

// rendered renders a text, and counts its hidden parts. It reports false for an
// artificial text that would take unreasonable time.
func rendered(s string) (root *dom.Node, hidden Removed, ok bool) {
	defer func() {
		if recover() != nil { // a bug in the parser: the text is unknown
			root, hidden, ok = nil, Removed{Definitions: 1}, false
		}
	}()
	s = strings.TrimPrefix(strings.ToValidUTF8(s, "\ufffd"), "\ufeff")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(s)
	if tooSlow(s) {
		return nil, Removed{Definitions: 1}, false
	}
	s = shortComment().ReplaceAllString(titleEnd().ReplaceAllString(s, `\\$1`), "<!-- $1") //control:older-rules
	src, pc := []byte(s), parser.NewContext()
	doc := markdownOf(s).Parser().Parse(text.NewReader(src), parser.WithContext(pc))
	hidden.Definitions = len(pc.References()) + behindFences(doc, src)
	var page bytes.Buffer
	if err := markdownOf(s).Renderer().Render(&page, src, doc); err != nil {
		return nil, Removed{Definitions: 1}, false
	}
	shown := shownTag().ReplaceAllString(noteBack().ReplaceAllString(page.String(), ""), "&lt;$1")
	if at := pageEnd().FindStringIndex(shown); at != nil { //control:behind-the-page
		hidden.Comments++
		shown = shown[:at[0]]
	}
	if root, err := fragment(shown); err == nil {
		shownNotes := 0
		sanitize(root, &hidden, &shownNotes)
		hidden.Definitions += max(0, len(noteBegins().FindAllString(s, -1))-shownNotes)
		return root, hidden, true
	}
	return nil, Removed{Definitions: 1}, false
}

var (
	// shownTag matches the start of a tag that GitHub shows as text.
	shownTag = pattern.Lazy(`(?i)<(/?(?:title|textarea|style|xmp|iframe|noembed|noframes|script|plaintext)(?:[\s\v>]|/>)` +
		`|!\[CDATA\[|![a-ce-z]|[/?]\s)`)
	// GitHub's parser follows older rules than the library: a backslash at the end of a
	// title may belong to it, and a comment does not end at its beginning.
	titleEnd     = pattern.Lazy(`(?m)\\(["')][ \t]*(?:\)|$))`)
	shortComment = pattern.Lazy(`<!--(-?>)`)
	// pageEnd matches a tag that ends the page; GitHub shows nothing after it.
	pageEnd = pattern.Lazy(`(?i)</(?:html|body)[\s/>]|<(?:html|head|body)[^<>]*/\s*>`)
	// noteBack matches the link from a footnote back to the text.
	noteBack   = pattern.Lazy(`&#160;<a href="#fnref\d*:\d+" class="footnote-backref" role="doc-backlink"></a>`)
	noteBegins = pattern.Lazy(`(?m)^ {0,3}\[\^[^\]\s]+\]:`)
)

// behindFences counts fences followed by text that GitHub does not show.
func behindFences(doc ast.Node, src []byte) (n int) {
	_ = ast.Walk(doc, func(c ast.Node, entering bool) (ast.WalkStatus, error) { // cannot fail
		f, is := c.(*ast.FencedCodeBlock)
		if !is || !entering || f.Info == nil {
			return ast.WalkContinue, nil
		}
		if len(bytes.Fields(f.Info.Value(src))) > 1 || language(string(f.Language(src))) == "" {
			n++
		}
		return ast.WalkContinue, nil
	})
	return n
}

// keeps are the visible attributes that GitHub allows, with their element; "" means any.
var keeps = map[string]string{
	"href": "a", "src": "img", "alt": "img", "title": "", "start": "ol", "open": "details",
	"type": "input", "checked": "input", "disabled": "input", "align": "",
}

// sanitize removes everything that GitHub's filters remove, and counts the hidden parts.
func sanitize(n *dom.Node, hidden *Removed, notes *int) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch c.Type {
		case dom.CommentNode, dom.DoctypeNode:
			hidden.Comments++
			n.RemoveChild(c)
		case dom.ElementNode:
			count(c, hidden)
			switch class := attr(c, "class"); {
			case c.DataAtom == atom.Hr && attr(n, "role") == "doc-endnotes":
				n.RemoveChild(c)
			case c.DataAtom == atom.Li && strings.HasPrefix(attr(c, "id"), "fn:"):
				*notes++
			case c.DataAtom == atom.Code && n.DataAtom == atom.Pre && strings.HasPrefix(class, "language-"):
				n.Attr = append(n.Attr, dom.Attribute{Key: "lang", Val: strings.TrimPrefix(class, "language-")})
			}
			sanitize(c, hidden, notes)
			kept := c.Attr[:0]
			for _, a := range c.Attr {
				if of, ok := keeps[a.Key]; ok && (of == "" || of == c.Data) || a.Key == "lang" && c.DataAtom == atom.Pre {
					kept = append(kept, a)
				}
			}
			c.Attr = kept
		}
		c = next
	}
}

// count counts the hidden parts of an element.
func count(n *dom.Node, hidden *Removed) {
	if _, ok := lookup(n, "title"); ok {
		hidden.Titles++
	}
	if attr(n, "alt") != "" {
		hidden.AltTexts++
	}
	switch n.DataAtom {
	case atom.A:
		to := attr(n, "href")
		if to == "" || strings.HasPrefix(to, "#") {
			return
		}
		var words strings.Builder
		for c := range n.Descendants() {
			if c.Type == dom.TextNode {
				words.WriteString(c.Data)
			}
		}
		if strings.TrimPrefix(to, "http://") != strings.TrimPrefix(words.String(), "http://") {
			hidden.Addresses++
		}
	case atom.Details:
		if _, open := lookup(n, "open"); !open {
			hidden.Collapsed++
		}
	case atom.Img, atom.Code, atom.Ol, atom.Sup, atom.Input, atom.Td, atom.Th:
	case atom.Li:
		if !strings.HasPrefix(attr(n, "id"), "fn:") && len(n.Attr) > 0 {
			hidden.Attributes++
		}
	default:
		if len(n.Attr) > 0 && attr(n, "role") != "doc-endnotes" {
			hidden.Attributes++
		}
	}
}

// maxText is the maximum size of text that is parsed as Markdown, in bytes. GitHub
// accepts no longer text.
const maxText = 256 << 10

// deep matches a line that starts with an unreasonable number of quotations and lists.
// The parser is slow then, because it reads each level again.
var deep = pattern.Lazy(`(?m)^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])){64}`)

// maxCells is the maximum number of cells in a table. Each row has as many cells as the
// delimiter line below the head, regardless of its own text.
const maxCells = 100_000

// largeTable reports whether a possible delimiter line would turn the lines after it into
// more than maxCells cells.
func largeTable(s string) bool {
	below := strings.Count(s, "\n")
	for line := range strings.Lines(s) {
		if strings.Count(line, "|")*below > maxCells && strings.Trim(line, " \t|:-\r\n") == "" {
			return true
		}
		below--
	}
	return false
}

// tooSlow reports whether parsing would take unreasonable time. The parser also reads
// every destination to its end, even if there is no link.
func tooSlow(s string) bool {
	if len(s) > maxText || deep().MatchString(s) || largeTable(s) {
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
			switch {
			case s[i-1] != ']':
			case i+1 < len(s) && s[i+1] == '<':
				cost += angle - i
			default:
				cost += blank - i
			}
		}
	}
	return cost > budget
}
