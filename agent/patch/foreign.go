package patch

import (
	"fmt"
	"html"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/agent/patch/compare"
)

// addition is a stretch of lines that an edit puts into a file, and what it takes out
// there.
type addition struct {
	name      string
	file      *ground
	old, add  []string
	was, is   int // index of the first of them, in the old text and in the new
	shrinking bool
	quoted    map[int]bool // lines of the new text that stand between fences
}

// ground is what the text of a file has of itself before an edit.
type ground struct {
	lines                            []string
	had                              map[string]bool
	fences, pluses, numbers, odd     bool
	entities, markup, escapes, steps bool
	typeset, seals                   bool
}

// Foreign returns an error when an edit writes into a file what is no text of it but a
// part of how edits are sent: a line that stands for others, line numbers, HTML entities
// for signs of code, line ends written as \n, a fence, the first column of a diff, the
// end of a call. What the file had already, or its kind may well have, is its text.
func Foreign(name, before, after string) error {
	old, add := texts(splitText(strings.TrimPrefix(before, compare.BOM))), texts(splitText(strings.TrimPrefix(after, compare.BOM)))
	g := grounds(old)
	a := addition{name: name, file: g, quoted: between(add)}
	at, gone := 0, 0 // lines of the new text so far, and of the old
	check := func() error {
		defer func() { a.old, a.add = nil, nil }()
		if len(a.add) == 0 {
			return nil
		}
		a.shrinking = len(a.old) > len(a.add)
		for _, s := range signs {
			i := s.in(a)
			if i >= 0 { //control:foreign-lines
				d := newDocument(before)
				return fmt.Errorf("nothing was changed, because the new line %q %s. The file has there\n%s", cut(strings.TrimSpace(a.add[i])), s.why, strings.TrimSuffix(d.region(a.was, len(a.old)), "Copy whole lines from the file as they are."))
			}
		}
		return nil
	}
	for _, r := range compare.Lines(old, add) {
		switch r.Op {
		case '-':
			if err := check(); err != nil {
				return err
			}
			a.old, a.was, a.is, gone = r.Of(old, add), r.From, at, r.To
		case '+':
			if a.add = r.Of(old, add); len(a.old) == 0 {
				a.was = gone
			}
			a.is, at = at, at+r.To-r.From
		default:
			if err := check(); err != nil {
				return err
			}
			at, gone = at+r.To-r.From, r.To
		}
	}
	return check()
}

// between returns the indexes of lines that stand between code fences.
func between(lines []string) map[int]bool {
	out, open := map[int]bool{}, ""
	for i, s := range lines {
		tick, info, ok := fenceLine(strings.TrimLeft(s, " "))
		switch {
		case ok && open == "":
			open = tick
		case ok && info == "" && strings.HasPrefix(tick, open):
			open = ""
		case open != "":
			out[i] = true
		}
	}
	return out
}

func grounds(lines []string) *ground {
	g := &ground{lines: lines, had: map[string]bool{}}
	indented := 0
	for _, s := range lines {
		g.had[strings.TrimSpace(s)] = true
		_, _, fence := fenceLine(strings.TrimSpace(s))
		g.fences = g.fences || fence
		g.pluses = g.pluses || strings.HasPrefix(s, "+")
		_, _, number := cutColumn(s)
		g.numbers = g.numbers || number
		g.entities = g.entities || strings.Contains(s, "&") && html.UnescapeString(s) != s
		g.markup = g.markup || strings.Contains(s, "</") || strings.Contains(s, "/>")
		g.typeset = g.typeset || strings.ContainsAny(s, "\u201c\u201d\u2018\u2019\u00a0")
		g.seals = g.seals || seal().MatchString(s)
		g.escapes = g.escapes || bareEscape(s) >= 0
		if in := compare.Indent(s); in != "" && len(in) < len(s) {
			indented++
			g.odd = g.odd || oddly(in)
		}
	}
	g.steps = indented > 2 && !g.odd
	return g
}

// signs are what tells that a line is foreign, by its index or -1.
var signs = [...]struct {
	in  func(a addition) int
	why string
}{
	{addition.omission, "stands for text that is left out, and the file would have it instead; send all of the text that is to be there, or change less of it"},
	{addition.shown, "is what Handrail says of a file or of a call, and no text of the file; send the text of the file alone"},
	{addition.callEnd, "has the end of a call in it; send the text of the file alone"},
	{addition.fence, "is a code fence around the text; send the text of the file alone"},
	{addition.numbered, "has a line number in front; send the text without line numbers"},
	{addition.gutters, "has a line number in front, as others beside it; send the text without line numbers"},
	{addition.plus, "has the + of a diff in front; send the text as it is to be in the file"},
	{addition.entity, "has an HTML entity where code has the sign that it stands for; send <, >, & and quotes as they are"},
	{addition.escape, `has \n where a line is to end; send a real end of line for each, or put the \n into quotes where it is text`},
	{addition.escaped, `has \t or \" where a tab or a quote is to be; send the sign itself`},
	{addition.typeset, "has a typographic quote or a space of another kind where code has a plain one; send the plain sign"},
	{addition.oddSpace, "is indented by one space more than anything in the file; send it with the indentation that it is to have"},
}

func (a addition) omission() int {
	if a.kind("diff", "patch") {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool {
		s = strings.TrimSpace(s)
		dots := strings.Contains(s, "...") || strings.Contains(s, "…")
		return s != "" && (a.shrinking || dots) && !a.file.had[s] && len(a.file.lines) > 0 && standsForText(s, a.shrinking, path.Ext(a.name))
	})
}

// kind reports whether the file's name says that it is prose or has one of the
// extensions.
func (a addition) kind(extensions ...string) bool {
	return prose(a.name) || slices.Contains(extensions, strings.ToLower(strings.TrimPrefix(path.Ext(a.name), ".")))
}

// ends are how calls of tools and turns of models end.
var ends = []string{"</new_string>", "</old_string>", "</code_edit>", "</new_str>", "</tool_call>", "</function_call>", "</invoke>", "</parameter>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end|>", "[/INST]"}

func (a addition) callEnd() int {
	last := len(a.add) - 1
	for last > 0 && strings.TrimSpace(a.add[last]) == "" {
		last--
	}
	s := strings.TrimSpace(a.add[last])
	if !a.kind() && slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(s, end) }) && !a.file.had[s] {
		return last
	}
	return -1
}

func (a addition) fence() int {
	if a.file.fences || a.kind("diff", "patch") || len(a.add) < 2 {
		return -1
	}
	_, _, opens := fenceLine(a.add[0])
	_, info, shuts := fenceLine(a.add[len(a.add)-1])
	if opens && shuts && info == "" {
		return 0
	}
	return -1
}

// column is a line number in front of a line, in one of the forms in which tools show it.
var column = lazily(`^\s*([0-9]{1,7})(?: ?[|│] ?|: ?|→|\t|\. )`)

// cutColumn reads a line number and what stands behind it.
func cutColumn(s string) (n int, bar, ok bool) {
	m := column().FindStringSubmatch(s)
	if m == nil {
		return 0, false, false
	}
	n, err := strconv.Atoi(m[1])
	return n, strings.ContainsAny(m[0], "|│→"), err == nil
}

// numbered: numbers that count from the place where the lines are to be, or that rise,
// with a bar behind them.
func (a addition) numbered() int {
	first, _, ok := cutColumn(a.add[0])
	if !ok || a.file.numbers || a.kind("diff", "patch", "csv", "tsv", "log") {
		return -1
	}
	place := first == a.was+1 || first == a.is+1
	for i, s := range a.add {
		n, bar, ok := cutColumn(s)
		if strings.TrimSpace(s) != "" && (!ok || n != first+i || !bar && (len(a.add) < 2 || len(a.file.lines) == 0) || !place && (!bar || len(a.add) < 2)) {
			return -1
		}
	}
	return 0
}

// gutters: line numbers in front of most lines, all of them as far from the line's own.
func (a addition) gutters() int {
	if a.file.numbers || recorded(a.name) || a.kind("csv", "tsv", "html", "htm", "stderr") {
		return -1
	}
	first, off, with, all := -1, 0, 0, 0
	for i, s := range a.add {
		n, bar, ok := cutColumn(s)
		switch {
		case strings.TrimSpace(s) == "":
			continue
		case ok && bar && first < 0:
			first, off, with = i, n-i, 1
		case ok && bar && n-i == off:
			with++
		}
		all++
	}
	if with < 2 || with*2 < all {
		return -1
	}
	return first
}

func (a addition) plus() int {
	if a.file.pluses || a.kind("diff", "patch") || slices.ContainsFunc(a.add, func(s string) bool { return s != "" && s[0] != '+' }) {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool { return len(s) > 1 && s[1] != '+' && telling([]string{s}, 1) })
}

func (a addition) entity() int {
	if a.file.entities || a.file.markup || a.kind("html", "htm", "xml", "svg", "xhtml", "vue", "xsl", "plist", "jsx", "tsx", "php", "erb", "tmpl") {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool {
		named := func(word string) bool { // an address in C, perhaps
			return slices.ContainsFunc(a.file.lines, func(l string) bool { return slices.Contains(strings.FieldsFunc(l, notInName), word) })
		}
		return html.UnescapeString(s) != s && outsideQuotes(s) && !slices.ContainsFunc([]string{"lt", "gt", "amp", "quot", "apos"}, func(w string) bool {
			return strings.Contains(s, "&"+w+";") && named(w)
		}) && slices.ContainsFunc(escapes(), func(e string) bool { return strings.Contains(s, e) })
	})
}

// bareEscape returns the index of a \n outside of quotes, or -1.
func bareEscape(s string) int {
	if !strings.Contains(s, `\n`) {
		return -1
	}
	var quote byte
	for i := 0; i+1 < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && s[i+1] == 'n' && quote == 0:
			return i
		case c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && strings.IndexByte("\"'`/", c) >= 0: // or a regular expression
			quote = c
		}
	}
	return -1
}

// goesOn is how code goes on behind a line's end that is written out; shut how it ends.
var (
	goesOn = lazily(`\\n(?:\\t|\\n|  )`)
	shut   = lazily(`\\n(?:[})\]]|$)`)
)

// escape: a line that is several, with its ends written out. One of them is a line of the
// file, or it goes on as code does.
func (a addition) escape() int {
	if a.file.escapes || path.Ext(a.name) == "" || a.kind("tex", "sty", "bib", "hs", "sh", "bash", "ps1", "bat", "json", "rtf", "sed", "awk", "mk") {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool {
		at, several := bareEscape(s), strings.Count(s, `\n`) > 1
		if at < 0 || !several && leader().MatchString(strings.TrimSpace(s)) {
			return false
		}
		if goesOn().MatchString(s[at:]) || several && shut().MatchString(s[at:]) {
			return true
		}
		return slices.ContainsFunc(strings.Split(s, `\n`), func(part string) bool {
			part = strings.TrimSpace(strings.ReplaceAll(part, `\t`, "\t"))
			return telling([]string{part}, 3) && (a.file.had[part] || slices.Contains(a.old, part))
		})
	})
}

// escaped: a tab or quotes as JSON writes them.
func (a addition) escaped() int {
	if a.file.escapes || path.Ext(a.name) == "" || a.kind("tex", "sty", "bib", "hs", "elm", "php", "sh", "bash", "ps1", "bat", "json", "rtf", "sed", "awk", "mk", "yaml", "yml", "toml") {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool {
		code := unquoted(s)
		return strings.HasPrefix(strings.TrimSpace(s), `\t`) || strings.Count(s, `\"`) > 1 && strings.Contains(code, `\"`)
	})
}

// typeset: quotes as prose has them, or white space that only looks like a space.
func (a addition) typeset() int {
	if a.file.typeset || a.file.markup || a.kind("html", "htm", "xml", "tex", "po", "json", "yaml", "yml", "csv", "tsv", "css") {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool {
		rest := strings.TrimLeftFunc(s, unicode.IsSpace)
		return strings.ContainsAny(s[:len(s)-len(rest)], "\u00a0\u2003\u3000") || strings.ContainsAny(unquoted(s), "\u201c\u201d\u2018\u2019")
	})
}

var comments = lazily(`^(?:#|;|//|--|/\*)`)

// unquoted returns what of a line of code stands outside quotes, up to a comment.
func unquoted(s string) string {
	var out strings.Builder
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\\' && i+1 < len(s):
			out.WriteString(s[i : i+2])
			i++
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case comments().MatchString(s[i:]) || c == '*' && strings.TrimSpace(out.String()) == "":
			return out.String()
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// oddly reports whether an indentation is by a space more than whole steps.
func oddly(in string) bool {
	return strings.HasPrefix(in, " \t") || strings.Trim(in, " ") == "" && len(in)%2 == 1
}

// oddSpace: each line has one space more than whole steps, the first or the last of them
// one more than the line beside it, in a file that has no such line.
func (a addition) oddSpace() int {
	if !a.file.steps || a.kind("html", "htm") {
		return -1
	}
	for _, s := range a.add {
		if rest := strings.TrimLeft(s, " \t"); rest != "" && (!oddly(compare.Indent(s)) || rest[0] == '*') {
			return -1
		}
	}
	beside := func(s string, at int) bool {
		return at >= 0 && at < len(a.file.lines) && compare.Indent(s) == " "+compare.Indent(a.file.lines[at])
	}
	if !beside(a.add[0], a.was-1) && !beside(a.add[len(a.add)-1], a.was+len(a.old)) {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) > 0 })
}
