package speech

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An answer goes round in circles when its end is one piece again and again, when all
// that it has said for a while has been said twice before, when it writes the same file
// a third time, or when nearly all its words stand in the same few orders or are the same
// few. Each is found within 200 tokens, of some four bytes, after the third time.
const (
	loopEvery  = 80       // bytes between two looks
	loopWindow = 24 << 10 // bytes of the end in which a piece comes again
	loopTimes  = 3        // that a piece must come
	loopProse  = 560      // bytes of what is said again
	loopFile   = 700      // bytes of a file after the third time: files repeat themselves
	loopData   = 1200     // bytes of figures and rules, of which tables are made
	loopInFile = 3        // so much longer in a file

	wordsEvery  = 256  // bytes between two looks at the order of words
	wordsWindow = 6000 // bytes that are looked at
	wordsLeast  = 300  // that must be there to judge their order
	wordsKept   = 600  // bytes of them that say all that they say
)

// enough returns how long the end of a text must be that is one piece again and again.
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
// tables and test data repeat. The letters of escapes such as \xff are none.
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

// recurring returns the length of the longest end of s that is one piece so often that
// it is enough, and the length of that piece. What a border of the reversed text leaves
// over is its period. Back is memory for it.
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

// fewOrders reports whether hardly any four words of s, numbers apart, stand in an
// order that has not come before, or hardly any word is another one. Tables of figures
// are none of its business.
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
	if len(words) < wordsLeast || letters*2 < len(s) {
		return false
	}
	orders, kinds := map[[4]string]bool{}, map[string]bool{}
	for i := range len(words) - 3 {
		orders[[4]string(words[i:i+4])], kinds[words[i]] = true, true
	}
	return len(orders)*8 < len(words) || len(kinds)*16 < len(words) //control:few-words
}

// whole moves at to the beginning of a letter.
func whole(s string, at int) int {
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// circles looks for circles at the end of one text that grows: an answer, or thinking.
type circles struct {
	outline
	looked int     // bytes when it was last looked at
	worded int     // bytes when the order of its words was
	back   []int32 // see recurring
}

// place is where a text comes from. In a call or in a fence a file is written; what is
// thought may be written down again and again.
type place struct {
	thinks, inCall bool
	seen           func(string) bool // reports whether the model was shown a text
}

// look returns how much of text says all that it says, and whether it goes round in
// circles from there on.
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
	if length, period := recurring(tail, c.back, loopProse, func(piece string) int { return enough(piece, inFile) }); length > 0 {
		if !inFile || in.seen == nil || !in.seen(text[len(text)-length:]) { //control:shown-repetition
			return whole(text, len(text)-length+period), true
		}
		return len(text), false
	}
	if inFile {
		return c.rewritten(text)
	}
	if c.again >= loopProse { //control:said-twice-before
		return c.since, true
	}
	if keep, found := c.rewritten(text); found {
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

// look sees whether the answer goes round in circles, now and then.
func (s *Stream) look() {
	if n := s.content.Len() + s.thinking.Len(); !s.circles && n >= s.looked+loopEvery {
		s.looked = n
		s.circles = s.clip(&s.thinking, &s.inThinking) || s.clip(&s.content, &s.inContent)
	}
}

// clip cuts a text where it only repeats itself from there on, and reports whether it
// did. What stands before that is whole: calls and files that came to their end count.
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

// unescapes shows a file in the arguments of a call as it is.
var unescapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`)

// seen reports whether the model was shown a text, which may begin and end within a line
// of a call's arguments.
func (s *Stream) seen(text string) bool {
	if s.Seen == nil {
		return false
	}
	_, lines, _ := strings.Cut(text, `\n`)
	return s.Seen(text) || lines != "" && s.Seen(unescapes.Replace(strings.TrimRight(lines, `\`)))
}

// Circles reports whether the answer goes round in circles: more of it is of no use.
func (s *Stream) Circles() bool { return s.circles }

// stutters is how often the same stands at the end of a stream that its server gave
// up for going round in circles. Ollama ends an answer without a word after 30 equal
// tokens.
const stutters = 24

// Stuttered reports whether an answer that broke off had begun to repeat itself.
func (s *Stream) Stuttered() bool {
	for _, b := range []*strings.Builder{&s.thinking, &s.content} {
		text := b.String()
		tail := text[max(0, len(text)-wordsWindow):]
		length, period := recurring(tail, make([]int32, len(tail)+1), stutters, func(piece string) int { return stutters * len(piece) })
		if !s.circles && length > 0 {
			b.Reset()
			b.WriteString(text[:whole(text, len(text)-length+period)])
			s.circles = true
		}
	}
	return s.circles
}
