package toolcall

import "strings"

// segment is a piece of text that is not prose.
type segment struct {
	start, end int
	calls      []Call
	errs       []string
	kept       string // prose inside, before the first call
	tentative  bool   // counts only if no prose follows
}

// maxCalls is the maximum number of calls in a segment, maxSegments of segments in a text.
const (
	maxCalls    = 1 << 10
	maxSegments = 1 << 14
)

// full reports whether the segment has as many calls and errors as one can have.
func (seg *segment) full() bool { return len(seg.calls)+len(seg.errs) >= maxCalls }

func (seg *segment) add(it item) {
	seg.calls = append(seg.calls, it.calls...)
	if it.err != "" {
		seg.errs = append(seg.errs, it.err)
	}
}

// scanner walks through the prose of a text and finds its segments.
type scanner struct {
	grammar
	segs    []segment
	grow    bool   // the text is still being streamed
	hold    int    // offset of the first undecided part of a growing text, or -1
	openTag string // tag of the last call if it was not closed
}

func newScanner(p *Parser, s string, grow bool) *scanner {
	return &scanner{grammar: grammar{xml: xml{text: text{s: s}, p: p}}, grow: grow, hold: -1}
}

// scan walks through the text. In a growing text it ends at the first call, or at the
// first place that may still become one. After too many wrong guesses the rest is prose.
func (s *scanner) scan() {
	for i := s.lineStart(s.roleToken()); i < len(s.s) && len(s.segs) < maxSegments && !s.exhausted(); {
		switch s.s[i] {
		case '\n':
			i = s.lineStart(i + 1)
		case '<', '[':
			i = s.markAt(i)
		case '`':
			i = s.inlineCode(i)
		case '&':
			i = s.try(i, i+1, reader{"entities", escaped})
		case '{':
			i = s.try(i, i+1, reader{"JSON in a line", inlineJSON})
		case 'a', 'c':
			if next := i + 1; next < len(s.s) && s.s[next] != 's' && s.s[next] != 'o' {
				i++
			} else {
				i = s.try(i, next, reader{"harmony without its tokens", commentary})
			}
		case 0xe2: // ◁
			i = s.thinkAt(i)
		default:
			i++
		}
	}
}

// try reads with r at i. It returns the end of the segment found, or next if there is none.
// In a growing text the scan stops at a call, and at a place that r could not decide
// because the text ended: the text from there on is not shown yet.
func (s *scanner) try(i, next int, r reader) int {
	s.cut = false
	seg, ok := r.read(s, i)
	if s.grow && (ok && !seg.tentative || s.cut) {
		return s.wait(i)
	}
	if !ok {
		s.tried++
		return next
	}
	for i := range seg.calls {
		if c := &seg.calls[i]; c.Repaired && c.Dialect == "" {
			c.Dialect = r.dialect
		}
	}
	return s.take(seg)
}

// tryMark is try at a mark. Its readers cost more than those of lines.
func (s *scanner) tryMark(i, next int, r reader) int {
	n := len(s.segs)
	end := s.try(i, next, r)
	if len(s.segs) == n {
		s.guess(maxMark)
	}
	return end
}

// take adds a segment and returns its end.
func (s *scanner) take(seg segment) int {
	s.segs, s.from = append(s.segs, seg), seg.end
	return seg.end
}

// wait ends the scan, because the text at i is undecided.
func (s *scanner) wait(i int) int {
	s.hold = i
	return len(s.s)
}

// undecided reports whether the last look-up reached the end of a growing text.
func (s *scanner) undecided() bool { return s.grow && s.cut }

// roleToken returns the offset of the text after a byte order mark or a role token.
func (s *scanner) roleToken() int {
	if strings.HasPrefix(s.s, "\ufeff") {
		return len("\ufeff")
	}
	s.cut = false
	for _, t := range roleTokens {
		if s.has(0, t) {
			return len(t)
		}
	}
	if s.undecided() {
		return s.wait(0)
	}
	return 0
}

// lineStart tries the dialects that count only at the start of a line, and returns the
// offset to continue at.
func (s *scanner) lineStart(i int) int {
	i = s.indent(i)
	if i >= len(s.s) || s.hold >= 0 {
		return len(s.s)
	}
	for _, r := range s.p.lines[s.s[i]] {
		if next := s.try(i, i, r); next != i {
			return next
		}
	}
	switch s.s[i] {
	case '>': // a quotation
		return lineEnd(s.s, i)
	case '`', '~':
		return s.fenceEnd(i)
	}
	return i
}

// markAt handles the tag, token or bracket at i.
func (s *scanner) markAt(i int) int {
	if next := s.thinkAt(i); next != i+1 {
		return next
	}
	m := lexMark(s.s, i)
	if m.name == "" && !m.growing {
		return i + 1
	}
	switch role := s.p.marks[m.name]; {
	case m.growing && s.grow:
		return s.wait(i)
	case m.growing:
		return s.cutTag(i)
	case role == opens:
		return s.tryMark(i, s.afterAnalysis(m), s.p.readers[m.name])
	case role == closes:
		s.stray(i, m)
	case m.opening() && s.known(m.tag) != "":
		return s.tryMark(i, m.next, reader{"tags named like tools", toolTag})
	default:
		s.tried++
	}
	return max(m.next, i+1)
}

// toolTag reads a call in the form <tool_name>…</tool_name>.
func toolTag(s *scanner, i int) (segment, bool) {
	it := s.toolElement(s.mark(i), s.ownLine(i))
	if !it.ok || !s.ownLine(i) && s.proseAfter(it.next) { // quoted in a sentence
		s.guess(it.next - i)
		return segment{}, false
	}
	seg := segment{start: i, end: s.closers(it.next)}
	seg.add(it)
	return s.acceptExplicit(i, seg, true)
}

// cutTag reports an error if the text ends within a tag that names a tool.
func (s *scanner) cutTag(i int) int {
	for _, tag := range [...]string{"<function=", "<invoke name="} {
		if strings.HasPrefix(s.s[i:], tag) && s.ownLine(i) {
			return s.take(
				segment{
					start: i,
					end:   len(s.s),
					errs:  []string{"The answer was cut off inside " + tag + "…>, before the call; send the call again."},
				},
			)
		}
	}
	return i + 1
}

// stray removes the closing mark m at i that follows a call, directly or after prose
// inside its element.
func (s *scanner) stray(i int, m mark) {
	n := len(s.segs)
	switch {
	case n == 0:
	case blank(s.s[s.segs[n-1].end:i]):
		s.segs[n-1].end, s.from = m.next, m.next
	case s.openTag != "" && strings.EqualFold(m.raw, s.openTag):
		s.take(segment{start: i, end: m.next})
		s.openTag = ""
	}
}

// thinkBytes lists, by the second byte, the third bytes of comments and of [thinkTags].
var thinkBytes = [256]string{'t': "h", 'T': "H", 'r': "e", 's': "e", '/': "tTrs", '|': "SE", '!': "-"}

// thinkAt skips a comment or thinking at i, since calls inside do not count. Thinking
// that begins a line and is not closed extends to the end of the text. An end tag without
// a beginning means that everything before it was thinking.
func (s *scanner) thinkAt(i int) int {
	if i+2 < len(s.s) && s.s[i] != 0xe2 && strings.IndexByte(thinkBytes[s.s[i+1]], s.s[i+2]) < 0 {
		return i + 1
	}
	s.cut = false
	if s.has(i, "<!--") {
		if end := s.seek("-->", i); end >= 0 {
			return end + len("-->")
		}
		if s.undecided() {
			return s.wait(i)
		}
		return i + 1
	}
	for _, tag := range thinkTags {
		if s.has(i, tag[0]) {
			if end := s.index(tag[1], i); end >= 0 {
				return end + len(tag[1])
			}
			if s.ownLine(i) {
				return len(s.s)
			}
			return i + len(tag[0])
		}
		if strings.HasPrefix(s.s[i:], tag[1]) {
			s.segs, s.from = s.segs[:0], 0
			return i + len(tag[1])
		}
	}
	if s.undecided() {
		return s.wait(i)
	}
	return i + 1
}

// ownLine reports whether only blanks or a call precede i on its line.
func (x *text) ownLine(i int) bool {
	for i > 0 && (x.s[i-1] == ' ' || x.s[i-1] == '\t') {
		i--
	}
	return i <= x.from || x.s[i-1] == '\n'
}

// inlineCode skips inline code at i.
func (s *scanner) inlineCode(i int) int {
	s.cut = false
	if next := s.codeSpan(i); !s.undecided() {
		return next
	}
	return s.wait(i)
}

// codeSpan skips inline code, which must close on its line.
func (x *text) codeSpan(i int) int {
	n := x.run(i)
	ticks := x.s[i : i+n]
	end := min(x.lineEnd(i+n), i+n+2000)
	for j := i + n; j < end; {
		k := strings.Index(x.s[j:end], ticks)
		if k < 0 {
			break
		}
		run := x.run(j + k)
		if j += k + run; run == n {
			x.pastEnd(j) // the run may continue
			return j
		}
	}
	return i + n
}

// run returns the number of equal bytes at i.
func (x *text) run(i int) int {
	n := 0
	for i+n < len(x.s) && x.s[i+n] == x.s[i] {
		n++
	}
	return n
}

// escaped reads markup with brackets written as HTML entities.
func escaped(s *scanner, i int) (segment, bool) {
	const lt, gt, far = "&lt;", "&gt;", 6 * maxMark
	if !s.has(i, lt) || s.exhausted() || s.pastEnd(i+len(lt)) || !startsMark(s.s[i+len(lt)]) {
		return segment{}, false
	}
	head := s.s[i:min(len(s.s), i+far)]
	if amp := strings.LastIndexByte(head, '&'); amp > 0 && len(head)-amp < 6 && strings.IndexByte(head[amp:], ';') < 0 {
		head = head[:amp]
	}
	var m mark
	end := strings.Index(head, gt)
	if end >= 0 {
		m = lexMark(unescapeHTML(head[:end+len(gt)]), 0)
	}
	if m.name == "" { // or an attribute holds the bracket
		end, m = len(head), lexMark(unescapeHTML(head), 0)
	}
	s.guess(end/8 + 8)
	if s.p.marks[m.name] != opens && (!m.opening() || s.known(m.tag) == "") {
		if m.growing {
			s.pastEnd(i + far)
		}
		return segment{}, false
	}
	end = min(len(s.s), i+maxCall)
	if closing := "&lt;/" + m.tag + "&gt;"; m.tag == "" {
		s.cut = true // a token has no end: the rest of the text belongs to it
	} else if k := s.seek(closing, i); k >= 0 {
		end = min(end, k+len(closing))
	}
	sub := newScanner(s.p, unescapeHTML(s.s[i:end]), false)
	sub.scan()
	sub.settle(len(sub.s))
	if len(sub.segs) == 0 || sub.segs[0].start != 0 {
		s.guess(end - i)
		return segment{}, false
	}
	seg := segment{start: i, end: end}
	for _, in := range sub.segs {
		seg.calls = append(seg.calls, in.calls...)
		seg.errs = append(seg.errs, in.errs...)
	}
	return seg, true
}
