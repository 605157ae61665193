package speech

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// An answer goes round in circles when its end is one piece again and again, or when
// nearly all its words stand in the same few orders, or are the same few. loopWindow is how much of the
// end is looked at, loopEvery how often.
const (
	loopWindow = 6000 // bytes
	loopEvery  = 256
	loopLeast  = 1200 // bytes of one piece again and again, some 300 tokens
	loopTimes  = 4    // that a long piece must come
	loopInCall = 3    // so much longer in a call: files repeat themselves
	loopWords  = 300  // that must be there to judge their order
)

// circle looks for one at the end of text. Keep is how much of text says all that it
// says.
func circle(text string, least int) (keep int, found bool) {
	from := max(0, len(text)-max(loopWindow, 2*least))
	tail := text[from:]
	if length, period := repeated(tail, least, loopTimes); length > 0 {
		return whole(text, len(text)-length+period), true
	}
	if least > loopLeast || strings.Count(text, "```")%2 == 1 || !fewOrders(tail) { // only prose is judged by its words
		return len(text), false
	}
	return whole(text, from+loopLeast/2), true
}

// repeated returns the length of the longest end of s, at least least bytes, that is
// one piece so many times, and the length of that piece. What a border of the reversed
// text leaves over is its period.
func repeated(s string, least, times int) (length, period int) {
	n := len(s)
	back := make([]int, n+1) // back[i]: the longest border of the last i bytes
	at := func(i int) byte { return s[n-1-i] }
	for i, k := 1, 0; i < n; i++ {
		for k > 0 && at(i) != at(k) {
			k = back[k]
		}
		if at(i) == at(k) {
			k++
		}
		back[i+1] = k
		if p := i + 1 - k; i+1 >= max(least, times*p) {
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
	if len(words) < loopWords || letters*2 < len(s) {
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

// look sees whether the answer goes round in circles, now and then.
func (s *Stream) look() {
	if n := s.content.Len() + s.thinking.Len(); !s.circles && n >= s.looked+loopEvery {
		s.looked = n
		s.circles = s.clip(circle)
	}
}

// clip cuts the thinking or the content where find says that it only repeats itself
// from there on, and reports whether it did.
func (s *Stream) clip(find func(text string, least int) (keep int, found bool)) bool {
	for _, b := range []*strings.Builder{&s.thinking, &s.content} {
		text := b.String()
		at, found := find(text, loopLeast)
		if found && b == &s.content && s.Parser.Partial(text) < len(text) {
			at, found = find(text, loopInCall*loopLeast)
		}
		if found {
			b.Reset()
			b.WriteString(text[:at])
			return true
		}
	}
	return false
}

// Circles reports whether the answer goes round in circles: more of it is of no use.
func (s *Stream) Circles() bool { return s.circles }

// stutters is how often the same stands at the end of a stream that its server gave
// up for going round in circles. Ollama ends an answer without a word after 30 equal
// tokens.
const stutters = 24

// Stuttered reports whether an answer that broke off had begun to repeat itself.
func (s *Stream) Stuttered() bool {
	s.circles = s.circles || s.clip(func(text string, _ int) (int, bool) {
		length, period := repeated(text[max(0, len(text)-loopWindow):], stutters, stutters)
		return whole(text, len(text)-length+period), length > 0
	})
	return s.circles
}
