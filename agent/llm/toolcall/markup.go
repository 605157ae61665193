package toolcall

import (
	"fmt"
	"strings"
)

// sendAgain closes an error.
const sendAgain = `Send it again as {"name": …, "arguments": {…}}.`

// item is what one place in markup holds.
type item struct {
	calls []Call
	err   string // looked like a call and was none
	next  int
	ok    bool

	mention bool // shows what a call looks like
}

// region reads what follows the opening mark m at i: one grammar for all
// dialects. A mark that nothing callable follows is a mention in prose.
func (s *scanner) region(i int, m mark) (segment, bool) {
	seg := segment{start: i}
	pos, first, closed := m.next, true, false
	if it, ok := s.namedTag(m); ok {
		if !it.ok {
			return seg, false
		}
		seg.add(it)
		pos, first = it.next, false
		seg.end = pos
		seg.end = s.closers(pos)
		return seg, true
	}
	if m.selfEnd {
		return seg, false
	}
	seg.end = pos
	for {
		pos = s.separators(pos)
		if pos >= len(s.t) {
			break
		}
		k := s.mark(pos)
		switch s.p.marks[k.name] {
		case closes:
			seg.end, closed = s.closers(pos), true
		case inside:
			pos = k.next
			continue
		case opens:
			if it := s.nameThenArguments(pos, k); it.ok {
				seg.add(it)
				first, pos, seg.end = false, it.next, it.next
				continue
			}
			if first && k.tag == "" || first && k.value == "" && k.attrs == "" && !named(k) {
				pos = k.next
				continue
			}
		}
		if closed {
			break
		}
		if k.growing {
			if seg.end, pos = len(s.t), len(s.t); first {
				s.touched = true // the tag of the call was cut off
			}
			break // or a closing mark
		}
		it := s.item(pos, first)
		if it.mention && first {
			return seg, false
		}
		if at, found := 0, false; !it.ok && first {
			if at, found = s.proseInside(i, m, pos); found {
				seg.start = s.splitOff(i, m, at)
				it, pos = s.item(at, first), at
			}
		}
		if !it.ok {
			break
		}
		seg.add(it)
		first, pos, seg.end = false, s.lineComment(s.strayBraces(it.next)), it.next
	}
	if s.openTag = ""; !closed && len(seg.calls) > 0 {
		s.openTag = m.raw
	}
	return s.judge(seg, m, pos, closed)
}

// splitOff makes the opening mark at i a segment of its own, so that the prose
// between it and the call at at stays, and returns where the call begins. The
// word json is no prose.
func (s *scanner) splitOff(i int, m mark, at int) int {
	if strings.EqualFold(strings.TrimSpace(s.t[m.next:at]), "json") {
		return i
	}
	if !s.grow {
		s.segs = append(s.segs, segment{start: i, end: m.next, mark: true})
	}
	return at
}

// strayBraces skips brackets too many before a closing mark.
func (s *scanner) strayBraces(i int) int {
	j := i
	for j < len(s.t) && strings.IndexByte("}] \n\t\r", s.t[j]) >= 0 {
		j++
	}
	if j >= len(s.t) {
		s.touched = true
		return i
	}
	if s.p.marks[s.mark(j).name] == closes {
		return j
	}
	return i
}

// judge tells a broken call from a mention of the markup in prose.
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
	if closed {
		seg.errs = []string{fmt.Sprintf("A %s is empty; it must hold a JSON object with \"name\" and \"arguments\".", s.show(m))}
		return seg, true
	}
	if pos >= len(s.t) {
		seg.end = len(s.t)
		if n := len(s.segs); n > 0 && len(s.segs[n-1].calls) > 0 && blank(s.t[s.segs[n-1].end:seg.start]) {
			return seg, true // written where the closing mark should be
		}
		seg.errs = []string{fmt.Sprintf("The answer was cut off after %s, before the call; send the call again.", s.show(m))}
		return seg, true
	}
	near := s.index("\n\n", pos)
	if near < 0 {
		near = len(s.t)
	}
	near = min(near, pos+2000)
	s.touched = s.touched || near == len(s.t)
	end := s.errorEnd(m, -1)
	if end < 0 || end > near+maxMark {
		return seg, false
	}
	seg.end = end
	seg.errs = []string{s.notUnderstood(m, "it is not JSON")}
	return seg, true
}

func (s *scanner) show(m mark) string {
	if m.tag != "" {
		return "<" + m.tag + ">"
	}
	return m.name
}

func (s *scanner) notUnderstood(m mark, why string) string {
	return fmt.Sprintf("What follows %s could not be understood: %s. Send the call again as {\"name\": …, \"arguments\": {…}}.", s.show(m), why)
}

// errorEnd returns where a broken call ends: after its closing mark. Without
// one it is from, or when from is given the end of the paragraph.
func (s *scanner) errorEnd(m mark, from int) int {
	at := max(from, m.next)
	end := -1
	if m.tag != "" {
		if k := s.index("</"+m.raw, at); k >= 0 {
			if c := lexMark(s.t, k); c.next > 0 {
				end = c.next
			}
		}
	}
	if from < 0 {
		return end
	}
	if end < 0 {
		if end = s.index("\n\n", from); end < 0 {
			end = len(s.t)
		}
	}
	return s.closers(end)
}

func (seg *segment) add(it item) {
	seg.calls = append(seg.calls, it.calls...)
	if it.err != "" {
		seg.errs = append(seg.errs, it.err)
	}
}

// separators skips white space and what stands between calls.
func (s *scanner) separators(i int) int {
	for {
		i = s.space(i)
		switch {
		case i < len(s.t) && (s.t[i] == ',' || s.t[i] == ';'):
			i++
		case i < len(s.t) && s.t[i] == '\\' && s.has(i, `\n`):
			i += 2 // a line break that was escaped
		default:
			return i
		}
	}
}

// closers skips the closing marks that follow i, and returns i when none does.
func (s *scanner) closers(i int) int {
	for i < len(s.t) {
		j := s.space(i)
		if j >= len(s.t) || s.t[j] != '<' && s.t[j] != '[' {
			break
		}
		if n := s.stopWord(j); n > 0 {
			i = j + n
			continue
		}
		k := s.mark(j)
		if s.p.marks[k.name] != closes {
			break
		}
		i = k.next
	}
	return i
}

// item reads one call, or a list of them, at i.
func (s *scanner) item(i int, first bool) item {
	switch c := s.t[i]; {
	case c == '{':
		if it, ok := s.escapedJSON(i); ok {
			return it
		}
		return s.jsonItem(readJSON(s.t, i, s.p.marks), first)
	case c == '[':
		if s.pythonList(i) {
			return s.pythonCalls(i+1, true)
		}
		return s.jsonItem(readJSON(s.t, i, s.p.marks), first)
	case c == '"' && first:
		if in := readJSON(s.t, i, s.p.marks); in.ok && s.callable(in) {
			return s.jsonItem(in, first)
		}
		return s.jsonItem(readMembers(s.t, i, s.p.marks), first)
	case c == '<':
		return s.element(i)
	case c == '`' && s.has(i, "```"):
		return s.fenced(i)
	case letter(c):
		return s.nameFirst(i, first)
	}
	return item{}
}

func (s *scanner) callable(in parsedJSON) bool {
	return len(s.p.calls(in.json, source{explicit: true}).calls) > 0
}

// jsonItem takes a value that was read as a call or calls.
func (s *scanner) jsonItem(in parsedJSON, first bool) item {
	if in.ended {
		s.touched = true
	}
	if !in.ok {
		if in.ellipsis || !first {
			return item{mention: in.ellipsis}
		}
		return item{err: "A call could not be understood: " + s.broken(in.next) + ". Send it again as valid JSON: {\"name\": …, \"arguments\": {…}}.", next: in.next, ok: true}
	}
	f := s.p.calls(in.json, source{explicit: true, repaired: in.repaired, open: in.open, cutText: in.cutText})
	if f.definition {
		return item{mention: true}
	}
	it := item{calls: f.calls, next: in.next, ok: true}
	if f.err != "" {
		if !first && len(f.calls) == 0 {
			return item{}
		}
		it.err = "A call could not be understood: " + f.err + ". " + sendAgain
	}
	return it
}

// broken says where JSON could not be read.
func (s *scanner) broken(i int) string {
	if i >= len(s.t) {
		return "the text ends inside its JSON"
	}
	if s.broke++; s.broke > maxErrors {
		return "its JSON is broken" // not told any more
	}
	end := min(len(s.t), i+20)
	for end > i+1 && !lastRune(s.t[i:end]) {
		end--
	}
	return fmt.Sprintf("its JSON is broken at %q", strings.TrimSpace(s.t[i:end]))
}

// fenced reads calls in a code fence inside markup.
func (s *scanner) fenced(i int) item {
	var out item
	pos := lineEnd(s.t, i) // after the info string
	if b := strings.IndexAny(s.t[i:pos], "{["); b >= 0 {
		pos = i + b
	}
	for first := true; ; first = false {
		pos = s.separators(pos)
		if pos >= len(s.t) {
			break
		}
		if s.has(pos, "```") {
			pos += 3
			break
		}
		it := s.item(pos, first)
		if !it.ok {
			break
		}
		out.ok, pos = true, it.next
		out.calls = append(out.calls, it.calls...)
		if it.err != "" {
			out.err = it.err
		}
	}
	out.next = pos
	return out
}

// nameFirst reads a call that begins with its name: name{…}, name(…),
// name[ARGS]{…}, name and <arg_key> pairs, or the name alone.
func (s *scanner) nameFirst(i int, first bool) item {
	name, j := s.word(i)
	if first && s.t[min(j, len(s.t))-1] == ':' {
		if it := s.looseCall(i); it.ok {
			return it
		}
	}
	if name == "json" && s.known(name) == "" {
		return item{}
	}
	k := s.afterName(j)
	if k >= len(s.t) {
		if first && s.known(name) != "" && k > i {
			return item{calls: []Call{{Name: s.known(name), Arguments: emptyObject, Truncated: true, Repaired: true}}, next: len(s.t), ok: true}
		}
		return item{}
	}
	switch m := s.mark(k); {
	case s.t[j:k] != "" && name == "function" && (letter(s.t[k]) || s.t[k] == '<') && strings.Contains(s.t[j:k], "sep"):
		if s.t[k] == '<' {
			return s.element(k)
		}
		return s.nameFirst(k, first)
	case s.t[k] == '(':
		return s.pythonCalls(i, false)
	case s.t[k] == '{' && strings.HasPrefix(name, "call:"): // unquoted by design
		it := s.namedJSON(name, k)
		for i := range it.calls {
			it.calls[i].Repaired = it.calls[i].Truncated
		}
		return it
	case s.t[k] == '{' && (first || s.known(name) != ""):
		return s.namedJSON(name, k)
	case s.has(k, "```") && first:
		s.touched = s.touched || len(s.t) < k+64
		if b := strings.IndexByte(s.t[k:min(len(s.t), k+64)], '{'); b >= 0 {
			it := s.namedJSON(name, k+b)
			if end := s.space(it.next); it.ok && s.has(end, "```") {
				it.next = end + 3
			}
			return it
		}
	case m.name == "<arg_key>":
		return s.argPairs(name, k)
	case s.p.marks[m.name] == closes && first && (s.known(name) != "" || strings.Contains(name, "_")):
		return item{calls: []Call{s.named(name, nil, false, false)}, next: k, ok: true}
	}
	return item{}
}

// word reads the characters of a name.
func (s *scanner) word(i int) (string, int) {
	j := i
	for j < len(s.t) && j-i < 128 && (isWord(s.t[j]) || strings.IndexByte(".:-", s.t[j]) >= 0) {
		j++
	}
	return strings.TrimRight(s.t[i:j], ":"), j
}

// afterName skips what separates a name from its arguments.
func (s *scanner) afterName(i int) int {
	for {
		i = s.space(i)
		if i >= len(s.t) {
			return i
		}
		m := s.mark(i)
		if s.p.marks[m.name] != inside {
			return i
		}
		i = m.next
		if m.name == "[CALL_ID]" {
			_, i = s.word(i)
		}
	}
}

// named builds a call.
func (s *scanner) named(name string, args []field, repaired, truncated bool) Call {
	n, _ := s.p.Canonical(name)
	return Call{Name: n, Arguments: object(args), Repaired: repaired, Truncated: truncated}
}

// namedJSON reads the arguments of a call whose name is known, at i.
func (s *scanner) namedJSON(name string, i int) item {
	in := readJSON(s.t, i, s.p.marks)
	if in.ended {
		s.touched = true
	}
	if !in.ok {
		if in.ellipsis || !isName(name) {
			return item{}
		}
		return item{err: fmt.Sprintf("The arguments of %s could not be understood: %s.", name, s.broken(in.next)), next: max(in.next, i+1), ok: true}
	}
	n, _ := s.p.Canonical(name)
	t := s.p.tools[n]
	args, repaired, err := s.p.arguments(in.json, t, in.cutText)
	if err != nil {
		return item{err: fmt.Sprintf("The call to %s could not be understood: %v.", n, err), next: in.next, ok: true}
	}
	if len(args) == 2 { // the whole call once more
		if a, ok := find(args, "arguments"); ok && !t.has("arguments") && args[a].value[0] == '{' {
			if w, ok := find(args, "name"); ok && !t.has("name") {
				if same, _ := text(args[w].value); s.known(same) == n {
					args, _ = fields(args[a].value)
				}
			}
		}
	}
	call := Call{Name: n, Arguments: object(args), Repaired: repaired || in.repaired, Truncated: in.open > 0}
	return item{calls: []Call{call}, next: in.next, ok: true}
}
