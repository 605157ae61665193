package toolcall

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// grammar reads a call or a list of calls in any of the forms between marks. All dialects
// share it, since models mix them.
type grammar struct {
	xml
	names        map[string]string // names of known tools by spelling, "" for unknown ones
	quotedErrors int               // number of errors that quote the broken JSON
}

// item is the result of reading one place in markup.
type item struct {
	calls []Call
	err   string // error in a supposed call
	kept  string // prose before the first call
	next  int
	ok    bool

	mention bool // only illustrates the format of a call
}

// sendAgain is the end of an error message.
const sendAgain = `Send it again as {"name": …, "arguments": {…}}.`

// known returns the tool that a name means, or "".
func (g *grammar) known(name string) string {
	if n, ok := g.names[name]; ok {
		return n
	}
	if g.names == nil || len(g.names) > 1024 {
		g.names = map[string]string{}
	}
	n, ok := g.p.Canonical(name)
	if !ok {
		n = ""
		g.guess(maxMark / 4)
	}
	g.names[name] = n
	return n
}

// isProperName reports whether a name is the proper name of a tool and not an alias.
func (g *grammar) isProperName(name string) bool {
	n := g.known(name)
	return n != "" && sameFolded(n, name)
}

// oneCall returns an item with one call that ends at next.
func (g *grammar) oneCall(name string, args []mend.Field, next int) item {
	n, _ := g.p.Canonical(name)
	return item{calls: []Call{{Name: n, Arguments: mend.Object(args)}}, next: next, ok: true}
}

// withFlags sets Repaired and Truncated of the calls in an item.
func (it item) withFlags(repaired, truncated bool) item {
	for i := range it.calls {
		it.calls[i].Repaired, it.calls[i].Truncated = repaired || truncated, truncated
	}
	return it
}

// truncated reports whether the text ended inside the item's call.
func (it item) truncated() bool { return len(it.calls) > 0 && it.calls[0].Truncated }

// role returns the role of the mark at i.
func (g *grammar) role(i int) role { return g.p.marks[g.mark(i).name] }

// separators skips white space and separators between calls.
func (g *grammar) separators(i int) int {
	for {
		i = g.space(i)
		switch {
		case g.is(i, ','), g.is(i, ';'):
			i++
		case g.is(i, '\\') && g.has(i, `\n`):
			i += 2 // an escaped line break
		default:
			return i
		}
	}
}

// closers skips the closing marks after i; it returns i if there are none.
func (g *grammar) closers(i int) int {
	for {
		j := g.space(i)
		if g.pastEnd(j) || g.s[j] != '<' && g.s[j] != '[' {
			return i
		}
		if n := stopWord(g.s[j:]); n > 0 {
			i = j + n
			continue
		}
		k := g.mark(j)
		if g.p.marks[k.name] != closes {
			return i
		}
		i = k.next
	}
}

// item reads a call or a list of calls at i.
func (g *grammar) item(i int, first bool) item {
	if g.pastEnd(i) {
		return item{}
	}
	switch c := g.s[i]; {
	case c == '[' && g.pythonList(i):
		return g.pythonCalls(i+1, true)
	case c == '{' || c == '[':
		if it, ok := g.escapedJSON(i); ok {
			return it
		}
		return g.jsonItem(g.json(i, g.p.marks), first)
	case c == '"' && first:
		in := g.json(i, g.p.marks)
		if !in.OK || len(g.p.calls(in, true).calls) == 0 {
			in = g.value(i, func(window string) mend.Value { return mend.ReadMembers(window, i, g.p.marks) })
		}
		return g.jsonItem(in, first)
	case c == '<':
		return g.element(i)
	case g.has(i, "```"):
		return g.fenced(i)
	case letter(c):
		return g.nameFirst(i, first)
	}
	return item{}
}

// jsonItem converts a value to a call or calls.
func (g *grammar) jsonItem(in mend.Value, first bool) item {
	if !in.OK {
		if in.Ellipsis || !first {
			return item{mention: in.Ellipsis}
		}
		return item{err: "A call could not be understood: " + g.broken(in.Next) + ". Send it again as valid JSON: {\"name\": …, \"arguments\": {…}}.", next: in.Next, ok: true}
	}
	f := g.p.calls(in, true)
	if f.definition {
		return item{mention: true}
	}
	it := item{calls: f.calls, next: in.Next, ok: true}
	if f.err != "" {
		if !first && len(f.calls) == 0 {
			return item{}
		}
		it.err = "A call could not be understood: " + f.err + ". " + sendAgain
	}
	return it
}

// broken describes the place of a JSON error.
func (g *grammar) broken(i int) string {
	if i >= len(g.s) {
		return "the text ends inside its JSON"
	}
	if g.quotedErrors++; g.quotedErrors > maxErrors {
		return "its JSON is broken" // the place is no longer reported
	}
	return fmt.Sprintf("its JSON is broken at %q", strings.TrimSpace(clip(g.s[i:], 20)))
}

// clip cuts s to n bytes on a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 1 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// escapedJSON reads an object in markup with quotes written as entities.
func (g *grammar) escapedJSON(i int) (item, bool) {
	j := g.space(i + 1)
	if !g.is(j, '&') || !g.has(j, "&quot;") && !g.has(j, "&#34;") || g.exhausted() {
		return item{}, false
	}
	end := g.seek("</", i)
	if end < 0 || end > i+maxCall {
		end = min(len(g.s), i+maxCall)
	}
	plain := unescapeHTML(g.s[i:end])
	in := mend.Read(plain, 0, nil)
	if !in.OK || strings.TrimSpace(plain[in.Next:]) != "" {
		g.guess(end - i)
		return item{}, false
	}
	in.Next, in.Mended = end, true
	return g.jsonItem(in, true), true
}

// fenced reads calls in a code fence inside markup.
func (g *grammar) fenced(i int) item {
	pos := g.line(i) // after the info string
	if b := strings.IndexAny(g.s[i:pos], "{["); b >= 0 {
		pos = i + b
	}
	out := item{}
	for first := true; len(out.calls) < maxCalls; first = false {
		pos = g.separators(pos)
		if g.has(pos, "```") {
			pos += 3
			break
		}
		it := g.item(pos, first)
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

// nameFirst reads a call that begins with its name: name{…}, name(…), name[ARGS]{…}, name
// with <arg_key> pairs, or the name alone.
func (g *grammar) nameFirst(i int, first bool) item {
	name, j := g.word(i)
	if first && g.s[j-1] == ':' {
		if it := g.looseCall(i); it.ok {
			return it
		}
	}
	known := g.known(name) != ""
	k := g.afterName(j)
	if g.pastEnd(k) || name == "json" && !known {
		it := g.oneCall(name, nil, k).withFlags(true, true)
		it.ok = first && known
		return it
	}
	switch {
	case name == "function" && strings.Contains(g.s[j:k], "sep") && (letter(g.s[k]) || g.s[k] == '<'): // the call type of DeepSeek
		return g.item(k, first)
	case g.s[k] == '(':
		return g.pythonCalls(i, false)
	case g.s[k] == '{' && strings.HasPrefix(name, "call:"): // unquoted by design
		it := g.namedJSON(name, k)
		return it.withFlags(false, it.truncated())
	case (first || known) && strings.IndexByte("{`", g.s[k]) >= 0:
		it := g.jsonArguments(name, k)
		if n, _ := g.p.Canonical(name); len(it.calls) > 0 && it.calls[0].Name != n {
			it.kept = g.s[i:j]
		}
		return it
	}
	return g.nameAlone(name, k, first)
}

// nameAlone reads a call with pairs as arguments, or without arguments.
func (g *grammar) nameAlone(name string, k int, first bool) item {
	switch m := g.mark(k); {
	case m.name == "<arg_key>":
		return g.argPairs(name, k)
	case g.p.marks[m.name] == closes && first && (g.known(name) != "" || strings.Contains(name, "_")):
		return g.oneCall(name, nil, k)
	}
	return item{}
}

// afterName skips the separators between a name and its arguments.
func (g *grammar) afterName(i int) int {
	for {
		i = g.space(i)
		m := g.mark(i)
		switch {
		case m.name == "<|channel|>":
			word, next := g.word(m.next)
			if word, _, _ = strings.Cut(word, ":"); !slices.Contains(channels[:], word) {
				return i
			}
			i = next
		case g.p.marks[m.name] != inside:
			return i
		case m.name == "[CALL_ID]":
			_, i = g.word(m.next)
		default:
			i = m.next
			if word, next := g.word(i); m.name == "<|constrain|>" && word == "json" {
				i = next
			}
		}
	}
}

// channels are the channels of gpt-oss.
var channels = [...]string{"commentary", "analysis", "final"}

// namedJSON reads the JSON arguments of the named tool at i.
func (g *grammar) namedJSON(name string, i int) item {
	in := g.json(i, g.p.marks)
	if !in.OK {
		if in.Ellipsis || !isName(name) {
			return item{}
		}
		return item{
			err:  fmt.Sprintf("The arguments of %s could not be understood: %s.", name, g.broken(in.Next)),
			next: max(in.Next, i+1),
			ok:   true,
		}
	}
	n, _ := g.p.Canonical(name)
	t := g.p.tools[n]
	args, mended, err := arguments(in.JSON, t, in.CutText)
	if err != nil {
		return item{err: fmt.Sprintf("The call to %s could not be understood: %v.", n, err), next: in.Next, ok: true}
	}
	if a, w := mend.Find(args, "arguments"), mend.Find(args, "name"); len(args) == 2 && a >= 0 && w >= 0 &&
		!t.has("arguments") &&
		!t.has("name") {
		same, _ := mend.Text(args[w].Value)
		switch {
		case t == nil:
			return g.jsonItem(in, true) // the object is the call, and the word before it is not
		case args[a].Value[0] == '{' && g.known(same) == n: // the arguments repeat the whole call
			args, _ = mend.Fields(args[a].Value)
		}
	}
	return g.oneCall(n, args, in.Next).withFlags(mended || in.Mended, in.Open > 0)
}

// jsonArguments reads the arguments of a call at i, also in a code fence.
func (g *grammar) jsonArguments(name string, i int) item {
	if g.is(i, '{') {
		return g.namedJSON(name, i)
	}
	if !g.is(i, '`') || !g.has(i, "```") {
		return item{}
	}
	i += len("```")
	end := min(len(g.s), i+maxMark)
	b := strings.IndexAny(g.s[i:end], "{`")
	if b < 0 && g.pastEnd(end) || b < 0 || g.s[i+b] == '`' {
		return item{}
	}
	it := g.namedJSON(name, i+b)
	if closing := g.space(it.next); it.ok && g.has(closing, "```") {
		it.next = closing + len("```")
	}
	return it
}

// looseCall reads a call written as lines of "key: value" inside markup: first the name
// of the tool, then its arguments, as an object or one per line. Values over several
// lines are not supported; anything unexpected means that there is no call.
func (g *grammar) looseCall(i int) item {
	key, value, next := g.pair(i)
	name := g.known(value)
	if !named(key, nameFields[:]) || name == "" {
		return item{}
	}
	t := g.p.tools[name]
	var args []mend.Field
	for len(args) < maxArguments {
		i = g.space(next)
		if g.pastEnd(i) {
			return g.oneCall(name, args, i).withFlags(true, true)
		}
		if strings.IndexByte("<[`", g.s[i]) >= 0 {
			break
		}
		key, value, next = g.pair(i)
		switch {
		case named(key, argFields[:]) && !t.has(key):
			if value == "" {
				continue
			}
			at := g.indent(i + len(key) + 1)
			if !g.is(at, '{') {
				return item{}
			}
			it := g.namedJSON(name, at)
			return it.withFlags(true, it.truncated())
		case key == "" || value == "" || value == "|" || value == ">":
			return item{}
		}
		args = mend.Put(args, mend.Field{Key: key, Value: t.typed(key, value)})
	}
	return g.oneCall(name, args, i).withFlags(true, false)
}

// pair reads a line "key: value" at i; key is "" if there is none.
func (g *grammar) pair(i int) (key, value string, next int) {
	j := i
	for j < len(g.s) && isWord(g.s[j]) {
		j++
	}
	if j == i || !g.is(j, ':') {
		return "", "", j
	}
	next = g.line(j)
	if m := strings.IndexByte(g.s[j:next], '<'); m >= 0 && g.role(j+m) == closes {
		next = j + m
	}
	value = strings.TrimSpace(g.s[j+1 : next])
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	return g.s[i:j], value, next
}

// argPairs reads GLM's <arg_key>k</arg_key><arg_value>v</arg_value>… at i.
func (g *grammar) argPairs(name string, i int) item {
	n, _ := g.p.Canonical(name)
	t := g.p.tools[n]
	var args []mend.Field
	repaired := false
	end := func(at int, cut bool) item { return g.oneCall(n, args, at).withFlags(repaired, cut) }
	for pairs := 0; ; pairs++ {
		i = g.space(i)
		if pairs > maxArguments {
			return end(i, true)
		}
		m := g.mark(i)
		switch {
		case g.pastEnd(i):
			closed := strings.HasSuffix(strings.TrimRight(g.s, " \t\r\n"), "</arg_value>")
			return end(i, !closed || t.lacks(args))
		case m.growing:
			return end(len(g.s), t.lacks(args))
		case m.name != "<arg_key>":
			return end(i, false)
		}
		keyEnd := g.seek("</arg_key>", m.next)
		if keyEnd < 0 {
			return end(len(g.s), true)
		}
		key := strings.TrimSpace(g.s[m.next:keyEnd])
		i = g.space(keyEnd + len("</arg_key>"))
		v := g.mark(i)
		if v.growing {
			return end(len(g.s), true)
		}
		if v.name != "<arg_value>" {
			continue
		}
		if next := g.nextPair(v.next, t); next >= 0 {
			args = mend.Put(args, mend.Field{Key: key, Value: t.typed(key, trimValue(key, g.s[v.next:next]))})
			i, repaired = next, true
			continue
		}
		val := g.node(v, key, frame{tool: t, depth: maxElements})
		args = mend.Put(args, mend.Field{Key: key, Value: t.typed(key, val.text)})
		if i = val.next; val.cut {
			return end(i, true)
		}
	}
}

// nextPair returns the offset of the next pair if the value at i is not closed before it,
// or -1.
func (g *grammar) nextPair(i int, t *tool) int {
	closing, next := g.index("</arg_value>", i), g.index("<arg_key>", i)
	if next < 0 || closing >= 0 && closing < next {
		return -1
	}
	key, _, ok := strings.Cut(g.s[next+len("<arg_key>"):min(len(g.s), next+maxMark+20)], "</arg_key>")
	if !ok || !t.has(strings.TrimSpace(key)) {
		return -1
	}
	return next
}
