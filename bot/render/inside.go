package render

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// splitBlock splits a block that is too long for one part: at most first characters into
// the first piece, and at most room into each other piece.
func splitBlock(b block, first, room int) []string {
	if b.depth == maxDepth {
		return splitLines(b.src, first, room)
	}
	switch n := b.node.(type) {
	case *ast.List:
		return splitList(b, n, first, room)
	case *ast.Blockquote:
		return splitQuote(b, first, room)
	case *ast.FencedCodeBlock:
		return splitFence(b.src, first, room)
	case *ast.CodeBlock:
		return splitLines(b.src, first, room)
	}
	if b.isTable() {
		return splitTable(b.src, first, room)
	}
	return splitText(b.src, first, room)
}

// filler fills pieces with texts.
type filler struct {
	pieces []string
	b      strings.Builder
	n      int // number of characters in b
	room   int // maximum number of characters of this piece
	next   int // maximum number of characters of the next pieces
}

func (f *filler) add(s string) {
	f.b.WriteString(s)
	f.n += runeCount(s)
}

func (f *filler) reset() {
	f.b.Reset()
	f.n = 0
}

// fits reports whether a text fits into the current piece.
func (f *filler) fits(s string) bool { return f.n+runeCount(s) <= f.room }

// turn begins the next piece.
func (f *filler) turn() {
	if f.b.Len() > 0 {
		f.pieces = append(f.pieces, f.b.String())
	}
	f.reset()
	f.room = f.next
}

func (f *filler) done() []string {
	f.turn()
	if len(f.pieces) == 0 {
		return []string{""}
	}
	return f.pieces
}

var itemMark = pattern.Lazy(`^( {0,3})([-+*]|\d{1,9}[.)])([ \t]+|$)`)

func splitList(b block, n *ast.List, first, room int) []string {
	f := filler{room: first, next: room}
	for i, item := range b.items {
		if !f.fits(item) && f.b.Len() > 0 {
			f.turn()
		}
		if f.b.Len() == 0 && n.IsOrdered() {
			item = setNumber(item, n.Start+i) //control:split-numbers
		}
		if f.fits(item) {
			f.add(item)
			continue
		}
		pieces := splitItem(block{src: item, depth: b.depth}, f.room, room)
		for _, p := range pieces {
			f.turn()
			f.add(p + "\n\n")
		}
		f.turn() // the next text is not part of the item
	}
	return f.done()
}

// setNumber sets the number of a list item and indents its content to match.
func setNumber(item string, n int) string {
	m := itemMark().FindStringSubmatch(item)
	if m == nil || len(m[2]) < 2 {
		return item
	}
	mark := strconv.Itoa(n) + m[2][len(m[2])-1:]
	wider := len(mark) - len(m[2])
	lines := strings.SplitAfter(item, "\n")
	lines[0] = m[1] + mark + strings.Repeat(" ", max(0, -wider)) + lines[0][len(m[1])+len(m[2]):]
	for i := 1; i < len(lines) && wider > 0; i++ {
		if strings.TrimSpace(lines[i]) != "" {
			lines[i] = strings.Repeat(" ", wider) + lines[i]
		}
	}
	return strings.Join(lines, "")
}

// splitItem splits an item that is longer than a part. Only the first piece has the
// item's mark; the others are plain blocks.
func splitItem(b block, first, room int) []string {
	item := b.src
	m := itemMark().FindStringSubmatch(item)
	if m == nil {
		return splitText(item, first, room)
	}
	wide := len(m[1]) + len(m[2]) + len(m[3])
	if len(m[3]) > 4 || m[3] == "" { // the content is code, or begins on the next line
		wide = len(m[1]) + len(m[2]) + 1
	}
	wide = min(wide, len(item))
	var text strings.Builder
	for i, line := range strings.SplitAfter(item, "\n") {
		cut := wide
		if i > 0 {
			cut = min(indent(line), wide)
		}
		text.WriteString(line[min(cut, len(line)):])
	}
	for at := first - wide; ; at -= first / 4 { // indentation needs room as well
		inside := splitInside(block{src: text.String(), depth: b.depth}, at, room)
		head := indentWith(inside[0], item[:wide], wide)
		if runeCount(head) <= first {
			return append([]string{head}, inside[1:]...)
		}
		if at <= first/4 {
			return append([]string{item[:wide]}, inside...)
		}
	}
}

// indentWith puts a mark before a text and indents each further line by wide blanks.
func indentWith(s, mark string, wide int) string {
	lines := strings.SplitAfter(s, "\n")
	for i := range lines {
		switch {
		case i == 0:
			lines[i] = mark + lines[i]
		case strings.TrimSpace(lines[i]) != "":
			lines[i] = strings.Repeat(" ", wide) + lines[i]
		}
	}
	return strings.Join(lines, "")
}

// maxDepth is the maximum depth of nested blocks to parse, because each level is parsed
// anew.
const maxDepth = 4

// splitInside splits the content of a container block.
func splitInside(b block, first, room int) []string {
	first = max(first, minInside)
	list := blocksOf(b.src, b.depth+1)
	n, left := 0, first
	for n < len(list) && list[n].size <= left {
		left -= list[n].size
		n++
	}
	if n == 0 && len(list) > 0 {
		pieces := splitBlock(list[0], first, room)
		return append(pieces, pack(list[1:], room)...)
	}
	return append([]string{join(list[:n])}, pack(list[n:], room)...)
}

// minInside is the minimum room for a piece of nested content, in characters.
const minInside = 100

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

var quoteMark = pattern.Lazy(`(?m)^ {0,3}> ?`)

func splitQuote(b block, first, room int) []string {
	inside := quoteMark().ReplaceAllString(trim(b.src), "")
	for part := 8; ; part /= 2 { // the quote marks need room as well
		out := splitInside(block{src: inside, depth: b.depth}, first-first/part, room-room/part)
		fits := true
		for i, p := range out {
			out[i] = "> " + strings.ReplaceAll(p, "\n", "\n> ")
			fits = fits && runeCount(out[i]) <= map[bool]int{true: first, false: room}[i == 0]
		}
		if fits {
			return out
		}
		if part == 2 { // only short lines: the marks take too much room
			return splitText(inside, first, room)
		}
	}
}

func splitFence(s string, first, room int) []string {
	lines := strings.SplitAfter(trim(s), "\n")
	open := strings.TrimRight(lines[0], "\n") + "\n"
	m := fenceLine().FindStringSubmatch(strings.TrimSuffix(open, "\n"))
	if m == nil || runeCount(open) > minInside {
		return splitText(s, first, room)
	}
	body := lines[1:]
	if n := len(body); n > 0 && fenceAfter(m[1], body[n-1]) == "" {
		body = body[:n-1]
	}
	ends := open[:strings.IndexByte(open, m[1][0])] + m[1]
	pieces := splitLines(strings.Join(body, ""), first-runeCount(open+ends)-1, room-runeCount(open+ends)-1)
	for i, p := range pieces {
		pieces[i] = open + strings.TrimSuffix(p, "\n") + "\n" + ends //control:split-fence
	}
	return pieces
}

// splitLines splits between lines, and inside lines that are too long.
func splitLines(s string, first, room int) []string {
	f := filler{room: max(first, minInside), next: max(room, minInside)}
	for line := range strings.Lines(s) {
		for !f.fits(line) {
			if f.b.Len() > 0 {
				f.turn()
				continue
			}
			at := runesTo(line, f.room)
			f.add(line[:at])
			f.turn()
			line = line[at:]
		}
		f.add(line)
	}
	return f.done()
}

func splitTable(s string, first, room int) []string {
	lines := strings.SplitAfter(trim(s), "\n")
	head := strings.Join(lines[:2], "")
	if runeCount(head) > room/2 {
		return splitText(s, first, room)
	}
	f := filler{room: first, next: room}
	f.add(head)
	for _, row := range lines[2:] {
		if !f.fits(row) {
			if f.b.String() == head { // drop a head without rows
				f.reset()
			}
			f.turn()
			f.add(head) //control:split-table-head
		}
		if f.fits(row) {
			f.add(row)
			continue
		}
		if f.reset(); len(f.pieces) == 0 {
			f.add(head)
			f.turn()
		}
		// A row that is too long for a part is shown as text.
		for _, p := range splitText(row, room, room) {
			f.add(p)
			f.turn()
		}
		f.add(head)
	}
	if f.b.String() == head && len(f.pieces) > 0 {
		f.reset()
	}
	return f.done()
}

// splitText splits a text between lines or words.
func splitText(s string, first, room int) []string {
	first, room = max(first, minInside), max(room, minInside)
	var out []string
	for runeCount(s) > first {
		at := gap(s[:runesTo(s, first)])
		out = append(out, strings.TrimRight(s[:at], " \t\n"))
		s, first = strings.TrimLeft(s[at:], " \t\n"), room
	}
	return append(out, s)
}

// runesTo returns the offset after the first n characters of s.
func runesTo(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// gap returns the best offset to split a text: before a word, outside code and links.
// The start of a line is best, then the start of a sentence.
func gap(s string) int {
	var best [4]int // offsets before: any word, a word outside code and links, a sentence, a line
	var in spans
	for i, r := range s {
		in.next(r)
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		if i < len(s)/3 || !unicode.IsSpace(before) || !unicode.IsLetter(r) {
			continue
		}
		rank := 1
		switch {
		case in.code > 0 || in.brackets > 0:
			rank = 0
		case before == '\n':
			rank = 3
		case strings.HasSuffix(strings.TrimRight(s[max(0, i-8):i], " "), "."):
			rank = 2
		}
		best[rank] = i
	}
	for rank := len(best) - 1; rank >= 0; rank-- {
		if best[rank] > 0 {
			return best[rank]
		}
	}
	at := len(s)
	if end, _ := utf8.DecodeLastRuneInString(s); end == '\\' && at > 1 {
		at--
	}
	return at
}

// spans tracks whether a position in a text is inside code or brackets.
type spans struct{ code, brackets, ticks int }

func (in *spans) next(r rune) {
	if r == '`' {
		in.ticks++
		return
	}
	switch { // a run of backticks opens code, or closes code that as many opened
	case in.ticks == 0:
	case in.code == 0:
		in.code = in.ticks
	case in.code == in.ticks:
		in.code = 0
	}
	in.ticks = 0
	switch {
	case in.code > 0:
	case r == '[' || r == '(':
		in.brackets++
	case r == ']' || r == ')':
		in.brackets = max(0, in.brackets-1)
	}
}
