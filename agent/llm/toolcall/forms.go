package toolcall

import (
	"maps"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/mend"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// forms configures the call formats of other programs, which models also use here. A tool
// that cannot be called is "", and its calls stay text.
type forms struct {
	on, guess   bool
	diff, shell string
	may         func(tool, command string) bool
}

// Forms returns a parser that also accepts call formats of other programs: a patch
// between *** Begin Patch and *** End Patch, SEARCH/REPLACE blocks under a file name, a
// shell block as the whole answer, an object after prose on the same line, and the
// editors known as str_replace. may reports whether a tool can be called.
func (p *Parser) Forms(foreign []llm.ToolSpec, may func(tool, command string) bool) *Parser {
	q := *p
	tool := func(alias string) string {
		if n, ok := p.Canonical(alias); ok && may(n, "") { //control:forms-by-mode
			return n
		}
		return ""
	}
	q.forms = forms{on: true, may: may, diff: tool("apply_patch"), shell: tool("bash")}
	q.tools, q.folded = maps.Clone(p.tools), maps.Clone(p.folded)
	for _, t := range foreign {
		q.tools[t.Name], q.folded[fold(t.Name)] = newTool(t.Parameters), t.Name
	}
	for _, c := range []byte(letters + "0123456789*#`~./-<") {
		q.lines[c] = append(slices.Clone(q.lines[c]), other(envelope), other(fileBlocks), other(formFence))
	}
	return &q
}

func other(read readFunc) reader { return reader{"other programs", read} }

// Guess returns the first possible call in a text, regardless of its surroundings. It is
// used to show a model the correct format.
func (p *Parser) Guess(text string) (Call, bool) {
	q := p.Forms(nil, func(string, string) bool { return true })
	q.forms.guess = true
	s := newScanner(q, text, false)
	s.scan()
	for _, seg := range s.segs {
		if len(seg.calls) > 0 {
			return seg.calls[0], true
		}
	}
	return Call{}, false
}

// form adds a call in one of these forms to a segment; cut means that the text ended in
// it. It does not count if prose follows or if an example was announced.
func (s *scanner) form(seg segment, cut bool, tool string, args ...argument) (segment, bool) {
	example, maybe := s.announced(seg.start)
	tooLong := seg.end-seg.start > maxCall
	if tooLong || tool == "" || !s.p.forms.guess && (example || maybe || s.exampleBefore(seg.start)) { //control:forms-no-example
		s.guess(seg.end - seg.start)
		return segment{}, false
	}
	var list []mend.Field
	for _, a := range args {
		list = append(list, mend.Field{Key: a.key, Value: mend.Quote(a.value)})
	}
	seg.calls, seg.tentative = []Call{{Name: tool, Arguments: mend.Object(list), Truncated: cut, Repaired: cut}}, true
	return seg, true
}

// argument is an argument of a call that is text.
type argument struct{ key, value string }

const (
	patchBegin, patchEnd  = "*** Begin Patch", "*** End Patch"
	searchMark, closeMark = "<<<<<<< SEARCH", ">>>>>>> REPLACE"
)

// envelope reads a patch between its marks.
func envelope(s *scanner, i int) (segment, bool) {
	if !s.has(i, patchBegin) {
		return segment{}, false
	}
	end := s.seek("\n"+patchEnd, i)
	cut := end < 0
	if end += 1 + len(patchEnd); cut {
		end = len(s.s)
	}
	return s.form(segment{start: i, end: end}, cut, s.p.forms.diff, argument{"diff", s.s[i:end]})
}

// fileBlocks reads SEARCH/REPLACE blocks after a line with a file name, with or without a
// fence.
func fileBlocks(s *scanner, i int) (segment, bool) {
	name, pos := s.fileName(i)
	if s.p.forms.guess && s.has(i, searchMark) {
		name, pos = "NAME OF THE FILE", i
	}
	if name == "" || s.pastEnd(pos) {
		return segment{}, false
	}
	ticks := ""
	if f, ok := s.fenceAt(pos); s.s[pos] == '`' && ok && !f.oneLine {
		ticks, pos = f.ticks, f.body
	}
	from, end, cut := pos, -1, false
	for s.has(pos, searchMark) {
		at := s.seek("\n"+closeMark, pos)
		if cut = at < 0; cut {
			at = len(s.s)
		}
		end = s.line(at + 1)
		pos = s.space(end)
	}
	if end < 0 || !cut && !strings.Contains(s.s[from:end], "\n=======") {
		s.guess(max(end-from, maxMark/4))
		return segment{}, false
	}
	seg := segment{start: i, end: end}
	if ticks != "" && s.has(pos, ticks) {
		seg.end = s.line(pos)
	}
	return s.form(seg, cut, s.p.forms.diff, argument{"path", name}, argument{"diff", s.s[from:end]})
}

var fileLine = pattern.Lazy("^[#*` ]*(?:(?i:file|filename|path) ?[:=][*` ]*)?([\\w@+./-]*[\\w@+-])[*`: \r]*$")

// fileName reads the file name on the line at i, and returns the start of the next
// nonempty line.
func (x *text) fileName(i int) (name string, next int) {
	eol := lineEnd(x.s, i)
	if strings.Count(x.s[i:min(eol, i+maxMark)], " ") > 3 || eol-i > maxLine {
		return "", i
	}
	bare := strings.Trim(x.s[i:eol], "#*`: \r")
	if strings.ContainsAny(bare, " :=*`") && strings.IndexByte("fFpP", bare[0]) < 0 {
		x.pastEnd(eol)
		return "", i // neither a name nor a label before it
	}
	m := fileLine().FindStringSubmatch(x.s[i:eol])
	if x.pastEnd(eol) || m == nil {
		return "", i
	}
	return m[1], x.space(eol)
}

// formFence reads a fence that contains a patch, blocks under a file name, or commands if
// it is the whole answer.
func formFence(s *scanner, i int) (segment, bool) {
	f, ok := s.fenceAt(i)
	if !ok || f.oneLine || s.s[i] != '`' && s.s[i] != '~' {
		return segment{}, false
	}
	body := skipSpace(s.s, f.body)
	name, next := s.fileName(body)
	blocks := name != "" && s.has(next, searchMark)
	diff := s.has(body, patchBegin) || s.has(body, "--- ") || s.has(body, "diff --git ")
	if !blocks && !diff && !mend.IsShell(f.info) {
		return segment{}, false
	}
	seg := segment{start: i, end: s.fenceEnd(i)}
	last := strings.LastIndexByte(s.s[:seg.end], '\n') + 1
	if s.pastEnd(seg.end) && (last <= i || !closesFence(s.s[last:seg.end], f.ticks)) {
		return segment{}, false // not closed
	}
	text := s.s[body:max(body, last)]
	switch {
	case blocks:
		return s.form(seg, false, s.p.forms.diff, argument{"path", name}, argument{"diff", s.s[next:last]})
	case !diff:
		return s.commands(seg, text)
	case strings.HasPrefix(text, patchBegin) || strings.Contains(text, "\n+++ ") && strings.Contains(text, "\n@@"):
		return s.form(seg, false, s.p.forms.diff, argument{"diff", text})
	}
	return segment{}, false
}

// commands accepts a shell block that only an announcement of an action may precede.
func (s *scanner) commands(seg segment, text string) (segment, bool) {
	line, ok := mend.Commands(text)
	if !ok || !s.p.forms.may(s.p.forms.shell, line) ||
		!s.p.forms.guess && !blank(s.before(seg.start, maxLine)) && !s.intends(seg.start) {
		return segment{}, false
	}
	return s.form(seg, false, s.p.forms.shell, argument{"command", line})
}

// inlineJSON reads an object that is a call after a sentence on the same line.
func inlineJSON(s *scanner, i int) (segment, bool) {
	if !s.p.forms.on || s.ownLine(i) || s.exhausted() || !s.fieldFirst(i) {
		return segment{}, false
	}
	lead := strings.TrimRight(s.before(i, maxLine), " \t")
	lead = lead[strings.LastIndexByte(lead, '\n')+1:]
	if lead == "" || lead[0] == '|' || strings.IndexByte(".!:", lead[len(lead)-1]) < 0 {
		return segment{}, false
	}
	s.guess(maxLine)
	if example, maybe := s.announced(i); example || maybe || strings.HasSuffix(lead, ":") && !s.intends(i) {
		return segment{}, false
	}
	seg, ok := s.bareSegment(i, s.bareItem(i, false))
	seg.tentative = true
	return seg, ok
}
