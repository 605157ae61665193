package untrusted

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// seen is the part of a text that a reader of GitHub sees. Quotations are marked as in
// Markdown.
type seen struct {
	text  string   // equivalent Markdown, with code byte for byte
	links []string // link destinations
}

// readPage extracts the visible text from the HTML that GitHub renders.
func readPage(page string) seen {
	root, err := fragment(page)
	if err != nil { // happens only if the HTML is nested too deeply
		return seen{text: leftOutText}
	}
	return read(root)
}

func fragment(page string) (*html.Node, error) {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(strings.NewReader(page), body)
	for _, n := range nodes {
		body.AppendChild(n)
	}
	return body, err
}

func read(root *html.Node) seen {
	var w reader
	w.inside(root)
	w.end(false)
	text := strings.TrimRightFunc(w.out.String(), func(r rune) bool { return r == '\n' || r == ' ' })
	return seen{text: text, links: w.links}
}

// Marks represent Markdown in a line until its neighbors are known. They are
// noncharacters, which occur in no text. A mark with an odd offset ends the previous
// kind.
const (
	codeMark rune = 0xFDD0 + 2*iota
	strongMark
	emphasisMark
	strikeMark
	imageMark
	lastMark rune = 0xFDDF
)

var markOf = map[atom.Atom]rune{
	atom.Code: codeMark, atom.Tt: codeMark, atom.Strong: strongMark, atom.B: strongMark,
	atom.Em: emphasisMark, atom.I: emphasisMark,
	atom.Del: strikeMark, atom.S: strikeMark, atom.Strike: strikeMark,
}

func isMark(r rune) bool { return r >= codeMark && r <= lastMark }

func dropMarks(s string) string {
	return strings.Map(func(r rune) rune {
		if isMark(r) {
			return -1
		}
		return r
	}, s)
}

// reader converts a page to text: Markdown that shows the same, without hidden parts.
type reader struct {
	out    strings.Builder
	line   strings.Builder // text of the next block
	lists  []int           // number of the next item of each open list, 0 if unordered
	quotes int
	last   int    // quotation depth of the previous line
	marker string // marker of the item that begins
	blank  bool   // an empty line is pending
	lang   string // language of the next code block
	cells  int    // number of cells in the row
	header bool   // the row is a header
	links  []string
}

func (w *reader) inside(n *html.Node) {
	for c := range n.ChildNodes() {
		w.node(c)
	}
}

// node reads one node. Classes and styles are GitHub's own, because texts cannot have
// any.
func (w *reader) node(n *html.Node) {
	class := " " + attr(n, "class") + " "
	has := func(name string) bool { return strings.Contains(class, " "+name+" ") }
	switch {
	case n.Type == html.TextNode:
		if n.Parent.DataAtom != atom.Tr && n.Parent.DataAtom != atom.Table || strings.TrimSpace(n.Data) != "" {
			w.line.WriteString(dropMarks(n.Data))
		}
		return
	case n.Type != html.ElementNode, has("sr-only"), has("data-footnote-backref"):
		return
	case has("email-hidden-reply"):
		w.folded(n)
		return
	case has("email-quoted-reply"):
		w.quotation(n)
		return
	case has("js-suggested-changes-blob"):
		w.suggestion(n)
		return
	case has("highlight"):
		_, lang, _ := strings.Cut(class, " highlight-")
		w.lang = language(strings.TrimPrefix(strings.TrimPrefix(lang, "source-"), "text-"))
	}
	if m := markOf[n.DataAtom]; m != 0 {
		w.line.WriteRune(m)
		w.inside(n)
		w.line.WriteRune(m + 1)
		return
	}
	w.element(n)
}

func attr(n *html.Node, name string) string {
	value, _ := lookup(n, name)
	return value
}

func lookup(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func (w *reader) element(n *html.Node) {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Svg:
	case atom.Br:
		w.line.WriteByte('\n')
	case atom.Img:
		w.line.WriteRune(imageMark)
	case atom.Input:
		if _, checked := lookup(n, "checked"); attr(n, "type") == "checkbox" {
			w.line.WriteString(map[bool]string{true: "[x]", false: "[ ]"}[checked])
		}
	case atom.Hr:
		w.end(true)
		w.put("---")
		w.blank = true
	case atom.A:
		if to := attr(n, "href"); to != "" && !strings.HasPrefix(to, "#") {
			w.links = append(w.links, to)
		}
		w.inside(n)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.end(true)
		w.line.WriteString(strings.Repeat("#", int(n.Data[1]-'0')) + " ")
		w.inside(n)
		w.end(true)
	case atom.P, atom.Dl, atom.Figure, atom.Table:
		w.block(n, true)
	case atom.Blockquote:
		w.quotation(n)
	case atom.Pre:
		w.code(n)
	case atom.Ul, atom.Ol:
		w.list(n)
	case atom.Li:
		w.item(n)
	case atom.Tr:
		w.row(n)
	case atom.Td, atom.Th:
		w.cell(n)
	case atom.Details:
		if _, open := lookup(n, "open"); open {
			w.block(n, true)
			return
		}
		w.folded(n)
	case atom.Div, atom.Dt, atom.Dd, atom.Summary, atom.Section, atom.Article, atom.Address, atom.Aside, atom.Footer,
		atom.Header, atom.Hgroup, atom.Nav, atom.Caption, atom.Figcaption, atom.Thead, atom.Tbody, atom.Tfoot,
		atom.Center, atom.Fieldset, atom.Form, atom.Main, atom.Option:
		w.block(n, false)
	default:
		w.inside(n)
	}
}

// block reads a block-level element, surrounded by empty lines if blank is set.
func (w *reader) block(n *html.Node, blank bool) {
	w.end(blank)
	w.inside(n)
	w.end(blank)
}

// end finishes a block.
func (w *reader) end(blank bool) {
	text := resolve(w.line.String())
	w.line.Reset()
	wrote := false
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.Trim(line, " \t\r"); line != "" {
			w.put(line)
			wrote = true
		}
	}
	w.blank = w.blank || blank && (wrote || w.out.Len() > 0)
}

// put writes one line with its list indent and marker.
func (w *reader) put(line string) {
	w.next()
	if n := len(w.lists); n > 0 {
		indent := 2 * n
		if w.marker != "" {
			indent -= 2
		}
		w.out.WriteString(strings.Repeat(" ", indent) + w.marker)
		w.marker = ""
	}
	w.out.WriteString(line)
}

// next begins a line, after an empty line if one is pending.
func (w *reader) next() {
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
		if w.blank {
			w.out.WriteString(strings.TrimSpace(strings.Repeat("> ", min(w.quotes, w.last))) + "\n")
		}
	}
	w.blank, w.last = false, w.quotes
	w.out.WriteString(strings.Repeat("> ", w.quotes))
}

func (w *reader) quotation(n *html.Node) {
	w.end(true)
	w.quotes++
	w.inside(n)
	w.end(true)
	w.quotes--
}

// folded marks text that readers see only after a click.
func (w *reader) folded(n *html.Node) {
	w.end(true)
	w.put("[collapsed text]")
	w.inside(n)
	w.end(true)
	w.put("[end of the collapsed text]")
	w.blank = true
}

// code writes a code block unchanged, at the left margin of its quotation, between fences
// that it cannot close.
func (w *reader) code(n *html.Node) {
	w.end(true)
	lang := w.lang
	w.lang = ""
	var text strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode:
			text.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			text.WriteByte('\n')
		case c.DataAtom == atom.Code && lang == "":
			lang = language(strings.TrimPrefix(attr(c, "class"), "language-"))
		}
	}
	if lang == "" {
		lang = language(attr(n, "lang"))
	}
	w.fenced(lang, text.String())
}

// suggestion writes a suggested change, which GitHub shows as a table of removed and added
// lines, as a diff.
func (w *reader) suggestion(n *html.Node) {
	w.end(true)
	var diff strings.Builder
	for cell := range n.Descendants() {
		sign := ""
		for _, class := range strings.Fields(attr(cell, "class")) {
			sign += map[string]string{"blob-code-deletion": "-", "blob-code-addition": "+"}[class]
		}
		if sign == "" {
			continue
		}
		var text strings.Builder
		for c := range cell.Descendants() {
			if c.Type == html.TextNode {
				text.WriteString(c.Data)
			}
		}
		diff.WriteString(sign + strings.Trim(text.String(), "\r\n") + "\n")
	}
	w.put("Suggested change:")
	w.fenced("diff", diff.String())
}

// fenced writes a code block.
func (w *reader) fenced(lang, code string) {
	code = strings.TrimSuffix(dropMarks(code), "\n")
	if code == "" {
		return
	}
	if w.marker != "" {
		w.put("")
	}
	fence := strings.Repeat("`", max(3, longestRun(code)+1))
	for line := range strings.SplitSeq(fence+lang+"\n"+code+"\n"+fence, "\n") {
		w.next()
		w.out.WriteString(line)
	}
	w.blank = true
}

// longestRun returns the length of the longest run of backticks.
func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

func (w *reader) list(n *html.Node) {
	w.end(len(w.lists) == 0)
	next := 0
	if n.DataAtom == atom.Ol {
		start, err := strconv.Atoi(attr(n, "start"))
		next = 1
		if err == nil {
			next = max(1, start)
		}
	}
	w.lists = append(w.lists, next)
	w.inside(n)
	w.end(false)
	w.lists, w.marker = w.lists[:len(w.lists)-1], ""
	w.blank = len(w.lists) == 0
}

func (w *reader) item(n *html.Node) {
	w.end(false)
	if k := len(w.lists); k > 0 {
		w.marker = "- "
		if next := w.lists[k-1]; next > 0 {
			w.marker = strconv.Itoa(next) + ". "
			w.lists[k-1]++
		}
	}
	w.inside(n)
	w.end(false)
	w.marker = ""
}

func (w *reader) row(n *html.Node) {
	w.end(false)
	w.cells, w.header = 0, false
	w.inside(n)
	if w.cells > 0 {
		w.line.WriteString(" |")
	}
	w.end(false)
	if w.header {
		w.put(strings.Repeat("|---", min(w.cells, 1000)) + "|")
	}
	w.cells, w.header = 0, false
}

func (w *reader) cell(n *html.Node) {
	w.cells++
	w.header = w.header || n.DataAtom == atom.Th
	if w.cells > 1 {
		w.line.WriteByte(' ')
	}
	w.line.WriteString("| ")
	w.inside(n)
}

// languages are the language names allowed after a fence. Readers do not see that word,
// so all others are dropped.
const languages = " bash c clojure console cpp cs csharp css cxx dart diff docker dockerfile elixir erlang fsharp go golang " +
	"graphql groovy haskell hcl html ini java javascript js json jsonc jsx julia kotlin latex less lisp log " +
	"lua make makefile markdown md mermaid nginx nix objc ocaml patch perl php plaintext powershell proto " +
	"protobuf ps1 py python r rb ruby rs rust sass scala scss sh shell sql suggestion svelte swift terraform " +
	"tex text toml ts tsx txt typescript vb vim vue xml yaml yml zig zsh "

// language returns the first word of a class if it is the name of a language, or "".
func language(class string) string {
	name, _, _ := strings.Cut(strings.ToLower(class), " ")
	name, _, _ = strings.Cut(name, "-") // html-basic
	if name = strings.Replace(name, "c++", "cpp", 1); name != "" && strings.Contains(languages, " "+name+" ") {
		return name
	}
	return ""
}

// resolve converts the marks of a block to Markdown if they are at word boundaries.
// Inside a word, they would change the visible text, and are dropped.
func resolve(s string) string {
	if !strings.ContainsFunc(s, isMark) {
		return s
	}
	rs := []rune(s)
	shows := make(map[int]string)
	open := map[rune][]int{}
	for i, r := range rs {
		switch {
		case r == imageMark:
			if !wordAt(rs, i, -1) || !wordAt(rs, i, 1) {
				shows[i] = "[image]"
			}
		case r < codeMark || r >= imageMark:
		case (r-codeMark)%2 == 0:
			open[r] = append(open[r], i)
		default:
			n := len(open[r-1])
			if n == 0 { // it began in another block
				continue
			}
			from := open[r-1][n-1]
			open[r-1] = open[r-1][:n-1]
			inner := string(rs[from+1 : i])
			if !wordAt(rs, from, -1) && !wordAt(rs, i, 1) && strings.TrimSpace(dropMarks(inner)) != "" {
				shows[from], shows[i] = delimiters(r-1, inner)
			}
		}
	}
	var b strings.Builder
	for i, r := range rs {
		if isMark(r) {
			b.WriteString(shows[i])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// delimiters returns the Markdown delimiters before and after a text.
func delimiters(mark rune, text string) (before, behind string) {
	switch mark {
	case strongMark:
		return "**", "**"
	case emphasisMark:
		return "*", "*"
	case strikeMark:
		return "~~", "~~"
	}
	run := longestRun(text)
	if run == 0 {
		return "`", "`"
	}
	ticks := strings.Repeat("`", run+1)
	return ticks + " ", " " + ticks
}

// wordAt reports whether the next character from i in the direction of step, ignoring
// marks, belongs to a word.
func wordAt(rs []rune, i, step int) bool {
	for i += step; i >= 0 && i < len(rs); i += step {
		if r := rs[i]; !isMark(r) {
			return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		}
	}
	return false
}
