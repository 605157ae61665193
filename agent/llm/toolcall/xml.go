package toolcall

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// maxWords limits the bytes of words between arguments, maxElements the nesting of
// elements, maxContainers the nesting of elements around all arguments, maxArguments the
// number of arguments of a call, maxCandidates the number of closing tags tried for one
// value.
const (
	maxWords      = 400
	maxElements   = 15
	maxContainers = 3
	maxArguments  = 200
	maxCandidates = 64
)

// xml reads arguments written as elements.
type xml struct {
	text
	p *Parser
}

// node is the value of an element.
type node struct {
	raw      json.RawMessage
	text     string // as written, if the value is text
	plain    bool   // the type of text is determined by the schema
	next     int
	cut      bool // the text ended inside
	repaired bool // a closing tag was missing
}

// typed converts the value to the type in the schema of t.
func (v node) typed(t *tool, key string) json.RawMessage {
	if v.plain {
		return t.typed(key, v.text)
	}
	if !slices.Contains(t.typesOf(key), "array") || v.raw[0] != '{' {
		return v.raw
	}
	inner := v.raw
	if list, _ := mend.Fields(v.raw); len(list) == 1 && list[0].Key != "path" {
		if inner = list[0].Value; inner[0] == '[' {
			return inner
		}
	}
	return append(append(json.RawMessage{'['}, inner...), ']')
}

// params holds the arguments in the body of an element.
type params struct {
	args     []mend.Field
	next     int
	cut      bool
	repaired bool
	bad      bool // contains text that is not an argument
}

// frame is the context of an element.
type frame struct {
	outer string // name of the surrounding tag
	tool  *tool  // tool that the argument belongs to, nil in nested elements
	depth int
}

// named reports whether a tag has a name as its value or attribute.
func (m mark) named() bool { return m.tagName() != "" }

// tagName returns the name given in a tag: <function=name>, <invoke name="…">.
func (m mark) tagName() string {
	if m.value != "" || m.attrs == "" {
		return m.value
	}
	attrs := attributes(m.attrs)
	for _, key := range [...]string{"name", "tool", "function", "tool_name"} {
		if i := mend.Find(attrs, key); i >= 0 {
			s, _ := mend.Text(attrs[i].Value)
			return s
		}
	}
	return ""
}

// isParam reports whether a tag encloses one argument and names it.
func (m mark) isParam() bool {
	return slices.Contains([]string{"<parameter>", "<param>", "<arg>", "<argument>", "<parameters>"}, m.name) && m.named()
}

// key returns the name of the argument in the element.
func (m mark) key() string {
	if m.isParam() {
		return m.tagName()
	}
	return m.tag
}

// isContainer reports whether a tag encloses the arguments of a call of t.
func (m mark) isContainer(t *tool) bool {
	return m.opening() && m.value == "" && m.attrs == "" && named(m.word(), argFields[:]) && !t.has(m.tag)
}

// params reads the arguments in the body of m.
func (x *xml) params(m mark, in frame) params {
	out := params{next: m.next}
	for n := 0; !out.cut; n++ {
		pos := x.space(out.next)
		k := x.mark(pos)
		switch {
		case k.growing:
			out.cut, out.next = true, len(x.s)
			return out
		case m.closedBy(k):
			out.next = k.next
			return out
		case x.p.marks[k.name] == closes,
			in.tool != nil && !in.tool.has(k.tag) && x.p.tools[k.tag] != nil: // the end of the call, or the next call
			out.repaired = true
			return out
		case !k.opening() && x.paramAfter(m, pos) > 0:
			out.next, out.repaired = x.paramAfter(m, pos), true
		case !k.opening() || n > maxArguments:
			out.bad = true
			return out
		case k.isContainer(in.tool) && in.depth < maxContainers:
			x.container(&out, k, in)
		default:
			key := k.key()
			v := x.node(k, key, frame{outer: m.raw, tool: in.tool, depth: in.depth})
			out.args = mend.Put(out.args, mend.Field{Key: key, Value: v.typed(in.tool, key)})
			out.next, out.cut, out.repaired = v.next, v.cut, out.repaired || v.repaired
		}
	}
	return out
}

// paramAfter returns the offset of the next argument in the element m after stray words,
// or 0. The element m must name its tool.
func (x *xml) paramAfter(m mark, i int) int {
	if !m.named() {
		return 0
	}
	end := min(len(x.s), i+maxWords)
	n := strings.IndexByte(x.s[i:end], '<')
	if n < 0 && x.pastEnd(end) || n <= 0 || !x.has(i+n, "<param") {
		return 0
	}
	return i + n
}

// container reads <args>…</args> that contains JSON, elements or text.
func (x *xml) container(out *params, k mark, f frame) {
	if pos := x.space(k.next); x.is(pos, '{') {
		if in := x.json(pos, x.p.marks); in.OK {
			list, _ := mend.Fields(in.JSON)
			out.args = append(out.args, list...)
			out.cut, out.next, out.repaired = in.Open > 0, in.Next, out.repaired || in.Mended
			if c := x.mark(x.space(in.Next)); k.closedBy(c) {
				out.next = c.next
			}
			return
		}
	}
	in := x.params(k, frame{tool: f.tool, depth: f.depth + 1})
	for _, f := range in.args {
		out.args = mend.Put(out.args, f)
	}
	out.next, out.cut, out.repaired = in.next, in.cut, out.repaired || in.repaired
	if in.bad { // plain text: <args>a.go</args>
		v := x.node(k, k.tag, frame{outer: k.raw, tool: f.tool, depth: maxElements})
		if only, ok := f.tool.only(); ok && len(in.args) == 0 {
			out.args = mend.Put(out.args, mend.Field{Key: only, Value: mend.Quote(strings.TrimSpace(v.text))})
		}
		out.next, out.cut = v.next, v.cut
	}
}

// node reads the value of the element k.
func (x *xml) node(k mark, key string, in frame) node {
	attrs := attributes(k.attrs)
	if k.selfEnd {
		v := node{plain: true, next: k.next}
		if at := mend.Find(attrs, "value"); at >= 0 && k.isParam() {
			v.text, _ = mend.Text(attrs[at].Value)
		} else if len(attrs) > 0 && !k.isParam() {
			v.raw, v.plain = mend.Object(attrs), false
		}
		return v
	}
	pos := x.space(k.next)
	if x.has(pos, "<![CDATA[") {
		return x.cdata(k, pos)
	}
	if in.depth < maxElements && x.structured(key, pos, in) {
		ps := x.params(k, frame{depth: max(in.depth+1, maxContainers)})
		if !ps.bad {
			if !k.isParam() {
				ps.args = append(attrs, ps.args...)
			}
			return node{raw: mend.Object(ps.args), next: ps.next, cut: ps.cut, repaired: ps.repaired}
		}
		x.guess(ps.next - k.next)
	}
	return x.raw(k, key, in)
}

// structured reports whether there are elements at pos, and not text that looks like
// them.
func (x *xml) structured(key string, pos int, in frame) bool {
	if !x.is(pos, '<') || textKey(key) || x.exhausted() {
		return false
	}
	types := in.tool.typesOf(key)
	if len(types) > 0 && !slices.Contains(types, "array") && !slices.Contains(types, "object") {
		return false
	}
	c := x.mark(pos)
	return c.opening() && (len(x.s)-pos < maxTag || x.index("</"+c.raw, pos) >= 0)
}

// cdata reads <![CDATA[…]]>, and joins several of them.
func (x *xml) cdata(k mark, pos int) node {
	const open, closing = "<![CDATA[", "]]>"
	var b strings.Builder
	v := node{plain: true}
	for x.has(pos, open) {
		from := pos + len(open)
		end := x.seek(closing, from)
		if end < 0 {
			b.WriteString(trimCut(x.s[from:], closing))
			v.text, v.next, v.cut = b.String(), len(x.s), true
			return v
		}
		b.WriteString(x.s[from:end])
		v.next = end + len(closing)
		pos = x.space(v.next)
	}
	v.text = trimLines(b.String())
	v.cut = x.pastEnd(pos)
	if len(v.text) > maxCall {
		v.text, v.cut = v.text[:maxCall], true
	}
	if v.cut {
		return v
	}
	c := x.mark(pos)
	if v.repaired = !k.closedBy(c); !v.repaired {
		v.next = c.next
	}
	return v
}

// trimCut removes the beginning of a closing mark at the end of the text.
func trimCut(text, mark string) string {
	for n := min(len(mark)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			return text[:len(text)-n]
		}
	}
	return text
}

// raw reads the text in k up to its closing tag. Text for files may contain anything,
// including tags and the closing tag itself: the text after a closing tag determines
// whether it is the right one.
func (x *xml) raw(k mark, key string, in frame) node {
	closing := "</" + k.raw + ">"
	first := x.index(closing, k.next)
	open := first < 0
	if !open && k.isParam() && !textKey(key) {
		next := x.index("<"+k.raw+"=", k.next)
		open = next >= 0 && next < first && in.tool.has(lexMark(x.s, next).value)
	}
	if open && in.outer != "" {
		if v, ok := x.unclosed(k, key, in); ok {
			x.guess(maxMark)
			return v
		}
	}
	if end := k.next + maxCall; first > end || first < 0 && end < len(x.s) { // longer than any call
		x.guess(maxCall)
		return node{plain: true, text: trimLines(x.s[k.next:end]), next: end, cut: true}
	}
	if first >= 0 {
		c := max(first, x.closingOf(k, key, first, in))
		return node{plain: true, text: trimValue(key, x.s[k.next:c]), next: c + len(closing)}
	}
	x.cut = true
	v := node{plain: true, next: len(x.s), cut: true}
	v.text = trimLines(trimCut(x.s[k.next:], closing))
	if strings.HasPrefix("<![CDATA[", strings.TrimSpace(v.text)) {
		v.text = ""
	}
	if !textKey(key) {
		v.text = trimValue(key, v.text)
	}
	return v
}

// unclosed ends a value without a closing tag at the next argument or at the end of the
// call.
func (x *xml) unclosed(k mark, key string, in frame) (node, bool) {
	end := x.index("</"+in.outer+">", k.next)
	if k.isParam() {
		if next := x.index("<"+k.raw+"=", k.next); next >= 0 && (end < 0 || next < end) {
			end = next
		}
	}
	if end < 0 || end-k.next > maxCall {
		return node{}, false
	}
	v := node{plain: true, text: trimValue(key, x.s[k.next:end]), next: end, repaired: true}
	for _, wrong := range [...]string{"</" + key + ">", "</" + k.raw + "=" + key + ">"} {
		if text, ok := strings.CutSuffix(strings.TrimRight(v.text, " \t\r\n"), wrong); ok {
			v.text = trimValue(key, text)
		}
	}
	return v, true
}

// closingOf returns the right closing tag of a value: the first one followed by another
// argument or the end of the call, or else the last one before the end of the call, or
// -1.
func (x *xml) closingOf(k mark, key string, first int, in frame) int {
	if pathKey(key) || in.outer == "" {
		return first
	}
	closing := "</" + k.raw + ">"
	most := maxCandidates
	if x.exhausted() {
		most = 2
	}
	c := first
	for range most {
		if x.ends(k, c+len(closing), in) && !x.insideCall(k, c, in) {
			return c
		}
		next := strings.Index(x.s[c+1:min(len(x.s), c+1<<16)], closing)
		if next < 0 {
			break
		}
		c += 1 + next
	}
	x.guess(c - first)
	if outer := x.index("</"+in.outer+">", first); outer >= 0 && outer-first < 1<<20 && !x.exhausted() {
		x.guess((outer - first) / 8)
		return first + strings.LastIndex(x.s[first:outer], closing)
	}
	return -1
}

// insideCall reports whether the value of k, if it ended at to, would contain an unclosed
// call: then this closing tag belongs to that call.
func (x *xml) insideCall(k mark, to int, in frame) bool {
	if !k.isParam() || to-k.next > 1<<16 {
		return false
	}
	value := x.s[k.next:to]
	return strings.Count(value, "<"+in.outer+"=")+strings.Count(value, "<"+in.outer+" ") > strings.Count(value, "</"+in.outer+">")
}

// ends reports whether a value can end before i.
func (x *xml) ends(k mark, i int, in frame) bool {
	j := x.space(i)
	if x.pastEnd(j) {
		return true
	}
	if x.s[j] != '<' || x.pastEnd(j+1) {
		return false
	}
	if x.has(j, "</"+in.outer) || x.p.marks[x.mark(j).name] == closes {
		return true
	}
	n := j + 1
	for n < len(x.s) && (isWord(x.s[n]) || x.s[n] == '-' || x.s[n] >= 0x80 || x.s[n] == ':') {
		n++
	}
	name := x.s[j+1 : n]
	return x.pastEnd(n) || name != "" && (in.tool == nil || name == k.raw || in.tool.has(name))
}
