package visible

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/yuin/goldmark/ast"
	struck "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Place says in what a piece of a text stands, in words for people.
type Place string

// Places that the rules of callers name. Others are what GitHub makes of Markdown: a
// list, a heading, a table.
const (
	Paragraph Place = "" // and in nothing else
	Code      Place = "code"
	Nowhere   Place = "nowhere" // a reader does not see it
	Quotation Place = "a quotation"
	HTML      Place = "HTML" // where a reader sees it, or does not
)

var placeOf = map[ast.NodeKind]Place{
	ast.KindCodeBlock: Code, ast.KindFencedCodeBlock: Code, ast.KindCodeSpan: Code, ast.KindBlockquote: Quotation,
	ast.KindList: "a list", ast.KindHeading: "a heading", kindRow: "a table", ast.KindLink: "a link", ast.KindImage: Nowhere,
	kindFootnote: "a footnote", ast.KindEmphasis: "emphasis", struck.KindStrikethrough: "struck text",
}

// Places returns where the words at some offsets of a text stand on GitHub's page. The
// offsets rise, and lines end with a line feed. It reports false for a text that nobody
// wrote by hand and that would take unreasonable time.
func Places(markdown string, at []int) (places []Place, ok bool) {
	defer func() {
		if recover() != nil { // in the parser: nothing is known of the text
			places, ok = nil, false
		}
	}()
	if !utf8.ValidString(markdown) || manyMarks(markdown) || tooSlow(markdown) {
		return nil, false
	}
	markdown = strings.Map(func(r rune) rune {
		if isMark(r) {
			return utf8.RuneError // as long
		}
		return r
	}, markdown)
	src, ok := closed(markdown)
	if !ok {
		return nil, false
	}
	p := placing{src: src, at: moved(src, at), places: slices.Repeat([]Place{Nowhere}, len(at))}
	p.walk(reading().Parser().Parse(text.NewReader([]byte(src))), Paragraph)
	return p.places, true
}

// moved returns where offsets of a text are in src, which [closed] made of it.
func moved(src string, at []int) []int {
	out := make([]int, len(at))
	i, j := 0, 0
	for k, place := range at {
		for ; i < place; i++ {
			_, size := utf8.DecodeRuneInString(src[j:])
			if r, _ := utf8.DecodeRuneInString(src[j:]); !isMark(r) {
				size = 1
			}
			j += size
		}
		out[k] = j
	}
	return out
}

// placing finds the places in a tree.
type placing struct {
	src    string
	at     []int
	places []Place
	html   balance
}

// walk looks through a node that stands at a place.
func (p *placing) walk(n ast.Node, place Place) {
	if own := placeOf[n.Kind()]; own != "" && place != Code && place != Nowhere {
		place = own
	}
	open := len(p.html.open)
	switch n := n.(type) {
	case *ast.Text:
		p.put(n.Segment.Start, n.Segment.Stop, place)
	case *tagNode:
		p.markup(n.start, n.end)
		if p.html.read(string(n.raw)); inWords().Match(n.raw) {
			return // the paragraph's end tells whether it is closed
		}
	case *htmlBlock:
		lines := n.Lines()
		p.markup(lines.At(0).Start, lines.At(lines.Len()-1).Stop)
		p.html.read(string(lines.Value([]byte(p.src))))
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
		p.html.broken = true // what opens in one block and ends in another is nobody's tree
	}
}

// markup notes what stands in HTML. A comment is one for readers, too, when nothing
// before it can be open.
func (p *placing) markup(from, to int) {
	raw := p.src[from:to]
	p.put(from, to, HTML)
	if raw = strings.TrimLeft(raw, " "); strings.HasPrefix(raw, "<!--") && !p.html.broken {
		end := commentEnd(raw)
		if end == 0 {
			end = len(raw)
		}
		p.put(from, to-len(raw)+end, Nowhere)
	}
}

// put notes where what stands between two offsets is.
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

// balance follows HTML through a text. Where it is not balanced in the simplest way,
// readers of HTML disagree about what comes behind it.
type balance struct {
	open   []string
	broken bool
}

var (
	token = pattern.Lazy(`^(?:<!--(?s:.*?)-->|<(/?)([a-zA-Z][a-zA-Z0-9-]*)((?:\s+[a-zA-Z_:][\w.:-]*(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'=<>` + "`" + `]+))?)*)\s*(/?)>|[^<]+)`)
	// inWords is a tag of an element that stands among words and does not end
	// their paragraph.
	inWords = pattern.Lazy(`^(?i)</?(?:a|b|i|em|strong|kbd|sub|sup|del|s|ins|samp|tt|var|q|abbr|mark|small|cite|dfn|span)[\s>]`)
)

// void are elements that have no end, unlike those whose content browsers read in
// another way.
const (
	void   = " area br col hr img input wbr "
	unlike = " script style title textarea plaintext xmp iframe noembed noframes noscript svg math template select option html head body frameset form button "
)

// read follows one piece of HTML.
func (t *balance) read(piece string) {
	for piece != "" && !t.broken {
		m := token().FindStringSubmatch(piece)
		if m == nil {
			t.broken = true
			return
		}
		piece = piece[len(m[0]):]
		name := strings.ToLower(m[2])
		switch {
		case strings.HasPrefix(m[0], "<!--"):
			inner := m[0][4:]
			t.broken = strings.HasPrefix(inner, ">") || strings.HasPrefix(inner, "->") || strings.Contains(inner, "--!>") || strings.Contains(inner, "<!--")
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
