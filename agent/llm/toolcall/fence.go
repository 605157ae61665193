package toolcall

import "strings"

// fence handles a code fence at i. A fence that holds nothing but calls of
// known tools is a call when nothing but calls follows it; every other fence
// is code, and what it holds is none.
func (s *scanner) fence(i int) int {
	n := 0
	for i+n < len(s.t) && s.t[i+n] == s.t[i] {
		n++
	}
	if i+n >= len(s.t) && s.grow && s.t[i] == '`' {
		s.hold = i
		return i
	}
	if n < 3 {
		if s.t[i] == '`' {
			return s.codeSpan(i)
		}
		return i + n
	}
	eol := lineEnd(s.t, i+n)
	info := strings.TrimSpace(s.t[i+n : eol])
	if eol == len(s.t) && s.grow {
		s.hold = i
		return i
	}
	if s.t[i] == '`' && strings.Contains(info, "`") {
		return s.lineFence(i, i+n, eol)
	}
	word, _, _ := strings.Cut(strings.ToLower(info), " ")
	f := fenced{start: i, body: min(eol+1, len(s.t)), ticks: s.t[i : i+n], info: word}
	f.tool = s.known(f.info)
	if (f.callable() || f.tool != "") && !s.exhausted() {
		next := s.try(i, i, func() (segment, bool) { return s.callFence(f) })
		if next != i || s.grow && s.hold >= 0 {
			return next
		}
	}
	return s.fenceEnd(f)
}

// fenced is a fence that was opened.
type fenced struct {
	start, body int
	ticks, info string
	tool        string // the tool whose name is the info string
}

// lineFence reads a fence that opens and closes on one line, from i to eol, and
// holds a call; Markdown takes it for inline code.
func (s *scanner) lineFence(i, from, eol int) int {
	ticks := s.t[i:from]
	b := strings.IndexByte(s.t[from:eol], '{')
	line := strings.TrimRight(s.t[i:eol], " \t\r")
	if b < 0 || !strings.HasSuffix(line, ticks) || !(fenced{info: strings.TrimSpace(s.t[from : from+b])}).callable() {
		return s.codeSpan(i)
	}
	next := s.try(i, i, func() (segment, bool) {
		seg, ok := s.bareJSON(from + b)
		if end := s.indent(seg.end); !ok || end != i+len(line)-len(ticks) {
			s.touched = s.touched || ok && eol == len(s.t)
			return seg, false
		}
		seg.start, seg.end = i, i+len(line)
		return seg, true
	})
	if next != i || s.grow && s.hold >= 0 {
		return next
	}
	return s.codeSpan(i)
}

// explicit says whether the info string itself announces a call.
func (f fenced) explicit() bool {
	switch f.info {
	case "tool_call", "tool_calls", "tool_code", "tool", "tool_use", "toolcall", "function_call", "function", "tool-call":
		return true
	}
	return false
}

// callable says whether a fence of that language can hold a call.
func (f fenced) callable() bool {
	switch f.info {
	case "", "json", "json5", "jsonc", "xml", "html", "python", "py", "text", "txt", "plaintext":
		return true
	}
	return f.explicit()
}

// fenceEnd returns the offset after the closing fence, or the end of the text.
func (s *scanner) fenceEnd(f fenced) int {
	for i := f.body; i < len(s.t); {
		eol := lineEnd(s.t, i)
		if closesFence(s.t[i:eol], f.ticks) {
			return eol
		}
		i = eol + 1
	}
	return len(s.t)
}

func closesFence(line, ticks string) bool {
	line = strings.Trim(line, " \t\r")
	return len(line) >= len(ticks) && strings.Trim(line, ticks[:1]) == ""
}

// callFence reads a fence that holds nothing but calls.
func (s *scanner) callFence(f fenced) (segment, bool) {
	seg := segment{start: f.start, tentative: true}
	pos := f.body
	for {
		pos = s.fenceGap(f, pos)
		if pos >= len(s.t) || s.has(pos, f.ticks) {
			break
		}
		it := s.fenceItem(f, pos)
		if it.ok && it.err != "" && len(it.calls) > 0 && it.next >= len(s.t) && s.allKnown(it.calls) {
			seg.add(it) // the last call of a list was cut off
			pos = it.next
			continue
		}
		if !it.ok || it.err != "" || len(it.calls) == 0 || !s.allKnown(it.calls) {
			s.guess(max(it.next, pos) - f.body)
			return seg, false
		}
		seg.add(it)
		pos = it.next
	}
	if len(seg.calls) == 0 {
		return seg, false
	}
	seg.end = min(pos, len(s.t))
	if s.has(seg.end, f.ticks) {
		eol := lineEnd(s.t, seg.end)
		if !closesFence(s.t[seg.end:eol], f.ticks) {
			return seg, false
		}
		if eol == len(s.t) {
			s.touched = true
		}
		seg.end = eol
	}
	example := s.exampleBefore(f.start)
	if f.explicit() {
		seg.tentative = example
		return seg, true
	}
	seg.tentative = !s.intends(f.start)
	return seg, !example
}

// fenceGap skips what stands between the calls in a fence: comments, and in one
// that announces a call the printing of its result.
func (s *scanner) fenceGap(f fenced, pos int) int {
	for {
		pos = s.separators(pos)
		rest := s.t[min(pos, len(s.t)):min(pos+maxMark, len(s.t))]
		line, _, _ := strings.Cut(rest, "\n")
		printed, ok := strings.CutPrefix(line, "print(")
		switch {
		case rest == "/":
			s.touched = true
			return pos
		case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "#"):
		case f.explicit() && ok && isName(strings.TrimRight(printed, ") \r")) && !strings.Contains(strings.TrimRight(printed, ") \r"), "("):
		default:
			return pos
		}
		pos = lineEnd(s.t, pos)
		s.touched = s.touched || pos == len(s.t)
	}
}

// fenceItem reads one call in a fence.
func (s *scanner) fenceItem(f fenced, pos int) item {
	if f.tool != "" && s.t[pos] == '{' {
		return s.namedJSON(f.info, pos)
	}
	switch c := s.t[pos]; {
	case c == '{' || c == '[' && !s.pythonList(pos) && s.p.marks[s.mark(pos).name] == noMark:
		in := readJSON(s.t, pos, nil)
		if in.ended {
			s.touched = true
		}
		if !in.ok {
			return item{next: in.next}
		}
		r := s.p.calls(in.json, source{repaired: in.repaired, open: in.open, cutText: in.cutText, explicit: f.explicit()})
		return item{calls: r.calls, err: r.err, next: in.next, ok: f.explicit() || r.strict || s.shaped(r)}
	case c == '[' && s.pythonList(pos):
		return s.pythonCalls(pos+1, true)
	case c == '<' || c == '[':
		m := s.mark(pos)
		if s.p.marks[m.name] == opens {
			seg, ok := s.region(pos, m)
			if len(seg.errs) > 0 {
				ok = false
			}
			return item{calls: seg.calls, next: seg.end, ok: ok}
		}
		if m.tag != "" && s.known(m.tag) != "" {
			return s.toolElement(m, true)
		}
	case letter(c) && f.info != "json":
		name, k := s.word(pos)
		k = s.indent(k)
		if k < len(s.t) && s.t[k] == '=' && f.explicit() {
			return s.pythonCalls(pos, false)
		}
		call := k < len(s.t) && s.t[k] != '{' && s.t[k] != '\n' && s.t[k] != '\r' // name(…) or variable = name(…)
		if name == "print" || call && s.known(name) != "" && (f.explicit() || fold(name) == fold(s.known(name))) {
			return s.pythonCalls(pos, false)
		}
		if f.explicit() {
			return s.nameFirst(pos, true)
		}
		s.touched = s.touched || k >= len(s.t)
	}
	return item{}
}

func (s *scanner) allKnown(calls []Call) bool {
	for _, c := range calls {
		if _, ok := s.p.tools[c.Name]; !ok {
			return false
		}
	}
	return true
}

// exampleWords announce an example.
var exampleWords = [...]string{"for example", "an example", "example:", "examples", "example of", "example call", "example usage", "# example", "for instance", "e.g.", "looks like", "look like", "would be", "you would", "you could", "you can call", "the format", "the syntax", "like so:", "like this"}

// exampleBefore says whether the paragraph before i announces an example.
func (s *scanner) exampleBefore(i int) bool {
	from := max(0, i-400)
	if n := len(s.segs); n > 0 {
		from = max(from, s.segs[n-1].end)
	}
	before := strings.TrimRight(s.t[from:i], " \t\r\n")
	if k := strings.LastIndex(before, "\n\n"); k >= 0 {
		before = before[k:]
	}
	before = strings.TrimSpace(strings.ToLower(before))
	if strings.HasPrefix(before, "example") {
		return true
	}
	for _, w := range exampleWords {
		if strings.Contains(before, w) {
			return true
		}
	}
	return false
}
