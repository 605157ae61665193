package toolcall

import (
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// text is what a model wrote, as far as it has come. All that read calls ask
// it what stands at an offset. When one of them asks for what would stand
// behind the end, the text notes that it was cut: what they found may be
// different when the text goes on.
type text struct {
	s    string
	cut  bool
	from int // where the prose begins that has been read last

	sought map[string]place // next place of a string, see index
	spent  int              // bytes read for guesses that turned out wrong
}

// place is the first place at or after from, -1 when there is none.
type place struct{ from, at int }

// over reports whether i is at or behind the end.
func (x *text) over(i int) bool {
	if i < len(x.s) {
		return false
	}
	x.cut = true
	return true
}

// is reports whether c stands at i.
func (x *text) is(i int, c byte) bool { return !x.over(i) && x.s[i] == c }

// has reports whether lit stands at i.
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
	x.over(i)
	return i
}

// indent skips blanks.
func (x *text) indent(i int) int {
	for i < len(x.s) && (x.s[i] == ' ' || x.s[i] == '\t') {
		i++
	}
	x.over(i)
	return i
}

// line returns where the line ends that i stands on.
func (x *text) line(i int) int {
	end := lineEnd(x.s, min(i, len(x.s)))
	x.over(end)
	return end
}

// mark reads the mark at i.
func (x *text) mark(i int) mark {
	m := lexMark(x.s, min(i, len(x.s)))
	x.cut = x.cut || m.growing
	return m
}

// word reads the characters of a name.
func (x *text) word(i int) (string, int) {
	j := i
	for j < len(x.s) && j-i < maxName && (isWord(x.s[j]) || strings.IndexByte(".:-", x.s[j]) >= 0) {
		j++
	}
	x.over(j)
	return strings.TrimRight(x.s[min(i, j):j], ":"), j
}

// json reads the value at i; m is set inside call markup.
func (x *text) json(i int, m mend.Marks) mend.Value {
	in := mend.Read(x.s, i, m)
	x.readTo(in)
	return in
}

// readTo notes whether a value may be different when the text goes on: it was
// cut, or given up where quotes look ahead.
func (x *text) readTo(in mend.Value) {
	x.cut = x.cut || in.End || in.Growing || !in.OK && !in.Ellipsis && len(x.s)-in.Next < mend.LookAhead
}

// index returns the next place of sub at or after i, -1 when there is none.
// Places are remembered, so that asking again and again stays linear. That
// there is none yet is no reason to wait for more text; see seek.
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

// seek is index for what is expected to come.
func (x *text) seek(sub string, i int) int {
	at := x.index(sub, i)
	x.cut = x.cut || at < 0
	return at
}

// guess counts what a wrong guess cost. When too much is spent on them over
// the whole text, it is exhausted and none are made any more.
func (x *text) guess(cost int) { x.spent += max(cost, 0) }

func (x *text) exhausted() bool { return x.spent > 2*len(x.s)+1<<16 }

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
