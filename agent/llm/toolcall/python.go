package toolcall

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// pythonList reports whether there is [name(…), …] at i, and not JSON.
func (g *grammar) pythonList(i int) bool {
	j := g.space(i + 1)
	if g.pastEnd(j) || !letter(g.s[j]) {
		return false
	}
	_, k := g.word(j)
	return g.is(k, '(')
}

// pythonCalls reads name(key=value, …) at i, or several such calls separated by commas or
// lines; in a list, up to its closing bracket.
func (g *grammar) pythonCalls(i int, list bool) item {
	out := item{}
	for len(out.calls) < maxCalls {
		i = g.separators(i)
		if g.pastEnd(i) {
			break
		}
		if list && g.s[i] == ']' {
			i++
			break
		}
		c, next, ok := g.pythonCall(i)
		if !ok {
			if list {
				out.err = fmt.Sprintf("A list of calls could not be understood at %q.", clip(g.s[i:], 20))
			}
			break
		}
		out.calls = append(out.calls, c)
		i = next
		if j := g.space(i); !list && (g.pastEnd(j) || !letter(g.s[j]) && g.s[j] != ',' && g.s[j] != ';') {
			break
		}
	}
	out.next = i
	out.ok = len(out.calls) > 0
	return out
}

// pythonCall reads one call. print(name(…)), name.call(…) and result = name(…) mean the
// same as name(…).
func (g *grammar) pythonCall(i int) (Call, int, bool) {
	name, j := g.word(i)
	if eq := g.indent(j); g.is(eq, '=') {
		name, j = g.word(g.indent(eq + 1))
	}
	if !g.is(j, '(') || !isName(name) {
		return Call{}, i, false
	}
	if name == "print" {
		inner := g.space(j + 1)
		if again, _ := g.word(inner); again == "print" {
			return Call{}, i, false
		}
		c, next, ok := g.pythonCall(inner)
		if end := g.space(next); ok && g.is(end, ')') {
			next = end + 1
		}
		return c, next, ok
	}
	n, _ := g.p.Canonical(strings.TrimSuffix(name, ".call"))
	t := g.p.tools[n]
	var args []mend.Field
	in := g.value(j+1, func(window string) (in mend.Value) {
		args, in = mend.Arguments(window, j+1)
		return in
	})
	for k, f := range args {
		if f.Key == "" && t != nil && k < len(t.order) {
			args[k].Key = t.order[k]
		}
		in.OK = in.OK && (f.Key != "" || t != nil && k < len(t.order))
	}
	g.readTo(in)
	if !in.OK {
		g.guess(in.Next - i)
		return Call{}, i, false
	}
	return Call{Name: n, Arguments: mend.Object(args), Truncated: in.End, Repaired: in.End}, in.Next, true
}
