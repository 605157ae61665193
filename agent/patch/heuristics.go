package patch

import (
	"fmt"
	"html"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/gitops/lines"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// definition matches a line that defines something, in many languages: its keyword, the
// receiver of a method in Go, and the name.
var definition = pattern.Lazy(`^[ \t]*(?:(?:abstract|async|const|default|export|final|internal|override|private|` +
	`protected|pub|public|static|void)[ \t]+)*((?:class|def|enum|fn|fun|func|function|impl|interface|module|namespace|` +
	`record|struct|sub|trait|type)[ \t]+(?:\([^)]*\)[ \t]*)?[\pL\pN_$]+)`)

// callable matches a line that defines something in a heading, such as "int main(void)".
var callable = pattern.Lazy(`^[ \t]*([\pL\pN_$][^(]*)\(`)

// defined returns the definition of a line, or "". A heading is the text after @@: there,
// any line with a parenthesis is one.
func defined(line string, heading bool) string {
	m := definition().FindStringSubmatch(line)
	if m == nil && heading {
		m = callable().FindStringSubmatch(line)
	}
	if m == nil {
		return ""
	}
	return collapse(m[1])
}

// checkDefinitions returns an error if the file lacks a definition that the hunk names after
// @@ or in its context. Lines that match anyway are then not the intended ones.
func (p *applier) checkDefinitions(h hunk) error {
	if h.block {
		return nil
	}
	const maxNamed = 50 // lines to check
	named := append([]string{h.section}, h.context()...)
	for i, line := range named[:min(len(named), maxNamed)] {
		name := defined(line, i == 0)
		cutOff := len(line) > 70 && strings.HasSuffix(line, name) // by git, in a long heading
		if name == "" || cutOff || len(definitions(p.doc.lines, name, 1)) > 0 || len(definitions(p.before, name, 1)) > 0 {
			continue
		}
		return p.fault(
			h,
			"is for %q, which is not in the file: the edit was made for another state of it; read the file again",
			strings.TrimSpace(cut(line)),
		)
	}
	return nil
}

// definitions returns the indexes of the first lines with a definition, at most n.
func definitions(lines []line, name string, n int) (out []int) {
	last := name[strings.LastIndexByte(name, ' ')+1:]
	for i, l := range lines {
		if strings.Contains(l.text, last) && defined(l.text, true) == name {
			if out = append(out, i); len(out) == n {
				break
			}
		}
	}
	return out
}

// scope is the region of a definition that may hold a hunk. Matches begin after index
// from and before to.
type scope struct{ from, to int }

// scopes returns the scopes of the definition named by a hunk, in order. There are
// none if the hunk names no definition of the file.
func (p *applier) scopes(h hunk) (out []scope) {
	name := defined(h.section, true)
	if name == "" || h.block {
		return nil
	}
	const tooMany = 21 // too common to be a hint
	found := definitions(p.doc.lines, name, tooMany)
	if len(found) == tooMany {
		return nil
	}
	kind, _, _ := strings.Cut(name, " ")
	for _, s := range found {
		indent := indentOf(p.doc.lines[s].text)
		end := slices.IndexFunc(p.doc.lines[s+1:], func(l line) bool {
			return strings.HasPrefix(defined(l.text, true), kind+" ") && indentOf(l.text) == indent
		})
		if end < 0 {
			end = len(p.doc.lines)
		}
		out = append(out, scope{s - len(h.old()), s + 1 + end}) // the hunk may include the defining line
	}
	return out
}

// within reports whether a region that begins at index at is in one of the scopes.
// Without scopes, every region is.
func within(scopes []scope, at int) bool {
	return len(scopes) == 0 || slices.ContainsFunc(scopes, func(s scope) bool { return at > s.from && at < s.to })
}

// hasRival reports whether a match that is tolerant of white space has a rival: another place at
// which as many lines of the hunk are as it has them.
func (p *applier) hasRival(m match) bool {
	votes := p.votes(m.hunk)
	for at, n := range votes {
		if at != m.at && n > votes[m.at] {
			return true
		}
	}
	return false
}

// votes returns the votes of a hunk's lines. Its line number counts as one.
func (p *applier) votes(h hunk) map[int]int {
	votes := p.doc.votes(h.old(), trailing)
	if said := p.expected(h); said >= 0 {
		votes[said]++
	}
	return votes
}

// votes counts, for each index at which lines could begin, the telling ones that are at their places.
func (d *document) votes(lines []string, level int) map[int]int {
	const maxAlike = 8 // equal lines to count
	where := map[string][]int{}
	for i, text := range lines {
		if k := normal(text, level); len(where[k]) < maxAlike && telling([]string{text}, 3) {
			where[k] = append(where[k], i)
		}
	}
	votes := map[int]int{}
	for i, k := range d.keysAt(level) {
		for _, at := range where[k] {
			votes[i-at]++
		}
	}
	return votes
}

// replaceRange applies a hunk that gives the range of lines to replace instead of
// their text.
func (p *applier) replaceRange(h hunk) error {
	from, to := p.shifted(h.start-1), p.shifted(h.end-1)+1
	if from < 0 || to < from || to > len(p.doc.lines) {
		return p.fault(h, "is for lines %d-%d, but the file has %d lines", h.start, h.end, len(p.doc.lines))
	}
	if why := p.doc.misplacement(h.fresh(), from, to); why != "" {
		return fmt.Errorf(
			"apply edit: with %s, lines %d-%d, %s; are those the lines that are meant? The file has there\n%s",
			p.name(h),
			from+1,
			to,
			why,
			p.doc.region(from, to-from),
		)
	}
	p.put(h, from, to, false)
	return nil
}

// misplacement returns the reason why new lines are unlikely to be meant for lines
// [from, to) of d, or "". They repeat the line before or after, or unbalance
// brackets. An edit without old text gives no other evidence.
func (d *document) misplacement(fresh []string, from, to int) string {
	n := len(fresh)
	if n == 0 {
		return ""
	}
	switch first, last := fresh[0], fresh[n-1]; {
	case d.repeats(first, from-1) && !d.repeats(first, from):
		return "the line before them would be there twice"
	case d.repeats(last, to) && !d.repeats(last, to-1):
		return "the line behind them would be there twice"
	}
	return d.imbalance(fresh, from, to)
}

// repeats reports whether a line with words is the file's line at an index.
func (d *document) repeats(s string, at int) bool {
	return at >= 0 && at < len(d.lines) && s == d.lines[at].text && telling([]string{s}, 3)
}

// imbalance names the bracket left over if lines [from, to) of d became fresh. It
// returns "" if the brackets of d are unbalanced already.
func (d *document) imbalance(fresh []string, from, to int) string {
	if open, left := brackets(texts(d.lines)...); open == 0 || left != 0 {
		return ""
	}
	_, was := brackets(texts(d.lines[from:to])...)
	switch _, is := brackets(fresh...); {
	case is > was:
		return "a bracket { of the file would not be closed"
	case is < was:
		return "there would be one more bracket } than the file opens"
	}
	return ""
}

// brackets counts the opening curly brackets, and those without a closing one.
func brackets(texts ...string) (open, left int) {
	for _, s := range texts {
		open, left = open+strings.Count(s, "{"), left+strings.Count(s, "{")-strings.Count(s, "}")
	}
	return open, left
}

// LeftOver describes the curly brackets that an edit leaves over in a file that was
// balanced, or returns "". It is a hint and not an error: the edit may mean it, or
// the bracket may be in a string.
func LeftOver(name, before, after string) string {
	if open, left := brackets(before); open == 0 || left != 0 || prose(name) {
		return ""
	}
	switch _, left := brackets(after); {
	case left > 0:
		return fmt.Sprintf("The file had as many { as }; now %d of its { have no }. Is that meant?", left)
	case left < 0:
		return fmt.Sprintf("The file had as many { as }; now it has %d } too many. Is that meant?", -left)
	}
	return ""
}

// Limits of the search for a line with a few wrong characters.
const (
	alikeWork = 1 << 22 // pairs of bytes to compare
	alikeLong = 400     // bytes per line
)

// alike returns the line of d with the piece nearest to a line of want, and a
// description of the difference. n is 0 if nothing is near.
func (d *document) alike(want []string) (from, n int, differ string) {
	work := alikeWork
	for _, w := range want {
		w = strings.TrimSpace(w)
		if len(w) > alikeLong || !telling([]string{w}, 3) {
			continue
		}
		best, piece := len(w)/5+1, "" // one character in five may be wrong
		for i, l := range d.lines {
			if len(l.text) > alikeLong || len(l.text)+best < len(w) {
				continue
			}
			if work -= len(w) * len(l.text); work < 0 {
				break
			}
			if p, far := nearPiece(w, l.text, best); far < best {
				best, piece, from = far, p, i
			}
		}
		if piece == w {
			return from, 1, ""
		}
		if piece != "" { //control:wrong-character
			return from, 1, difference(from, []rune(w), []rune(strings.ToValidUTF8(piece, "")))
		}
	}
	return 0, 0, ""
}

// nearPiece returns the piece of line with the smallest edit distance in bytes to w,
// and that distance. The search is limited to distances below limit; otherwise changes
// is limit.
func nearPiece(w, line string, limit int) (piece string, changes int) {
	type cell struct{ cost, start int }
	row := make([]cell, len(w)+1)
	for j := range row {
		row[j].cost = j
	}
	changes = limit
	for i := range len(line) {
		diagonal := row[0]
		row[0] = cell{0, i + 1}
		for j := range len(w) {
			best := diagonal
			if w[j] != line[i] {
				best.cost++
			}
			for _, c := range [...]cell{row[j+1], row[j]} {
				if c.cost+1 < best.cost {
					best = cell{c.cost + 1, c.start}
				}
			}
			diagonal, row[j+1] = row[j+1], best
		}
		if last := row[len(w)]; last.cost < changes {
			changes, piece = last.cost, line[last.start:i+1]
		}
	}
	return piece, changes
}

// difference describes the point at which the sent line and the file's line differ.
func difference(at int, sent, file []rune) string {
	a, b := 0, 0
	for a < min(len(sent), len(file)) && sent[a] == file[a] {
		a++
	}
	for b < min(len(sent), len(file))-a && sent[len(sent)-1-b] == file[len(file)-1-b] {
		b++
	}
	return fmt.Sprintf("Line %d is like it: behind %q the file has %q where you have %q.\n",
		at+1, string(sent[max(0, a-20):a]), string(file[a:len(file)-b]), string(sent[a:len(sent)-b]))
}

// addition is a range of lines that an edit adds to a file, and the lines removed
// there.
type addition struct {
	name     string
	file     []string        // all lines of the file before the edit
	had      map[string]bool // the same without their surrounding white space
	old, add []string
	was, is  int          // index of the first line, in the old text and in the new
	quoted   map[int]bool // lines of the new text between fences
}

// Foreign returns an error if an edit writes artifacts of edit formats into a file: a
// placeholder for other lines, line numbers, HTML entities for code characters, line
// endings written as \n, a fence, the first column of a diff, the end of a tool call.
// Artifacts that the file already had, or that its kind may well have, are
// legitimate.
func Foreign(name, before, after string) error {
	d := newDocument(before)
	old, add := texts(d.lines), texts(newDocument(after).lines)
	a := addition{name: name, file: old, had: trimmedSet(d.lines), quoted: fencedLines(add)}
	unusual := slices.DeleteFunc(slices.Clone(signs[:]), func(s sign) bool {
		return kind(name, s.except) || s.usual != nil && slices.ContainsFunc(old, s.usual)
	})
	for _, span := range lines.Compare(old, add) {
		a.old, a.add, a.was, a.is = old[span.A:span.AEnd], add[span.B:span.BEnd], span.A, span.B
		for _, s := range unusual {
			i := -1
			if len(a.add) > 0 {
				i = s.in(a)
			}
			if i >= 0 { //control:foreign-lines
				return fmt.Errorf(
					"nothing was changed, because the new line %q %s. The file has there\n%s",
					cut(strings.TrimSpace(a.add[i])),
					s.why,
					d.excerpt(a.was, len(a.old)),
				)
			}
		}
	}
	return nil
}

// fencedLines returns the indexes of the lines between code fences.
func fencedLines(lines []string) map[int]bool {
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

// Kinds of files, by extension, that may have lines of other formats: prose, records
// of output, tables; markup; languages in which backslashes are common.
const (
	writing = " md mdx markdown mkd rst txt adoc "
	records = " diff patch log out golden snap txtar expected stderr csv tsv "
	markup  = " html htm xml svg xhtml vue xsl plist jsx tsx php erb tmpl "
	escaped = " makefile dockerfile tex sty bib hs elm php sh bash ps1 bat json rtf sed awk mk yaml yml toml "
)

// kind reports whether a file's extension, or the name of one without, is in a list.
func kind(name, list string) bool {
	ext := strings.TrimPrefix(path.Ext(name), ".")
	if ext == "" {
		ext = path.Base(name)
	}
	return strings.Contains(list, " "+strings.ToLower(ext)+" ")
}

// sign detects a foreign line. in returns the index of one, or -1. It does not apply to
// kinds of files in except, nor to a file with a line that usual accepts.
type sign struct {
	in     func(a addition) int
	except string
	usual  func(s string) bool
	why    string
}

var signs = [...]sign{
	{
		in:     addition.omission,
		except: writing + "diff patch ",
		why: "stands for text that is left out, and the file would have it instead; " +
			"send all of the text that is to be there, or change less of it",
	},
	{
		in:     addition.shown,
		except: records,
		why:    "is what Handrail says of a file or of a call, and no text of the file; send the text of the file alone",
	},
	{
		in:     addition.callEnd,
		except: writing,
		why:    "has the end of a call in it; send the text of the file alone",
	},
	{
		in:     addition.fence,
		except: writing + records,
		usual:  func(s string) bool { _, _, ok := fenceLine(strings.TrimSpace(s)); return ok },
		why:    "is a code fence around the text; send the text of the file alone",
	},
	{
		in:     addition.numbered,
		except: writing + records + " html htm ",
		usual:  func(s string) bool { _, sign, _ := cutNumber(s); return sign != "" },
		why:    "has a line number in front; send the text without line numbers",
	},
	{
		in:     addition.plus,
		except: writing + records,
		usual:  func(s string) bool { return strings.HasPrefix(s, "+") },
		why:    "has the + of a diff in front; send the text as it is to be in the file",
	},
	{
		in:     addition.entity,
		except: writing + markup,
		usual:  func(s string) bool { return hasTag(s) || html.UnescapeString(s) != s },
		why:    "has an HTML entity where code has the sign that it stands for; send <, >, & and quotes as they are",
	},
	{
		in:     addition.escape,
		except: writing + escaped,
		usual:  func(s string) bool { return strings.Contains(unquoted(s), `\n`) },
		why:    `has \n where a line is to end; send a real end of line for each, or put the \n into quotes where it is text`,
	},
	{
		in:     addition.escapedSign,
		except: writing + escaped,
		usual:  func(s string) bool { return strings.Contains(unquoted(s), `\n`) },
		why:    `has \t or \" where a tab or a quote is to be; send the sign itself`,
	},
	{
		in:     addition.typeset,
		except: writing + records + markup + escaped + " po css ",
		usual:  func(s string) bool { return hasTag(s) || strings.ContainsAny(s, typographic+"\u00a0") },
		why:    "has a typographic quote or a space of another kind where code has a plain one; send the plain sign",
	},
	{
		in:     addition.oddSpace,
		except: writing + " html htm ",
		usual:  func(s string) bool { return strings.TrimSpace(s) != "" && oddIndent(indentOf(s)) },
		why:    "is indented by one space more than anything in the file; send it with the indentation that it is to have",
	},
}

func (a addition) omission() int {
	shrinks := len(a.old) > len(a.add)
	return slices.IndexFunc(a.add, func(s string) bool {
		s = strings.TrimSpace(s)
		dots := strings.Contains(s, "...") || strings.Contains(s, "…")
		return s != "" && (shrinks || dots) && !a.had[s] && len(a.file) > 0 && standsForText(s, shrinks, path.Ext(a.name))
	})
}

// ends are the endings of tool calls and model turns.
var ends = []string{
	"</new_string>", "</old_string>", "</code_edit>", "</new_str>", "</tool_call>", "</function_call>",
	"</invoke>", "</parameter>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end|>", "[/INST]",
}

func (a addition) callEnd() int {
	last := lastOf(a.add)
	s := strings.TrimSpace(last)
	if !a.had[s] && slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(s, end) }) {
		return slices.Index(a.add, last)
	}
	return -1
}

func (a addition) fence() int {
	_, _, opens := fenceLine(a.add[0])
	_, info, shuts := fenceLine(a.add[len(a.add)-1])
	if len(a.add) > 1 && opens && shuts && info == "" {
		return 0
	}
	return -1
}

// numbered finds line numbers at the same distance from the index of most lines. Those
// without a bar or an arrow have to count from the place of the edit.
func (a addition) numbered() int {
	first, from, with, all, bars := -1, 0, 0, 0, true
	for i, s := range a.add {
		if strings.TrimSpace(s) == "" {
			continue
		}
		all++
		n, sign, _ := cutNumber(s)
		switch {
		case sign == "" || first >= 0 && n-i != from:
			continue
		case first < 0:
			first, from = i, n-i
		}
		with++
		bars = bars && (sign == "|" || sign == "→")
	}
	place := with == all && (from == a.was+1 || from == a.is+1)
	if bars && (place || with > 1 && with*2 >= all) || place && with > 1 && len(a.file) > 0 {
		return first
	}
	return -1
}

func (a addition) plus() int {
	if slices.ContainsFunc(a.add, func(s string) bool { return s != "" && s[0] != '+' }) {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool { return len(s) > 1 && s[1] != '+' && telling([]string{s}, 1) })
}

func (a addition) entity() int {
	return slices.IndexFunc(a.add, func(s string) bool { return entity().MatchString(s) && outsideQuotes(s) })
}

// hasTag reports whether a line has a tag of markup.
func hasTag(s string) bool { return strings.Contains(s, "</") || strings.Contains(s, "/>") }

// escape finds a line that is several with escaped line endings: one of them is a line of
// the file, or the text continues like code.
func (a addition) escape() int {
	return slices.IndexFunc(a.add, func(s string) bool {
		if !strings.Contains(unquoted(s), `\n`) {
			return false
		}
		return goesOn().MatchString(s) || slices.ContainsFunc(strings.Split(s, `\n`), func(part string) bool {
			part = strings.TrimSpace(strings.ReplaceAll(part, `\t`, "\t"))
			return telling([]string{part}, 3) && a.had[part]
		})
	})
}

// goesOn matches code behind an escaped line ending, or a second ending at an end.
var goesOn = pattern.Lazy(`\\n(?:\\t|\\n|  )|\\n.*\\n(?:[})\]]|$)`)

// escapedSign finds a tab or quotes in JSON escapes.
func (a addition) escapedSign() int {
	return slices.IndexFunc(a.add, func(s string) bool {
		return strings.HasPrefix(strings.TrimSpace(s), `\t`) || strings.Count(s, `\"`) > 1 && strings.Contains(unquoted(s), `\"`)
	})
}

const typographic = "\u201c\u201d\u2018\u2019"

// typeset finds typographic quotes, or white space that only looks like a space.
func (a addition) typeset() int {
	return slices.IndexFunc(a.add, func(s string) bool {
		rest := strings.TrimLeftFunc(s, unicode.IsSpace)
		return strings.ContainsAny(s[:len(s)-len(rest)], "\u00a0\u2003\u3000") || strings.ContainsAny(unquoted(s), typographic)
	})
}

// unquoted returns the parts of a line of code outside quotes, up to a comment.
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
		case comment(s[i:], out.String()):
			return out.String()
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// comment reports whether s begins a comment. behind is the text before it.
func comment(s, behind string) bool {
	switch s[0] {
	case '#':
		return true
	case '/', '-':
		return len(s) > 1 && (s[1] == s[0] || s[:2] == "/*")
	case ';':
		return strings.TrimRight(behind, " \t") != behind || behind == ""
	}
	return s[0] == '*' && strings.TrimSpace(behind) == ""
}

// oddIndent reports whether an indentation has one space more than whole steps.
func oddIndent(in string) bool {
	return strings.HasPrefix(in, " \t") || strings.Trim(in, " ") == "" && len(in)%2 == 1
}

// oddSpace finds lines that all have one space more than whole steps, of which the
// first or the last has one more than the adjacent line.
func (a addition) oddSpace() int {
	for _, s := range a.add {
		if rest := strings.TrimLeft(s, " \t"); rest != "" && (!oddIndent(indentOf(s)) || rest[0] == '*') {
			return -1
		}
	}
	beside := func(s string, at int) bool {
		return at >= 0 && at < len(a.file) && len(indentOf(s)) > 1 && indentOf(s) == " "+indentOf(a.file[at])
	}
	if !beside(a.add[0], a.was-1) && !beside(a.add[len(a.add)-1], a.was+len(a.old)) {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) > 0 })
}
