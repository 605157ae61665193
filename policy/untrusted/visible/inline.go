package visible

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// tagParser finds HTML inside paragraphs by the rules of the version of
// CommonMark that GitHub's parser follows.
type tagParser struct{}

func (tagParser) Trigger() []byte { return []byte{'<'} }

const (
	tagSpace      = `[ \t\n\v\f\r]`
	attributeForm = tagSpace + `+[a-zA-Z_:][a-zA-Z0-9:._-]*(?:` + tagSpace + `*=` + tagSpace + `*(?:[^ \t\r\n\v\f"'=<>` + "`" + `]+|'[^']*'|"[^"]*"))?`
)

// tagForms are tried in order; a text without the closing part is not tried.
var tagForms = []struct {
	form    func() *regexp.Regexp
	closing string
}{
	{pattern.Lazy(`^<[A-Za-z][A-Za-z0-9-]*(?:` + attributeForm + `)*` + tagSpace + `*/?>`), ">"},
	{pattern.Lazy(`^</[A-Za-z][A-Za-z0-9-]*` + tagSpace + `*>`), ">"},
	{pattern.Lazy(`^<!(?:---->|--(?:-?[^>-])(?:-?[^-])*-->)`), "-->"},
	{pattern.Lazy(`^<\?(?:[^?>]|\?[^>]|>)*\?>`), "?>"},
	{pattern.Lazy(`^<![A-Z]+` + tagSpace + `+[^>]*>`), ">"},
	{pattern.Lazy(`^<!\[CDATA\[(?:[^\]]|\][^\]]|\]\][^>])*\]\]>`), "]]>"},
}

func (tagParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, start := block.PeekLine()
	rest := block.Source()[start.Start:]
	if len(line) < 2 || len(rest) < 3 {
		return nil
	}
	for _, f := range tagForms {
		if !bytes.Contains(rest, []byte(f.closing)) {
			continue
		}
		l, pos := block.Position()
		m := block.FindSubMatch(f.form())
		if m == nil {
			block.SetPosition(l, pos)
			continue
		}
		_, end := block.Position()
		return &tagNode{raw: m[0], start: start.Start, end: end.Start}
	}
	return nil
}

// tagNode is HTML inside a paragraph.
type tagNode struct {
	ast.BaseInline
	raw        []byte
	start, end int
}

var kindTag = ast.NewNodeKind("Tag")

func (*tagNode) Kind() ast.NodeKind           { return kindTag }
func (n *tagNode) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

// addressParser finds bare addresses. What it takes is no markup: a backtick in an
// address begins no code.
type addressParser struct{}

// Trigger returns what may stand before an address; a space is also the beginning
// of a line.
func (addressParser) Trigger() []byte { return []byte{':', ' ', '*', '_', '~', '(', '\\'} }

func (addressParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, seg := block.PeekLine()
	before := block.Source()[:seg.Start]
	if l, _ := block.Position(); parent.Type() == ast.TypeBlock && l < parent.Lines().Len() && parent.Lines().At(l).Start == seg.Start { //control:address-begins-line
		before = nil // the mark of a quotation or a footnote is not in the line
	}
	scheme, escape, skip, length := 0, 0, 0, 0
	if line[0] == ':' {
		scheme, length = schemeAddress(before, line)
	} else {
		if line[0] == '\\' && len(line) > 1 && bytes.IndexByte([]byte("*_~("), line[1]) >= 0 {
			escape = 1
		}
		if line[0] != '\\' || escape == 1 {
			skip, length = webAddress(before, line[escape:])
		}
	}
	if length == 0 || inBracket(parent, pc) || scheme > 0 && !takeBack(parent, scheme) {
		return nil
	}
	at := seg.Start + escape + skip
	if skip > 0 {
		ast.MergeOrAppendTextSegment(parent, text.NewSegment(seg.Start+escape, at))
	}
	block.Advance(escape + skip + length)
	return ast.NewAutoLink(ast.AutoLinkURL, ast.NewTextSegment(text.NewSegment(at-scheme, at+length)))
}

// inBracket reports whether a bracket is open where parent ends.
func inBracket(parent ast.Node, pc parser.Context) bool {
	none, _ := pc.Get(noBracketKey).(ast.Node) // up to here none is open
	for c := parent.LastChild(); c != nil && c != none; c = c.PreviousSibling() {
		if c.Kind().String() == "LinkLabelState" {
			return true
		}
	}
	pc.Set(noBracketKey, parent.LastChild())
	return false
}

var noBracketKey = parser.NewContextKey()

// takeBack removes the last n bytes of parent's text.
func takeBack(parent ast.Node, n int) bool {
	last, ok := parent.LastChild().(*ast.Text)
	if !ok || last.Segment.Len() < n {
		return false
	}
	last.Segment = last.Segment.WithStop(last.Segment.Stop - n)
	return true
}

// schemeAddress returns how long the scheme is that ends before, and how long the
// rest of the address is that line begins with.
func schemeAddress(before, line []byte) (scheme, length int) {
	if !bytes.HasPrefix(line, []byte("://")) {
		return 0, 0
	}
	word := before[len(bytes.TrimRightFunc(before[max(0, len(before)-8):], func(r rune) bool { return r < 0x80 && letter(byte(r)) }))+max(0, len(before)-8):]
	switch strings.ToLower(string(word)) {
	case "http", "https", "ftp":
	default:
		return 0, 0
	}
	domain := domainLength(line[3:], true)
	if domain == 0 {
		return 0, 0
	}
	return len(word), addressEnd(line, 3+domain)
}

// webAddress returns how many characters come before the address www.… that line
// begins with, and how long it is.
func webAddress(before, line []byte) (skip, length int) {
	if line[0] == 'w' && len(before) > 0 && !bytes.ContainsRune([]byte("*_~( \t\n"), rune(before[len(before)-1])) {
		return 0, 0
	}
	for skip < min(len(line), 16) && line[skip] != 'w' && line[skip] == line[0] {
		skip++
	}
	rest := line[skip:]
	domain := 0
	if bytes.HasPrefix(rest, []byte("www.")) {
		domain = domainLength(rest, false)
	}
	if domain == 0 {
		return 0, 0
	}
	return skip, addressEnd(rest, domain)
}

// domainLength is how much of s can be the name of a host, 0 when it is none.
func domainLength(s []byte, short bool) int {
	if first, _ := utf8.DecodeRune(s); !unicode.IsLetter(first) && !unicode.IsDigit(first) {
		return 0
	}
	dots, under, underBefore, i := 0, 0, 0, 1
	for i < len(s)-1 {
		c := s[i]
		r, size := utf8.DecodeRune(s[i:])
		switch {
		case c == '_':
			under++
		case c == '.':
			underBefore, under = under, 0
			dots++
		case c != '-' && (unicode.IsSpace(r) || unicode.IsPunct(r) || c < 0x80 && !letter(c) && (c < '0' || c > '9')):
			size = 0
		}
		if size == 0 {
			break
		}
		i += max(1, size)
	}
	if (under > 0 || underBefore > 0) && dots <= 10 || !short && dots == 0 {
		return 0
	}
	return i
}

// addressEnd returns where an address ends whose host ends at i: before the next
// space or <, without the punctuation at its end.
func addressEnd(s []byte, i int) int {
	for i < len(s) && !bytes.ContainsRune([]byte(" \t\n\v\f\r<"), rune(s[i])) {
		i++
	}
	if k := bytes.IndexByte(s[:i], '<'); k >= 0 {
		i = k
	}
	for i > 0 {
		switch s[i-1] {
		case '?', '!', '.', ',', ':', '*', '_', '~', '\'', '"':
			i--
		case ';':
			k := i - 2
			for k > 0 && letter(s[k]) {
				k--
			}
			if k < i-2 && s[k] == '&' {
				i = k
			} else {
				i--
			}
		case ')':
			if bytes.Count(s[:i], []byte{'('}) >= bytes.Count(s[:i], []byte{')'}) {
				return i
			}
			i--
		default:
			return i
		}
	}
	return i
}
