package toolcall

import (
	"encoding/json"
	"strings"
)

// maxElements bounds how deeply elements nest.
const maxElements = 12

// maxArguments bounds how many arguments a call has.
const maxArguments = 200

// node is the value of one element.
type node struct {
	raw      json.RawMessage
	text     string // as it stands, when the value is text
	plain    bool   // text, to be typed by the schema
	next     int
	cut      bool // the text ended inside
	repaired bool // a closing tag was missing
}

// params are the arguments that stand in the body of an element.
type params struct {
	args     []field
	next     int
	cut      bool
	repaired bool
	bad      bool // text that is no argument stands among them
}

// named says whether a tag carries the name of a tool.
func named(m mark) bool { return tagName(m) != "" }

func tagName(m mark) string {
	if m.value != "" {
		return m.value
	}
	if m.attrs == "" {
		return ""
	}
	attrs := attributes(m.attrs)
	for _, key := range [...]string{"name", "tool", "function", "tool_name"} {
		if i, ok := find(attrs, key); ok {
			s, _ := text(attrs[i].value)
			return s
		}
	}
	return ""
}

// namedTag reads <function=name>…, <invoke name="…">… and their like. The
// second result says whether m is such a tag.
func (s *scanner) namedTag(m mark) (item, bool) {
	name := tagName(m)
	if name == "" {
		return item{}, false
	}
	if !isName(name) {
		return item{}, true
	}
	return s.nameBody(m, name), true
}

// nameBody reads the body of the element m that calls name.
func (s *scanner) nameBody(m mark, name string) item {
	n, _ := s.p.Canonical(name)
	if m.selfEnd {
		var args []field
		for _, a := range toolAttributes(m, s.p.tools[n]) {
			if !contains(nameFields[:], a.key) && !contains(metaFields[:], a.key) {
				args = append(args, a)
			}
		}
		return item{calls: []Call{s.named(n, args, false, false)}, next: m.next, ok: true}
	}
	pos := s.space(m.next)
	if s.has(pos, "```") {
		if b := strings.IndexByte(s.t[pos:min(len(s.t), pos+32)], '{'); b >= 0 {
			pos += b
		}
	}
	if pos < len(s.t) && s.t[pos] == '{' {
		it := s.namedJSON(name, pos)
		end := s.space(it.next)
		if s.has(end, "```") {
			end = s.space(end + 3)
		}
		if c := s.mark(min(end, len(s.t))); it.ok && sameTag(c, m) {
			it.next = c.next
		}
		return it
	}
	t := s.p.tools[n]
	ps := s.params(m, t, 0)
	if ps.bad && len(ps.args) == 0 {
		only, ok := t.only()
		end := s.index("</"+m.raw+">", m.next)
		if !ok || end < 0 {
			return item{}
		}
		ps.args = []field{{key: only, value: quoted(strings.TrimSpace(s.t[m.next:end]))}}
		ps.next = end + len(m.raw) + 3
	}
	return item{calls: []Call{s.named(n, ps.args, ps.repaired || ps.cut, ps.cut)}, next: ps.next, ok: true}
}

// sameTag says whether c closes m.
func sameTag(c, m mark) bool {
	return strings.HasPrefix(c.name, "</") && (c.name[2:] == m.name[1:] || sameName(c.name[2:], m.name[1:]))
}

// sameName compares names without their separators: </readfile> closes
// <read_file>.
func sameName(a, b string) bool {
	for a != "" && b != "" {
		switch {
		case a[0] == b[0]:
			a, b = a[1:], b[1:]
		case a[0] == '_' || a[0] == '-':
			a = a[1:]
		case b[0] == '_' || b[0] == '-':
			b = b[1:]
		default:
			return false
		}
	}
	return a == b
}

// isParam says whether a tag holds one argument that it names.
func isParam(m mark) bool {
	switch m.name {
	case "<parameter>", "<param>", "<arg>", "<argument>", "<parameters>":
		return named(m)
	}
	return false
}

// isContainer says whether a tag encloses the arguments of a call of t.
func isContainer(m mark, t *tool) bool {
	return m.value == "" && m.attrs == "" && contains(argFields[:], m.name[1:len(m.name)-1]) && !t.has(m.tag)
}

// params reads the arguments in the body of m.
func (s *scanner) params(m mark, t *tool, depth int) params {
	out := params{next: m.next}
	for {
		pos := s.space(out.next)
		if pos >= len(s.t) {
			out.cut, out.next = true, pos
			return out
		}
		k := s.mark(pos)
		switch {
		case k.growing:
			out.cut, out.next = true, len(s.t)
			return out
		case sameTag(k, m):
			out.next = k.next
			return out
		case s.p.marks[k.name] == closes:
			out.repaired = true
			return out
		case k.tag == "" || strings.HasPrefix(k.name, "</"):
			out.bad = true
			return out
		case isContainer(k, t) && depth < 3:
			s.container(&out, k, t, depth)
		default:
			key := k.tag
			if isParam(k) {
				key = tagName(k)
			}
			v := s.node(k, key, frame{outer: m.raw, tool: t})
			if k.name == "<"+key+">" || isParam(k) || k.value == "" {
				out.args = put(out.args, field{key: key, value: s.typed(t, key, v)})
			}
			out.next, out.cut, out.repaired = v.next, v.cut, out.repaired || v.repaired
		}
		if out.cut {
			return out
		}
		if out.bad = len(out.args) > maxArguments; out.bad {
			return out
		}
	}
}

// container reads <args>…</args> with JSON or elements inside.
func (s *scanner) container(out *params, k mark, t *tool, depth int) {
	pos := s.space(k.next)
	if pos < len(s.t) && s.t[pos] == '{' {
		in := readJSON(s.t, pos, s.p.marks)
		if in.ok {
			list, _ := fields(in.json)
			out.args = append(out.args, list...)
			out.repaired = out.repaired || in.repaired
			out.cut, out.next = in.open > 0, in.next
			if c := s.mark(s.space(in.next)); sameTag(c, k) {
				out.next = c.next
			}
			return
		}
	}
	in := s.params(k, t, depth+1)
	for _, f := range in.args {
		out.args = put(out.args, f)
	}
	out.next, out.cut, out.repaired = in.next, in.cut, out.repaired || in.repaired
	if in.bad { // plain text: <args>a.go</args>
		v := s.node(k, k.tag, frame{outer: k.raw, tool: t, depth: maxElements})
		if only, ok := t.only(); ok && len(in.args) == 0 {
			out.args = put(out.args, field{key: only, value: quoted(strings.TrimSpace(v.text))})
		}
		out.next, out.cut = v.next, v.cut
	}
}

// put adds a member; repeated ones become an array.
func put(list []field, f field) []field {
	i, ok := find(list, f.key)
	if !ok {
		return append(list, f)
	}
	old := list[i].value
	if list[i].many { // the array is ours and can grow in place
		list[i].value = append(append(append(old[:len(old)-1], ','), f.value...), ']')
		return list
	}
	list[i].value = append(append(append(append(json.RawMessage{'['}, old...), ','), f.value...), ']')
	list[i].many = true
	return list
}

// frame is where an element stands.
type frame struct {
	outer string // name of the tag around it
	tool  *tool  // whose argument it is, nil further inside
	depth int
}

// node reads the value of the element k.
func (s *scanner) node(k mark, key string, in frame) node {
	if k.selfEnd {
		attrs := attributes(k.attrs)
		if at, ok := find(attrs, "value"); ok && isParam(k) {
			value, _ := text(attrs[at].value)
			return node{text: value, plain: true, next: k.next}
		}
		if len(attrs) > 0 && !isParam(k) {
			return node{raw: object(attrs), next: k.next}
		}
		return node{raw: quoted(""), plain: true, next: k.next}
	}
	pos := s.space(k.next)
	if s.has(pos, "<![CDATA[") {
		return s.cdata(k, pos)
	}
	if in.depth < maxElements && s.structured(key, pos, in) {
		if v, ok := s.children(k, in); ok {
			return v
		}
	}
	return s.raw(k, key, in)
}

// structured says whether elements stand at pos, and not text that looks
// like them.
func (s *scanner) structured(key string, pos int, in frame) bool {
	if pos >= len(s.t) || s.t[pos] != '<' || textKey(key) {
		return false
	}
	if types := in.tool.typesOf(key); len(types) > 0 && !contains(types, "array") && !contains(types, "object") {
		return false
	}
	c := s.mark(pos)
	if c.tag == "" || strings.HasPrefix(c.name, "</") || s.exhausted() {
		return false
	}
	return len(s.t)-pos < maxTag || s.index("</"+c.raw, pos) >= 0
}

// textKey says whether an argument of that name is text whatever it holds.
func textKey(key string) bool {
	switch fold(key) {
	case "content", "contents", "code", "codeedit", "text", "filetext", "oldstring", "newstring", "oldstr", "newstr", "oldtext", "newtext",
		"search", "replace", "replacement", "command", "message", "result", "regex", "pattern", "query", "question", "patch", "thought":
		return true
	}
	return false
}

// children reads the elements in k as an object.
func (s *scanner) children(k mark, in frame) (node, bool) {
	v := node{next: k.next}
	var list []field
	if !isParam(k) {
		list = attributes(k.attrs)
	}
	for {
		pos := s.space(v.next)
		if pos >= len(s.t) {
			v.cut, v.next = true, pos
			break
		}
		c := s.mark(pos)
		if sameTag(c, k) {
			v.next = c.next
			break
		}
		if c.growing {
			v.cut, v.next = true, len(s.t)
			break
		}
		if c.tag == "" || strings.HasPrefix(c.name, "</") {
			s.guess(pos - k.next)
			return v, false
		}
		key := c.tag
		if isParam(c) {
			key = tagName(c)
		}
		e := s.node(c, key, frame{outer: k.raw, depth: in.depth + 1})
		list = put(list, field{key: key, value: e.json()})
		if len(list) > maxArguments {
			s.guess(pos - k.next)
			return v, false
		}
		v.next, v.repaired = e.next, v.repaired || e.repaired
		if e.cut {
			v.cut = true
			break
		}
	}
	v.raw = object(list)
	return v, true
}

// json is the value of an element that no schema describes.
func (v node) json() json.RawMessage {
	if v.plain {
		return quoted(v.text)
	}
	return v.raw
}

// cdata reads <![CDATA[…]]>, several of them joined.
func (s *scanner) cdata(k mark, pos int) node {
	const open, closing = "<![CDATA[", "]]>"
	var b strings.Builder
	v := node{plain: true}
	for s.has(pos, open) {
		from := pos + len(open)
		end := s.index(closing, from)
		if end < 0 {
			b.WriteString(trimCut(s.t[from:], closing))
			v.text, v.next, v.cut = b.String(), len(s.t), true
			return v
		}
		b.WriteString(s.t[from:end])
		v.next = end + len(closing)
		pos = s.space(v.next)
	}
	v.text = trimLines(b.String())
	if pos >= len(s.t) {
		v.cut = true
	} else if c := s.mark(pos); sameTag(c, k) {
		v.next = c.next
	} else {
		v.repaired = true
	}
	return v
}

// trimCut drops the beginning of a closing mark that the text ended in.
func trimCut(text, mark string) string {
	for n := min(len(mark)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			return text[:len(text)-n]
		}
	}
	return text
}
