package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// element reads a call that begins with a tag: a tag that names a tool, a tag named like
// a tool, or elements for the name and the arguments.
func (g *grammar) element(i int) item {
	m := g.mark(i)
	switch {
	case !m.opening():
		return item{}
	case g.p.marks[m.name] == opens || m.isParam():
		it, _ := g.namedTag(m)
		return it
	case named(m.word(), nameFields[:]):
		return g.nameElement(m)
	}
	if g.known(m.tag) != "" {
		if it := g.toolElement(m, true); it.ok {
			return it
		}
	}
	if !isName(m.tag) {
		return item{}
	}
	ps := g.params(m, frame{tool: g.p.tools[g.known(m.tag)]})
	if ps.bad {
		return item{}
	}
	return g.oneCall(m.tag, ps.args, ps.next).withFlags(ps.repaired, ps.cut)
}

// namedTag reads <function=name>…, <invoke name="…">… and similar tags. The second result
// reports whether m is such a tag.
func (g *grammar) namedTag(m mark) (item, bool) {
	name := m.tagName()
	if !isName(name) {
		return item{}, name != ""
	}
	n, _ := g.p.Canonical(name)
	t := g.p.tools[n]
	if m.selfEnd {
		args := slices.DeleteFunc(attributeArguments(m, t), func(a mend.Field) bool {
			return named(a.Key, nameFields[:]) || named(a.Key, metaFields[:])
		})
		return g.oneCall(n, args, m.next), true
	}
	if it, closed := g.jsonBody(m, n); it.ok || g.is(g.space(m.next), '{') {
		it.next = closed
		return it, true
	}
	ps := g.params(m, frame{tool: t})
	if ps.bad && len(ps.args) == 0 {
		return g.lineElement(m, n), true
	}
	return g.oneCall(n, ps.args, ps.next).withFlags(ps.repaired, ps.cut), true
}

// attributeArguments reads the attributes of a tag as arguments.
func attributeArguments(m mark, t *tool) []mend.Field {
	list := attributes(m.attrs)
	for i, f := range list {
		s, _ := mend.Text(f.Value)
		list[i].Value = t.typed(f.Key, s)
	}
	return list
}

// nameThenArguments reads <function>x</function><arguments>…</arguments>. The mark k also
// opens calls of other dialects.
func (g *grammar) nameThenArguments(k mark) item {
	if !k.opening() || k.selfEnd || k.named() || !named(k.word(), nameFields[:]) {
		return item{}
	}
	name, j := g.word(k.next)
	c := g.mark(j)
	if !isName(name) || !k.closedBy(c) {
		return item{}
	}
	n, _ := g.p.Canonical(name)
	if !g.mark(g.space(c.next)).isContainer(g.p.tools[n]) {
		return item{}
	}
	return g.nameElement(k)
}

// nameElement reads <tool_name>x</tool_name><parameters>…</parameters>.
func (g *grammar) nameElement(m mark) item {
	v := g.node(m, m.tag, frame{depth: maxElements})
	if v.cut {
		return item{err: "A call was cut off inside the name of its tool; send it again.", next: v.next, ok: true}
	}
	name := strings.TrimSpace(v.text)
	if !isName(name) {
		return item{}
	}
	n, _ := g.p.Canonical(name)
	// The rest is the body of the element around the name.
	ps := g.params(mark{name: "<>", next: v.next}, frame{tool: g.p.tools[n]})
	return g.oneCall(n, ps.args, ps.next).withFlags(false, ps.cut)
}

// toolElement reads <tool_name>…</tool_name>, the element m of a known tool, if its
// content is arguments or at least not prose.
func (g *grammar) toolElement(m mark, ownLine bool) item {
	name := g.known(m.tag)
	t, own := g.p.tools[name], g.isProperName(m.tag)
	attrs := attributeArguments(m, t)
	foreign := func(key string) bool { return !own && !t.has(key) && !pathKey(key) } // e.g. an HTML element of that name
	pos := g.space(m.next)
	k := g.mark(pos)
	switch {
	case m.selfEnd && slices.ContainsFunc(attrs, func(a mend.Field) bool { return foreign(a.Key) }):
		return item{}
	case m.selfEnd, m.closedBy(k):
		it := g.oneCall(name, attrs, m.next)
		it.ok = len(attrs) > 0 || t.required == 0 && ownLine
		if !m.selfEnd {
			it.next = k.next
		}
		return it
	case g.is(pos, '{'):
		it, closed := g.jsonBody(m, name)
		it.ok = it.ok && it.err == "" && (closed > it.next || g.pastEnd(g.space(it.next)))
		it.next = closed
		return it
	case !k.opening():
		if ownLine && (own || len(m.tag) >= 8) {
			return g.lineElement(m, name)
		}
		return item{}
	case foreign(k.tag) && !k.isContainer(t) && !k.isParam():
		return item{}
	}
	return g.elementArguments(m, name, attrs)
}

// elementArguments reads the arguments in the element m of a tool and in its attributes.
func (g *grammar) elementArguments(m mark, name string, attrs []mend.Field) item {
	ps := g.params(m, frame{tool: g.p.tools[name]})
	if len(ps.args) == 0 {
		return item{}
	}
	for _, a := range attrs {
		ps.args = mend.Put(ps.args, a)
	}
	if ps.bad { // text among the arguments: the call ends at its closing tag
		if end := g.seek("</"+m.raw+">", ps.next); end >= 0 {
			ps.next = end + len(m.raw) + 3
		}
	}
	return g.oneCall(name, ps.args, ps.next).withFlags(ps.repaired || ps.bad, ps.cut)
}

// jsonBody reads the element m of a tool with JSON arguments. closed is the end of the
// element, or of the call if the element is not closed.
func (g *grammar) jsonBody(m mark, name string) (it item, closed int) {
	it = g.jsonArguments(name, g.space(m.next))
	if k := g.mark(g.space(it.next)); m.closedBy(k) {
		return it, k.next
	}
	return it, it.next
}

// lineElement reads the element m of a tool with exactly one required argument, given as
// text: <tool_name>value</tool_name>.
func (g *grammar) lineElement(m mark, name string) item {
	t := g.p.tools[name]
	only, ok := t.only()
	if types := t.typesOf(only); !ok || len(types) > 0 && !slices.Contains(types, "string") {
		return item{}
	}
	stop := g.line(m.next)
	if stop == m.next || m.named() { // the value may be on separate lines
		stop = min(len(g.s), m.next+2000)
	}
	closing := "</" + m.raw + ">"
	value, _, ok := strings.Cut(g.s[m.next:stop], closing)
	if !ok {
		g.pastEnd(stop)
	}
	if !ok || strings.TrimSpace(value) == "" {
		return item{}
	}
	if m.named() && strings.Contains(value, "<param") {
		return item{
			err:  fmt.Sprintf("The parameters of %s could not be understood; send the call again.", name),
			next: m.next + len(value) + len(closing),
			ok:   true,
		}
	}
	return g.oneCall(
		name,
		[]mend.Field{{Key: only, Value: mend.Quote(strings.TrimSpace(value))}},
		m.next+len(value)+len(closing),
	)
}
