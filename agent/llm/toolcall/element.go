package toolcall

import "strings"

// toolTag reads a call in the form <tool_name>…</tool_name>, which counts only
// for known tools and only when arguments, or nothing that could be prose,
// follow.
func (s *scanner) toolTag(i int, m mark) (segment, bool) {
	seg := segment{start: i}
	it := s.toolElement(m, s.ownLine(i))
	if !it.ok {
		return seg, false
	}
	if !s.ownLine(i) && s.proseAfter(it.next) {
		return seg, false // shown in a sentence
	}
	seg.add(it)
	seg.end = s.closers(it.next)
	return seg, true
}

// proseAfter says whether text follows on the same line.
func (s *scanner) proseAfter(i int) bool {
	i = s.indent(i)
	if i >= len(s.t) {
		s.touched = true
		return false
	}
	c := s.t[i]
	return c != '\n' && c != '\r' && c != '<' && c != '['
}

func (s *scanner) toolElement(m mark, ownLine bool) item {
	name := s.known(m.tag)
	t := s.p.tools[name]
	attrs := toolAttributes(m, t)
	if m.selfEnd {
		if len(attrs) == 0 && (t.required > 0 || !ownLine) {
			return item{}
		}
		for _, a := range attrs {
			if fold(m.tag) != fold(name) && !t.has(a.key) && !pathKey(a.key) {
				return item{} // an element of that name in HTML
			}
		}
		return item{calls: []Call{s.named(name, attrs, false, false)}, next: m.next, ok: true}
	}
	pos := s.space(m.next)
	if pos >= len(s.t) {
		return item{}
	}
	switch k := s.mark(pos); {
	case s.t[pos] == '{':
		return s.jsonElement(m, name, pos)
	case sameTag(k, m):
		if len(attrs) == 0 && (t.required > 0 || !ownLine) {
			return item{}
		}
		return item{calls: []Call{s.named(name, attrs, false, false)}, next: k.next, ok: true}
	case k.tag == "" || strings.HasPrefix(k.name, "</"):
		return s.lineElement(m, name, ownLine)
	case fold(m.tag) != fold(name) && !t.has(k.tag) && !isContainer(k, t) && !isParam(k) && !pathKey(k.tag):
		return item{}
	}
	ps := s.params(m, t, 0)
	if len(ps.args) == 0 {
		return item{}
	}
	for _, a := range attrs {
		ps.args = put(ps.args, a)
	}
	if ps.bad { // text among the arguments: the call ends at its closing tag
		ps.repaired = true
		if end := s.index("</"+m.raw+">", ps.next); end >= 0 {
			ps.next = end + len(m.raw) + 3
		}
	}
	return item{calls: []Call{s.named(name, ps.args, ps.repaired || ps.cut, ps.cut)}, next: ps.next, ok: true}
}

// pathKey says whether an argument of that name is a path to every tool that
// takes one.
func pathKey(key string) bool {
	switch fold(key) {
	case "path", "file", "files", "filepath", "filename":
		return true
	}
	return false
}

// toolAttributes reads the attributes of a tool's tag as arguments.
func toolAttributes(m mark, t *tool) []field {
	var list []field
	for _, f := range attributes(m.attrs) {
		s, _ := text(f.value)
		list = append(list, field{key: f.key, value: t.typed(f.key, s)})
	}
	return list
}

// jsonElement reads <tool_name>{…}</tool_name>.
func (s *scanner) jsonElement(m mark, name string, pos int) item {
	it := s.namedJSON(name, pos)
	if !it.ok || it.err != "" {
		return item{}
	}
	end := s.space(it.next)
	if end >= len(s.t) {
		return it
	}
	k := s.mark(end)
	if !sameTag(k, m) {
		return item{}
	}
	it.next = k.next
	return it
}

// lineElement reads <tool_name>value</tool_name> for a tool that needs exactly
// one argument.
func (s *scanner) lineElement(m mark, name string, ownLine bool) item {
	only, ok := s.p.tools[name].only()
	if !ok || !ownLine || fold(m.tag) != fold(name) && len(m.tag) < 8 {
		return item{}
	}
	if types := s.p.tools[name].typesOf(only); len(types) > 0 && !contains(types, "string") {
		return item{}
	}
	stop := lineEnd(s.t, m.next)
	if stop == m.next { // the value stands on lines of its own
		stop = min(len(s.t), m.next+2000)
	}
	closing := "</" + m.raw + ">"
	end := strings.Index(s.t[m.next:min(len(s.t), stop)], closing)
	if end < 0 {
		s.touched = s.touched || stop >= len(s.t)
		return item{}
	}
	value := strings.TrimSpace(s.t[m.next : m.next+end])
	if value == "" {
		return item{}
	}
	args := []field{{key: only, value: quoted(value)}}
	return item{calls: []Call{s.named(name, args, false, false)}, next: m.next + end + len(closing), ok: true}
}

// element reads a call inside markup that begins with a tag: a named tag, the
// tag of a tool, or elements for the name and the arguments.
func (s *scanner) element(i int) item {
	m := s.mark(i)
	if m.growing {
		return item{}
	}
	if m.tag == "" || strings.HasPrefix(m.name, "</") {
		return item{}
	}
	if s.p.marks[m.name] == opens || isParam(m) {
		it, _ := s.namedTag(m)
		return it
	}
	if contains(nameFields[:], m.name[1:len(m.name)-1]) {
		return s.nameElement(i)
	}
	if s.known(m.tag) != "" {
		if it := s.toolElement(m, true); it.ok {
			return it
		}
	}
	if !isName(m.tag) {
		return item{}
	}
	ps := s.params(m, s.p.tools[s.known(m.tag)], 0)
	if ps.bad {
		return item{}
	}
	return item{calls: []Call{s.named(m.tag, ps.args, ps.repaired || ps.cut, ps.cut)}, next: ps.next, ok: true}
}

// nameThenArguments reads <function>x</function><arguments>…</arguments>: the
// mark k at i opens a call in other dialects.
func (s *scanner) nameThenArguments(i int, k mark) item {
	if k.tag == "" || k.selfEnd || named(k) || !contains(nameFields[:], k.name[1:len(k.name)-1]) {
		return item{}
	}
	name, j := s.word(k.next)
	c := s.mark(j)
	if !isName(name) || !sameTag(c, k) {
		return item{}
	}
	n, _ := s.p.Canonical(name)
	next := s.space(c.next)
	if a := s.mark(min(next, len(s.t))); a.tag == "" || strings.HasPrefix(a.name, "</") || !isContainer(a, s.p.tools[n]) {
		return item{}
	}
	return s.nameElement(i)
}

// nameElement reads <tool_name>x</tool_name><parameters>…</parameters>.
func (s *scanner) nameElement(i int) item {
	m := s.mark(i)
	v := s.value(m, m.tag, "", nil)
	if v.cut {
		return item{err: "A call was cut off inside the name of its tool; send it again.", next: v.next, ok: true}
	}
	name := strings.TrimSpace(v.text)
	if !isName(name) {
		return item{}
	}
	n, _ := s.p.Canonical(name)
	// The rest is the body of the element around the name.
	ps := s.params(mark{name: "<>", next: v.next}, s.p.tools[n], 0)
	return item{calls: []Call{s.named(n, ps.args, ps.repaired && ps.cut || ps.cut, ps.cut)}, next: ps.next, ok: true}
}
