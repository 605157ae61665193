// Long Markdown texts are cut into parts that GitHub renders like the whole: between
// sections if possible, else between blocks, and inside a block only if the block alone
// is too long.

package render

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// markdown cuts s into parts of at most room characters each, without losing a word. Each
// part is readable alone: it repeats the head of a table or the info string of a code
// block.
func markdown(s string, room int) []string {
	room = max(room, minRoom)
	var out []string
	for _, chunk := range chunks(s) {
		out = append(out, pack(blocksOf(noFootnotes(chunk), 0), room)...)
	}
	return out
}

// minRoom is the minimum room of a part.
const minRoom = 500

// block is a Markdown block: a heading, a list, a table.
type block struct {
	src   string
	node  ast.Node // nil if the block is not parsed
	items []string // of a list, in order
	level int      // of a heading
	depth int      // number of enclosing blocks
	size  int
}

func runeCount(s string) int { return utf8.RuneCountInString(s) }

func sizes(list []block) (n int) {
	for _, b := range list {
		n += b.size
	}
	return n
}

func join(list []block) string {
	var b strings.Builder
	for _, one := range list {
		b.WriteString(one.src)
	}
	return trim(b.String())
}

// trim removes leading and trailing empty lines. It keeps the indentation of the first
// line, which may be significant.
func trim(s string) string {
	for {
		first, rest, more := strings.Cut(s, "\n")
		if strings.TrimSpace(first) != "" || !more {
			return strings.TrimRight(s, " \t\n")
		}
		s = rest
	}
}

// pack fills parts with blocks, in order.
func pack(list []block, room int) []string {
	var parts []string
	var open []block
	used := 0
	done := func(n int) {
		if text := join(open[:n]); text != "" {
			parts = append(parts, text)
		}
		open = open[n:]
		used = sizes(open)
	}
	for _, b := range list {
		if b.size > room-used {
			if b.size <= room {
				done(cutAt(open, b, room))
			} else {
				b = packBroken(b, room, &open, done)
			}
		}
		open, used = append(open, b), used+b.size
	}
	done(len(open))
	return parts
}

// packBroken fills parts with the pieces of a block that is longer than a part, and
// returns the last piece.
func packBroken(b block, room int, open *[]block, done func(int)) block {
	left := room - sizes(*open)
	if left < room/3 {
		done(withoutHeadings(*open))
		left = room - sizes(*open)
	}
	if left < room/3 { // only headings are open
		done(len(*open))
		left = room
	}
	pieces := splitBlock(b, left, room)
	if runeCount(pieces[0]) > left { // no piece fits the rest of the part
		done(len(*open))
	}
	last := len(pieces) - 1
	for _, p := range pieces[:last] {
		*open = append(*open, block{src: p})
		done(len(*open))
	}
	return block{src: pieces[last] + "\n\n", size: runeCount(pieces[last]) + 2}
}

// cutAt returns the number of blocks to emit before next, which does not fit behind all
// of them: up to the last heading of the highest rank in the second half of the room,
// else all but trailing headings.
func cutAt(open []block, next block, room int) int {
	at, rank := 0, 7
	before, all := 0, sizes(open)
	for i, b := range open {
		if b.level > 0 && b.level <= rank && before >= room/2 && all-before+next.size <= room {
			at, rank = i, b.level
		}
		before += b.size
	}
	if at == 0 {
		at = withoutHeadings(open)
	}
	if sizes(open[at:])+next.size > room {
		at = len(open)
	}
	return at
}

// withoutHeadings returns the number of blocks before the trailing headings, or of all
// blocks if there are only headings.
func withoutHeadings(open []block) int {
	n := len(open)
	for n > 0 && open[n-1].level > 0 {
		n--
	}
	if n == 0 {
		return len(open)
	}
	return n
}

// blockParser parses the blocks of GitHub's Markdown. Inline content is left unparsed.
var blockParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
	)
})

// blocksOf returns the blocks of a text. If the parser fails, the text is one block.
func blocksOf(s string, depth int) (out []block) {
	defer func() {
		if recover() != nil {
			out = []block{{src: s, depth: depth, size: runeCount(s)}}
		}
	}()
	src := []byte(s)
	top := blockParser().Parse(text.NewReader(src))
	starts, nodes := places(s, top)
	if len(nodes) == 0 || strings.TrimSpace(s[:starts[0]]) != "" {
		return []block{{src: s, depth: depth, size: runeCount(s)}}
	}
	for i, n := range nodes {
		b := block{src: part(s, starts, i), node: n, depth: depth}
		b.size = runeCount(b.src)
		switch n := n.(type) {
		case *ast.Heading:
			b.level = n.Level
		case *ast.List:
			list := s[:starts[i]+len(b.src)]
			at, _ := places(list, n)
			for k := range at {
				b.items = append(b.items, part(list, at, k))
			}
		}
		out = append(out, b)
	}
	return out
}

// places returns the children of a node that begin on a line of their own, and the
// offsets of those lines.
func places(s string, of ast.Node) (starts []int, nodes []ast.Node) {
	last := -1
	for n := of.FirstChild(); n != nil; n = n.NextSibling() {
		at := n.Pos()
		if at < 0 || at > len(s) {
			continue
		}
		if at = strings.LastIndexByte(s[:at], '\n') + 1; at <= last {
			continue
		}
		starts, nodes, last = append(starts, at), append(nodes, n), at
	}
	return starts, nodes
}

// part returns the text between one start and the next.
func part(s string, starts []int, i int) string {
	if i+1 < len(starts) {
		return s[starts[i]:starts[i+1]]
	}
	return s[starts[i]:]
}

// isTable reports whether a block is a table with its head in the first two lines.
func (b block) isTable() bool {
	_, ok := b.node.(*tables.Table)
	return ok && strings.Count(b.src, "\n") >= 2
}

// maxParsed is the maximum length of a text that is parsed at once, in bytes.
const maxParsed = 200 << 10

// chunks cuts an overlong text into parseable chunks, at empty lines outside of code.
func chunks(s string) []string {
	var out []string
	for len(s) > maxParsed {
		at, fence, n := 0, "", 0
		for line := range strings.Lines(s[:maxParsed]) {
			n += len(line)
			fence = fenceAfter(fence, line)
			if fence == "" && strings.TrimSpace(line) == "" {
				at = n
			}
		}
		if at == 0 {
			at = strings.LastIndexByte(s[:maxParsed], '\n') + 1
		}
		if at == 0 {
			for at = maxParsed; !utf8.RuneStart(s[at]); {
				at--
			}
		}
		out, s = append(out, s[:at]), s[at:]
	}
	return append(out, s)
}

var fenceLine = pattern.Lazy("^ {0,3}(`{3,}|~{3,})(.*)$")

// fenceAfter returns the fence of the code block that is open after a line, given the one
// that was open before it.
func fenceAfter(open, line string) string {
	m := fenceLine().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	switch {
	case m == nil:
	case open == "" && (m[1][0] == '~' || !strings.Contains(m[2], "`")):
		return m[1]
	case open != "" && strings.HasPrefix(m[1], open) && strings.TrimSpace(m[2]) == "":
		return ""
	}
	return open
}

var footnote = pattern.Lazy(`^([ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*)(\[\^[^\]\n]+\]:)`)

// noFootnotes escapes footnotes: GitHub hides those without a reference in the comment.
func noFootnotes(s string) string {
	if !strings.Contains(s, "[^") {
		return s
	}
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(s) {
		inside := fence != ""
		fence = fenceAfter(fence, line)
		if !inside {
			line = footnote().ReplaceAllString(line, `$1\$2`) //control:split-footnotes
		}
		b.WriteString(line)
	}
	return b.String()
}
