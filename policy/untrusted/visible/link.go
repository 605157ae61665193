package visible

import (
	"bytes"
	"slices"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// linkParser is the library's, which is shown titles in a spelling of which it finds the
// same end as GitHub: a backslash at the end of a title may belong to it or not. Where
// an address in angle brackets is none for GitHub, it is shown no parenthesis.
type linkParser struct{ parser.InlineParser }

func (p linkParser) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	p.InlineParser.(parser.CloseBlocker).CloseBlock(parent, block, pc)
}

func (p linkParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if len(line) < 2 || line[0] != ']' || line[1] != '(' {
		return p.InlineParser.Parse(parent, block, pc)
	}
	if !pc.ComputeIfAbsent(doubtfulKey, func() any { return doubtful().Match(block.Source()) }).(bool) {
		return p.InlineParser.Parse(parent, block, pc)
	}
	rest, from := ahead(block)
	begin, end := linkTitle(rest)
	if noAddress(rest) {
		begin, end = 1, 3
	} else if bytes.IndexByte(rest[begin:end], '\\') < 0 {
		return p.InlineParser.Parse(parent, block, pc)
	}
	src := pc.ComputeIfAbsent(respelledKey, func() any { return slices.Clone(block.Source()) }).([]byte)
	for i := begin; i < end-1; i++ {
		if rest[i] != '\n' {
			src[from[i]] = 'x' // nobody sees a title
		}
	}
	respelled := text.NewBlockReader(src, parent.Lines())
	respelled.SetPosition(block.Position())
	n := p.InlineParser.Parse(parent, respelled, pc)
	block.SetPosition(respelled.Position())
	for i := begin; i < min(end, len(rest)); i++ {
		src[from[i]] = rest[i]
	}
	return n
}

var respelledKey, doubtfulKey = parser.NewContextKey(), parser.NewContextKey()

// doubtful is where a title may end, since the backslash may belong to what is behind
// it, and an address in angle brackets.
var doubtful = pattern.Lazy(`\\["')]|\]\(\s*<`)

// noAddress reports whether the address in angle brackets is none that s, the second
// half of a link, begins with: it has one inside, or a title right behind it.
func noAddress(s []byte) bool {
	at := skipBlank(string(s), len("]("))
	if at == len(s) || s[at] != '<' {
		return false
	}
	d := angleDest().Find(s[at:])
	at += len(d)
	return d == nil || at < len(s) && s[at] != ')' && !blank(s[at]) //control:address-in-brackets
}

// ahead is what the block goes on with, and where each byte of it stands in the source.
func ahead(block text.Reader) (rest []byte, from []int) {
	l, pos := block.Position()
	for {
		line, seg := block.PeekLine()
		if line == nil {
			block.SetPosition(l, pos)
			return rest, from
		}
		for i := range line {
			rest, from = append(rest, line[i]), append(from, seg.Start-seg.Padding+i)
		}
		block.AdvanceLine()
	}
}

// linkTitle returns where the title of the link is whose second half s begins with,
// behind its first quote and to the end of its last one; 0 when it has none.
func linkTitle(s []byte) (begin, end int) {
	at := skipBlank(string(s), len("]("))
	if d := angleDest().Find(s[at:]); d != nil {
		at += len(d)
	} else {
		to, _ := destination(s[at:])
		at += len(to)
	}
	begin = skipBlank(string(s), at)
	n := len(titleForm().Find(s[begin:]))
	if begin == at || n == 0 {
		return 0, 0
	}
	return begin + 1, begin + n
}
