package toolcall

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// region reads the calls after an opening mark at i. A mark without a call after it is a
// mention in prose.
func region(s *scanner, i int) (segment, bool) {
	m := s.mark(i)
	seg := segment{start: i, end: m.next}
	if it, ok := s.namedTag(m); ok {
		seg.add(it)
		seg.end = s.closers(it.next)
		return s.acceptExplicit(i, seg, it.ok)
	}
	if m.selfEnd {
		return seg, false
	}
	pos, closed, mention := s.body(&seg, m)
	if mention {
		return seg, false
	}
	if s.openTag = ""; !closed && len(seg.calls) > 0 {
		s.openTag = m.raw
	}
	seg, ok := s.judge(seg, m, pos, closed)
	if !ok {
		s.guess(pos - i)
	}
	return s.acceptExplicit(i, seg, ok)
}

// body reads the calls after the mark m into seg. It returns the offset after them,
// whether closing marks follow, and whether the markup only illustrates the format of a
// call.
func (s *scanner) body(seg *segment, m mark) (pos int, closed, mention bool) {
	pos = m.next
	opened := 0
	for first := true; ; {
		pos = s.separators(pos)
		if s.pastEnd(pos) || seg.full() || opened > maxCalls {
			return pos, false, false
		}
		k := s.mark(pos)
		var it item
		switch role := s.p.marks[k.name]; {
		case role == closes:
			seg.end = s.closers(pos)
			return pos, true, false
		case role == inside:
			pos = k.next
			continue
		case k.growing: // a closing mark or the tag of a call
			seg.end = len(s.s)
			return len(s.s), false, false
		case role == opens:
			it = s.nameThenArguments(k)
			if !it.ok && first && !k.named() {
				pos = k.next
				opened++
				continue
			}
		}
		if !it.ok {
			it = s.item(pos, first)
		}
		if it.mention && first {
			return pos, false, true
		}
		if !it.ok && first {
			if at := s.proseInside(seg.start, m, pos); at >= 0 {
				seg.kept = s.s[m.next:at]
				it = s.item(at, first)
			}
		}
		if !it.ok {
			return pos, false, false
		}
		seg.add(it)
		seg.kept += it.kept
		first, pos, seg.end = false, s.strayText(it.next), it.next
	}
}

// proseInside looks for a call's object after prose in the element m at i, with its text
// at pos. It returns the offset of the object, or -1.
func (s *scanner) proseInside(i int, m mark, pos int) int {
	const far = 400
	if m.tag == "" || m.value != "" || m.attrs != "" || !s.ownLine(i) || s.exhausted() {
		return -1
	}
	end := min(len(s.s), pos+far)
	at := strings.IndexAny(s.s[pos:end], "{<`")
	if at < 0 || s.s[pos+at] != '{' {
		if at < 0 {
			s.pastEnd(end)
		}
		return -1
	}
	closing := s.seek("</"+m.raw, pos)
	if closing < 0 {
		return -1
	}
	in := s.value(pos+at, func(window string) mend.Value { return mend.Read(window, pos+at, s.p.marks) })
	s.guess(in.Next - pos)
	if !in.OK || in.Next > closing || len(s.p.calls(in, true).calls) == 0 {
		return -1
	}
	return pos + at
}

// strayText skips superfluous brackets and a comment between a call and a closing mark.
func (s *scanner) strayText(i int) int {
	j := i
	for j < len(s.s) && strings.IndexByte("}] \n\t\r", s.s[j]) >= 0 {
		j++
	}
	if k := s.indent(i); s.has(k, "//") || s.has(k, "#") {
		j = s.space(s.line(k))
	}
	if s.pastEnd(j) || s.role(j) != closes {
		return i
	}
	return j
}

// judge distinguishes a broken call from a mention of the markup in prose.
func (s *scanner) judge(seg segment, m mark, pos int, closed bool) (segment, bool) {
	if len(seg.calls) > 0 || len(seg.errs) > 0 {
		if !closed && len(seg.errs) > 0 {
			seg.end = s.errorEnd(m, seg.end)
		}
		return seg, true
	}
	if !s.ownLine(seg.start) {
		return seg, false
	}
	show := m.name
	if m.tag != "" {
		show = "<" + m.tag + ">"
	}
	if closed {
		seg.errs = []string{fmt.Sprintf("A %s is empty; it must hold a JSON object with \"name\" and \"arguments\".", show)}
		return seg, true
	}
	if s.pastEnd(pos) {
		seg.end = len(s.s)
		if n := len(s.segs); n == 0 || len(s.segs[n-1].calls) == 0 ||
			!blank(s.s[s.segs[n-1].end:seg.start]) { // otherwise the mark replaces a closing mark
			seg.errs = []string{fmt.Sprintf("The answer was cut off after %s, before the call; send the call again.", show)}
		}
		return seg, true
	}
	near := s.index("\n\n", pos)
	if near < 0 || near > pos+2000 {
		near = min(len(s.s), pos+2000)
		s.pastEnd(near)
	}
	if seg.end = s.closingTag(m, m.next); seg.end < 0 || seg.end > near+maxMark {
		return seg, false
	}
	seg.errs = []string{
		fmt.Sprintf(
			"What follows %s could not be understood: it is not JSON. Send the call again as {\"name\": …, \"arguments\": {…}}.",
			show,
		),
	}
	return seg, true
}

// closingTag returns the end of the first closing tag of m after i, or -1.
func (s *scanner) closingTag(m mark, i int) int {
	if m.tag == "" {
		return -1
	}
	k := s.index("</"+m.raw, i)
	if k < 0 {
		return -1
	}
	if c := lexMark(s.s, k); c.next > 0 {
		return c.next
	}
	return -1
}

// errorEnd returns the end of a broken call that was read up to i: after its closing
// mark, or else at the end of the paragraph.
func (s *scanner) errorEnd(m mark, i int) int {
	end := s.closingTag(m, i)
	if end < 0 {
		if end = s.index("\n\n", i); end < 0 {
			end = len(s.s)
		}
	}
	return s.closers(end)
}
