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
	return s.bareSegment(seg, it)
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
	head := unescapeHTML(s.t[i:min(len(s.t), i+6*maxMark)])
	m := lexMark(head, 0)
	if m.growing && i+6*maxMark > len(s.t) {
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

// escapedItem reads JSON in markup whose quotes were written as entities.
func (s *scanner) escapedItem(int) item { return item{} }
