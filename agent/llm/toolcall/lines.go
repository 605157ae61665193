package toolcall

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// labels are the words that introduce a call on their line; "action" is from ReAct.
var labels = [...]string{"action", "toolcall", "toolcalls", "functioncall", "call", "tool"}

// maxLabel is the maximum length of a label before its colon.
const maxLabel = 28

// label reads one of the words followed by a colon at i, also in bold: "Action:", "**Tool
// call:**". It returns the word in lower case without blanks, and the offset of the text
// after it.
func (x *text) label(i int, words []string) (word string, next int) {
	letters := make([]byte, 0, maxLabel)
	for j := i; j < len(x.s) && j-i < maxLabel; j++ {
		switch c := x.s[j]; {
		case c == ':':
			for j++; x.is(j, '*'); {
				j++
			}
			if word = string(letters); slices.Contains(words, word) {
				return word, j
			}
			return "", 0
		case c == ' ' || c == '_' || c == '*':
		case letter(c):
			letters = append(letters, c|0x20)
		default:
			return "", 0
		}
	}
	x.cut = len(x.s)-i < maxLabel &&
		slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, string(letters)) })
	return "", 0
}

// labeledCall reads the call after a label: an action, an object, or calls in Python syntax.
func labeledCall(s *scanner, i int) (segment, bool) {
	word, next := s.label(i, labels[:])
	if word != "" {
		s.guess(maxLabel)
	}
	if word == "action" {
		return s.afterAction(i, s.action(next, ""))
	}
	pos := s.indent(next)
	if word == "" || s.pastEnd(pos) {
		return segment{}, false
	}
	seg, ok := segment{}, false
	switch c := s.s[pos]; {
	case c == '{' || c == '[':
		seg, ok = bareJSON(s, pos)
	case letter(c):
		seg, ok = barePython(s, pos)
	}
	seg.start, seg.end = i, s.closers(seg.end)
	return seg, ok
}

// qwenAgent reads ✿FUNCTION✿: name and ✿ARGS✿: arguments.
func qwenAgent(s *scanner, i int) (segment, bool) {
	const word = "✿FUNCTION✿"
	if !s.has(i, word) {
		return segment{}, false
	}
	pos := s.indent(i + len(word))
	if s.is(pos, ':') {
		pos++
	}
	return s.afterAction(i, s.action(pos, "✿ARGS✿"))
}

func (s *scanner) afterAction(i int, it item) (segment, bool) {
	seg := segment{start: i, end: s.closers(it.next)}
	seg.add(it)
	return seg, it.ok
}

// action reads a name, followed by the arguments after label ("Action Input:" if it is
// empty); or name(…), name[value], or calls as JSON.
func (g *grammar) action(i int, label string) item {
	i = g.indent(i)
	if next := g.space(i); g.is(next, '{') || g.is(next, '`') && g.has(next, "```") || g.is(i, '[') {
		it := g.item(next, true)
		it.ok = it.ok && g.p.allKnown(it.calls)
		return it
	}
	end := g.line(i)
	name := strings.Trim(g.s[min(i, end):end], " \t\r`*")
	n := g.known(name)
	if n == "" || !isName(name) {
		return g.actionCall(i, end)
	}
	pos, ok := g.afterLabel(g.space(end), label)
	if pos = g.space(pos); !ok || g.pastEnd(pos) {
		return item{}
	}
	if it := g.jsonArguments(name, pos); it.ok || g.s[pos] == '{' {
		return it
	}
	only, ok := g.p.tools[n].only()
	if !ok {
		return item{}
	}
	end = g.line(pos)
	value := strings.Trim(strings.TrimSpace(g.s[pos:end]), `"'`)
	return g.oneCall(n, []mend.Field{{Key: only, Value: mend.Quote(value)}}, end)
}

// afterLabel returns the offset of the text after the label at pos.
func (g *grammar) afterLabel(pos int, label string) (int, bool) {
	if label == "" {
		word, next := g.label(pos, []string{"actioninput"})
		return next, word != ""
	}
	if !g.has(pos, label) {
		return 0, false
	}
	if pos = g.indent(pos + len(label)); g.is(pos, ':') {
		pos++
	}
	return pos, true
}

// actionCall reads name(…) and name[value] between i and the end of the line.
func (g *grammar) actionCall(i, end int) item {
	name, j := g.word(i)
	if !g.isProperName(name) || g.pastEnd(j) {
		return item{}
	}
	if g.s[j] == '(' {
		return g.pythonCalls(i, false)
	}
	only, ok := g.p.tools[g.known(name)].only()
	value := strings.TrimRight(g.s[j:end], " \t\r")
	if !ok || len(value) < 2 || value[0] != '[' || value[len(value)-1] != ']' {
		return item{}
	}
	return g.oneCall(name, []mend.Field{{Key: only, Value: mend.Quote(strings.Trim(value[1:len(value)-1], `"'`))}}, end)
}

// functools reads functools[…] of Phi and Firefunction.
func functools(s *scanner, i int) (segment, bool) {
	const word = "functools"
	if !s.has(i, word) {
		return segment{}, false
	}
	pos := s.indent(i + len(word))
	if !s.is(pos, '[') {
		return segment{}, false
	}
	return s.afterAction(i, s.jsonItem(s.json(pos, s.p.marks), true))
}

// recipients reads ">>>name" and the arguments on the next line, possibly several times.
func recipients(s *scanner, i int) (segment, bool) {
	seg := segment{start: i}
	for s.has(i, ">>>") && !seg.full() {
		name, j := s.word(i + len(">>>"))
		if j = s.space(j); s.known(name) == "" || !s.is(j, '{') {
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
