package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign performs one assignment.
func (m *machine) assign(a *syntax.Assign) {
	m.r.step(0)
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	switch {
	case a.Array != nil:
		m.assignArray(a)
		return
	case a.Naked:
		return
	}
	world, worlds := m.world, m.worlds
	m.worlds = 1
	var alts [][]string
	for m.world = world; m.world < max(world+1, min(m.worlds, 8)); m.world++ {
		value := m.assigned(a, name)
		m.environment(name, value)
		if a.Index != nil {
			m.assignElement(name, a.Index, value)
			continue
		}
		m.r.step(len(value))
		alts = append(alts, []string{value})
	}
	m.world, m.worlds = world, max(worlds, m.worlds)
	if a.Index == nil {
		m.set(name, alts[0]...)
		if len(alts) > 1 {
			m.vars[name] = variable{alts: alts}
		}
	}
}

// assigned is the value of one assignment in this world.
func (m *machine) assigned(a *syntax.Assign, name string) string {
	value := m.text(a.Value)
	if !a.Append {
		return value
	}
	if old, ok := m.get(name); ok {
		return strings.Join(old[:min(1, len(old))], "") + value
	}
	return unknownIfUnset(name) + value
}

// unknownIfUnset is what an unset variable contributes to an append: nothing,
// unless it is one that the environment is known to have.
func unknownIfUnset(name string) string {
	if secretName(name) {
		return secret
	}
	return ""
}

func (m *machine) assignArray(a *syntax.Assign) {
	name := a.Name.Value
	var list, keys []string
	if a.Append {
		old, _ := m.get(name)
		list = append(list, old...)
		keys = append(keys, m.vars[name].keys...)
	}
	for _, e := range a.Array.Elems {
		switch {
		case e.Value == nil:
		case e.Index == nil:
			list = append(list, texts(m.fields([]*syntax.Word{e.Value}))...)
		default:
			value := m.text(e.Value)
			if n, ok := m.arith(e.Index); ok && n >= 0 && n < 256 && len(keys) == 0 && numeric(e.Index) {
				list = putAt(list, int(n), value)
				continue
			}
			list = append(list, value)
			keys = append(keys, m.indexText(e.Index))
		}
	}
	m.set(name, list...)
	if len(keys) == len(list) {
		v := m.vars[name]
		v.keys = keys
		m.vars[name] = v
	}
}

func numeric(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return !ok || w.Lit() != "" && strings.Trim(w.Lit(), "0123456789") == ""
}

func putAt(list []string, n int, value string) []string {
	for len(list) <= n {
		list = append(list, "")
	}
	list[n] = value
	return list
}

func (m *machine) assignElement(name string, index syntax.ArithmExpr, value string) {
	v := m.vars[name]
	old, _ := m.get(name)
	list := append([]string(nil), old...)
	n, ok := m.arith(index)
	if ok && n < 0 {
		n += int64(len(list))
	}
	if len(v.keys) == 0 && ok && numeric(index) && n >= 0 && n < 1024 {
		m.set(name, putAt(list, int(n), value)...)
		return
	}
	key := m.indexText(index)
	keys := append([]string(nil), v.keys...)
	for i, k := range keys {
		if k == key && i < len(list) {
			list[i] = value
			m.vars[name] = variable{alts: [][]string{list}, keys: keys}
			return
		}
	}
	m.vars[name] = variable{alts: [][]string{append(list, value)}, keys: append(keys, key)}
}

// declare follows export, declare, local, readonly, typeset and nameref.
func (m *machine) declare(c *syntax.DeclClause) string {
	variant := c.Variant.Value
	words := []string{variant}
	show, ref, lower, upper := len(c.Args) == 0, variant == "nameref", false, false
	for _, a := range c.Args {
		if a.Name == nil || a.Naked && a.Name == nil {
			for _, f := range m.fields([]*syntax.Word{a.Value}) {
				words = append(words, f.s)
				flag := strings.HasPrefix(f.s, "-")
				show = show || flag && strings.ContainsAny(f.s, "px") && variant != "export" || f.s == "-p"
				ref = ref || flag && strings.Contains(f.s, "n") && variant != "export"
				lower = lower || flag && strings.Contains(f.s, "l")
				upper = upper || flag && strings.Contains(f.s, "u")
				if name, value, ok := strings.Cut(f.s, "="); ok && !flag {
					m.environment(name, value)
					m.set(name, value)
				}
			}
			continue
		}
		show = false
		words = append(words, a.Name.Value)
		m.declareOne(a, ref, lower, upper)
	}
	m.r.commands = addTo(m.r.commands, m.render(words))
	if show && len(c.Args) < 2 {
		m.r.hit("environment-dump", strings.Join(words, " "))
		return secret
	}
	m.yes, m.no = true, false
	return ""
}

func (m *machine) declareOne(a *syntax.Assign, ref, lower, upper bool) {
	m.assign(a)
	if list, ok := m.get(a.Name.Value); ok && a.Array == nil && len(list) == 1 && strings.HasPrefix(list[0], "(") && strings.HasSuffix(list[0], ")") {
		m.program(a.Name.Value + "=" + list[0]) // with -a the text is read as a list
	}
	v, ok := m.vars[a.Name.Value]
	if !ok || a.Naked {
		return
	}
	for i, alt := range v.alts {
		out := make([]string, len(alt))
		for j, s := range alt {
			switch {
			case ref:
				m.vars[a.Name.Value] = variable{ref: s}
				return
			case lower:
				s = strings.ToLower(s)
			case upper:
				s = strings.ToUpper(s)
			}
			out[j] = s
		}
		v.alts[i] = out
	}
	m.vars[a.Name.Value] = v
}
