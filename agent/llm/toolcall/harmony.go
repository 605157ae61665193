package toolcall

import (
	"fmt"
	"strings"
)

// maxHeader is the maximum length of the text between a channel mark and its message.
const maxHeader = 300

// channel reads a message of gpt-oss to a function: a header with the recipient, followed
// by the arguments.
func channel(s *scanner, i int) (segment, bool) {
	seg := segment{start: i, end: len(s.s)}
	header, at := s.header(s.mark(i).next)
	name := recipient(header)
	n, _ := s.p.Canonical(name)
	if n == "" || at < 0 && (len(header) == maxHeader || strings.Contains(header, "\n")) {
		return seg, false
	}
	if at < 0 {
		seg.errs = []string{"The answer was cut off in the header of a call, before its arguments; send the call again."}
		return seg, true
	}
	pos := s.space(at)
	switch {
	case s.pastEnd(pos):
		seg.errs = []string{fmt.Sprintf("The answer was cut off before the arguments of %s; send the call again.", name)}
		return seg, true
	case s.s[pos] == '{':
		it := s.namedJSON(name, pos)
		seg.add(it)
		seg.end = s.closers(it.next)
		return seg, it.ok
	case s.role(pos) == closes:
		seg.add(s.oneCall(n, nil, pos))
		seg.end = s.closers(pos)
		return seg, true
	}
	seg.errs = []string{fmt.Sprintf("The arguments of %s are not a JSON object; send the call again.", n)}
	if end := s.index("<|", pos); end >= 0 {
		seg.end = s.closers(end)
	}
	return seg, true
}

// header returns the text before <|message|> and the offset of the message, or -1.
func (x *text) header(i int) (string, int) {
	const word = "<|message|>"
	end := min(len(x.s), i+maxHeader)
	k := x.index(word, i)
	if k < 0 || k+len(word) > end {
		x.pastEnd(end)
		return x.s[i:end], -1
	}
	if strings.Contains(x.s[i:k], "\n\n") {
		return "", -1
	}
	return x.s[i:k], k + len(word)
}

// recipient returns the function named by a header, or "".
func recipient(header string) string {
	_, rest, _ := strings.Cut(header, "to=")
	if end := strings.IndexAny(rest, " <\n\t"); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// afterAnalysis returns the offset after the mark m if m begins no call. It skips a
// message of the analysis channel, which is thinking.
func (s *scanner) afterAnalysis(m mark) int {
	if m.name != "<|channel|>" && m.name != "<|start|>" {
		return m.next
	}
	header, at := s.header(m.next)
	if at < 0 || recipient(header) != "" {
		return m.next
	}
	if !strings.HasPrefix(strings.TrimSpace(header), "analysis") && !strings.Contains(header, ">analysis") {
		return at
	}
	for {
		j := s.index("<|", at)
		if j < 0 {
			return len(s.s)
		}
		switch k := lexMark(s.s, j); k.name {
		case "<|end|>", "<|return|>", "<|call|>":
			return k.next
		case "<|channel|>", "<|start|>":
			return j
		}
		at = j + 2
	}
}

// commentary reads a message of gpt-oss to a function without its special tokens:
// assistantcommentary to=functions.read_file json{…}.
func commentary(s *scanner, i int) (segment, bool) {
	const role, to = "assistant", "commentary to="
	pos := i
	if s.s[i] == 'a' {
		if !s.has(i, role) {
			return segment{}, false
		}
		if pos += len(role); s.is(pos, ' ') {
			pos++
		}
	} else if !s.ownLine(i) {
		return segment{}, false
	}
	if !s.has(pos, to) {
		return segment{}, false
	}
	name, j := s.word(pos + len(to))
	for j = s.afterName(j); s.has(j, "json") || s.has(j, "code"); j = s.afterName(j) {
		j += len("json")
	}
	if !s.is(j, '{') || s.known(name) == "" && !strings.HasPrefix(name, "functions.") {
		return segment{}, false
	}
	it := s.namedJSON(name, j)
	seg := segment{start: i, end: s.closers(it.next)}
	seg.add(it)
	return seg, it.ok
}
