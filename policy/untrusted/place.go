package untrusted

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extended "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// Place is the kind of Markdown that surrounds a piece of text, as words for messages.
type Place string

// Places used by callers. Others are further Markdown constructs: a list, a heading, a
// table.
const (
	Paragraph Place = "" // a top-level paragraph
	Code      Place = "code"
	Nowhere   Place = "nowhere" // not visible to a reader
	Quotation Place = "a quotation"
	HTML      Place = "HTML" // which may be visible or not
)

var placeOf = map[ast.NodeKind]Place{
	ast.KindCodeBlock:          Code,
	ast.KindFencedCodeBlock:    Code,
	ast.KindCodeSpan:           Code,
	ast.KindBlockquote:         Quotation,
	ast.KindList:               "a list",
	ast.KindHeading:            "a heading",
	ast.KindLink:               "a link",
	ast.KindImage:              Nowhere,
	ast.KindEmphasis:           "emphasis",
	extended.KindTable:         "a table",
	extended.KindFootnote:      "a footnote",
	extended.KindStrikethrough: "struck text",
}

// Places returns the places of the words at some offsets of a text on GitHub's page.
// Offsets are in ascending order, and lines end with a line feed. It reports false for
// invalid UTF-8 and for an artificial text that would take unreasonable time.
func Places(s string, at []int) (places []Place, ok bool) {
	defer func() {
		if recover() != nil { // a bug in the parser: the text is unknown
			places, ok = nil, false
		}
	}()
	if !utf8.ValidString(s) || manyMarks(s) || tooSlow(s) {
		return nil, false
	}
	p := placing{src: s, at: at, places: slices.Repeat([]Place{Nowhere}, len(at))}
	p.walk(markdown().Parser().Parse(text.NewReader([]byte(s))), Paragraph)
	return p.places, true
}

// placing is the state of [Places].
type placing struct {
	src    string
	at     []int
	places []Place
	html   balance
}

// walk visits a node inside the given place.
func (p *placing) walk(n ast.Node, place Place) {
	if own := placeOf[n.Kind()]; own != "" && place != Code && place != Nowhere {
		place = own
	}
	open := len(p.html.open)
	switch n := n.(type) {
	case *ast.Text:
		p.put(n.Segment.Start, n.Segment.Stop, place)
	case *ast.RawHTML:
		first, last := n.Segments.At(0), n.Segments.At(n.Segments.Len()-1)
		p.markup(first.Start, last.Stop)
		raw := n.Segments.Value([]byte(p.src))
		if p.html.read(string(raw)); inWords().Match(raw) {
			return // the end of the paragraph shows whether it is closed
		}
	case *ast.HTMLBlock:
		lines := n.Lines()
		end := lines.At(lines.Len() - 1).Stop
		if n.HasClosure() {
			end = n.ClosureLine.Stop
		}
		p.markup(lines.At(0).Start, end)
		p.html.read(p.src[lines.At(0).Start:end])
		return
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
			p.put(line.Start, line.Stop, place)
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		p.walk(c, place)
	}
	if len(p.html.open) != open {
		p.html.broken = true // opened in one block and closed in another: readers disagree
	}
}

// markup records the place of HTML. A comment is certainly hidden only if the HTML before
// it is balanced.
func (p *placing) markup(from, to int) {
	raw := p.src[from:to]
	p.put(from, to, HTML)
	if raw = strings.TrimLeft(raw, " "); strings.HasPrefix(raw, "<!--") && !p.html.broken {
		end := len(raw)
		if at := commentEnd().FindStringIndex(raw[4:]); at != nil {
			end = 4 + at[1]
		}
		p.put(from, to-len(raw)+end, Nowhere)
	}
}

// put records the place of the text between two offsets.
func (p *placing) put(from, to int, place Place) {
	switch {
	case place != Paragraph:
	case slices.Contains(p.html.open, "details"):
		place = "a folded part"
	case p.html.broken || len(p.html.open) > 0: //control:inside-html
		place = HTML
	}
	for i := sort.SearchInts(p.at, from); i < len(p.at) && p.at[i] < to; i++ {
		p.places[i] = place
	}
}

// balance follows the HTML of a text. If it is not balanced in the simplest way, HTML
// parsers disagree about the text after it.
type balance struct {
	open   []string
	broken bool
}

var (
	commentEnd = pattern.Lazy(`--!?>`)
	tagToken   = pattern.Lazy(`^(?:<!--(?s:.*?)-->|<(/?)([a-zA-Z][a-zA-Z0-9-]*)` +
		`((?:\s+[a-zA-Z_:][\w.:-]*(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'=<>` + "`" + `]+))?)*)\s*(/?)>|[^<]+)`)
	// inWords matches an inline tag, which does not end its paragraph.
	inWords = pattern.Lazy(`^(?i)</?(?:a|b|i|em|strong|kbd|sub|sup|del|s|ins|samp|tt|var|q|abbr|mark|small|cite|` +
		`dfn|span)[\s>]`)
)

// void are elements without an end tag, unlike are elements with content that browsers
// parse differently.
const (
	void   = " area br col hr img input wbr "
	unlike = " script style title textarea plaintext xmp iframe noembed noframes noscript svg math template select " +
		"option html head body frameset form button "
)

// read follows a piece of HTML.
func (t *balance) read(piece string) {
	for piece != "" && !t.broken {
		m := tagToken().FindStringSubmatch(piece)
		if m == nil {
			t.broken = true
			return
		}
		piece = piece[len(m[0]):]
		name := strings.ToLower(m[2])
		switch {
		case strings.HasPrefix(m[0], "<!--"):
			inner := m[0][4:]
			t.broken = strings.HasPrefix(inner, ">") || strings.HasPrefix(inner, "->") ||
				strings.Contains(inner, "--!>") || strings.Contains(inner, "<!--")
		case name == "" || m[1] == "" && strings.Contains(void, " "+name+" "):
		case strings.Contains(unlike, " "+name+" ") || m[4] != "":
			t.broken = true
		case m[1] == "":
			t.open = append(t.open, name)
		case len(t.open) > 0 && t.open[len(t.open)-1] == name:
			t.open = t.open[:len(t.open)-1]
		default:
			t.broken = true
		}
	}
}
