package toolcall

import "strings"

// label reads a word and a colon at i, also in bold: "Action:", "**Tool
// call:**". It returns the word in lower case without blanks, where its text
// begins, and whether the text ends within what may be a label.
func (s *scanner) label(i int) (word string, next int, growing bool) {
	var b [20]byte
	n := 0
	j := i
	for ; j < len(s.t) && j-i < 28; j++ {
		switch c := s.t[j]; {
		case c == ':':
			for j++; j < len(s.t) && s.t[j] == '*'; {
				j++
			}
			return string(b[:n]), j, j == len(s.t)
		case c == ' ' || c == '_' || c == '*':
		case letter(c) && n < len(b):
			b[n] = c | lowerBit(c)
			n++
		default:
			return "", 0, false
		}
	}
	return string(b[:n]), j, j == len(s.t)
}

// labels introduce a call on their line; "action" is ReAct's.
var labels = [...]string{"action", "toolcall", "toolcalls", "functioncall", "call", "tool"}

// labelled looks at a line that may begin with a label. ok is false when it
// does not.
func (s *scanner) labelled(i int) (int, bool) {
	word, next, growing := s.label(i)
	if growing && s.grow {
		for _, l := range labels {
			if strings.HasPrefix(l, word) {
				s.hold = i
				return i, true
			}
		}
	}
	if growing || !contains(labels[:], word) {
		return i, false
	}
	if word == "action" {
		return s.try(i, i+1, func() (segment, bool) { return s.reAct(i, next) }), true
	}
	at := s.try(i, i, func() (segment, bool) { return s.labelledCall(i, next) })
	return at, at != i || s.grow && s.hold >= 0
}

// labelledCall reads an object, or calls as in Python, after a label.
func (s *scanner) labelledCall(i, next int) (segment, bool) {
	seg := segment{start: i, tentative: true}
	pos := s.indent(next)
	if pos >= len(s.t) {
		s.touched = true
		return seg, false
	}
	switch c := s.t[pos]; {
	case c == '{' || c == '[':
		in, ok := s.bareJSON(pos)
		in.start = i
		in.end = s.closers(in.end)
		return in, ok
	case letter(c):
		in, ok := s.barePython(pos)
		in.start = i
		in.end = s.closers(in.end)
		return in, ok
	}
	return seg, false
}

// reAct reads "name" and its input after "Action:".
func (s *scanner) reAct(i, next int) (segment, bool) {
	seg := segment{start: i}
	it := s.action(next, "")
	if !it.ok {
		return seg, false
	}
	seg.add(it)
	seg.end = s.closers(it.next)
	return seg, true
}

// afterLabel returns where the text after the label that introduces the
// arguments begins: label, or "Action Input:" when it is empty.
func (s *scanner) afterLabel(pos int, label string) (int, bool) {
	if label != "" {
		if !s.has(pos, label) {
			return 0, false
		}
		pos = s.indent(pos + len(label))
		if s.has(pos, ":") {
			pos++
		}
		return pos, true
	}
	word, next, growing := s.label(pos)
	if growing && strings.HasPrefix("actioninput", word) {
		s.touched = true
	}
	return next, word == "actioninput" && next <= len(s.t)
}

// bareNamed reads the name of a tool and then its arguments as an object, as
// it is left when the tokens of a format were stripped: read_file{…}, or the
// object on the next line. It counts only when nothing but calls follows.
func (s *scanner) bareNamed(i int) (segment, bool) {
	seg := segment{start: i, tentative: true}
	name, j := s.word(i)
	if j >= len(s.t) {
		s.touched = s.touched || s.mayBeTool(name)
		return seg, false
	}
	if n := s.known(name); n == "" || fold(name) != fold(n) {
		return seg, false
	}
	k := s.afterName(j)
	if k >= len(s.t) || s.t[k] != '{' || s.exhausted() {
		return seg, false
	}
	it := s.namedJSON(name, k)
	none := len(it.calls) == 1 && string(it.calls[0].Arguments) == "{}"
	it.ok = it.ok && (none || s.shaped(found{calls: it.calls}))
	it.next = s.closers(it.next)
	return s.bareSegment(seg, it)
}

// mayBeTool says whether the name of a tool begins with word.
func (s *scanner) mayBeTool(word string) bool {
	folded := fold(word)
	for name := range s.p.folded {
		if strings.HasPrefix(name, folded) {
			return true
		}
	}
	return false
}

// recipientLine reads ">>>name" and the arguments on the next line; several
// may follow one another.
func (s *scanner) recipientLine(i int) (segment, bool) {
	seg := segment{start: i}
	for s.has(i, ">>>") {
		name, j := s.word(i + 3)
		if j >= len(s.t) {
			s.touched = true
			break
		}
		if s.known(name) == "" {
			break
		}
		j = s.space(j)
		if j >= len(s.t) || s.t[j] != '{' {
			break
		}
		it := s.namedJSON(name, j)
		if !it.ok {
			break
		}
		seg.add(it)
		seg.end = s.closers(it.next)
		i = s.space(seg.end)
	}
	return seg, len(seg.calls)+len(seg.errs) > 0
}

// strippedMark is how a message of gpt-oss to a function begins when the
// special tokens were stripped.
const strippedMark = "commentary to="

// strippedAt returns where the next such message begins, len(t) when none does.
func (s *scanner) strippedAt(i int) int {
	if at := s.index(strippedMark, i); at >= 0 {
		return at
	}
	return len(s.t)
}

// stripped reads such a message whose mark stands at i.
func (s *scanner) stripped(i int) int {
	const role = "assistant"
	start := i
	if before := strings.TrimSuffix(s.t[:i], " "); strings.HasSuffix(before, role) {
		start = len(before) - len(role)
	}
	if n := len(s.segs); n > 0 && s.segs[n-1].end > start {
		start = i
	}
	if start == i && !s.ownLine(i) {
		return i + 1
	}
	return s.try(start, i+1, func() (segment, bool) { return s.strippedMessage(start, i+len(strippedMark)) })
}

func (s *scanner) strippedMessage(start, i int) (segment, bool) {
	seg := segment{start: start}
	name, j := s.word(i)
	for {
		j = s.space(j)
		if j >= len(s.t) {
			return seg, false
		}
		if m := s.mark(j); m.name == "<|constrain|>" || m.name == "<|message|>" {
			j = m.next
			continue
		}
		if s.has(j, "json") || s.has(j, "code") {
			j += len("json")
			continue
		}
		break
	}
	if s.t[j] != '{' || s.known(name) == "" && !strings.HasPrefix(name, "functions.") {
		return seg, false
	}
	it := s.namedJSON(name, j)
	if !it.ok {
		return seg, false
	}
	seg.add(it)
	seg.end = s.closers(it.next)
	return seg, true
}

// growTail holds back the end of a growing text that may become a stripped
// message.
func (s *scanner) growTail() {
	if !s.grow || s.hold >= 0 {
		return
	}
	from := 0
	if n := len(s.segs); n > 0 {
		from = s.segs[n-1].end
	}
	for _, whole := range [...]string{"assistant" + strippedMark, "assistant " + strippedMark, strippedMark} {
		for n := min(len(whole), len(s.t)-from); n > 0; n-- {
			at := len(s.t) - n
			if strings.HasSuffix(s.t, whole[:n]) && (len(whole) > len(strippedMark) || s.ownLine(at)) && (s.hold < 0 || at < s.hold) {
				s.hold = at
			}
		}
	}
}
