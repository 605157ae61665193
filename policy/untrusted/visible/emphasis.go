package visible

import (
	"bytes"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// emphasisParser is the library's, but that GitHub's parser looks past tildes for what
// stands beside a mark.
type emphasisParser struct{}

type emphasis struct{}

func (emphasis) IsDelimiter(b byte) bool { return b == '*' || b == '_' }
func (emphasis) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}
func (emphasis) OnMatch(consumes int) ast.Node { return ast.NewEmphasis(consumes) }

func (emphasisParser) Trigger() []byte { return []byte{'*', '_'} }

func (emphasisParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	n := len(line) - len(bytes.TrimLeft(line, string(line[0])))
	seen := append(bytes.Clone(line[:n]), bytes.TrimLeft(line[n:], "~")...)
	node := parser.ScanDelimiter(seen, beforeTildes(parent, block), 1, emphasis{})
	node.Segment = segment.WithStop(segment.Start + n)
	block.Advance(n)
	pc.PushDelimiter(node)
	return node
}

// beforeTildes is the character that the block has before the tildes behind which it
// goes on.
func beforeTildes(parent ast.Node, block text.Reader) rune {
	l, pos := block.Position()
	begin := pos.Start
	if parent.Type() == ast.TypeBlock && l < parent.Lines().Len() {
		begin = parent.Lines().At(l).Start
	}
	src := block.Source()
	at := pos.Start
	for at > begin && src[at-1] == '~' {
		at--
	}
	switch at {
	case pos.Start:
		return block.PrecendingCharacter()
	case begin:
		return '\n'
	}
	before, _ := utf8.DecodeLastRune(src[:at])
	return before
}
