package toolcall

import (
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// bareJSON reads a call without any markup at the start of a line. It counts only for
// known tools, and only if no prose follows.
func bareJSON(s *scanner, i int) (segment, bool) {
	if s.exhausted() || !s.fieldFirst(i) && (s.s[i] != '[' || !s.pythonList(i)) {
		return segment{}, false
	}
	it := s.bareItem(i, false)
	seg, ok := s.bareSegment(i, it)
	// Further objects may follow after a semicolon.
	if !ok {
		return seg, false
	}
	if j := s.indent(it.next); s.is(j, ';') || s.is(j, ',') {
		if j = s.separators(j); s.is(j, '{') {
			more, ok := bareJSON(s, j)
			more.start, more.calls = i, append(seg.calls, more.calls...)
			return more, ok
		}
	}
	return seg, true
}

// bareItem reads JSON or a Python list of calls outside of markup; announced means that
// the text introduced it as a call.
func (g *grammar) bareItem(i int, announced bool) item {
	if g.s[i] == '[' && g.pythonList(i) {
		return g.pythonCalls(i+1, true)
	}
	in := g.json(i, nil)
	if !in.OK {
		return item{next: in.Next}
	}
	f := g.p.calls(in, announced)
	return item{calls: f.calls, err: f.err, next: in.Next, ok: announced || f.strict || g.shaped(f.calls)}
}

// shaped accepts arguments beside the name if the tool knows all of them.
func (g *grammar) shaped(calls []Call) bool {
	for _, c := range calls {
		t := g.p.tools[c.Name]
		list, _ := mend.Fields(c.Arguments)
		if len(list) == 0 || slices.ContainsFunc(list, func(a mend.Field) bool { return !t.has(a.Key) && !pathKey(a.Key) }) {
			return false
		}
	}
	return len(calls) > 0
}

// bareSegment accepts calls without markup unless they are an example. If prose follows,
// they count only if the model announced an action.
func (s *scanner) bareSegment(i int, it item) (segment, bool) {
	seg := segment{start: i, end: it.next, calls: it.calls}
	if !it.ok || it.err != "" || !s.p.allKnown(it.calls) || s.exampleBefore(i) {
		s.guess(it.next - i)
		return seg, false
	}
	seg.tentative = !s.intends(i)
	return seg, true
}

// fieldFirst reports whether the object at i, or the first one in the list at i, begins
// with a field of a call.
func (x *text) fieldFirst(i int) bool {
	for range 3 {
		j := x.space(i + 1)
		if x.pastEnd(j) {
			return false
		}
		if x.s[i] == '[' || x.s[j] == '{' {
			if x.s[j] != '{' && x.s[j] != '[' {
				return false
			}
			i = j
			continue
		}
		for n := 1; n > 0; j += n {
			if n = 0; x.pastEnd(j) {
				return false
			}
			for _, q := range [...]string{`"`, "'", "“", "‘"} {
				if x.has(j, q) {
					n = len(q)
				}
			}
		}
		end := j
		for end < len(x.s) && end-j < maxMark && isWord(x.s[end]) {
			end++
		}
		word := x.s[j:end]
		return !x.pastEnd(end) && word != "" && (named(word, nameFields[:]) || named(word, argFields[:]) ||
			named(word, metaFields[:]) || named(word, wrapFields[:]) || slices.Contains(talkFields[:], word))
	}
	return false
}

// barePython reads name(…) of a known tool.
func barePython(s *scanner, i int) (segment, bool) {
	name, j := s.word(i)
	if !s.is(j, '(') || !s.isProperName(name) {
		return segment{}, false
	}
	return s.bareSegment(i, s.pythonCalls(i, false))
}

// bareNamed reads the name of a tool followed by its arguments as an object, the
// remainder of a format without its tokens: read_file{…}, or the object on the next line.
// At the start of the message it also accepts name(…).
func bareNamed(s *scanner, i int) (segment, bool) {
	name, j := s.word(i)
	if s.pastEnd(j) {
		s.cut = s.mayBeTool(name)
		return segment{}, false
	}
	if !s.isProperName(name) || s.exhausted() {
		return segment{}, false
	}
	if s.s[j] == '(' && strings.TrimSpace(s.s[:i]) == "" {
		return barePython(s, i)
	}
	k := s.afterName(j)
	if !s.is(k, '{') {
		return segment{}, false
	}
	it := s.namedJSON(name, k)
	it.ok = it.ok && (len(it.calls) == 1 && string(it.calls[0].Arguments) == "{}" || s.shaped(it.calls))
	it.next = s.closers(it.next)
	return s.bareSegment(i, it)
}

// mayBeTool reports whether word is a prefix of a tool's name.
func (g *grammar) mayBeTool(word string) bool {
	for name := range g.p.folded {
		if strings.HasPrefix(name, fold(word)) {
			return true
		}
	}
	return false
}
