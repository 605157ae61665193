package toolcall

import (
	"slices"
	"strings"
)

// fence is an open code fence.
type fence struct {
	start, body int
	ticks, info string
	oneLine     bool // closed on the same line; inline code in Markdown
}

// fenceAt reads the opening line of the fence at i.
func (x *text) fenceAt(i int) (fence, bool) {
	n := x.run(i)
	if x.pastEnd(i+n) || n < 3 {
		return fence{}, false
	}
	eol := x.lineEnd(i + n)
	info := strings.ToLower(strings.TrimSpace(x.s[i+n : eol]))
	f := fence{
		start:   i,
		body:    min(eol+1, len(x.s)),
		ticks:   x.s[i : i+n],
		oneLine: x.s[i] == '`' && strings.Contains(info, "`"),
	}
	if f.oneLine {
		f.info, _, _ = strings.Cut(info, "{")
		f.info = strings.TrimSpace(f.info)
	} else {
		f.info, _, _ = strings.Cut(info, " ")
	}
	if !f.oneLine || f.callable() {
		x.pastEnd(eol)
	}
	return f, true
}

// announces are the info strings that announce a call, codes those that permit one.
var (
	announces = [...]string{
		"tool_call", "tool_calls", "tool_code", "tool", "tool_use", "toolcall", "function_call", "function",
		"tool-call",
	}
	codes = [...]string{"", "json", "json5", "jsonc", "xml", "html", "python", "py", "text", "txt", "plaintext"}
)

func (f fence) announced() bool { return slices.Contains(announces[:], f.info) }

func (f fence) callable() bool { return f.announced() || slices.Contains(codes[:], f.info) }

// fenceEnd skips the fence or inline code at i, which contains no call.
func (s *scanner) fenceEnd(i int) int {
	f, ok := s.fenceAt(i)
	if s.s[i] == '`' && (!ok || f.oneLine) {
		return s.inlineCode(i)
	}
	if !ok {
		return i + s.run(i)
	}
	for i = f.body; i < len(s.s); {
		eol := lineEnd(s.s, i)
		if closesFence(s.s[i:eol], f.ticks) {
			return eol
		}
		i = eol + 1
	}
	return len(s.s)
}

func closesFence(line, ticks string) bool {
	line = strings.Trim(line, " \t\r")
	return len(line) >= len(ticks) && strings.Trim(line, ticks[:1]) == ""
}

// callFence reads a fence that contains only calls of known tools. It counts only if no
// prose follows, unless its info string or the text announces a call. Any other fence is
// code.
func callFence(s *scanner, i int) (segment, bool) {
	seg := segment{start: i}
	f, ok := s.fenceAt(i)
	if !ok || s.exhausted() || !f.callable() && (f.oneLine || s.known(f.info) == "") {
		return seg, false
	}
	if f.oneLine {
		return s.lineFence(f)
	}
	pos := s.fenceGap(f, f.body)
	for ; !s.pastEnd(pos) && !s.has(pos, f.ticks) && !seg.full(); pos = s.fenceGap(f, pos) {
		it := s.fenceItem(f, pos)
		cut := it.err != "" && it.next >= len(s.s) // the last call of a list was cut off
		if !it.ok || it.err != "" && !cut || !s.p.allKnown(it.calls) {
			s.guess(max(it.next, pos) - f.body)
			return seg, false
		}
		seg.add(it)
		pos = it.next
	}
	if seg.end = min(pos, len(s.s)); len(seg.calls) == 0 {
		s.guess(maxMark / 4)
		return seg, false
	}
	if s.has(pos, f.ticks) {
		seg.end = s.line(pos)
		if !closesFence(s.s[pos:seg.end], f.ticks) {
			return seg, false
		}
	}
	example := s.exampleBefore(i)
	if f.announced() {
		seg.tentative = example
		return seg, true
	}
	seg.tentative = !s.intends(i)
	return seg, !example
}

// lineFence reads a fence on one line that contains a call.
func (s *scanner) lineFence(f fence) (segment, bool) {
	line := strings.TrimRight(s.s[f.start:f.body], " \t\r\n")
	b := strings.IndexByte(line, '{')
	if b < 0 || !strings.HasSuffix(line, f.ticks) {
		return segment{}, false
	}
	seg, ok := bareJSON(s, f.start+b)
	ok = ok && s.indent(seg.end) == f.start+len(line)-len(f.ticks)
	seg.start, seg.end = f.start, f.start+len(line)
	return seg, ok
}

// fenceGap skips the text between the calls in a fence: comments, and the printing of a
// result if the fence announces a call.
func (g *grammar) fenceGap(f fence, pos int) int {
	for {
		pos = g.separators(pos)
		line, _, _ := strings.Cut(g.s[pos:min(pos+maxMark, len(g.s))], "\n")
		printed, prints := strings.CutPrefix(line, "print(")
		printed = strings.TrimRight(printed, ") \r")
		shown := f.announced() && prints && isName(printed) && !strings.Contains(printed, "(")
		if !g.has(pos, "//") && !strings.HasPrefix(line, "#") && !shown {
			return pos
		}
		pos = g.line(pos)
	}
}

// fenceItem reads one call in a fence.
func (s *scanner) fenceItem(f fence, pos int) item {
	c, m := s.s[pos], s.mark(pos)
	switch {
	case c == '{' && s.known(f.info) != "":
		return s.namedJSON(f.info, pos)
	case c == '{' || c == '[' && s.p.marks[m.name] == noMark:
		return s.bareItem(pos, f.announced())
	case s.p.marks[m.name] == opens:
		seg, ok := region(s, pos)
		return item{calls: seg.calls, next: seg.end, ok: ok && len(seg.errs) == 0}
	case m.opening() && s.known(m.tag) != "":
		return s.toolElement(m, true)
	case letter(c) && f.info != "json":
		return s.fencedCode(f, pos)
	}
	return item{}
}

// fencedCode reads a call that begins with a word: name(…), variable = name(…), or its
// name and arguments if the fence announces a call.
func (g *grammar) fencedCode(f fence, pos int) item {
	name, k := g.word(pos)
	k = g.indent(k)
	assigned := g.is(k, '=') && f.announced()
	called := g.known(name) != "" && !g.pastEnd(k) && strings.IndexByte("{\n\r", g.s[k]) < 0 &&
		(f.announced() || g.isProperName(name))
	switch {
	case assigned || called || name == "print":
		return g.pythonCalls(pos, false)
	case f.announced():
		return g.nameFirst(pos, true)
	}
	return item{}
}
