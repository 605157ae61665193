package patch

import (
	"fmt"
	"github.com/handrail-bot/handrail/policy/pattern"
	"html"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// definers are keywords that introduce definitions in many languages.
var definers = []string{
	"class", "def", "enum", "fn", "fun", "func", "function", "impl", "interface", "module", "namespace", "record",
	"struct", "sub", "trait", "type",
}

// modifiers are keywords that may precede definers.
var modifiers = []string{
	"abstract", "async", "const", "default", "export", "final", "internal", "override", "private", "protected",
	"pub", "public", "static", "void",
}

// definitionWords returns the words of a defining line up to the defined name, or nil if the
// line defines nothing. A heading is the text after @@: there, any line with a
// parenthesis is a definition, such as "int main(void)".
func definitionWords(line string, heading bool) []string {
	line = strings.TrimLeft(line, " \t")
	words := strings.FieldsFunc(line, notInName)
	if strings.IndexFunc(line, notInName) == 0 { // a comment
		return nil
	}
	i := 0
	for i < len(words) && slices.Contains(modifiers, words[i]) {
		i++
	}
	if i+1 >= len(words) {
		return nil
	}
	known := slices.Contains(definers, words[i])
	receiver, rest, method := strings.Cut(line, ")") // a Go receiver
	if method = method && strings.HasPrefix(receiver, "func ("); !method {
		receiver, rest = "", line
	}
	head, _, called := strings.Cut(rest, "(")
	switch {
	case !known && (!heading || !called):
		return nil
	case called:
		if words = strings.FieldsFunc(receiver+" "+head, notInName); len(words) == 0 || len(words) == 1 && known {
			return nil // no name
		}
		return words
	}
	return words[:i+2]
}

func notInName(r rune) bool {
	return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// checkDefinitions returns an error if the file lacks a definition that the hunk names after
// @@ or in its context. Lines that match anyway are then not the intended ones.
func (p *applier) checkDefinitions(h hunk) error {
	if h.block {
		return nil
	}
	const most = 50 // context lines to check
	named := []string{h.section}
	for _, l := range h.lines {
		if l.op == ' ' && len(named) <= most {
			named = append(named, l.text)
		}
	}
	for i, line := range named {
		words := definitionWords(line, i == 0)
		if words == nil || len(line) > 70 && strings.HasSuffix(line, words[len(words)-1]) ||
			p.defines(words) { // git truncates long headings
			continue
		}
		return fmt.Errorf(
			"apply edit: %s is for %q, which is not in the file: the edit was made for another state of it; read the file again",
			h.describe(p.index, p.total),
			strings.TrimSpace(cut(line)),
		)
	}
	return nil
}

// defines reports whether a line of the file, in its present or its original state,
// has the definition that the words name. The line may have further words.
func (p *applier) defines(words []string) bool {
	return len(definitions(p.doc.lines, words)) > 0 || len(definitions(p.before, words)) > 0
}

// definitions returns the indexes of the lines with the definition that the words
// name.
func definitions(lines []line, words []string) (out []int) {
	name := words[len(words)-1]
	for i, l := range lines {
		if !strings.Contains(l.text, name) {
			continue
		}
		has, n := definitionWords(l.text, true), 0
		for _, w := range has {
			if n < len(words) && w == words[n] {
				n++
			}
		}
		if n == len(words) && has[len(has)-1] == name {
			out = append(out, i)
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
	words := definitionWords(h.section, true)
	if words == nil || h.block {
		return nil
	}
	found := definitions(p.doc.lines, words)
	const most = 20
	if len(found) > most {
		return nil // too common to be a hint
	}
	for _, s := range found {
		kind, indent := definitionWords(p.doc.lines[s].text, true)[0], indentOf(p.doc.lines[s].text)
		end := slices.IndexFunc(p.doc.lines[s+1:], func(l line) bool {
			next := definitionWords(l.text, true)
			return next != nil && next[0] == kind && indentOf(l.text) == indent
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

// contextElsewhere reports whether a context line left out of the search occurs exactly
// once, in the same definition but not near the match. The hunk is then meant for
// another place.
func (d *document) contextElsewhere(m match) bool {
	const near = 3
	return slices.ContainsFunc(m.hunk.left, func(l leftOut) bool {
		there := d.find([]string{l.text}, spacing)
		if len(there) != 1 || !telling([]string{l.text}, 3) || distance(there[0], m.at+l.at) <= near {
			return false
		}
		between := d.lines[min(there[0], m.at):max(there[0], m.at)]
		return !slices.ContainsFunc(between, func(s line) bool { return definitionWords(s.text, false) != nil })
	})
}

// evenlyIndented reports whether lines with little more than a bracket are indented as in the
// file, given that other lines match the file. Indentation alone tells them from the
// next bracket.
func (d *document) evenlyIndented(h hunk, at int) bool {
	same, other := false, false
	for i, old := range h.old() {
		now := d.lines[at+i].text
		switch is := indentOf(old); {
		case strings.TrimSpace(old) == "":
		case normal(now, trailing) == normal(old, trailing):
			same = true
		case is != "" && !telling([]string{now}, 3) && strings.Trim(indentOf(now), is[:1]) == "":
			other = true
		}
	}
	return !same || !other
}

// hasRival reports whether a tolerant match of a hunk has a rival: a place where as
// many of its lines match exactly, including context left out, or one that has all of
// its lines except those to delete. said is the index given by the hunk's line
// number, or -1; it counts as a vote for that place.
func (d *document) hasRival(m match, said int) bool {
	old := m.hunk.old()
	lines := slices.Clone(m.hunk.left)
	stay, behind := m.hunk.context(), len(lines)
	for i, l := range lines {
		if l.at >= 0 {
			behind = min(behind, i)
			stay = append(stay, l.text)
		}
	}
	for i := behind - 1; i >= 0; i-- {
		stay = slices.Insert(stay, 0, lines[i].text)
	}
	for i, text := range old {
		lines = append(lines, leftOut{text, i})
	}
	if m.hunk.fewer && len(old) > len(m.hunk.context()) && len(d.find(stay, spacing)) > 0 {
		return true
	}
	votes := d.votes(lines)
	votes[said]++
	enough := votes[m.at]
	if !m.hunk.fewer { // all of it fits but for white space
		enough++
	}
	for at, n := range votes {
		if at != m.at && at >= 0 && n >= enough {
			return true
		}
	}
	return false
}

// votes counts, for each index at which a hunk could begin, the telling lines of the
// hunk that match exactly at their places.
func (d *document) votes(lines []leftOut) map[int]int {
	const maxAlike = 8 // equal lines to count
	where := map[string][]int{}
	for _, l := range lines {
		if k := normal(l.text, trailing); len(where[k]) < maxAlike && telling([]string{l.text}, 3) {
			where[k] = append(where[k], l.at)
		}
	}
	votes := map[int]int{}
	for i, k := range d.keysAt(trailing) {
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
		return fmt.Errorf(
			"apply edit: %s is for lines %d-%d, but the file has %d lines",
			h.describe(p.index, p.total),
			h.start,
			h.end,
			len(p.doc.lines),
		)
	}
	if why := p.doc.misplacement(h.fresh(), from, to); why != "" {
		return fmt.Errorf(
			"apply edit: with %s, lines %d-%d, %s; are those the lines that are meant? The file has there\n%s",
			h.describe(p.index, p.total),
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
	again := func(s string, at, instead int) bool { // s repeats the line at at and not the replaced line at instead
		return at >= 0 && at < len(d.lines) && s == d.lines[at].text && telling([]string{s}, 3) &&
			(instead < 0 || s != d.lines[instead].text)
	}
	switch {
	case again(fresh[0], from-1, from):
		return "the line before them would be there twice"
	case again(fresh[n-1], to, to-1):
		return "the line behind them would be there twice"
	}
	return d.imbalance(fresh, from, to)
}

// imbalance names the bracket left over if lines [from, to) of d became fresh. It
// returns "" if the brackets of d are unbalanced already.
func (d *document) imbalance(fresh []string, from, to int) string {
	open, shut := brackets(texts(d.lines))
	if open == 0 || open != shut {
		return ""
	}
	open, shut = brackets(fresh)
	wasOpen, wasShut := brackets(texts(d.lines[from:to]))
	switch more := (open - shut) - (wasOpen - wasShut); {
	case more > 0:
		return "a bracket { of the file would not be closed"
	case more < 0:
		return "there would be one more bracket } than the file opens"
	}
	return ""
}

// brackets counts the curly brackets.
func brackets(lines []string) (open, shut int) {
	for s := range slices.Values(lines) {
		open, shut = open+strings.Count(s, "{"), shut+strings.Count(s, "}")
	}
	return open, shut
}

// LeftOver describes the curly brackets that an edit leaves over in a file that was
// balanced, or returns "". It is a hint and not an error: the edit may mean it, or
// the bracket may be in a string.
func LeftOver(name, before, after string) string {
	open, shut := brackets([]string{before})
	if open == 0 || open != shut || prose(name) {
		return ""
	}
	switch open, shut := brackets([]string{after}); {
	case open > shut:
		return fmt.Sprintf("The file had as many { as }; now %d of its { have no }. Is that meant?", open-shut)
	case open < shut:
		return fmt.Sprintf("The file had as many { as }; now it has %d } too many. Is that meant?", shut-open)
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
// and that distance. The search is limited to distances below most; otherwise changes
// is most.
func nearPiece(w, line string, most int) (piece string, changes int) {
	cost, start := make([]int, len(w)+1), make([]int, len(w)+1)
	for j := range cost {
		cost[j] = j
	}
	changes = most
	for i := range len(line) {
		diagonal, begun := cost[0], start[0]
		cost[0], start[0] = 0, i+1
		for j := range len(w) {
			c, b := diagonal, begun
			if w[j] != line[i] {
				c++
			}
			if cost[j+1]+1 < c {
				c, b = cost[j+1]+1, start[j+1]
			}
			if cost[j]+1 < c {
				c, b = cost[j]+1, start[j]
			}
			diagonal, begun = cost[j+1], start[j+1]
			cost[j+1], start[j+1] = c, b
		}
		if cost[len(w)] < changes {
			changes, piece = cost[len(w)], line[start[len(w)]:i+1]
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
	name      string
	file      *ground
	old, add  []string
	was, is   int // index of the first line, in the old text and in the new
	shrinking bool
	quoted    map[int]bool // lines of the new text between fences
}

// ground lists features of a file's text before an edit. They are legitimate in the
// edit.
type ground struct {
	lines                            []string
	had                              map[string]bool
	fences, pluses, numbers, odd     bool
	entities, markup, escapes, steps bool
	typeset, seals                   bool
}

// Foreign returns an error if an edit writes artifacts of edit formats into a file: a
// placeholder for other lines, line numbers, HTML entities for code characters, line
// endings written as \n, a fence, the first column of a diff, the end of a tool call.
// Artifacts that the file already had, or that its kind may well have, are
// legitimate.
func Foreign(name, before, after string) error {
	old := texts(splitText(strings.TrimPrefix(before, byteOrderMark)))
	add := texts(splitText(strings.TrimPrefix(after, byteOrderMark)))
	g := grounds(old)
	a := addition{name: name, file: g, quoted: fencedLines(add)}
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
				return fmt.Errorf(
					"nothing was changed, because the new line %q %s. The file has there\n%s",
					cut(strings.TrimSpace(a.add[i])),
					s.why,
					strings.TrimSuffix(d.region(a.was, len(a.old)), "Copy whole lines from the file as they are."),
				)
			}
		}
		return nil
	}
	for _, r := range compareLines(old, add) {
		switch r.op {
		case '-':
			if err := check(); err != nil {
				return err
			}
			a.old, a.was, a.is, gone = r.of(old, add), r.from, at, r.to
		case '+':
			if a.add = r.of(old, add); len(a.old) == 0 {
				a.was = gone
			}
			a.is, at = at, at+r.to-r.from
		default:
			if err := check(); err != nil {
				return err
			}
			at, gone = at+r.to-r.from, r.to
		}
	}
	return check()
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
		if in := indentOf(s); in != "" && len(in) < len(s) {
			indented++
			g.odd = g.odd || oddIndent(in)
		}
	}
	g.steps = indented > 2 && !g.odd
	return g
}

// signs detect foreign lines. in returns the index of such a line, or -1.
var signs = [...]struct {
	in  func(a addition) int
	why string
}{
	{
		addition.omission,
		"stands for text that is left out, and the file would have it instead; send all of the text that is to be there, or change less of it",
	},
	{
		addition.findShown,
		"is what Handrail says of a file or of a call, and no text of the file; send the text of the file alone",
	},
	{addition.callEnd, "has the end of a call in it; send the text of the file alone"},
	{addition.fence, "is a code fence around the text; send the text of the file alone"},
	{addition.findNumbered, "has a line number in front; send the text without line numbers"},
	{addition.findGutter, "has a line number in front, as others beside it; send the text without line numbers"},
	{addition.plus, "has the + of a diff in front; send the text as it is to be in the file"},
	{
		addition.entity,
		"has an HTML entity where code has the sign that it stands for; send <, >, & and quotes as they are",
	},
	{
		addition.escape,
		`has \n where a line is to end; send a real end of line for each, or put the \n into quotes where it is text`,
	},
	{addition.findEscaped, `has \t or \" where a tab or a quote is to be; send the sign itself`},
	{
		addition.typeset,
		"has a typographic quote or a space of another kind where code has a plain one; send the plain sign",
	},
	{
		addition.oddSpace,
		"is indented by one space more than anything in the file; send it with the indentation that it is to have",
	},
}

func (a addition) omission() int {
	if a.kind("diff", "patch") {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool {
		s = strings.TrimSpace(s)
		dots := strings.Contains(s, "...") || strings.Contains(s, "…")
		return s != "" && (a.shrinking || dots) && !a.file.had[s] && len(a.file.lines) > 0 &&
			standsForText(s, a.shrinking, path.Ext(a.name))
	})
}

// kind reports whether the file's name means prose or has one of the extensions.
func (a addition) kind(extensions ...string) bool {
	return prose(a.name) || slices.Contains(extensions, strings.ToLower(strings.TrimPrefix(path.Ext(a.name), ".")))
}

// ends are the endings of tool calls and model turns.
var ends = []string{
	"</new_string>", "</old_string>", "</code_edit>", "</new_str>", "</tool_call>", "</function_call>",
	"</invoke>", "</parameter>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end|>", "[/INST]",
}

func (a addition) callEnd() int {
	last := len(a.add) - 1
	for last > 0 && strings.TrimSpace(a.add[last]) == "" {
		last--
	}
	s := strings.TrimSpace(a.add[last])
	if !a.kind() && slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(s, end) }) &&
		!a.file.had[s] {
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

// column is a line number before a line, in the formats that tools use.
var column = pattern.Lazy(`^\s*([0-9]{1,7})(?: ?[|│] ?|: ?|→|\t|\. )`)

// cutColumn parses a line number before a line. bar reports whether a bar or an arrow
// follows it.
func cutColumn(s string) (n int, bar, ok bool) {
	m := column().FindStringSubmatch(s)
	if m == nil {
		return 0, false, false
	}
	n, err := strconv.Atoi(m[1])
	return n, strings.ContainsAny(m[0], "|│→"), err == nil
}

// findNumbered finds line numbers that count from the place of the edit, or that increase
// and are followed by a bar.
func (a addition) findNumbered() int {
	first, _, ok := cutColumn(a.add[0])
	if !ok || a.file.numbers || a.kind("diff", "patch", "csv", "tsv", "log") {
		return -1
	}
	place := first == a.was+1 || first == a.is+1
	for i, s := range a.add {
		n, bar, ok := cutColumn(s)
		if strings.TrimSpace(s) != "" &&
			(!ok || n != first+i || !bar && (len(a.add) < 2 || len(a.file.lines) == 0) || !place && (!bar || len(a.add) < 2)) {
			return -1
		}
	}
	return 0
}

// findGutter finds line numbers before most lines, all at the same offset from the
// line's index.
func (a addition) findGutter() int {
	if a.file.numbers || recordsOutput(a.name) || a.kind("csv", "tsv", "html", "htm", "stderr") {
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
	if a.file.pluses || a.kind("diff", "patch") ||
		slices.ContainsFunc(a.add, func(s string) bool { return s != "" && s[0] != '+' }) {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool { return len(s) > 1 && s[1] != '+' && telling([]string{s}, 1) })
}

func (a addition) entity() int {
	if a.file.entities || a.file.markup ||
		a.kind("html", "htm", "xml", "svg", "xhtml", "vue", "xsl", "plist", "jsx", "tsx", "php", "erb", "tmpl") {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool {
		named := func(word string) bool { // perhaps taking an address in C
			return slices.ContainsFunc(
				a.file.lines,
				func(l string) bool { return slices.Contains(strings.FieldsFunc(l, notInName), word) },
			)
		}
		return html.UnescapeString(s) != s && outsideQuotes(s) &&
			!slices.ContainsFunc([]string{"lt", "gt", "amp", "quot", "apos"}, func(w string) bool {
				return strings.Contains(s, "&"+w+";") && named(w)
			}) &&
			slices.ContainsFunc(escapes(), func(e string) bool { return strings.Contains(s, e) })
	})
}

// bareEscape returns the index of a \n outside quotes, or -1.
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

// continuesBelow matches typical code after an escaped line ending, shut a typical end.
var (
	goesOn = pattern.Lazy(`\\n(?:\\t|\\n|  )`)
	shut   = pattern.Lazy(`\\n(?:[})\]]|$)`)
)

// escape finds a line that is several with escaped line endings. One of them is a
// line of the file, or the text continues like code.
func (a addition) escape() int {
	if a.file.escapes || path.Ext(a.name) == "" ||
		a.kind("tex", "sty", "bib", "hs", "sh", "bash", "ps1", "bat", "json", "rtf", "sed", "awk", "mk") {
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

// findEscaped finds a tab or quotes in JSON escapes.
func (a addition) findEscaped() int {
	if a.file.escapes || path.Ext(a.name) == "" ||
		a.kind(
			"tex", "sty", "bib", "hs", "elm", "php", "sh", "bash", "ps1", "bat", "json", "rtf", "sed", "awk", "mk",
			"yaml", "yml", "toml",
		) {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool {
		code := unquoted(s)
		return strings.HasPrefix(strings.TrimSpace(s), `\t`) || strings.Count(s, `\"`) > 1 && strings.Contains(code, `\"`)
	})
}

// typeset finds typographic quotes, or white space that only looks like a space.
func (a addition) typeset() int {
	if a.file.typeset || a.file.markup ||
		a.kind("html", "htm", "xml", "tex", "po", "json", "yaml", "yml", "csv", "tsv", "css") {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool {
		rest := strings.TrimLeftFunc(s, unicode.IsSpace)
		return strings.ContainsAny(s[:len(s)-len(rest)], "\u00a0\u2003\u3000") ||
			strings.ContainsAny(unquoted(s), "\u201c\u201d\u2018\u2019")
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
// first or the last has one more than the adjacent line, in a file without such
// lines.
func (a addition) oddSpace() int {
	if !a.file.steps || a.kind("html", "htm") {
		return -1
	}
	for _, s := range a.add {
		if rest := strings.TrimLeft(s, " \t"); rest != "" && (!oddIndent(indentOf(s)) || rest[0] == '*') {
			return -1
		}
	}
	beside := func(s string, at int) bool {
		return at >= 0 && at < len(a.file.lines) && indentOf(s) == " "+indentOf(a.file.lines[at])
	}
	if !beside(a.add[0], a.was-1) && !beside(a.add[len(a.add)-1], a.was+len(a.old)) {
		return -1
	}
	return slices.IndexFunc(a.add, func(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) > 0 })
}
