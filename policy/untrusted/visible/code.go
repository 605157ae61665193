package visible

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// codeParser finds code in paragraphs. GitHub's parser remembers where it saw runs
// of backticks, so as not to look twice; once a run had no partner, it takes some
// later ones for text that would have one. What looks like code there is none, and
// HTML in it is HTML.
type codeParser struct{}

// ticks is what is remembered of one paragraph.
type ticks struct {
	of      ast.Node
	scanned bool
	seen    map[int]int // length of a run, where it was seen last
}

var ticksKey = parser.NewContextKey()

// mostTicks is the longest run that begins code.
const mostTicks = 80

func (codeParser) Trigger() []byte { return []byte{'`'} }

func (codeParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	known, ok := pc.Get(ticksKey).(*ticks)
	if !ok || known.of != parent {
		known = &ticks{of: parent, seen: map[int]int{}}
		pc.Set(ticksKey, known)
	}
	line, start := block.PeekLine()
	n := runOf(line)
	block.Advance(n)
	literal := ast.NewTextSegment(start.WithStop(start.Start + n))
	at := start.Start + n
	if n > mostTicks || known.scanned && known.seen[n] <= at {
		return literal
	}
	l, pos := block.Position()
	code := ast.NewCodeSpan()
	for {
		line, seg := block.PeekLine()
		if line == nil {
			break
		}
		for i := 0; i < len(line); i++ {
			m := runOf(line[i:])
			if m == 0 {
				continue
			}
			if m <= mostTicks {
				known.seen[m] = seg.Start + i
			}
			if m == n {
				code.AppendChild(code, ast.NewRawTextSegment(seg.WithStop(seg.Start+i)))
				block.Advance(i + m)
				return code
			}
			i += m - 1
		}
		code.AppendChild(code, ast.NewRawTextSegment(seg))
		block.AdvanceLine()
	}
	known.scanned = true
	block.SetPosition(l, pos)
	return literal
}

// runOf is how many backticks s begins with.
func runOf(s []byte) int {
	n := 0
	for n < len(s) && s[n] == '`' {
		n++
	}
	return n
}
