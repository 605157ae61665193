package toolcall

import (
	"fmt"
	"strings"
)

// maxHeader bounds what stands between a channel mark and its message.
const maxHeader = 300

// channel reads a message of gpt-oss: a header that may name a recipient, then
// the message. To a function it is a call; analysis is thinking.
func (s *scanner) channel(i int, m mark) int {
	header, at, growing := s.header(m.next)
	if growing && s.grow {
		s.hold = i
		return i
	}
	if growing && recipient(s.t[m.next:]) != "" && !strings.Contains(s.t[m.next:], "\n") {
		s.segs = append(s.segs, segment{start: i, end: len(s.t), errs: []string{"The answer was cut off in the header of a call, before its arguments; send the call again."}})
		return len(s.t)
	}
	if at < 0 {
		return m.next
	}
	if name := recipient(header); name != "" {
		return s.try(i, m.next, func() (segment, bool) { return s.message(i, at, name) })
	}
	if !strings.Contains(header, "analysis") && m.name != "<|channel|>" || !strings.HasPrefix(strings.TrimSpace(header), "analysis") && !strings.Contains(header, ">analysis") {
		return at
	}
	for j := at; ; {
		j = s.index("<|", j)
		if j < 0 {
			return len(s.t)
		}
		switch k := lexMark(s.t, j); k.name {
		case "<|end|>", "<|return|>", "<|call|>":
			return k.next
		case "<|channel|>", "<|start|>":
			return j
		}
		j += 2
	}
}

// header returns what stands before <|message|> and where the message begins,
// -1 when there is none.
func (s *scanner) header(i int) (string, int, bool) {
	const word = "<|message|>"
	end := min(len(s.t), i+maxHeader)
	if k := strings.Index(s.t[i:end], word); k >= 0 {
		if strings.Contains(s.t[i:i+k], "\n\n") {
			return "", -1, false
		}
		return s.t[i : i+k], i + k + len(word), false
	}
	return "", -1, end == len(s.t)
}

// recipient returns the function that a header names.
func recipient(header string) string {
	_, rest, ok := strings.Cut(header, "to=")
	if !ok {
		return ""
	}
	if end := strings.IndexAny(rest, " <\n\t"); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

func (s *scanner) message(i, at int, name string) (segment, bool) {
	seg := segment{start: i}
	pos := s.space(at)
	n := s.known(name)
	if pos < len(s.t) && s.t[pos] == '{' {
		it := s.namedJSON(name, pos)
		if !it.ok {
			return seg, false
		}
		seg.add(it)
		seg.end = s.closers(it.next)
		return seg, true
	}
	if pos >= len(s.t) {
		seg.end = len(s.t)
		seg.errs = []string{fmt.Sprintf("The answer was cut off before the arguments of %s; send the call again.", name)}
		return seg, true
	}
	if n == "" {
		n, _ = s.p.Canonical(name)
	}
	if k := s.mark(pos); s.p.marks[k.name] == closes {
		seg.calls = []Call{s.named(n, nil, false, false)}
		seg.end = s.closers(pos)
		return seg, true
	}
	seg.errs = []string{fmt.Sprintf("The arguments of %s are not a JSON object; send the call again.", n)}
	if seg.end = s.index("<|", pos); seg.end < 0 {
		seg.end = len(s.t)
	}
	seg.end = s.closers(seg.end)
	return seg, true
}

// functools reads functools[…] of Phi and Firefunction.
func (s *scanner) functools(i int) (segment, bool) {
	seg := segment{start: i}
	pos := s.indent(min(len(s.t), i+len("functools")))
	if pos >= len(s.t) || s.t[pos] != '[' {
		s.touched = s.touched || pos >= len(s.t)
		return seg, false
	}
	it := s.jsonItem(readJSON(s.t, pos, s.p.marks), true)
	if !it.ok {
		return seg, false
	}
	seg.add(it)
	seg.end = s.closers(it.next)
	return seg, true
}

// qwenAgent reads ✿FUNCTION✿: name and ✿ARGS✿: arguments.
func (s *scanner) qwenAgent(i int) (segment, bool) {
	seg := segment{start: i}
	pos := s.indent(i + len(lineDialect))
	if s.has(pos, ":") {
		pos++
	}
	it := s.action(pos, "✿ARGS✿")
	if !it.ok {
		return seg, false
	}
	seg.add(it)
	seg.end = s.closers(it.next)
	return seg, true
}

// action reads "name", then the arguments after label; or a fenced list of
// calls.
func (s *scanner) action(i int, label string) item {
	i = s.indent(i)
	if i >= len(s.t) {
		s.touched = true
		return item{}
	}
	if s.t[i] == '\n' || s.t[i] == '\r' {
		if next := s.space(i); next < len(s.t) && (s.t[next] == '{' || s.has(next, "```")) {
			i = next
		}
	}
	if s.has(i, "```") || s.t[i] == '{' || s.t[i] == '[' {
		it := s.item(i, true)
		for _, c := range it.calls {
			if s.known(c.Name) == "" {
				return item{}
			}
		}
		it.ok = it.ok && len(it.calls) > 0
		return it
	}
	end := lineEnd(s.t, i)
	name := strings.Trim(s.t[i:end], " \t\r`*")
	if end == len(s.t) {
		s.touched = true
	}
	if s.known(name) == "" || !isName(name) {
		return s.actionCall(i, end)
	}
	pos, ok := s.afterLabel(s.space(end), label)
	if !ok {
		s.touched = s.touched || s.space(end) >= len(s.t)
		return item{}
	}
	pos = s.space(pos)
	if s.has(pos, "```") {
		if b := strings.IndexByte(s.t[pos:min(len(s.t), pos+32)], '{'); b >= 0 {
			it := s.namedJSON(name, pos+b)
			if end := s.space(it.next); it.ok && s.has(end, "```") {
				it.next = end + 3
			}
			return it
		}
	}
	if pos < len(s.t) && s.t[pos] == '{' {
		return s.namedJSON(name, pos)
	}
	end = lineEnd(s.t, min(pos, len(s.t)))
	n := s.known(name)
	if only, ok := s.p.tools[n].only(); ok && pos < len(s.t) {
		value := strings.Trim(strings.TrimSpace(s.t[pos:end]), `"'`)
		s.touched = s.touched || end == len(s.t)
		return item{calls: []Call{s.named(n, []field{{key: only, value: quoted(value)}}, false, false)}, next: end, ok: true}
	}
	return item{}
}

// actionCall reads name(…) and name[value] between i and the end of the line.
func (s *scanner) actionCall(i, end int) item {
	name, j := s.word(i)
	n := s.known(name)
	if n == "" || fold(n) != fold(name) || j >= len(s.t) {
		return item{}
	}
	switch s.t[j] {
	case '(':
		return s.pythonCalls(i, false)
	case '[':
		only, ok := s.p.tools[n].only()
		value := strings.TrimRight(s.t[j+1:end], " \t\r")
		if !ok || !strings.HasSuffix(value, "]") {
			return item{}
		}
		args := []field{{key: only, value: quoted(strings.Trim(value[:len(value)-1], `"'`))}}
		return item{calls: []Call{s.named(n, args, false, false)}, next: end, ok: true}
	}
	return item{}
}
