package host

// Queries are evaluated here and in names.go: which lines of a text match a pattern, and which
// file names match a glob or a part of a name or path.

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/workspace"
)

const shownLine = 1000 // maximum bytes of a line in a result

// matcher finds the lines that match a query. It is safe for concurrent use.
type matcher struct {
	re      *regexp.Regexp // nil if the pattern is plain text
	needles needles        // every matching line contains one; without texts if unknown
	run     *run           // in every matching line; nil if unknown, or if the needles are rarer
	lines   int            // maximum lines of a match; 1 unless the pattern has a line break
}

// lineMatcher returns the matcher for a query. It searches first for text that every match
// must contain. An empty pattern or an invalid regular expression is an error.
func lineMatcher(q workspace.Query) (*matcher, error) {
	if q.Pattern == "" {
		return nil, errors.New("search: the pattern is empty")
	}
	if !q.Regex {
		return &matcher{needles: needles{texts: [][]byte{[]byte(q.Pattern)}}, lines: 1 + strings.Count(q.Pattern, "\n")}, nil
	}
	re, err := regexp.Compile("(?m)" + q.Pattern)
	if err != nil {
		return nil, fmt.Errorf("search: the pattern is not a valid regular expression (RE2 syntax): %w", err)
	}
	m := &matcher{re: re, lines: 1}
	if strings.Contains(q.Pattern, `\n`) || strings.Contains(q.Pattern, "\n") {
		m.lines = 2
		return m, nil
	}
	tree, err := syntax.Parse(q.Pattern, syntax.Perl)
	if err != nil {
		return m, nil //nolint:nilerr // each line is tried then
	}
	if m.needles = needlesOf(tree); m.needles.worth() < 2 {
		if r := runOf(tree); r != nil && (r.size > 1 || m.needles.worth() == 0) {
			m.run, m.needles = r, needles{}
		}
	}
	return m, nil
}

// Folds reports whether [Matcher.In] needs room for a copy of the text.
func (m *matcher) Folds() bool { return m.needles.fold }

// look is a search in one text.
type look struct {
	*matcher
	buf  []byte
	cr   bool // buf has carriage returns
	hunt *hunt
}

// In starts a search in a text. low is room for a copy of it, see [Matcher.Folds].
func (m *matcher) In(buf, low []byte) *look {
	l := &look{matcher: m, buf: buf, cr: bytes.IndexByte(buf, '\r') >= 0}
	if len(m.needles.texts) > 0 {
		if h, ok := m.needles.in(buf, low); ok {
			l.hunt = &h
		}
	}
	return l
}

// Next finds the first match at or after from. It returns the offsets of its lines: the
// start of the first, and the end of the last.
func (l *look) Next(from int) (start, end int, ok bool) {
	for from < len(l.buf) {
		lo, hi := l.candidate(from)
		if lo < 0 || lo >= len(l.buf) { // there is no line after the last line break
			return 0, 0, false
		}
		start, end = lineStart(l.buf, lo), lineEnd(l.buf, max(lo, hi-1))
		if l.re == nil || l.lines > 1 || l.re.Match(bytes.TrimSuffix(l.buf[start:end], []byte("\r"))) {
			return start, end, true
		}
		from = lineEnd(l.buf, lo) + 1
	}
	return 0, 0, false
}

// candidate returns the range of the next possible match: of the text that every match
// contains if that is known, else of a match of the expression.
func (l *look) candidate(from int) (lo, hi int) {
	if l.hunt != nil {
		at, size := l.hunt.at(from)
		return at, at + size
	}
	if l.run != nil {
		at := l.run.at(l.buf, from)
		return at, at + 1
	}
	if l.lines == 1 && l.cr {
		return from, from // "$" does not match before "\r\n": try each line
	}
	loc := l.re.FindIndex(l.buf[from:])
	if loc == nil {
		return -1, -1
	}
	if l.lines == 1 {
		loc[1] = loc[0] + 1
	}
	return from + loc[0], from + loc[1]
}

// lineStart returns the start of the line that contains an offset.
func lineStart(buf []byte, at int) int { return bytes.LastIndexByte(buf[:at], '\n') + 1 }

// lineEnd returns the end of the line that contains an offset, without its line break.
func lineEnd(buf []byte, at int) int {
	if i := bytes.IndexByte(buf[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(buf)
}

// Show returns a line for display. A long line is reduced to the part around the match.
func (m *matcher) Show(line []byte) string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) <= shownLine {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	at := 0
	if m.re != nil {
		if loc := m.re.FindIndex(line); loc != nil {
			at = loc[0]
		}
	} else if i := bytes.Index(line, m.needles.texts[0]); i > 0 {
		at = i
	}
	lo := max(0, min(at-shownLine/4, len(line)-shownLine))
	hi := min(len(line), lo+shownLine)
	for lo > 0 && !utf8.RuneStart(line[lo]) && lo < hi {
		lo++
	}
	for hi < len(line) && hi > lo && !utf8.RuneStart(line[hi]) {
		hi--
	}
	text := strings.ToValidUTF8(string(line[lo:hi]), "\uFFFD")
	if lo > 0 {
		text = "…" + text
	}
	if hi < len(line) {
		text += "…"
	}
	return text
}
