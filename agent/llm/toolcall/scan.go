package toolcall

import (
	"strings"
)

// segment is a piece of text that is not prose.
type segment struct {
	start, end int
	calls      []Call
	errs       []string
	tentative  bool // counts only when no prose follows
	mark       bool // only a mark of the call before or after it
}

// scanner finds the segments of one text.
type scanner struct {
	p    *Parser
	t    string
	segs []segment

	grow    bool // the text is still being streamed
	touched bool // a decision would be different if the text went on
	hold    int  // in a growing text, where something undecided begins; -1

	sought map[string]place  // next place of a string, see index
	broke  int               // errors that were worded
	names  map[string]string // known tools by spelling, "" for others
	spent  int               // bytes read for guesses that turned out wrong

	openTag string // the tag of the last call when its closing tag did not follow
}

// scan walks over the prose of the text.
func (s *scanner) scan() {
	i := s.lineStart(s.roleToken())
	message := s.strippedAt(i)
	for i < len(s.t) && (!s.grow || s.hold < 0) {
		if i >= message {
			if i == message {
				i = s.stripped(i)
			}
			message = s.strippedAt(i)
			continue
		}
		switch s.t[i] {
		case '\n':
			i = s.lineStart(i + 1)
		case '<', '[':
			i = s.markAt(i)
		case '`':
			i = s.codeSpan(i)
		case '&':
			i = s.escaped(i)
		case 0xe2: // ◁
			i = s.thinkAt(i)
		default:
			i++
		}
	}
	s.growTail()
}

// roleTokens say that a message of the assistant begins.
var roleTokens = [...]string{"<|im_start|>assistant\n", "<|start_header_id|>assistant<|end_header_id|>", "<|header_start|>assistant<|header_end|>",
	"<|start_of_role|>assistant<|end_of_role|>", "<|im_assistant|>assistant<|im_middle|>", "<|assistant|>", "<start_of_turn>model\n", "<｜Assistant｜>"}

// roleToken returns where the text begins after such a token.
func (s *scanner) roleToken() int {
	if strings.HasPrefix(s.t, "\ufeff") {
		return len("\ufeff")
	}
	for _, t := range roleTokens {
		if strings.HasPrefix(s.t, t) {
			return len(t)
		}
		if s.growingAt(0, t) {
			s.hold = 0
			return 0
		}
	}
	return 0
}

// try runs f, which may find a segment at i. It returns where to go on: after
// the segment, or at next when there is none. In a growing text a segment
// ends the scan, and so does what may still become one.
func (s *scanner) try(i, next int, f func() (segment, bool)) int {
	before := s.touched
	s.touched = false
	seg, ok := f()
	if s.grow && (ok && !seg.tentative || s.touched) {
		s.hold = i
		return i
	}
	s.touched = before
	if !ok {
		return next
	}
	s.segs = append(s.segs, seg)
	return seg.end
}

// guess limits what wrong guesses may cost over the whole text.
func (s *scanner) guess(cost int) { s.spent += cost }

func (s *scanner) exhausted() bool { return s.spent > 2*len(s.t)+1<<16 }

// lineStart looks for what counts only at the start of a line, and returns
// where to go on.
func (s *scanner) lineStart(i int) int {
	j := s.indent(i)
	if j >= len(s.t) {
		return j
	}
	switch s.t[j] {
	case '>':
		return s.try(j, lineEnd(s.t, j), func() (segment, bool) { return s.recipientLine(j) })
	case '`', '~':
		return s.fence(j)
	case '{':
		return s.try(j, j+1, func() (segment, bool) { return s.bareJSON(j) })
	case '[':
		if next := s.try(j, j, func() (segment, bool) { return s.bareJSON(j) }); next != j || s.hold >= 0 && s.grow {
			return next
		}
	case 0xe2:
		const word = lineDialect
		if s.has(j, word) {
			return s.try(j, j+1, func() (segment, bool) { return s.qwenAgent(j) })
		}
		if s.growingAt(j, word) {
			s.hold = j
			return j
		}
	case 'A', 'a', 'C', 'c', 'F', 'f', 'T', 't', '*':
		if next, ok := s.labelled(j); ok {
			return next
		}
	}
	if letter(s.t[j]) {
		return s.lineName(j)
	}
	return j
}

// lineName looks at a line that begins with a name.
func (s *scanner) lineName(j int) int {
	if s.t[j] == 'f' && (s.has(j, "functools") || s.growingAt(j, "functools")) {
		return s.try(j, j+1, func() (segment, bool) { return s.functools(j) })
	}
	if next := s.try(j, j, func() (segment, bool) { return s.bareNamed(j) }); next != j || s.grow && s.hold >= 0 {
		return next
	}
	if strings.TrimSpace(s.t[:j]) == "" {
		return s.try(j, j, func() (segment, bool) { return s.barePython(j) })
	}
	return j
}

// indent skips blanks.
func (s *scanner) indent(i int) int {
	for i < len(s.t) && (s.t[i] == ' ' || s.t[i] == '\t') {
		i++
	}
	return i
}

// has says whether lit stands at i, and notes when the text ends within it.
func (s *scanner) has(i int, lit string) bool {
	rest := s.t[i:]
	if len(rest) < len(lit) {
		s.touched = s.touched || strings.HasPrefix(lit, rest)
		return false
	}
	return rest[:len(lit)] == lit
}

// growingAt says that the streamed text ends within lit.
func (s *scanner) growingAt(i int, lit string) bool {
	return s.grow && len(s.t)-i < len(lit) && strings.HasPrefix(lit, s.t[i:])
}

// space skips white space and notes when the text ends there.
func (s *scanner) space(i int) int {
	for i < len(s.t) && (s.t[i] == ' ' || s.t[i] == '\n' || s.t[i] == '\t' || s.t[i] == '\r') {
		i++
	}
	if i >= len(s.t) {
		s.touched = true
	}
	return i
}

// mark reads the mark at i and notes when the text ends within it.
func (s *scanner) mark(i int) mark {
	m := lexMark(s.t, i)
	if m.growing {
		s.touched = true
	}
	return m
}

// index returns the next place of sub at or after i, -1 when there is none.
// Places are remembered, so that asking again and again stays linear.
func (s *scanner) index(sub string, i int) int {
	if k, ok := s.sought[sub]; ok && i >= k.from && (k.at < 0 || i <= k.at) {
		return k.at
	}
	if s.sought == nil || len(s.sought) > 4096 {
		s.sought = map[string]place{}
	}
	at := strings.Index(s.t[min(i, len(s.t)):], sub)
	if at >= 0 {
		at += i
	}
	s.sought[sub] = place{i, at}
	return at
}

// place is the first place at or after from, -1 when there is none.
type place struct{ from, at int }

// known returns the tool that a name means, "" when there is none.
func (s *scanner) known(name string) string {
	if n, ok := s.names[name]; ok {
		return n
	}
	if s.names == nil || len(s.names) > 1024 {
		s.names = map[string]string{}
	}
	n, ok := s.p.Canonical(name)
	if !ok {
		n = ""
	}
	s.names[name] = n
	return n
}

// ownLine says whether only blanks stand before i on its line.
func (s *scanner) ownLine(i int) bool {
	for i > 0 && (s.t[i-1] == ' ' || s.t[i-1] == '\t') {
		i--
	}
	return i == 0 || s.t[i-1] == '\n' || len(s.segs) > 0 && s.segs[len(s.segs)-1].end == i
}

// codeSpan skips inline code, which must close on its line.
func (s *scanner) codeSpan(i int) int {
	n := 0
	for i+n < len(s.t) && s.t[i+n] == '`' {
		n++
	}
	ticks := s.t[i : i+n]
	end := min(lineEnd(s.t[:min(len(s.t), i+n+2000)], i+n), len(s.t))
	for j := i + n; j < end; {
		k := strings.Index(s.t[j:end], ticks)
		if k < 0 {
			break
		}
		k += j
		run := 0
		for k+run < len(s.t) && s.t[k+run] == '`' {
			run++
		}
		if run == n {
			return k + n
		}
		j = k + run
	}
	return i + n
}

// markAt looks at the tag, token or bracket at i.
func (s *scanner) markAt(i int) int {
	if next, ok := s.comment(i); ok {
		return next
	}
	if next := s.thinkAt(i); next != i+1 {
		return next
	}
	m := lexMark(s.t, i)
	if m.growing {
		if s.grow {
			s.hold = i
			return i
		}
		return s.cutTag(i)
	}
	switch s.p.marks[m.name] {
	case opens:
		return s.try(i, m.next, func() (segment, bool) {
			seg, ok := s.region(i, m)
			return s.explicit(i, seg, ok)
		})
	case closes:
		s.stray(i, m)
		return m.next
	}
	switch {
	case m.name == "":
		return i + 1
	case m.name == "<|channel|>" || m.name == "<|start|>":
		return s.channel(i, m)
	case m.tag != "" && !strings.HasPrefix(m.name, "</") && s.known(m.tag) != "":
		return s.try(i, m.next, func() (segment, bool) {
			seg, ok := s.toolTag(i, m)
			return s.explicit(i, seg, ok)
		})
	}
	return m.next
}

// cutTag reports a tag that names a tool and that the text ends within.
func (s *scanner) cutTag(i int) int {
	for _, tag := range [...]string{"<function=", "<invoke name="} {
		if strings.HasPrefix(s.t[i:], tag) && s.ownLine(i) {
			s.segs = append(s.segs, segment{start: i, end: len(s.t), errs: []string{"The answer was cut off inside " + tag + "…>, before the call; send the call again."}})
			return len(s.t)
		}
	}
	return i + 1
}

// stray removes the closing mark m at i that follows a call, directly or
// after prose that stands inside its element.
func (s *scanner) stray(i int, m mark) {
	n := len(s.segs)
	switch {
	case n == 0:
	case blank(s.t[s.segs[n-1].end:i]):
		s.segs[n-1].end = m.next
	case s.openTag != "" && strings.EqualFold(m.raw, s.openTag):
		s.segs = append(s.segs, segment{start: i, end: m.next, mark: true})
		s.openTag = ""
	}
}

// thinkAt skips thinking that begins at i. Left open at the start of a line it
// takes the rest of the text. An end without a beginning means that
// everything before it was thinking.
func (s *scanner) thinkAt(i int) int {
	if i+1 < len(s.t) && s.t[i] != 0xe2 && strings.IndexByte("tTrs/|", s.t[i+1]) < 0 {
		return i + 1
	}
	for _, tag := range thinkTags {
		if s.has(i, tag[0]) {
			if end := s.index(tag[1], i); end >= 0 {
				return end + len(tag[1])
			}
			if s.ownLine(i) {
				return len(s.t)
			}
			return i + len(tag[0])
		}
		if s.has(i, tag[1]) {
			s.segs = s.segs[:0]
			return i + len(tag[1])
		}
		if s.growingAt(i, tag[0]) {
			s.hold = i
			return i
		}
	}
	return i + 1
}
