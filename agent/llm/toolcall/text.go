package toolcall

import (
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// text is the text of a model received so far. The readers of calls access it by offset.
// If one of them asks beyond the end, cut is set: its result may change when the text
// grows.
type text struct {
	s    string
	cut  bool
	from int // start of the current stretch of prose

	sought map[string]place // cached results of index
	eol    place            // cached result of lineEnd
	spent  int              // bytes read for wrong guesses
	tried  int              // readers that found nothing
}

// place is the first occurrence at or after from, or -1.
type place struct{ from, at int }

// pastEnd reports whether i is at or after the end, and sets cut if so.
func (x *text) pastEnd(i int) bool {
	if i < len(x.s) {
		return false
	}
	x.cut = true
	return true
}

// is reports whether the byte at i is c.
func (x *text) is(i int, c byte) bool { return !x.pastEnd(i) && x.s[i] == c }

// has reports whether the text at i begins with lit.
func (x *text) has(i int, lit string) bool {
	rest := x.s[min(i, len(x.s)):]
	if len(rest) < len(lit) {
		x.cut = x.cut || strings.HasPrefix(lit, rest)
		return false
	}
	return rest[:len(lit)] == lit
}

// space skips white space.
func (x *text) space(i int) int {
	i = skipSpace(x.s, i)
	x.pastEnd(i)
	return i
}

// indent skips blanks and tabs.
func (x *text) indent(i int) int {
	for i < len(x.s) && (x.s[i] == ' ' || x.s[i] == '\t') {
		i++
	}
	x.pastEnd(i)
	return i
}

// line returns the end of the line that contains i.
func (x *text) line(i int) int {
	end := x.lineEnd(min(i, len(x.s)))
	x.pastEnd(end)
	return end
}

// lineEnd returns the end of the line that contains i, and does not set cut. The result is
// cached, since many short spans can share a long line.
func (x *text) lineEnd(i int) int {
	if i < x.eol.from || i >= x.eol.at {
		x.eol = place{i, lineEnd(x.s, i)}
	}
	return x.eol.at
}

// mark reads the mark at i.
func (x *text) mark(i int) mark {
	m := lexMark(x.s, min(i, len(x.s)))
	x.cut = x.cut || m.growing
	return m
}

// word reads a name and returns the offset after it.
func (x *text) word(i int) (string, int) {
	j := i
	for j < len(x.s) && j-i < maxName && (isWord(x.s[j]) || strings.IndexByte(".:-", x.s[j]) >= 0) {
		j++
	}
	x.pastEnd(j)
	return strings.TrimRight(x.s[min(i, j):j], ":"), j
}

// json reads the value at i; m is nil outside of call markup.
func (x *text) json(i int, m mend.Marks) mend.Value {
	in := x.value(i, func(s string) mend.Value { return mend.Read(s, i, m) })
	x.readTo(in)
	return in
}

// maxCall is the maximum length of a call as JSON or in Python syntax. It exceeds the
// answers of all models.
const maxCall = 1 << 20

// window returns the text up to the end of the longest possible call at i.
func (x *text) window(i int) string { return x.s[:min(len(x.s), i+maxCall)] }

// value reads the value at i within its window. A value that does not end there is not OK.
func (x *text) value(i int, read func(window string) mend.Value) mend.Value {
	s := x.window(i)
	in := read(s)
	if len(s) < len(x.s) && (in.End || in.Growing || in.Next > len(s)-mend.LookAhead) { //control:longest-call
		in = mend.Value{Next: len(s)}
	}
	if !in.OK {
		x.guess(in.Next - i)
	}
	return in
}

// readTo sets cut if a value may change when the text grows: it was cut off, or it could
// not be read within the look-ahead of a quote.
func (x *text) readTo(in mend.Value) {
	x.cut = x.cut || in.End || in.Growing || !in.OK && !in.Ellipsis && len(x.s)-in.Next < mend.LookAhead
}

// index returns the next occurrence of sub at or after i, or -1. Results are cached, so
// that repeated searches stay linear. A missing occurrence does not set cut; see seek.
func (x *text) index(sub string, i int) int {
	if k, ok := x.sought[sub]; ok && i >= k.from && (k.at < 0 || i <= k.at) {
		return k.at
	}
	if x.sought == nil || len(x.sought) > 4096 {
		x.sought = map[string]place{}
	}
	at := strings.Index(x.s[min(i, len(x.s)):], sub)
	if at >= 0 {
		at += i
	}
	x.sought[sub] = place{i, at}
	return at
}

// seek is index for a text that must follow: if it is missing, seek sets cut.
func (x *text) seek(sub string, i int) int {
	at := x.index(sub, i)
	x.cut = x.cut || at < 0
	return at
}

// maxGuesses is the maximum cost of wrong guesses in a long text, in bytes, maxTries the
// maximum number of readers without a result. Both exceed by far the needs of an answer.
const (
	maxGuesses = 1 << 20
	maxTries   = 1 << 17
)

// guess adds the cost of a wrong guess. Beyond a limit for the whole text, exhausted
// reports true and no more guesses are made.
func (x *text) guess(cost int) { x.spent += max(cost, 0) }

func (x *text) exhausted() bool {
	return x.spent > min(2*len(x.s), maxGuesses)+1<<17 || x.tried > maxTries+len(x.s)/8
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
