package untrusted

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted/visible"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

var (
	fenceOpens = pattern.Lazy("^((?: {0,12}(?:>|[-*+]|\\d{1,9}[.)]))* *)(`{3,}|~{3,})([^`]*)$")
	listMark   = pattern.Lazy(`[-*+]|\d{1,9}[.)]`)
	listBegins = pattern.Lazy(`^(?:[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)+`)
	oneMark    = pattern.Lazy(`^(?:[-*+]|\d{1,9}[.)])\t$`)
	footnote   = pattern.Lazy(`(?m)^ {0,3}\[\^[^\]\s]+\]:`)
)

// maxMarkdown is the longest text that is parsed as Markdown, in bytes.
// Longer text is not a GitHub comment.
const maxMarkdown = 256 << 10

// deepQuote is a quotation nested more deeply than anybody writes, and than
// the parser reads in reasonable time.
var deepQuote = strings.Repeat("> ", 64)

// tooSlow reports whether the parser would take unreasonable time. It reads each level
// of a quotation again.
func tooSlow(s string) bool {
	return strings.Contains(s, deepQuote) || strings.Contains(s, strings.ReplaceAll(deepQuote, " ", "")) || visible.ManyLinks(s)
}

// codeOf says of each line of a Markdown text whether it belongs to a code block in
// every reading. It reports false for a text that the parser does not take.
func codeOf(s string) (code []bool, ok bool) {
	if len(s) > maxMarkdown || tooSlow(s) {
		return nil, false
	}
	lines := strings.Split(s, "\n")
	code = make([]bool, len(lines))
	if !strings.Contains(s, "```") && !strings.Contains(s, "~~~") && !strings.Contains(s, "    ") && !strings.Contains(s, "\t") {
		return code, true
	}
	defer func() {
		if recover() != nil {
			code, ok = nil, false
		}
	}()
	src := []byte(s)
	md := goldmark.New(goldmark.WithExtensions(extension.Table))
	doc := md.Parser().Parse(text.NewReader(src))
	r := codeReader{lines: lines, code: code, starts: lineStarts(s)}
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.FencedCodeBlock:
				r.fence(n)
			case *ast.CodeBlock:
				r.indented(n)
			}
		}
		return ast.WalkContinue, nil
	})
	return code, err == nil
}

func lineStarts(s string) []int {
	starts := []int{0}
	for i := range len(s) {
		if s[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// codeReader marks the lines that are code.
type codeReader struct {
	lines  []string
	code   []bool
	starts []int
	last   extent
}

// spaced returns a line with spaces for the tabs that indent it.
func spaced(l string) string {
	text := strings.TrimLeft(l, " \t")
	return strings.Repeat(" ", column(l[:len(l)-len(text)])) + text
}

// column is where the text behind the beginning of a line stands.
func column(begin string) int {
	n := 0
	for _, c := range begin {
		if n++; c == '\t' {
			n = (n + 3) / 4 * 4
		}
	}
	return n
}

// lineOf is the number of the line that holds the byte at i.
func (r *codeReader) lineOf(i int) int {
	k, found := slices.BinarySearch(r.starts, i)
	if !found {
		k--
	}
	return k
}

// fence marks a fenced block, from the line that opens it to the one that closes it.
func (r *codeReader) fence(n *ast.FencedCodeBlock) {
	segments := n.Lines()
	var first, last int // lines of the content
	switch {
	case segments.Len() > 0:
		first, last = r.lineOf(segments.At(0).Start), r.lineOf(segments.At(segments.Len()-1).Start)
	case n.Info != nil:
		first = r.lineOf(n.Info.Segment.Start) + 1
		last = first - 1
	default: // an empty one without a language
		first = r.lineOf(max(0, n.Pos())) + 1
		last = first - 1
	}
	if first == 0 || first > len(r.lines) {
		return
	}
	open := fenceOpens().FindStringSubmatch(spaced(r.lines[first-1]))
	if open == nil || !plainContainers(n) {
		return
	}
	if r.behindTabs(n, first) { //control:tabs-in-lists
		return
	}
	// Where the block is in a list or a quotation depends on columns, so each line
	// must have the same before it, to the one that closes the block.
	before := listMark().ReplaceAllStringFunc(open[1], func(m string) string { return strings.Repeat(" ", len(m)) })
	closes := regexp.MustCompile(`^[ \t>]*` + regexp.QuoteMeta(open[2]) + open[2][:1] + `*[ \t]*$`)
	for _, l := range r.lines[first : last+1] {
		if closes.MatchString(l) || !strings.HasPrefix(spaced(l), before) && strings.TrimRight(l, " ") != strings.TrimRight(before, " ") && l != "" {
			return
		}
	}
	switch {
	case last+1 < len(r.lines) && closes.MatchString(r.lines[last+1]) && endsAlike(spaced(r.lines[last+1]), before):
		last++
	case before != "" || last+1 < len(r.lines):
		return
	}
	for i := first - 1; i <= last; i++ {
		r.code[i] = true
	}
}

// endsAlike reports whether a line ends a block that begins behind the same, whatever
// of that belongs to a list: it is not indented any further.
func endsAlike(line, before string) bool {
	rest, ok := strings.CutPrefix(line, before)
	return ok && (before == "" || !strings.HasPrefix(rest, " ")) //control:fence-ends
}

// plainContainers reports whether a block is in nothing but lists and quotations, and
// in few of them.
func plainContainers(n ast.Node) bool {
	depth := 0
	for p := n.Parent(); p != nil && p.Kind() != ast.KindDocument; p = p.Parent() {
		if k := p.Kind(); k != ast.KindList && k != ast.KindListItem && k != ast.KindBlockquote {
			return false
		}
		depth++
	}
	return depth <= 8
}

// behindTabs reports whether a block, up to a line, is in a list among whose marks are tabs.
func (r *codeReader) behindTabs(n ast.Node, first int) bool {
	if n.Parent().Kind() == ast.KindDocument {
		return false
	}
	at := r.outer(n)
	return at >= 0 && at < first && r.within(at, first).tabs
}

// indented marks a block that is code since it is indented.
func (r *codeReader) indented(n *ast.CodeBlock) {
	segments := n.Lines()
	first, last := r.lineOf(segments.At(0).Start), r.lineOf(segments.At(segments.Len()-1).Start)
	if first > 0 && r.lines[first-1] != "" {
		return
	}
	indent, ok := r.indentOf(n, first)
	if !ok {
		return
	}
	for _, l := range r.lines[first : last+1] {
		if l != "" && column(l[:len(l)-len(strings.TrimLeft(l, " \t"))]) < indent {
			return
		}
	}
	for i := first; i <= last; i++ {
		r.code[i] = true
	}
}

// indentOf returns how far the lines of a block, from one on, must be indented to be code
// in every reading. Only a block behind a paragraph or heading can be, and in a footnote
// it depends on a column.
func (r *codeReader) indentOf(n ast.Node, first int) (indent int, ok bool) {
	inList := n.Parent().Kind() != ast.KindDocument
	before := n.PreviousSibling()
	if before == nil {
		return 4, !inList
	}
	if k := before.Kind(); k != ast.KindParagraph && k != ast.KindHeading || before.Lines().Len() == 0 || !onlyLists(n) {
		return 0, false
	}
	at := r.lineOf(before.Lines().At(0).Start)
	if inList {
		at = r.outer(n)
	}
	if at < 0 || at > first || at > 0 && r.lines[at-1] != "" || strings.HasPrefix(r.lines[at], " ") || strings.HasPrefix(r.lines[at], "\t") {
		return 0, false
	}
	x := r.within(at, first)
	if inList {
		return x.deepest + 4, !x.notes
	}
	return 4, !x.notes
}

// onlyLists reports whether a block is in nothing but lists.
func onlyLists(n ast.Node) bool {
	for n = n.Parent(); n.Kind() != ast.KindDocument; n = n.Parent() {
		if k := n.Kind(); k != ast.KindList && k != ast.KindListItem {
			return false
		}
	}
	return true
}

// outer returns the first line of the outermost list or quotation that a block is in,
// -1 when no text tells.
func (r *codeReader) outer(n ast.Node) int {
	for n.Parent().Kind() != ast.KindDocument {
		n = n.Parent()
	}
	for n != nil && n.Lines().Len() == 0 {
		n = n.FirstChild()
	}
	if n == nil {
		return -1
	}
	return r.lineOf(n.Lines().At(0).Start)
}

// extent is what the lines of a list or quotation hold, up to one.
type extent struct {
	from, to int
	deepest  int  // column at which the text of an item begins: four columns further is code, in whichever item it is
	notes    bool // footnotes, in which that depends on another column
	tabs     bool // among the marks of lists, whose columns parsers count in different ways
}

// within reads the lines of a list or quotation up to one. Blocks come in order, so each
// line is read once.
func (r *codeReader) within(from, to int) extent {
	x := &r.last
	if x.from != from || x.to > to {
		*x = extent{from: from, to: from}
	}
	for ; x.to < to; x.to++ {
		l := r.lines[x.to]
		begin := listBegins().FindString(l)
		if begin != "" && begin[0] != ' ' && begin[0] != '\t' && x.to > 0 && r.lines[x.to-1] == "" {
			x.deepest = 0 // an item at the margin ends all before it
		}
		x.deepest = max(x.deepest, column(begin))
		x.notes = x.notes || footnote().MatchString(l)
		marks := strings.TrimLeft(l[:len(l)-len(strings.TrimLeft(l, " \t>*+-0123456789.)"))], "\t")
		x.tabs = x.tabs || strings.Contains(marks, "\t") && !oneMark().MatchString(marks)
	}
	return *x
}

// plainFences takes from the fences of code the words by which GitHub draws something
// instead of showing it, where links and pictures could be.
func plainFences(code string) string {
	if !strings.Contains(code, "```") && !strings.Contains(code, "~~~") {
		return code
	}
	lines := strings.Split(code, "\n")
	run := "" // that opened the fence
	for i, l := range lines {
		if run != "" {
			if end := strings.Trim(l, " \t>"); len(end) >= len(run) && strings.Trim(end, run[:1]) == "" {
				run = ""
			}
			continue
		}
		m := fenceOpens().FindStringSubmatch(spaced(l))
		if m == nil {
			continue
		}
		run = m[2]
		if word := strings.Fields(html.UnescapeString(m[3])); len(word) > 0 && drawn().MatchString(word[0]) { //control:post-drawings
			space := m[3][:len(m[3])-len(strings.TrimLeft(m[3], " \t"))]
			lines[i] = m[1] + m[2] + space + "text"
		}
	}
	return strings.Join(lines, "\n")
}

// drawn are the words behind a fence that GitHub draws.
var drawn = pattern.Lazy(`^(?i:mermaid|math|geojson|topojson|stl)$`)

// closeFence ends a code fence that the text leaves open, so that text added behind it
// is not shown as code.
func closeFence(s string) string {
	if !strings.Contains(s, "```") && !strings.Contains(s, "~~~") || len(s) > maxMarkdown {
		return s
	}
	tries := []string{""}
	for _, run := range regexp.MustCompile("`{3,}|~{3,}").FindAllString(s, 64) {
		if t := "\n" + run; !slices.Contains(tries, t) {
			tries = append(tries, t)
		}
	}
	for _, t := range tries {
		if endsOpen(s + t) {
			continue
		}
		return s + t
	}
	return asCode(s)
}

// endsOpen reports whether a paragraph written behind s would be code.
func endsOpen(s string) bool {
	src := []byte(s + "\n\nx")
	doc := goldmark.DefaultParser().Parse(text.NewReader(src))
	last := doc.LastChild()
	return last == nil || last.Kind() != ast.KindParagraph
}
