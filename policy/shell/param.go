package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// state is what is known of whether a variable is set.
type state int

const (
	set    state = iota
	absent       // it is not set
	open         // only the environment can have set it
)

// value is what a parameter holds: one text, or a list that is asked for by
// '@' or '*'.
type value struct {
	vals  []string
	list  byte
	state state
}

func text(s string) value { return value{vals: []string{s}} }

// param is the value of ${…}, or the word that its operator puts in the place
// of it.
func (m *machine) param(p *syntax.ParamExp, how quoting) (value, *syntax.Word) {
	m.r.step(0)
	if p.Param == nil || p.Names != 0 || p.Width || p.IsSet || p.Flags != nil {
		return text(unknown), nil
	}
	name := p.Param.Value
	v := m.lookup(name, p.Index)
	switch {
	case p.Excl && v.list != 0:
		v.vals = m.keysOf(name, len(v.vals))
		return v, nil
	case p.Excl:
		name = strings.Join(v.vals, "")
		if v.state != set || !known(name) || name == "" {
			return text(unknown), nil
		}
		v = m.lookup(name, nil)
	}
	operator := p.Slice != nil || p.Repl != nil || p.Exp != nil
	switch {
	case p.Length:
		return text(v.length()), nil
	case p.Exp != nil && p.Exp.Op <= syntax.AssignUnsetOrNull:
		operator = false
		if word, ok := m.instead(name, v, p.Exp); ok && word != nil {
			if p.Exp.Op >= syntax.AssignUnset {
				s := m.joined(word, max(how, asText))
				m.set(name, s)
				return text(s), nil
			}
			return v, word
		} else if ok {
			return v.nothing(), nil
		}
	}
	switch {
	case v.state == open:
		return text(unset(name)), nil
	case operator && v.state == set:
		v.vals = m.changed(p, name, v)
	}
	return v, nil
}

// unset is what a variable holds that only the environment can have set.
func unset(name string) string {
	if secretName(name) {
		return secret
	}
	return unknown
}

func (v value) length() string {
	all := strings.Join(v.vals, "")
	switch {
	case v.state == open || !known(all):
		return unknown
	case v.list != 0:
		return strconv.Itoa(len(v.vals))
	}
	return strconv.Itoa(len([]rune(all)))
}

// nothing is what is left of a parameter that an operator takes away.
func (v value) nothing() value {
	if v.list != 0 {
		return value{list: v.list}
	}
	return text("")
}

// instead is the word that an operator puts in the place of a parameter, or
// nil where it takes the parameter away.
func (m *machine) instead(name string, v value, e *syntax.Expansion) (*syntax.Word, bool) {
	gone := v.state != set || v.list != 0 && len(v.vals) == 0
	switch e.Op {
	case syntax.AlternateUnsetOrNull, syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		gone = gone || strings.Join(v.vals, "") == "" && (len(v.vals) < 2 || m.separators() == "")
	}
	switch e.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if v.state == open { // the environment may have it: both
			m.worlds = max(m.worlds, 2)
			gone = m.world%2 == 0
		}
		if gone {
			return nil, true
		}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return nil, false
	default:
		if !gone {
			return nil, false
		}
	}
	if e.Word == nil {
		return &syntax.Word{}, true
	}
	return e.Word, true
}

// spelledOut writes the stand-ins for the home directory and the workspace as
// the absolute paths they are in reality, for operators that take them apart.
func spelledOut(name string, vals []string) []string {
	out := slices.Clone(vals)
	for i, v := range out {
		switch {
		case v == "~" || strings.HasPrefix(v, "~/"):
			out[i] = "/home/user" + v[1:]
		case name != "PWD" && name != "GITHUB_WORKSPACE" && name != "OLDPWD" || strings.HasPrefix(v, "/") || !known(v):
		case v == ".":
			out[i] = "/github/workspace"
		default:
			out[i] = "/github/workspace/" + v
		}
	}
	return out
}

// lookup is the value of a parameter: a list for $@, $* and whole arrays.
func (m *machine) lookup(name string, index syntax.ArithmExpr) value {
	switch name {
	case "@", "*":
		if m.foreign {
			return value{vals: []string{unknown}, list: name[0]}
		}
		return value{vals: m.pos, list: name[0]}
	case "#":
		if m.foreign {
			return text(unknown)
		}
		return text(strconv.Itoa(len(m.pos)))
	case "!":
		return text(ownJob)
	case "0":
		return text(m.zero)
	case "_":
		return text(m.last)
	case "-":
		return text("himBHs")
	}
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case n >= 1 && n <= len(m.pos):
			return text(m.pos[n-1])
		case m.foreign:
			return text(unknown)
		}
		return value{vals: []string{""}, state: absent}
	}
	all, ok := m.get(name)
	if !ok {
		if index != nil { // what is in it runs all the same
			m.indexText(index)
			m.arith(index)
		}
		return value{state: open}
	}
	return m.element(name, all, index)
}

// element selects from an array.
func (m *machine) element(name string, all []string, index syntax.ArithmExpr) value {
	keys := m.vars[name].keys
	key, at := "", 0
	if index != nil {
		key = m.indexText(index)
	}
	switch {
	case key == "@" || key == "*":
		return value{vals: all, list: key[0]}
	case len(keys) > 0:
		if at = slices.Index(keys, key); at < 0 {
			return text(unknown)
		}
	case index != nil:
		n, ok := m.arith(index)
		if !ok {
			return text(unknown + marksOf(strings.Join(all, "")))
		}
		if at = int(n); n < 0 {
			at += len(all)
		}
	}
	if at < 0 || at >= len(all) {
		return value{vals: []string{""}, state: absent}
	}
	return text(all[at])
}

func (m *machine) indexText(index syntax.ArithmExpr) string {
	if w, ok := index.(*syntax.Word); ok {
		return m.text(w)
	}
	return unknown
}

func (m *machine) keysOf(name string, n int) []string {
	if keys := m.vars[name].keys; len(keys) > 0 {
		return keys
	}
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

// changed applies the operator of an expansion to known values; of others
// only the marks are left.
func (m *machine) changed(p *syntax.ParamExp, name string, v value) []string {
	positional := name == "@" || name == "*"
	vals := spelledOut(name, v.vals)
	for _, s := range vals {
		m.r.step(len(s) * len(s)) // every part of it may be compared
	}
	q, convert := m.operator(p)
	switch {
	case convert == nil && q == nil || positional && m.foreign:
		return opaqueValues(vals)
	case convert == nil && p.Slice != nil && v.list != 0:
		if positional {
			vals = append([]string{m.zero}, vals...)
		}
		return m.operated(q, expand.Variable{Set: true, Kind: expand.Indexed, List: append([]string{}, vals...)})
	case convert == nil:
		convert = func(s string) string {
			if strings.Contains(s, "\n") && p.Slice == nil { // the library's patterns end at lines
				return unknown
			}
			out := m.operated(q, expand.Variable{Set: true, Kind: expand.String, Str: s})
			m.r.step(len(out[0]))
			return out[0]
		}
	}
	return eachKnown(vals, convert)
}

// operated is what the library makes of a value and an operator.
func (m *machine) operated(q *syntax.ParamExp, v expand.Variable) []string {
	q.Param = &syntax.Lit{Value: "v0"}
	if v.Kind == expand.Indexed {
		q.Index = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: "@"}}}
	}
	e := &expansion{m: m, vars: map[string]expand.Variable{"v0": v}}
	e.parts = []syntax.WordPart{&syntax.DblQuoted{Parts: []syntax.WordPart{q}}}
	out, ok := e.run()
	if !ok || len(out) == 0 && v.Kind != expand.Indexed {
		return opaqueValues(append(v.List, v.Str))
	}
	return out
}

func opaqueValues(vals []string) []string {
	return []string{opaque(strings.Join(vals, ""))}
}

func eachKnown(vals []string, f func(string) string) []string {
	out := make([]string, len(vals))
	for i, v := range vals {
		if out[i] = opaque(v); known(v) {
			out[i] = f(v)
		}
	}
	return out
}

// operator is the operator of an expansion for the library, with its words
// expanded; or a function where the library has none. Neither means that the
// result cannot be told.
func (m *machine) operator(p *syntax.ParamExp) (*syntax.ParamExp, func(string) string) {
	switch {
	case p.Slice != nil:
		offset, okOffset := m.literalNumber(p.Slice.Offset)
		size, okSize := m.literalNumber(p.Slice.Length)
		if !okOffset || !okSize {
			return nil, nil
		}
		return &syntax.ParamExp{Slice: &syntax.Slice{Offset: offset, Length: size}}, nil
	case p.Repl != nil:
		return m.replacement(p.Repl)
	case p.Exp.Op == syntax.OtherParamOps:
		return m.transformation(m.text(p.Exp.Word))
	}
	pat, ok := m.plainPattern(p.Exp.Word)
	if !ok {
		return nil, nil
	}
	return &syntax.ParamExp{Exp: &syntax.Expansion{Op: p.Exp.Op, Word: singleQuoted(pat)}}, nil
}

func singleQuoted(s string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: s}}}
}

// literalNumber computes an expression and writes it as a word. No expression
// is none.
func (m *machine) literalNumber(x syntax.ArithmExpr) (syntax.ArithmExpr, bool) {
	if x == nil {
		return nil, true
	}
	n, ok := m.arith(x)
	return singleQuoted(strconv.FormatInt(n, 10)), ok
}

// plainPattern expands a pattern that the library reads as bash does.
func (m *machine) plainPattern(w *syntax.Word) (string, bool) {
	pat := m.pattern(w)
	m.r.step(len(pat) * 8)
	return pat, known(pat) && len(pat) <= 4096 && !strings.ContainsAny(pat, "(|")
}

func (m *machine) replacement(r *syntax.Replace) (*syntax.ParamExp, func(string) string) {
	pat, ok := m.plainPattern(r.Orig)
	with := m.text(r.With)
	if !ok || pat == "" || strings.Contains(with, "&") { // which some versions replace by what was found
		return nil, nil
	}
	if !known(with) {
		re, err := pattern.Regexp(pat, 0)
		if err != nil || !r.All && (pat[0] == '#' || pat[0] == '%') {
			return nil, nil
		}
		found := regexp.MustCompile(re)
		return nil, func(s string) string { return found.ReplaceAllLiteralString(s, with) }
	}
	op := syntax.RemLargePrefix
	switch {
	case r.All || pat[0] != '#' && pat[0] != '%':
		orig := &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: pat}}}
		return &syntax.ParamExp{Repl: &syntax.Replace{All: r.All, Orig: orig, With: singleQuoted(with)}}, nil
	case pat[0] == '%':
		op = syntax.RemLargeSuffix
	}
	trim := &syntax.ParamExp{Exp: &syntax.Expansion{Op: op, Word: singleQuoted(pat[1:])}}
	trimmed := func(s string) string {
		return m.operated(trim, expand.Variable{Set: true, Kind: expand.String, Str: s})[0]
	}
	return nil, func(s string) string { // the pattern is anchored at one end
		if strings.Contains(s, "\n") {
			return unknown
		}
		left := trimmed(s)
		switch {
		case left == s && pat[1:] != "":
			return s
		case op == syntax.RemLargePrefix:
			return with + left
		}
		return left + with
	}
}

// transformation is one of the operators ${a@U} and the like.
func (m *machine) transformation(op string) (*syntax.ParamExp, func(string) string) {
	switch op {
	case "U", "L", "u":
		return &syntax.ParamExp{Exp: &syntax.Expansion{Op: syntax.OtherParamOps, Word: singleQuoted(op)}}, nil
	case "E":
		return nil, func(s string) string { return decodeEscapes(s, false) }
	case "P":
		return nil, func(s string) string {
			return m.subshell(func() string { return m.program(`printf %s "` + s + `"`) })
		}
	}
	return nil, nil
}

// capture is the text of a command substitution.
func (m *machine) capture(stmts []*syntax.Stmt) string {
	return m.subshell(func() string {
		m.quiet, m.filed = true, false
		return strings.TrimRight(m.stmts(stmts), "\n")
	})
}

// process is the name under which a process substitution is opened.
func (m *machine) process(p *syntax.ProcSubst) string {
	m.procs++
	name := "/dev/fd/" + strconv.Itoa(60+m.procs)
	if p.Op == syntax.CmdOut {
		text := unknown
		if m.in != nil {
			text = m.in.text
		}
		m.subshell(func() string { m.in = &input{text: text}; return m.stmts(p.Stmts) })
		m.files[name] = ""
		return name
	}
	m.files[name] = m.subshell(func() string { return m.stmts(p.Stmts) })
	return name
}

// globRegexp compiles a shell pattern.
func globRegexp(pat string, mode pattern.Mode) (*regexp.Regexp, bool) {
	if !known(pat) || len(pat) > 4096 {
		return nil, false
	}
	expr, err := pattern.Regexp(pat, mode|pattern.ExtendedOperators)
	if err != nil {
		return nil, false
	}
	re, err := regexp.Compile(expr)
	return re, err == nil
}
