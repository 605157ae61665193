package command

import (
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/handrail-bot/handrail/bot/render/usage"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// mention is a line of a text that begins with the command word.
type mention struct {
	start, at, end int             // of the line, of the command word, behind that
	said           bool            // a reader sees a line of a paragraph that begins with it
	where          untrusted.Place // otherwise: where it stands
}

// mostText is the longest text that is read, in bytes. GitHub takes 65,536
// characters.
const mostText = 256 << 10

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\ufffd")

// lines returns a text as it is read: its lines end with a line feed.
func lines(body string) string { return lineEnds.Replace(strings.ToValidUTF8(body, "\ufffd")) }

// mentions finds the lines of body that begin with the command word or one of
// names, in order, and what a reader sees of each.
func mentions(body string, names ...string) []mention {
	out := linesFor(body, names)
	if len(out) == 0 {
		return nil
	}
	at := make([]int, len(out))
	for i, m := range out {
		at[i] = m.at
	}
	places, ok := untrusted.Places(body, at)
	if !ok { //control:tangled-text
		for i := range out {
			out[i].where = usage.TooDeep
		}
		return out
	}
	for i := range places {
		out[i].said, out[i].where = places[i] == untrusted.Paragraph, places[i] //control:said-in-a-paragraph
	}
	l := layOut(body)
	for i := range out {
		if out[i].where != untrusted.Code || body[out[i].at] != '@' { // a name in code calls nobody
			out[i].doubt(l)
		}
	}
	inMail(body, out)
	return out
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
		m.said, m.where = false, untrusted.Quotation // and marked as one
	case !m.said && m.where == untrusted.Quotation:
		m.where += usage.LazyLine
	case (m.where == untrusted.Code || m.where == untrusted.Nowhere) && l.raw <= m.start,
		m.where == untrusted.Code && p.tag <= m.start && strings.TrimLeft(prefix, " \t") == "" && len(prefix) > 0:
		m.said, m.where = false, untrusted.HTML
	case !m.said && m.where != untrusted.Nowhere:
	case p.unplain <= m.start || l.footnote <= m.start:
		m.said, m.where = false, usage.MayBelong
	case !m.said:
	case strings.TrimLeft(prefix, " \t") != "":
		m.said, m.where = false, usage.BeginsElse
	case p.formula < m.start && p.lastFormula >= m.end:
		m.said, m.where = false, usage.MayBeFormula
	case l.swallowing <= m.start || p.tick <= m.start:
		m.said, m.where = false, usage.Swallowing
	}
}

// asks reports whether somebody may have meant a line as a command that is
// none.
func (m mention) asks() bool {
	return !m.said && m.where != untrusted.Code && m.where != untrusted.Nowhere && m.where != untrusted.Quotation
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
				m.said, m.where = false, untrusted.Quotation
			case m.said:
				m.said, m.where = false, usage.QuotedMail
			}
		}
		return
	}
}

// Inert returns text so that nothing in it is read as a command, or taken for
// one that somebody may have meant. Everything else stays.
func Inert(text string) string { return inert(text) }

// InertFor is [Inert] for whatever account stands for the command word.
func InertFor(text string) string {
	var names []string
	for _, m := range accounts.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return inert(text, slices.Compact(names)...)
}

var accounts = regexp.MustCompile(`@([\w-]+(?:\[bot\])?)`)

func inert(text string, names ...string) string {
	text = lines(text)
	var out strings.Builder
	done := 0
	for _, m := range mentions(text, names...) {
		if m.said || m.asks() { //control:own-words-inert
			out.WriteString(text[done:m.at] + `\`)
			done = m.at
		}
	}
	return out.String() + text[done:]
}
