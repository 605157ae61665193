package speech

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// outline is the structure of a growing text, as far as parsed: its sentences with
// their counts, and files in fences.
type outline struct {
	at      int // end of the parsed text
	scanned int // end of the text searched for a sentence's end

	said  map[string]int // counts per sentence, digits ignored
	again int            // bytes of trailing sentences that each occurred twice before
	since int            // offset of the first of these sentences

	ticks  string // marker that closes the open fence; "" outside a fence
	open   block
	blocks []block
	judged int    // number of blocks checked
	line   string // last non-blank line before a fence
	lineAt int
}

// block is a fence with its content.
type block struct {
	start, body int    // offsets of the block, including its path, and of its content
	path        string // path in its heading or first line, or ""
	text        string // "" while it is open
	begun       bool   // its first line was read
}

// minLetters is the minimum number of letters in a sentence to count. Shorter ones,
// such as brackets of code, are ignored.
const minLetters = 8

// read parses the new part of the text, up to the end of its last sentence.
func (o *outline) read(text string) {
	for o.at < len(text) {
		rest := text[o.at:]
		lines := o.ticks != "" || (o.at == 0 || text[o.at-1] == '\n') && mayFence(rest)
		end := ending(text, max(o.at, o.scanned), lines)
		if end < 0 {
			o.scanned = max(o.at, len(text)-1)
			return
		}
		o.take(text[o.at:end], text)
		o.at, o.scanned = end, end
	}
}

// mayFence reports whether a line is a fence, or may become one.
func mayFence(line string) bool {
	line = strings.TrimLeft(line, " ")
	return line == "" || line[0] == '`' || line[0] == '~'
}

// ending returns the end of the sentence at from, or of the line if lines is set. It
// is -1 if the text has no end yet.
func ending(text string, from int, lines bool) int {
	if lines {
		if n := strings.IndexByte(text[from:], '\n'); n >= 0 {
			return from + n + 1
		}
		return -1
	}
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\n':
			return i + 1
		case ' ':
			if i > 0 && strings.IndexByte(".!?;:", text[i-1]) >= 0 {
				return i + 1
			}
		case 0x82: // last byte of 。
			if i > 1 && text[i-2:i+1] == "。" {
				return i + 1
			}
		}
	}
	return -1
}

// take processes a sentence or a line.
func (o *outline) take(s, text string) {
	trimmed := strings.TrimSpace(s)
	if o.ticks != "" {
		if closesFence(trimmed, o.ticks) {
			o.open.text = text[o.open.body:o.at]
			o.ticks, o.line = "", ""
			o.blocks = append(o.blocks, o.open)
		} else if !o.open.begun {
			o.open.begun = true
			if o.open.path == "" && isComment(trimmed) {
				o.open.path = pathIn(trimmed)
			}
		}
		return
	}
	if ticks := fenceOf(trimmed); ticks != "" && strings.HasSuffix(s, "\n") {
		o.ticks, o.again = ticks, 0
		o.open = block{start: o.at, body: o.at + len(s), path: pathIn(strings.Trim(trimmed, "`~"))}
		if o.open.path == "" && o.line != "" {
			if o.open.path = pathIn(o.line); o.open.path != "" {
				o.open.start = o.lineAt
			}
		}
		return
	}
	switch {
	case isCode(s):
		o.again = 0
	case trimmed != "":
		o.count(trimmed)
	}
	if trimmed != "" {
		o.line, o.lineAt = trimmed, o.at
	}
}

// isCode reports whether a line looks like code, which is more repetitive than prose.
func isCode(line string) bool {
	code := strings.TrimRight(line, " \r\n")
	return code != "" &&
		(line[0] == '\t' || strings.HasPrefix(line, "    ") || strings.IndexByte("{}()[];,+", code[len(code)-1]) >= 0)
}

// count counts a sentence.
func (o *outline) count(s string) {
	if strings.HasPrefix(s, "|") || strings.Contains(s, "://") {
		return // a table or a list of links
	}
	letters := 0
	said := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r):
			letters++
			return unicode.ToLower(r)
		case unicode.IsSpace(r), unicode.IsDigit(r):
			return -1
		}
		return r
	}, s)
	if letters < minLetters || letters*2 < utf8.RuneCountInString(said) {
		return
	}
	if o.said == nil {
		o.said = map[string]int{}
	}
	o.said[said]++
	switch {
	case o.said[said] < loopTimes:
		o.again = 0
	case o.again == 0:
		o.since, o.again = o.at, len(s)
	default:
		o.again += len(s)
	}
}

// fenceOf returns the marker that opens a fence on this line, or "".
func fenceOf(line string) string {
	for _, tick := range [...]string{"`", "~"} {
		rest := strings.TrimLeft(line, tick)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, "`") {
			return line[:n]
		}
	}
	return ""
}

func closesFence(line, ticks string) bool {
	return len(line) >= len(ticks) && strings.Trim(line, ticks[:1]) == ""
}

// isComment reports whether a file's first line is a comment and may name the file.
func isComment(line string) bool {
	for _, begin := range [...]string{"#", "//", "--", "/*", "<!--", ";", "%"} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

// maxHeading is the maximum length of a line before a fence that names its file.
const maxHeading = 160

// pathIn returns the last word of a line that is a file path, or "".
func pathIn(line string) string {
	if len(line) > maxHeading {
		return ""
	}
	path := ""
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("`*\"'()[]<>=,:", r) }) {
		if word = strings.Trim(word, ".;!?#"); isPath(word) {
			path = word
		}
	}
	return path
}

// maxExtension is the maximum length of a file name extension.
const maxExtension = 8

func isPath(word string) bool {
	name := word[strings.LastIndexByte(word, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	for _, r := range word {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@", r) {
			return false
		}
	}
	extension := name[dot+1:]
	return dot >= 0 && len(extension) <= maxExtension && strings.ContainsFunc(extension, unicode.IsLetter) &&
		word != "e.g" &&
		word != "i.e"
}

// minBlock is the minimum size in bytes of a repeated fence to count: the same
// command three times is no circle.
const minBlock = 40

// findRewritten finds a file that is written a third time, or a fence without a name
// whose content occurs a third time. keep is the length of the text before it.
func (o *outline) findRewritten(text string) (keep int, found bool) {
	blocks, now := o.blocks, o.open
	switch {
	case o.ticks != "": // a file with the same beginning will continue the same
		now.text = text[min(now.body, o.at):o.at]
		if now.path == "" || len(now.text) < loopProse {
			return len(text), false
		}
	case len(blocks) == o.judged:
		return len(text), false
	default:
		o.judged = len(blocks)
		blocks, now = blocks[:len(blocks)-1], blocks[len(blocks)-1]
	}
	if len(now.text) < minBlock {
		return len(text), false
	}
	before := 0
	for _, b := range blocks {
		if b.same(now, o.ticks != "") {
			before++
		}
	}
	if before < loopTimes-1 { //control:file-a-third-time
		return len(text), false
	}
	keep = now.start
	for i := len(blocks) - 1; i > 0; i-- { // skip preceding blocks that are repetitions too
		if !hasSame(blocks[:i], blocks[i]) {
			break
		}
		keep = blocks[i].start
	}
	return keep, true
}

func hasSame(blocks []block, b block) bool {
	for _, other := range blocks {
		if other.path == b.path && other.text == b.text {
			return true
		}
	}
	return false
}

// same reports whether two fences contain the same file: nearly the same lines if the
// path is known, and exactly the same text for an edit or an unknown path. begins
// means that now is incomplete, so only the beginning is compared.
func (b block) same(now block, begins bool) bool {
	switch {
	case b.path != now.path:
		return false
	case b.path == "" || strings.Contains(now.text, "<<<<<<<") || strings.Contains(now.text, "\n@@"):
		return b.text == now.text
	case begins:
		b.text = b.text[:min(len(b.text), len(now.text)*5/4)]
	}
	had, of := map[string]bool{}, 0
	for line := range strings.Lines(b.text) {
		had[line] = true
		of++
	}
	lines, common := 0, 0
	for line := range strings.Lines(now.text) {
		if lines++; had[line] {
			common++
		}
	}
	return common*6 >= lines*5 && lines*6 >= of*5
}
