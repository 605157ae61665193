package word

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"

	"github.com/handrail-bot/handrail/policy/shell/filter"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// value is what a parameter holds: one text, or a list that is asked for by
// '@' or '*'.
type value struct {
	vals  []string
	list  byte
	state State
}

func text(s string) value { return value{vals: []string{s}} }

// param is the value of ${…}, or the word that its operator puts in the place
// of it.
func (x expander) param(p *syntax.ParamExp, how quoting) (value, *syntax.Word) {
	x.sh.Enter(0)()
	if p.Param != nil && p.Names != 0 {
		return value{vals: zone.SecretsBy(p.Param.Value), list: '@'}, nil
	}
	if p.Param == nil || p.Width || p.IsSet || p.Flags != nil {
		return text(mark.Unknown), nil
	}
	name := p.Param.Value
	v := x.lookup(name, p.Index)
	if p.Excl && v.list != 0 {
		v.vals = x.keys(name, len(v.vals))
		return v, nil
	}
	if p.Excl {
		var ok bool
		if name, v, ok = x.named(v); !ok {
			return text(mark.Unknown), nil
		}
	}
	x.offsets(p, v)
	switch {
	case p.Length:
		return text(v.length()), nil
	case p.Exp != nil && p.Exp.Op <= syntax.AssignUnsetOrNull:
		return x.defaulted(p.Exp, name, v, how)
	case v.state == Open:
		return text(unset(name)), nil
	case v.state == Set && (p.Slice != nil || p.Repl != nil || p.Exp != nil):
		v.vals = x.changed(p, name, v)
	}
	return v, nil
}

// named is the variable whose name another one holds, if that is known.
func (x expander) named(by value) (string, value, bool) {
	name := strings.Join(by.vals, "")
	Name(x.sh, name)
	if by.state != Set || !mark.Known(name) || name == "" {
		return "", value{}, false
	}
	return name, x.lookup(name, nil), true
}

// defaulted is a parameter behind an operator such as ${a:-b}.
func (x expander) defaulted(e *syntax.Expansion, name string, v value, how quoting) (value, *syntax.Word) {
	word, ok := x.instead(v, e)
	switch {
	case ok && word == nil:
		return v.nothing(), nil
	case ok && e.Op >= syntax.AssignUnset:
		s := x.joined(word, max(how, asText))
		x.sh.Set(name, s)
		return text(s), nil
	case ok:
		return v, word
	case v.state == Open:
		return text(unset(name)), nil
	}
	return v, nil
}

// offsets follows the numbers that choose a part of nothing.
func (x expander) offsets(p *syntax.ParamExp, v value) {
	if v.state != Set && p.Slice != nil {
		x.literalNumber(p.Slice.Offset)
		x.literalNumber(p.Slice.Length)
	}
}

// unset is what a variable holds that only the environment can have set.
func unset(name string) string {
	if zone.SecretName(name) {
		return mark.Secret
	}
	return mark.Unknown
}

func (v value) length() string {
	all := strings.Join(v.vals, "")
	switch {
	case v.state == Open || !mark.Known(all):
		return mark.Unknown
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
func (x expander) instead(v value, e *syntax.Expansion) (*syntax.Word, bool) {
	gone := v.state != Set || v.list != 0 && len(v.vals) == 0
	switch e.Op {
	case syntax.AlternateUnsetOrNull, syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		gone = gone || strings.Join(v.vals, "") == "" && (len(v.vals) < 2 || x.separators() == "")
	}
	switch e.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if v.state == Open { // the environment may have it: both
			gone = x.sh.Either()
		}
		if gone {
			return nil, true
		}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		if gone && e.Word != nil { // what it says is expanded
			x.joined(e.Word, asText)
		}
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
		case name != "PWD" && name != "GITHUB_WORKSPACE" && name != "OLDPWD" || strings.HasPrefix(v, "/") || !mark.Known(v):
		case v == ".":
			out[i] = "/github/workspace"
		default:
			out[i] = "/github/workspace/" + v
		}
	}
	return out
}

// lookup is the value of a parameter: a list for $@, $* and whole arrays.
func (x expander) lookup(name string, index syntax.ArithmExpr) value {
	v := x.sh.Lookup(name)
	key := ""
	if index != nil { // what is in it runs in any case
		key = x.subscript(index, v.Keyed)
	}
	at := 0
	switch {
	case name == "@" || name == "*":
		return value{vals: v.Values, list: name[0]}
	case v.State != Set:
		return value{vals: []string{""}, state: v.State}
	case key == "@" || key == "*":
		return value{vals: v.Values, list: key[0]}
	case len(v.Keys) > 0:
		if at = slices.Index(v.Keys, key); at < 0 {
			return text(mark.Unknown)
		}
	case index != nil && v.Keyed:
		return text(mark.Unknown)
	case index != nil:
		n, ok := x.arith(index)
		if !ok {
			return text(mark.Unknown + mark.Of(strings.Join(v.Values, "")))
		}
		if at = int(n); n < 0 {
			at += len(v.Values)
		}
	}
	if at < 0 || at >= len(v.Values) {
		return value{vals: []string{""}, state: Absent}
	}
	return text(v.Values[at])
}

func (x expander) subscript(index syntax.ArithmExpr, keyed bool) string {
	if w, ok := index.(*syntax.Word); ok {
		s := x.joined(w, asText)
		if !keyed {
			x.countable(strings.TrimSpace(s)) // bash evaluates it
		}
		return s
	}
	return mark.Unknown
}

// keys are the subscripts of an array of n values.
func (x expander) keys(name string, n int) []string {
	if keys := x.sh.Lookup(name).Keys; len(keys) > 0 {
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
func (x expander) changed(p *syntax.ParamExp, name string, v value) []string {
	positional := name == "@" || name == "*"
	vals := spelledOut(name, v.vals)
	for _, s := range vals {
		x.sh.Enter(len(s) * len(s))() // every part of it may be compared
	}
	q, convert := x.operator(p)
	switch {
	case convert == nil && q == nil || positional && slices.Equal(v.vals, []string{mark.Unknown}):
		return opaqueValues(vals)
	case convert == nil && p.Slice != nil && v.list != 0:
		if positional {
			vals = append(x.sh.Lookup("0").Values, vals...)
		}
		return x.operated(q, expand.Variable{Set: true, Kind: expand.Indexed, List: append([]string{}, vals...)})
	case convert == nil:
		convert = func(s string) string {
			if strings.Contains(s, "\n") && p.Slice == nil { // the library's patterns end at lines
				return mark.Unknown
			}
			out := x.operated(q, expand.Variable{Set: true, Kind: expand.String, Str: s})
			x.sh.Enter(len(out[0]))()
			return out[0]
		}
	}
	return eachKnown(vals, convert)
}

// operated is what the library makes of a value and an operator.
func (x expander) operated(q *syntax.ParamExp, v expand.Variable) []string {
	q.Param = &syntax.Lit{Value: "v0"}
	if v.Kind == expand.Indexed {
		q.Index = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: "@"}}}
	}
	e := &expansion{expander: x, vars: map[string]expand.Variable{"v0": v}}
	e.parts = []syntax.WordPart{&syntax.DblQuoted{Parts: []syntax.WordPart{q}}}
	out, ok := e.run()
	if !ok || len(out) == 0 && v.Kind != expand.Indexed {
		return opaqueValues(append(v.List, v.Str))
	}
	return out
}

func opaqueValues(vals []string) []string { return []string{mark.Opaque(strings.Join(vals, ""))} }

func eachKnown(vals []string, f func(string) string) []string {
	out := make([]string, len(vals))
	for i, v := range vals {
		if out[i] = mark.Opaque(v); mark.Known(v) {
			out[i] = f(v)
		}
	}
	return out
}

// operator is the operator of an expansion for the library, with its words
// expanded; or a function where the library has none. Neither means that the
// result cannot be told.
func (x expander) operator(p *syntax.ParamExp) (*syntax.ParamExp, func(string) string) {
	switch {
	case p.Slice != nil:
		offset, okOffset := x.literalNumber(p.Slice.Offset)
		size, okSize := x.literalNumber(p.Slice.Length)
		if !okOffset || !okSize {
			return nil, nil
		}
		return &syntax.ParamExp{Slice: &syntax.Slice{Offset: offset, Length: size}}, nil
	case p.Repl != nil:
		return x.replacement(p.Repl)
	case p.Exp.Op == syntax.OtherParamOps:
		return x.transformation(x.joined(p.Exp.Word, asText))
	}
	pat, ok := x.plainPattern(p.Exp.Word)
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
func (x expander) literalNumber(expr syntax.ArithmExpr) (syntax.ArithmExpr, bool) {
	if expr == nil {
		return nil, true
	}
	n, ok := x.arith(expr)
	return singleQuoted(strconv.FormatInt(n, 10)), ok
}

// plainPattern expands a pattern that the library reads as bash does.
func (x expander) plainPattern(w *syntax.Word) (string, bool) {
	pat := x.pattern(w)
	x.sh.Enter(len(pat) * 8)()
	return pat, mark.Known(pat) && len(pat) <= 4096 && !strings.ContainsAny(pat, "(|")
}

func (x expander) replacement(r *syntax.Replace) (*syntax.ParamExp, func(string) string) {
	pat, ok := x.plainPattern(r.Orig)
	with := x.joined(r.With, asText)
	if !ok || pat == "" || strings.Contains(with, "&") { // which some versions replace by what was found
		return nil, nil
	}
	if !mark.Known(with) {
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
		return x.operated(trim, expand.Variable{Set: true, Kind: expand.String, Str: s})[0]
	}
	return nil, func(s string) string { // the pattern is anchored at one end
		if strings.Contains(s, "\n") {
			return mark.Unknown
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
func (x expander) transformation(op string) (*syntax.ParamExp, func(string) string) {
	switch op {
	case "U", "L", "u":
		return &syntax.ParamExp{Exp: &syntax.Expansion{Op: syntax.OtherParamOps, Word: singleQuoted(op)}}, nil
	case "E":
		return nil, func(s string) string { return filter.Unescape(s, false) }
	case "P":
		return nil, x.prompt
	}
	return nil, nil
}

// prompt is a value expanded once more, as a prompt is.
func (x expander) prompt(s string) string {
	file, err := syntax.NewParser().Parse(strings.NewReader(`printf %s "`+s+`"`), "")
	if err != nil {
		return mark.Opaque(s)
	}
	return x.sh.Output(&syntax.CmdSubst{Stmts: file.Stmts})
}
