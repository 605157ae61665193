package toolcall

import "strings"

// bareJSON reads a call that stands without any markup at the start of a line.
// It counts only for known tools, and only when nothing but calls follows.
func (s *scanner) bareJSON(i int) (segment, bool) {
	seg := segment{start: i, tentative: true}
	if s.exhausted() {
		return seg, false
	}
	if s.t[i] == '[' {
		if s.p.marks[s.mark(i).name] != noMark {
			return seg, false
		}
		if s.pythonList(i) {
			it := s.pythonCalls(i+1, true)
			return s.bareSegment(seg, it)
		}
	}
	if !s.fieldFirst(i) {
		return seg, false
	}
	in := readJSON(s.t, i, nil)
	if in.ended {
		s.touched = true
	}
	if !in.ok {
		s.guess(in.next - i)
		return seg, false
	}
	f := s.p.calls(in.json, source{repaired: in.repaired, open: in.open, cutText: in.cutText})
	it := item{calls: f.calls, err: f.err, next: in.next, ok: f.strict || s.shaped(f)}
	seg, ok := s.bareSegment(seg, it)
	// Further objects may follow after a semicolon.
	if j := s.indent(it.next); ok && j < len(s.t) && (s.t[j] == ';' || s.t[j] == ',') {
		if j = s.separators(j); j < len(s.t) && s.t[j] == '{' {
			more, ok := s.bareJSON(j)
			more.start, more.calls = seg.start, append(seg.calls, more.calls...)
			return more, ok
		}
	}
	return seg, ok
}

// shaped accepts arguments beside the name when the tool takes all of them.
func (s *scanner) shaped(f found) bool {
	for _, c := range f.calls {
		t := s.p.tools[c.Name]
		list, _ := fields(c.Arguments)
		for _, a := range list {
			if !t.has(a.key) && !pathKey(a.key) {
				return false
			}
		}
		if len(list) == 0 {
			return false
		}
	}
	return len(f.calls) > 0
}

func (s *scanner) bareSegment(seg segment, it item) (segment, bool) {
	if !it.ok || it.err != "" || len(it.calls) == 0 || !s.allKnown(it.calls) || s.exampleBefore(seg.start) {
		s.guess(max(it.next-seg.start, 0))
		return seg, false
	}
	seg.add(it)
	seg.end = it.next
	seg.tentative = !s.intends(seg.start)
	return seg, true
}

// fieldFirst says whether the object at i, or the first one in the list at i,
// begins with a field that a call has.
func (s *scanner) fieldFirst(i int) bool {
	for n := 0; n < 3; n++ {
		j := s.space(i + 1)
		if j >= len(s.t) {
			return false
		}
		if s.t[i] == '[' || s.t[j] == '{' {
			if s.t[j] != '{' && s.t[j] != '[' {
				return false
			}
			i = j
			continue
		}
		key := s.t[j:min(len(s.t), j+maxMark)]
		rest := strings.TrimLeft(key, "\"'“‘")
		end := 0
		for end < len(rest) && (isWord(rest[end])) {
			end++
		}
		if j+maxMark > len(s.t) && end == len(rest) {
			s.touched = true
			return false
		}
		word := rest[:end]
		if word == "content" || word == "role" || word == "thought" || word == "thoughts" || word == "reasoning" {
			return true
		}
		return contains(nameFields[:], word) || contains(argFields[:], word) || contains(metaFields[:], word) || contains(wrapFields[:], word)
	}
	return false
}

// barePython reads name(…) of a known tool as the whole message.
func (s *scanner) barePython(i int) (segment, bool) {
	seg := segment{start: i, tentative: true}
	name, j := s.word(i)
	if j >= len(s.t) {
		s.touched = true
		return seg, false
	}
	if s.t[j] != '(' || fold(name) != fold(s.known(name)) {
		return seg, false
	}
	return s.bareSegment(seg, s.pythonCalls(i, false))
}

// escaped handles markup whose brackets were written as HTML entities.
func (s *scanner) escaped(i int) int {
	if s.growingAt(i, "&lt;") {
		s.hold = i
		return i
	}
	if !s.has(i, "&lt;") || s.exhausted() {
		return i + 1
	}
	if next := i + len("&lt;"); next < len(s.t) && !startsMark(s.t[next]) {
		return next
	}
	head := s.t[i:min(len(s.t), i+6*maxMark)]
	cut := false
	if amp := strings.LastIndexByte(head, '&'); amp > 0 && len(head)-amp < 6 && strings.IndexByte(head[amp:], ';') < 0 {
		head, cut = head[:amp], true
	}
	m := lexMark(unescapeHTML(head), 0)
	if (m.growing || cut && m.name == "") && i+6*maxMark > len(s.t) {
		if s.grow {
			s.hold = i
			return i
		}
		return i + 4
	}
	if s.p.marks[m.name] != opens && (m.tag == "" || strings.HasPrefix(m.name, "</") || s.known(m.tag) == "") {
		return i + 4
	}
	return s.try(i, i+4, func() (segment, bool) { return s.escapedRegion(i, m) })
}

// escapedRegion reads the markup after it was unescaped.
func (s *scanner) escapedRegion(i int, m mark) (segment, bool) {
	seg := segment{start: i}
	end := len(s.t)
	if m.tag != "" {
		closing := "&lt;/" + m.tag + "&gt;"
		if k := s.index(closing, i); k >= 0 {
			end = k + len(closing)
		} else {
			s.touched = true
		}
	}
	sub := &scanner{p: s.p, t: unescapeHTML(s.t[i:end])}
	sub.scan()
	sub.settle(len(sub.t))
	if len(sub.segs) == 0 || sub.segs[0].start != 0 {
		s.guess(end - i)
		return seg, false
	}
	for _, in := range sub.segs {
		seg.calls = append(seg.calls, in.calls...)
		seg.errs = append(seg.errs, in.errs...)
	}
	seg.end = end
	return seg, true
}

// escapedJSON reads an object in markup whose quotes were written as entities.
func (s *scanner) escapedJSON(i int) (item, bool) {
	j := s.space(i + 1)
	if !s.has(j, "&quot;") && !s.has(j, "&#34;") || s.exhausted() {
		return item{}, false
	}
	end := s.index("</", i)
	if end < 0 {
		end = len(s.t)
		s.touched = true
	}
	plain := unescapeHTML(s.t[i:end])
	in := readJSON(plain, 0, nil)
	if !in.ok || strings.TrimSpace(plain[in.next:]) != "" {
		s.guess(end - i)
		return item{}, false
	}
	in.next, in.repaired = end, true
	return s.jsonItem(in, true), true
}
