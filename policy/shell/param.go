package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// param expands ${…}. The result is several fields only for lists.
func (m *machine) param(p *syntax.ParamExp) (vals []string, list bool) {
	m.r.step(0)
	if p.Param == nil {
		return []string{unknown}, false
	}
	name := p.Param.Value
	if p.Names != 0 {
		return []string{unknown}, false
	}
	vals, set, list := m.lookup(name, p.Index)
	switch {
	case p.Excl && list:
		return m.keysOf(name, len(vals)), true
	case p.Excl:
		target, _, _ := strings.Cut(strings.Join(vals, ""), "[")
		name = target
		if !set || !known(name) || name == "" {
			return []string{unknown}, false
		}
		vals, set, list = m.lookup(name, nil)
	}
	if p.Length {
		return []string{m.length(vals, set, list)}, false
	}
	if p.Exp != nil && p.Exp.Op <= syntax.AssignUnsetOrNull {
		return m.orDefault(name, bound{vals, set, list}, p.Exp)
	}
	if !set {
		if secretName(name) {
			return []string{secret}, false
		}
		return []string{unknown}, false
	}
	if p.Slice != nil || p.Repl != nil || p.Exp != nil {
		vals = spelledOut(name, vals)
	}
	switch {
	case p.Slice != nil:
		vals = m.slice(vals, list, name, p.Slice)
	case p.Repl != nil:
		vals = m.eachValue(vals, m.replacer(p.Repl))
	case p.Exp != nil:
		vals = m.eachValue(vals, m.transformer(p.Exp))
	}
	return vals, list
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
func (m *machine) lookup(name string, index syntax.ArithmExpr) (vals []string, set, list bool) {
	switch name {
	case "@", "*":
		if m.foreign {
			return []string{unknown}, true, true
		}
		return m.pos, true, true
	case "#":
		if m.foreign {
			return []string{unknown}, true, false
		}
		return []string{strconv.Itoa(len(m.pos))}, true, false
	case "!":
		return []string{ownJob}, true, false
	case "0":
		return []string{m.zero}, true, false
	case "_":
		return []string{m.last}, true, false
	case "-":
		return []string{"himBHs"}, true, false
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 1 && n <= len(m.pos) {
			return m.pos[n-1 : n], true, false
		}
		if m.foreign {
			return []string{unknown}, true, false
		}
		return []string{""}, true, false
	}
	all, ok := m.get(name)
	if !ok {
		if index != nil { // what is in it runs all the same
			m.indexText(index)
			m.arith(index)
		}
		return nil, false, false
	}
	return m.element(name, all, index)
}

// element selects from an array.
func (m *machine) element(name string, all []string, index syntax.ArithmExpr) (vals []string, set, list bool) {
	if index == nil {
		if len(all) == 0 {
			return []string{""}, true, false
		}
		return all[:1], true, false
	}
	key := m.indexText(index)
	if key == "@" || key == "*" {
		return all, true, true
	}
	if keys := m.vars[name].keys; len(keys) > 0 {
		if at := slices.Index(keys, key); at >= 0 && at < len(all) {
			return all[at : at+1], true, false
		}
		return []string{unknown}, true, false
	}
	n, ok := m.arith(index)
	if !ok {
		return []string{unknown}, true, false
	}
	if n < 0 {
		n += int64(len(all))
	}
	if n < 0 || n >= int64(len(all)) {
		return []string{""}, true, false
	}
	return all[n : n+1], true, false
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

func (m *machine) length(vals []string, set, list bool) string {
	switch {
	case list:
		return strconv.Itoa(len(vals))
	case !set || !known(strings.Join(vals, "")):
		return unknown
	}
	return strconv.Itoa(len([]rune(strings.Join(vals, " "))))
}

// bound is what a variable holds, whether it is set, and whether it is a list.
type bound struct {
	vals      []string
	set, list bool
}

// orDefault expands the operators that depend on whether a variable is set.
func (m *machine) orDefault(name string, v bound, e *syntax.Expansion) ([]string, bool) {
	vals, set, list := v.vals, v.set, v.list
	empty := strings.Join(vals, "") == ""
	absent := !set
	switch e.Op {
	case syntax.AlternateUnsetOrNull, syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		absent = !set || empty
	}
	switch e.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if !set { // the environment may have it: both
			m.worlds = max(m.worlds, 2)
			if m.world%2 == 0 {
				return []string{""}, false
			}
		} else if absent {
			return []string{""}, false
		}
		return []string{m.text(e.Word)}, false
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if absent {
			word := m.text(e.Word)
			if !set && word == "" {
				if secretName(name) {
					return []string{secret}, false
				}
				return []string{unknown}, false
			}
			return []string{word}, false
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if absent {
			m.set(name, m.text(e.Word))
			vals, _ = m.get(name)
			return vals, false
		}
	}
	if !set {
		if secretName(name) {
			return []string{secret}, false
		}
		return []string{unknown}, false
	}
	return vals, list
}

func (m *machine) slice(vals []string, list bool, name string, s *syntax.Slice) []string {
	from, ok := int64(0), true
	if s.Offset != nil {
		from, ok = m.arith(s.Offset)
	}
	length := int64(maxText)
	if s.Length != nil && ok {
		length, ok = m.arith(s.Length)
	}
	if !ok {
		return []string{opaque(strings.Join(vals, ""))}
	}
	if list {
		if name == "@" || name == "*" {
			vals = append([]string{"bash"}, vals...)
		}
		lo, hi := bounds(int64(len(vals)), from, length)
		return vals[lo:hi]
	}
	return m.eachValue(vals, func(v string) string {
		r := []rune(v)
		lo, hi := bounds(int64(len(r)), from, length)
		return string(r[lo:hi])
	})
}

func bounds(n, from, length int64) (lo, hi int64) {
	if from < 0 {
		from += n
	}
	lo = min(max(from, 0), n)
	hi = n
	if length < 0 {
		hi = n + length
	} else if length < n-lo {
		hi = lo + length
	}
	return lo, max(lo, min(hi, n))
}

// eachValue applies f to known values; of others only the marks are left.
func (m *machine) eachValue(vals []string, f func(string) string) []string {
	out := make([]string, len(vals))
	for i, v := range vals {
		if known(v) {
			out[i] = f(v)
			m.r.step(len(out[i]))
		} else {
			out[i] = opaque(v)
		}
	}
	return out
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

func (m *machine) replacer(r *syntax.Replace) func(string) string {
	pat, with := m.pattern(r.Orig), m.text(r.With)
	prefix, suffix := "", ""
	if !r.All && strings.HasPrefix(pat, "#") {
		pat, prefix = pat[1:], "^"
	} else if !r.All && strings.HasPrefix(pat, "%") {
		pat, suffix = pat[1:], "$"
	}
	re, ok := globRegexp(pat, 0)
	if ok && prefix+suffix != "" {
		expr := re.String()
		re = regexp.MustCompile(prefix + "(?:" + expr + ")" + suffix)
	}
	return func(v string) string {
		if !ok {
			return unknown
		}
		if r.All {
			return re.ReplaceAllLiteralString(v, with)
		}
		at := re.FindStringIndex(v)
		if at == nil {
			return v
		}
		return v[:at[0]] + with + v[at[1]:]
	}
}

func (m *machine) transformer(e *syntax.Expansion) func(string) string {
	switch e.Op {
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return m.caseChanger(e)
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		return m.trimmer(e)
	case syntax.OtherParamOps:
		return func(v string) string { return m.operator(m.text(e.Word), v) }
	}
	return func(string) string { return unknown }
}

func (m *machine) operator(op, v string) string {
	switch op {
	case "U":
		return strings.ToUpper(v)
	case "L":
		return strings.ToLower(v)
	case "u":
		r := []rune(v)
		if len(r) > 0 {
			r[0] = unicode.ToUpper(r[0])
		}
		return string(r)
	case "E":
		return decodeEscapes(v, false)
	case "P":
		return m.subshell(func() string { return m.program(`printf %s "` + v + `"`) })
	}
	return opaque(v)
}

func (m *machine) caseChanger(e *syntax.Expansion) func(string) string {
	only, change := e.Op == syntax.UpperFirst || e.Op == syntax.LowerFirst, unicode.ToUpper
	if e.Op == syntax.LowerFirst || e.Op == syntax.LowerAll {
		change = unicode.ToLower
	}
	pat := m.pattern(e.Word)
	re, ok := globRegexp(pat, pattern.EntireString)
	return func(v string) string {
		r := []rune(v)
		for i, c := range r {
			if pat == "" || ok && re.MatchString(string(c)) {
				r[i] = change(c)
			}
			if only {
				break
			}
		}
		return string(r)
	}
}

func (m *machine) trimmer(e *syntax.Expansion) func(string) string {
	re, ok := globRegexp(m.pattern(e.Word), pattern.EntireString)
	suffix := e.Op == syntax.RemSmallSuffix || e.Op == syntax.RemLargeSuffix
	large := e.Op == syntax.RemLargePrefix || e.Op == syntax.RemLargeSuffix
	return func(v string) string {
		if !ok || len(v) > 4096 {
			return unknown
		}
		m.r.step(len(v) * len(v)) // every part of it is compared
		for i := range len(v) + 1 {
			n := i // how much is cut
			if large {
				n = len(v) - i
			}
			if suffix && re.MatchString(v[len(v)-n:]) {
				return v[:len(v)-n]
			}
			if !suffix && re.MatchString(v[:n]) {
				return v[n:]
			}
		}
		return v
	}
}
