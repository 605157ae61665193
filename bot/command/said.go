package command

import (
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// mention is a line of a text that begins with the command word.
type mention struct {
	start, at, end int    // of the line, of the command word, behind that
	said           bool   // a reader sees a line of a paragraph that begins with it
	where          string // otherwise: where it stands
}

// mostText is the longest text that is read, in bytes. GitHub takes 65,536
// characters.
const mostText = 256 << 10

var (
	// mentioned is a line that begins with the command word, whatever marks
	// of lists, quotations, tables or emphasis stand before it.
	mentioned = regexp.MustCompile(`(?m)^[ \t>*+\-_~#|\d.)\[\]!]*(` + Prefix + `)(?:[ \t\x{a0}]|$)`)
	lineEnds  = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\ufffd")
	// parsers see a text as GitHub does, and as one does that knows no bare
	// addresses: these swallow what stands behind them, and parsers do not
	// agree how much. What is said is said in both.
	parsers = [...]goldmark.Markdown{
		goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)),
		goldmark.New(goldmark.WithExtensions(extension.Table, extension.Footnote)),
	}
)

// mentions finds the lines of body that begin with the command word, in order,
// and what a reader sees of each.
func mentions(body string) []mention {
	if !strings.Contains(body, Prefix) {
		return nil
	}
	var out []mention
	for _, f := range mentioned.FindAllStringSubmatchIndex(body, -1) {
		out = append(out, mention{start: f[0], at: f[2], end: f[3], said: true})
	}
	if len(out) == 0 {
		return nil
	}
	if tangled(body) { //control:tangled-text
		for i := range out {
			out[i].said, out[i].where = false, "a text that is nested too deeply to be read"
		}
		return out
	}
	for _, p := range parsers {
		r := reading{body: body, list: slices.Clone(out)}
		for i := range r.list {
			r.list[i].said, r.list[i].where = false, unseen
		}
		r.walk(p.Parser().Parse(text.NewReader([]byte(body))), "")
		for i, m := range r.list {
			if !m.said && (out[i].said || !out[i].asks()) {
				out[i] = m
			}
		}
	}
	l := layOut(body)
	for i := range out {
		out[i].doubt(l)
	}
	inMail(body, out)
	return out
}

var (
	deep = regexp.MustCompile(`(?m)^(?:[ \t]*(?:>|(?:[*+-]|\d+[.)])[ \t]+)){17}|^[ \t]{80,}(?:[*+-]|\d+[.)])[ \t]`)
	wide = regexp.MustCompile(`(?m)^[ \t>:|-]*(?:\|[ \t:-]*-[ \t:-]*){65}`)
)

// tangled reports whether a text would take a parser seconds. Nobody writes so.
func tangled(body string) bool {
	return deep.MatchString(body) || wide.MatchString(body) || strings.Count(body, "](") > 500 || strings.Count(body, "]:") > 1000
}

// Places where nobody takes a line for a command.
const (
	inCode   = "code"
	unseen   = "nowhere"
	inQuotes = "a quotation"
)

// inHTML is where a reader sees a line, or does not: parsers do not agree.
const inHTML = "HTML"

var places = map[ast.NodeKind]string{
	ast.KindCodeBlock: inCode, ast.KindFencedCodeBlock: inCode, ast.KindCodeSpan: inCode, ast.KindBlockquote: inQuotes,
	ast.KindList: "a list", ast.KindHeading: "a heading", tables.KindTable: "a table",
	ast.KindLink: "a link", ast.KindImage: unseen, tables.KindFootnoteList: "a footnote", ast.KindEmphasis: "emphasis", tables.KindStrikethrough: "struck text",
}

// reading is one parser's view of a text.
type reading struct {
	body string
	list []mention
	html tags
}

// walk looks through a node that stands at a place, "" for nothing but paragraphs.
func (r *reading) walk(n ast.Node, place string) {
	if p := places[n.Kind()]; p != "" && place != inCode && place != unseen {
		place = p
	}
	open := len(r.html.open)
	switch n := n.(type) {
	case *ast.Text:
		r.place(n.Segment, place)
	case *ast.RawHTML:
		r.markup(n.Segments, place)
		if at := n.Segments.At(0); inWords.MatchString(r.body[at.Start:at.Stop]) {
			return // the paragraph's end tells whether it is closed
		}
	case *ast.HTMLBlock:
		lines := *n.Lines()
		if n.HasClosure() {
			lines.Append(n.ClosureLine)
		}
		r.markup(&lines, place)
		return
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
			r.place(line, place)
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.walk(c, place)
	}
	if len(r.html.open) != open {
		r.html.broken = true // what opens in one block and ends in another is nobody's tree
	}
}

// markup follows HTML that is written at lines.
func (r *reading) markup(lines *text.Segments, place string) {
	var b strings.Builder
	for _, line := range lines.Sliced(0, lines.Len()) {
		b.WriteString(r.body[line.Start:line.Stop])
	}
	switch {
	case place == inCode:
	case strings.HasPrefix(strings.TrimLeft(b.String(), " "), "<!--"):
		place = unseen
	default:
		place = inHTML
	}
	for _, line := range lines.Sliced(0, lines.Len()) {
		r.place(line, place)
	}
	r.html.read(b.String())
}

// place notes where the mentions in a segment stand.
func (r *reading) place(at text.Segment, place string) {
	switch {
	case place != "":
	case slices.Contains(r.html.open, "details"):
		place = "a folded part"
	case r.html.broken || len(r.html.open) > 0: //control:inside-html
		place = inHTML
	}
	first := sort.Search(len(r.list), func(i int) bool { return r.list[i].at >= at.Start })
	for i := first; i < len(r.list) && r.list[i].at < at.Stop; i++ {
		m := &r.list[i]
		m.said, m.where = place == "", place //control:said-in-a-paragraph
	}
}

// tags follows HTML through a text. Where it is not balanced in the simplest
// way, parsers disagree about what comes behind it.
type tags struct {
	open   []string
	broken bool
}

var (
	token = regexp.MustCompile(`^(?:<!--(?s:.*?)-->|<(/?)([a-zA-Z][a-zA-Z0-9-]*)((?:\s+[a-zA-Z_:][\w.:-]*(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'=<>` + "`" + `]+))?)*)\s*(/?)>|[^<]+)`)
	void  = []string{"area", "br", "col", "hr", "img", "input", "wbr"}
	// inWords is a tag of an element that stands among words and does not end
	// their paragraph.
	inWords = regexp.MustCompile(`^(?i)</?(?:a|b|i|em|strong|kbd|sub|sup|del|s|ins|samp|tt|var|q|abbr|mark|small|cite|dfn|span)[\s>]`)
	// unlike is elements whose content browsers read in another way.
	unlike = []string{"script", "style", "title", "textarea", "plaintext", "xmp", "iframe", "noembed", "noframes", "noscript", "svg", "math", "template", "select", "option", "html", "head", "body", "frameset", "form", "button"}
)

// read follows one piece of HTML.
func (t *tags) read(piece string) {
	for piece != "" && !t.broken {
		m := token.FindStringSubmatch(piece)
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
		case name == "" || m[1] == "" && slices.Contains(void, name):
		case slices.Contains(unlike, name) || m[4] != "":
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

var (
	// swallowing is an address that may take with it what keeps HTML from
	// beginning, and takesTick one that may take what begins code.
	swallowing = regexp.MustCompile(`(?:://|www\.)[^ \t\n]*\\|<[^ \t\n>]*@[^ \t\n>]*<|\]:[ \t]*\n?[ \t]*<[^>\n]*<`)
	takesTick  = regexp.MustCompile("(?:://|www\\.)[^ \\t\\n]*`")
	footnote   = regexp.MustCompile(`\[\^[^\]\n]*\]:`)
	// unplain is what makes it uncertain whether a paragraph goes on: marks
	// of lists, quotations and footnotes, tables, control characters.
	unplain = regexp.MustCompile(`(?m)^[ \t]*(?:[-*+>]|\d+[.)])(?:[ \t]|$)|^[ \t]*<[^!]|\[\^|[\x00-\x08\x0b-\x1f]|^[ \t|:-]*[|:][ \t|:-]*-[ \t|:-]*$|^[ \t|:-]*-[ \t|:-]*[|:][ \t|:-]*$`)
	// tagLike is what one parser may take for HTML, and another for words.
	tagLike = regexp.MustCompile(`<[a-zA-Z/?]|<!\[|<![a-zA-Z]`)
	// rawLine begins a block of HTML, whose end is another for each parser.
	rawLine   = regexp.MustCompile(`(?mi)^[ \t>*+-]*<(?:textarea|/(?:script|style|pre|textarea))[ \t>]`)
	blankLine = regexp.MustCompile(`\n[ \t]*\n`)
)

// layout is where in a text those things stand that make lines behind them
// doubtful. It is made once, so that a text of many lines is read in no time.
type layout struct {
	body       string
	paragraphs []paragraph
	swallowing int // end of the first of these, past the text when there is none
	footnote   int
	raw        int
}

// paragraph is a part of a text between two empty lines, with the ends of what
// is first in it and the place of the last formula mark.
type paragraph struct{ start, unplain, formula, lastFormula, tick, tag int }

func layOut(body string) layout {
	l := layout{body: body, swallowing: endOf(swallowing, body, 0), footnote: endOf(footnote, body, 0), raw: endOf(rawLine, body, 0)}
	start := 0
	for _, gap := range append(blankLine.FindAllStringIndex(body, -1), []int{len(body), len(body)}) {
		text := body[start:gap[0]]
		p := paragraph{start: start, unplain: endOf(unplain, text, start), formula: len(body) + 1, lastFormula: start + strings.LastIndex(text, "$"), tick: tickTaken(text, start), tag: endOf(tagLike, text, start)}
		if i := strings.Index(text, "$"); i >= 0 {
			p.formula = start + i
		}
		l.paragraphs, start = append(l.paragraphs, p), gap[1]
	}
	return l
}

// endOf is where the first match in a text ends that begins at a place.
func endOf(re *regexp.Regexp, text string, start int) int {
	if at := re.FindStringIndex(text); at != nil {
		return start + at[1]
	}
	return math.MaxInt
}

// tickTaken is where the first address ends that may take a backtick. One in
// code takes none: the code began before it.
func tickTaken(text string, start int) int {
	ticks, done := 0, 0
	for _, at := range takesTick.FindAllStringIndex(text, -1) {
		if ticks += strings.Count(text[done:at[0]], "`"); ticks%2 == 0 {
			return start + at[1]
		}
		done = at[0]
	}
	return math.MaxInt
}

// around is the paragraph in which a place is.
func (l layout) around(at int) paragraph {
	i := sort.Search(len(l.paragraphs), func(i int) bool { return l.paragraphs[i].start > at })
	return l.paragraphs[i-1]
}

// doubt looks at what a tree does not tell: parsers agree about plain words,
// and not always about what stands around them.
func (m *mention) doubt(l layout) {
	p := l.around(m.start)
	prefix := l.body[m.start:m.at]
	switch {
	case strings.Contains(prefix, ">"):
		m.said, m.where = false, inQuotes // and marked as one
	case !m.said && m.where == inQuotes:
		m.where += " (a line counts to the quotation above it when no empty line stands between them)"
	case (m.where == inCode || m.where == unseen) && l.raw <= m.start,
		m.where == inCode && p.tag <= m.start && strings.TrimLeft(prefix, " \t") == "" && len(prefix) > 0:
		m.said, m.where = false, inHTML
	case !m.said && m.where != unseen:
	case p.unplain <= m.start || l.footnote <= m.start:
		m.said, m.where = false, "a paragraph that may belong to what stands above it"
	case !m.said:
	case strings.TrimLeft(prefix, " \t") != "":
		m.said, m.where = false, "a line that begins with something else"
	case p.formula < m.start && p.lastFormula >= m.end:
		m.said, m.where = false, "what may be a formula"
	case l.swallowing <= m.start || p.tick <= m.start:
		m.said, m.where = false, "a text whose addresses may reach further than it seems"
	}
}

// asks reports whether somebody may have meant a line as a command that is
// none.
func (m mention) asks() bool {
	return !m.said && m.where != inCode && m.where != unseen && m.where != inQuotes
}

var (
	attribution = regexp.MustCompile(`(?mi)^[ \t]*(?:(?:on|am|le|el|il|em|op|den|w dniu)\b[^\n]{4,200}(?:\n[^\n]{0,200})?(?:wrote|schrieb[^\n]{0,80}|a écrit|escribió|ha scritto|escreveu|schreef[^\n]{0,80}|skrev[^\n]{0,80}|napisał\(?a?\)?)[ \t\x{a0}]*:|-{2,}[^\n\w]*(?:original|forwarded|ursprüngliche|weitergeleitete|message d)[^\n]{0,60}-{2,}|from:[^\n]+\n(?:sent|date|to):[^\n]+)[ \t]*(?:\n|$)`)
)

// inMail marks what stands in a mail that is quoted without marks, as some mail
// programs do below an answer: all behind the line that says who wrote.
func inMail(text string, list []mention) {
	for _, at := range attribution.FindAllStringIndex(text, -1) {
		if strings.HasPrefix(strings.TrimLeft(text[at[1]:], " \t\n"), ">") {
			continue // the quotation is marked, and ends where its marks end
		}
		answered := false
		for i := range list {
			m := &list[i]
			switch {
			case m.start < at[0]:
				answered = answered || m.said
			case m.said && answered:
				m.said, m.where = false, inQuotes
			case m.said:
				m.said, m.where = false, "a mail that is quoted"
			}
		}
		return
	}
}

// Inert returns text so that nothing in it is read as a command, or taken for
// one that somebody may have meant. Everything else stays.
func Inert(text string) string {
	text = lineEnds.Replace(text)
	var out strings.Builder
	done := 0
	for _, m := range mentions(text) {
		if m.said || m.asks() { //control:own-words-inert
			out.WriteString(text[done:m.at] + `\`)
			done = m.at
		}
	}
	return out.String() + text[done:]
}
