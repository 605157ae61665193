package visible

import (
	"strconv"
	"strings"
	"unicode"
)

// Marks stand for Markdown in a line until it is known what stands beside them.
// They are no characters of any text. A mark at an odd place ends what the one
// before it begins.
const (
	codeMark rune = 0xFDD0 + 2*iota
	strongMark
	emphasisMark
	strikeMark
	imageMark
	nothing        // stands for a byte that is no character
	parenMark      // stands for a parenthesis, see [closed]
	lastMark  rune = 0xFDDF
)

var markOf = map[string]rune{
	"code": codeMark, "tt": codeMark, "strong": strongMark, "b": strongMark, "em": emphasisMark, "i": emphasisMark,
	"del": strikeMark, "s": strikeMark, "strike": strikeMark,
}

// writer makes text of what a reader sees: Markdown where that shows the same,
// without what is not seen.
type writer struct {
	out    strings.Builder
	line   strings.Builder // what will be the next block
	lists  []int           // number of the next item of each open list, 0 without numbers
	quotes int
	last   int    // quotes around the line before
	marker string // of the item that begins
	blank  bool   // an empty line is due
	pre    bool   // the line is code, byte for byte
	lang   string // of that code
	cells  int    // of the row, at most
	header bool   // the row is a header
	hidden int    // collapsed blocks
	words  int    // behind fences, that are no language
	opened []bool // whether each open details element is collapsed
}

func (w *writer) text(s string) {
	w.line.WriteString(dropMarks(strings.NewReplacer(string(parenMark), "(", string(parenMark+1), ")").Replace(s)))
}

// end finishes a block. Paragraphs and the like have an empty line between them.
func (w *writer) end(blank bool) {
	text := w.line.String()
	w.line.Reset()
	if w.pre {
		w.code(text)
		return
	}
	text = resolve(text)
	wrote := false
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.Trim(line, " \t"); line != "" {
			w.put(line)
			wrote = true
		}
	}
	w.blank = w.blank || blank && (wrote || w.out.Len() > 0)
}

// put writes one line with what stands before it.
func (w *writer) put(line string) {
	w.next(w.quotes)
	w.out.WriteString(strings.Repeat("> ", w.quotes))
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

// next begins a line inside so many quotes, after an empty one when that is due.
func (w *writer) next(quotes int) {
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
		if w.blank {
			w.out.WriteString(strings.TrimSpace(strings.Repeat("> ", min(quotes, w.last))) + "\n")
		}
	}
	w.blank, w.last = false, quotes
}

// code writes a block of code as it is, at the left margin, between fences that it
// cannot close.
func (w *writer) code(text string) {
	w.pre = false
	text = dropMarks(text)
	if text == "" {
		return
	}
	if w.marker != "" {
		w.put("")
	}
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	w.next(0)
	w.out.WriteString(fence + w.lang + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence)
	w.lang, w.blank = "", true
}

func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
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

// tag writes what a tag shows by itself.
func (w *writer) tag(t tag) {
	if w.pre {
		w.preTag(t)
		return
	}
	if m := markOf[t.name]; m != 0 {
		if t.end {
			m++
		}
		w.line.WriteRune(m)
		return
	}
	switch t.name {
	case "br":
		w.line.WriteByte('\n')
	case "img":
		w.line.WriteRune(imageMark)
	case "hr":
		w.end(true)
		w.put("---")
		w.blank = true
	case "p", "dl", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "table", "blockquote", "ul", "ol":
		w.block(t)
	case "pre":
		w.end(true)
		w.pre = !t.end
	case "li":
		w.item(t)
	case "tr", "td", "th":
		w.row(t)
	case "details":
		w.details(t)
	case "div", "dt", "dd", "summary", "section", "article", "address", "aside", "footer", "header", "hgroup", "nav", "caption",
		"figcaption", "thead", "tbody", "tfoot", "center", "fieldset", "form", "main", "option":
		w.end(false)
	}
}

// preTag handles a tag in a block of code.
func (w *writer) preTag(t tag) {
	switch {
	case t.name == "pre" && t.end:
		w.end(true)
	case t.name == "code" && !t.end:
		class, _ := t.attr("class")
		if w.lang = language(class); w.lang == "" && class != "" {
			w.words++
		}
	case t.name == "br":
		w.line.WriteByte('\n')
	}
}

// block begins or ends a block that has an empty line around it.
func (w *writer) block(t tag) {
	w.end(len(w.lists) == 0 || t.name != "ul" && t.name != "ol")
	step := 1
	if t.end {
		step = -1
	}
	switch {
	case t.name == "blockquote":
		w.quotes = max(0, w.quotes+step)
	case (t.name == "ul" || t.name == "ol") && !t.end:
		next := 0
		if t.name == "ol" {
			next = 1
			if start, ok := t.attr("start"); ok {
				if n, err := strconv.Atoi(start); err == nil && n >= 0 {
					next = max(1, n)
				}
			}
		}
		w.lists = append(w.lists, next)
	case t.name == "ul" || t.name == "ol":
		w.lists, w.marker = w.lists[:max(0, len(w.lists)-1)], ""
		w.blank = len(w.lists) == 0
	case len(t.name) == 2 && t.name[0] == 'h' && !t.end:
		w.line.WriteString(strings.Repeat("#", int(t.name[1]-'0')) + " ")
	}
}

func (w *writer) item(t tag) {
	w.end(false)
	w.marker = ""
	n := len(w.lists)
	if t.end || n == 0 {
		return
	}
	w.marker = "- "
	if next := w.lists[n-1]; next > 0 {
		w.marker = strconv.Itoa(next) + ". "
		w.lists[n-1]++
	}
}

func (w *writer) row(t tag) {
	switch {
	case t.name == "tr" && !t.end:
		w.end(false)
		w.cells, w.header = 0, false
	case t.name == "tr":
		if w.cells > 0 {
			w.line.WriteString(" |")
		}
		w.end(false)
		if w.header {
			w.put(strings.Repeat("|---", min(w.cells, 1000)) + "|")
		}
		w.header, w.cells = false, 0
	case !t.end:
		w.cells++
		w.header = w.header || t.name == "th"
		if w.cells > 1 {
			w.line.WriteByte(' ')
		}
		w.line.WriteString("| ")
	}
}

// details marks text that a reader sees after a click.
func (w *writer) details(t tag) {
	w.end(true)
	if n := len(w.opened); t.end && n > 0 {
		if w.opened[n-1] {
			w.put("[end of the collapsed text]")
			w.blank = true
		}
		w.opened = w.opened[:n-1]
		return
	}
	if t.end {
		return
	}
	collapsed := !strings.Contains(strings.ToLower(t.raw), " open")
	w.opened = append(w.opened, collapsed)
	if collapsed {
		w.hidden++
		w.put("[collapsed text]")
	}
}

// languages are the names of languages that may stand behind a fence. A reader does
// not see that word, so no other passes.
const languages = " bash c clojure console cpp cs csharp css cxx dart diff docker dockerfile elixir erlang fsharp go golang graphql groovy haskell hcl html ini " +
	"java javascript js json jsonc jsx julia kotlin latex less lisp log lua make makefile markdown md mermaid nginx nix objc ocaml patch perl php plaintext " +
	"powershell proto protobuf ps1 py python r rb ruby rs rust sass scala scss sh shell sql suggestion svelte swift terraform tex text toml ts tsx txt " +
	"typescript vb vim vue xml yaml yml zig zsh "

func language(class string) string {
	name := strings.ToLower(strings.TrimPrefix(class, "language-"))
	if name != "" && strings.Contains(languages, " "+name+" ") {
		return name
	}
	return ""
}

// resolve writes the marks of a block as Markdown where they stand between words.
// Inside a word they would change what a reader reads, and go.
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
			if n == 0 {
				continue
			}
			from := open[r-1][n-1]
			open[r-1] = open[r-1][:n-1]
			if !wordAt(rs, from, -1) && !wordAt(rs, i, 1) && i > from+1 {
				shows[from], shows[i] = delimiters(r-1, string(rs[from+1:i]))
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

// delimiters returns what stands before and behind a text in Markdown.
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

// wordAt reports whether the next character of the text from i on, in the direction
// of step, belongs to a word.
func wordAt(rs []rune, i, step int) bool {
	for i += step; i >= 0 && i < len(rs); i += step {
		if r := rs[i]; !isMark(r) {
			return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		}
	}
	return false
}

// whole returns what was written.
func (w *writer) whole() string {
	w.end(false)
	return strings.TrimRightFunc(w.out.String(), func(r rune) bool { return r == '\n' || r == ' ' })
}
