package speech

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits for answers that repeat themselves: one piece recurs at the end, all recent
// sentences were said twice before, the same file is written a third time, or the
// text consists of few words or few word sequences. Each is detected within 200
// tokens, of some four bytes, after the third time.
const (
	loopEvery  = 80       // bytes between two checks
	loopWindow = 24 << 10 // bytes of the end to search for recurring pieces
	loopTimes  = 3        // minimum number of recurrences
	loopProse  = 560      // bytes of repeated prose
	loopFile   = 700      // bytes of a file after the third time; files repeat themselves
	loopData   = 1200     // bytes of figures and rules, as in tables
	loopInFile = 3        // factor for data in a file

	wordsEvery  = 256  // bytes between two checks of the word order
	wordsWindow = 6000 // bytes to check
	minWords    = 300  // minimum number of words for the check
	wordsKept   = 600  // bytes to keep of a repetitive text
)

// enough returns the minimum length of a text's end that repeats piece to count as a
// loop.
func enough(piece string, inFile bool) int {
	words := isWords(piece)
	switch {
	case words && inFile:
		return loopTimes*len(piece) + loopFile
	case words:
		return max(loopTimes*len(piece), loopProse)
	case inFile:
		return loopInFile * max((loopTimes+1)*len(piece), loopData)
	}
	return max((loopTimes+1)*len(piece), loopData)
}

// isWords reports whether a piece is more than figures, rules and brackets, which
// tables and test data repeat. Letters in escapes such as \xff do not count.
func isWords(piece string) bool {
	letters, others, kinds, before := 0, 0, map[rune]bool{}, ' '
	for _, r := range piece {
		escape := before == '\\'
		switch before = r; {
		case escape:
			before = ' '
		case unicode.IsLetter(r):
			letters++
			kinds[r] = true
		case !unicode.IsSpace(r):
			others++
		}
	}
	return letters >= others && len(kinds) > 2
}

// recurring returns the length of the longest end of s that repeats one piece often
// enough, and the length of that piece. The period is the length minus the longest
// border of the reversed text. back is scratch memory.
func recurring(s string, back []int32, least int, enough func(piece string) int) (length, period int) {
	n := len(s)
	back = back[:n+1] // back[i]: the longest border of the last i bytes
	at := func(i int) byte { return s[n-1-i] }
	asked, need := 0, 0
	for i, k := 1, 0; i < n; i++ {
		for k > 0 && at(i) != at(k) {
			k = int(back[k])
		}
		if at(i) == at(k) {
			k++
		}
		back[i+1] = int32(k)
		p := i + 1 - k
		if i+1 < least || i+1 < 2*p {
			continue
		}
		if p != asked {
			asked, need = p, enough(s[n-p:])
		}
		if i+1 >= need {
			length, period = i+1, p
		}
	}
	return length, period
}

// fewOrders reports whether s has hardly any new sequence of four words, ignoring
// digits, or hardly any new word. Tables of figures are exempt.
func fewOrders(s string) bool {
	letters := 0
	words := strings.FieldsFunc(s, unicode.IsSpace)
	for i, w := range words {
		for _, r := range w {
			if unicode.IsLetter(r) {
				letters++
			}
		}
		words[i] = strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, w)
	}
	if len(words) < minWords || letters*2 < len(s) {
		return false
	}
	orders, kinds := map[[4]string]bool{}, map[string]bool{}
	for i := range len(words) - 3 {
		orders[[4]string(words[i:i+4])], kinds[words[i]] = true, true
	}
	return len(orders)*8 < len(words) || len(kinds)*16 < len(words) //control:few-words
}

// whole moves at back to the beginning of a character.
func whole(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// circles detects repetition at the end of one growing text: an answer or its
// thinking.
type circles struct {
	outline
	looked int     // length at the last check
	worded int     // length at the last check of the word order
	back   []int32 // see recurring
}

// place is the origin of a text. A call or a fence writes a file. Thinking may repeat
// files.
type place struct {
	thinks, inCall bool
	seen           func(string) bool // reports whether the model was shown a text
}

// look reports whether the end of text only repeats itself, and the length to keep.
func (c *circles) look(text string, in place) (keep int, found bool) {
	c.read(text)
	if in.thinks {
		c.blocks = nil
	}
	if in.inCall {
		c.again = 0
	}
	inFile := in.inCall || c.ticks != ""
	from := max(0, len(text)-loopWindow)
	tail := text[from:]
	if cap(c.back) <= len(tail) {
		c.back = make([]int32, loopWindow+1)
	}
	if length, period := recurring(tail, c.back, loopProse, func(piece string) int {
		return enough(piece, inFile)
	}); length > 0 {
		if !inFile || in.seen == nil || !in.seen(text[len(text)-length:]) { //control:shown-repetition
			return whole(text, len(text)-length+period), true
		}
		return len(text), false
	}
	if inFile {
		return c.findRewritten(text)
	}
	if c.again >= loopProse { //control:said-twice-before
		return c.since, true
	}
	if keep, found := c.findRewritten(text); found {
		return keep, true
	}
	if len(text)-c.worded < wordsEvery || strings.Count(text, "```")%2 == 1 { // only prose is judged by its words
		return len(text), false
	}
	c.worded, from = len(text), max(0, len(text)-wordsWindow)
	if fewOrders(text[from:]) {
		return whole(text, from+wordsKept), true
	}
	return len(text), false
}

// look checks from time to time whether the answer repeats itself.
func (s *Stream) look() {
	if n := s.content.Len() + s.thinking.Len(); !s.circles && n >= s.looked+loopEvery {
		s.looked = n
		s.circles = s.clip(&s.thinking, &s.inThinking) || s.clip(&s.content, &s.inContent)
	}
}

// clip cuts a text at the point after which it only repeats itself, and reports
// whether it did. Complete calls and files before that point count.
func (s *Stream) clip(b *strings.Builder, c *circles) bool {
	text := b.String()
	if len(text) == c.looked {
		return false
	}
	c.looked = len(text)
	in := place{thinks: b == &s.thinking || s.inline > 0 && !s.talks, seen: s.seen}
	keep, found := c.look(text, in)
	if found && b == &s.content && s.Parser.Partial(text) < len(text) && s.inCall(text) {
		in.inCall = true
		keep, found = c.look(text, in)
	}
	if found {
		b.Reset()
		b.WriteString(text[:keep])
	}
	return found
}

// inCall reports whether a text ends within a call.
func (s *Stream) inCall(text string) bool {
	calls := s.Parser.Parse(text).Calls
	return len(calls) == 0 || calls[len(calls)-1].Truncated
}

// unescapes decodes a file in the arguments of a call.
var unescapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`)

// seen reports whether the model was shown a text. The text may begin and end within
// a line of a call's arguments.
func (s *Stream) seen(text string) bool {
	if s.Seen == nil {
		return false
	}
	_, lines, _ := strings.Cut(text, `\n`)
	return s.Seen(text) || lines != "" && s.Seen(unescapes.Replace(strings.TrimRight(lines, `\`)))
}

// Circles reports whether the answer repeats itself, so that more of it is useless.
func (s *Stream) Circles() bool { return s.circles }

// stutters is the minimum number of repetitions at the end of a stream that its
// server aborted because of them. Ollama silently ends an answer after 30 equal
// tokens.
const stutters = 24

// Stuttered reports whether an aborted answer had begun to repeat itself.
func (s *Stream) Stuttered() bool {
	for _, b := range []*strings.Builder{&s.thinking, &s.content} {
		text := b.String()
		tail := text[max(0, len(text)-wordsWindow):]
		length, period := recurring(
			tail,
			make([]int32, len(tail)+1),
			stutters,
			func(piece string) int { return stutters * len(piece) },
		)
		if !s.circles && length > 0 {
			b.Reset()
			b.WriteString(text[:whole(text, len(text)-length+period)])
			s.circles = true
		}
	}
	return s.circles
}
