package toolcall

import (
	"fmt"
	"strings"
)

// pythonList says whether [name(…), …] stands at i, and not JSON.
func (s *scanner) pythonList(i int) bool {
	j := s.space(i + 1)
	if j >= len(s.t) || !letter(s.t[j]) {
		return false
	}
	_, k := s.word(j)
	if k >= len(s.t) {
		s.touched = true
		return false
	}
	return s.t[k] == '('
}

// pythonCalls reads name(key=value, …) at i, several of them separated by
// commas or lines; in a list up to its bracket.
func (s *scanner) pythonCalls(i int, list bool) item {
	out := item{ok: true}
	for {
		i = s.separators(i)
		if i >= len(s.t) {
			break
		}
		if list && s.t[i] == ']' {
			i++
			break
		}
		c, next, ok := s.pythonCall(i)
		if !ok {
			if list {
				out.ok = len(out.calls) > 0
				out.err = fmt.Sprintf("A list of calls could not be understood at %q.", s.t[i:min(len(s.t), i+20)])
			}
			break
		}
		out.calls = append(out.calls, c)
		i = next
		if j := s.space(i); !list && (j >= len(s.t) || !letter(s.t[j]) && s.t[j] != ',' && s.t[j] != ';') {
			break
		}
	}
	out.next = i
	out.ok = out.ok && len(out.calls) > 0
	return out
}

// pythonCall reads one call. print(name(…)) is name(…), and so is
// name.call(…).
func (s *scanner) pythonCall(i int) (Call, int, bool) {
	name, j := s.word(i)
	if eq := s.indent(j); eq < len(s.t) && s.t[eq] == '=' { // result = name(…)
		name, j = s.word(s.indent(eq + 1))
	}
	if j >= len(s.t) || s.t[j] != '(' || !isName(name) {
		s.touched = s.touched || j >= len(s.t)
		return Call{}, i, false
	}
	if name == "print" {
		c, next, ok := s.pythonCall(s.space(j + 1))
		if end := s.space(next); ok && end < len(s.t) && s.t[end] == ')' {
			next = end + 1
		}
		return c, next, ok
	}
	name = strings.TrimSuffix(name, ".call")
	n, _ := s.p.Canonical(name)
	args, r, ok := s.pythonArgs(j+1, s.p.tools[n])
	if !ok {
		s.guess(r.i - i)
		return Call{}, i, false
	}
	return Call{Name: n, Arguments: object(args), Truncated: r.end, Repaired: r.end}, r.i, true
}

// pythonArgs reads the arguments after an opening parenthesis.
func (s *scanner) pythonArgs(i int, t *tool) ([]field, *reader, bool) {
	r := &reader{s: s.t, i: i, stack: []byte{'('}}
	var args []field
	defer func() { s.touched = s.touched || r.end }()
	for n := 0; ; n++ {
		r.space()
		if r.atEnd() {
			return args, r, true
		}
		if c := r.peek(); c == ')' {
			r.i++
			return args, r, true
		} else if c == ',' {
			r.i++
			n--
			continue
		}
		if strings.HasPrefix(s.t[r.i:], "**{") {
			r.i += 2
		}
		key, next, keyed := pythonKey(s.t, r.i)
		if next == len(s.t) { // cut: neither name nor value is known
			r.i = next
			r.atEnd()
			return args, r, true
		}
		if keyed {
			r.i = next
		}
		r.out = nil
		if !r.value() || len(r.out) == 0 {
			return args, r, r.end
		}
		v := append([]byte(nil), r.out...)
		if len(args) > maxArguments {
			return args, r, false
		}
		switch list, isObject := fields(v); {
		case keyed:
			args = append(args, field{key: key, value: v})
		case isObject && n == 0:
			args = append(args, list...)
		case t != nil && n < len(t.order):
			args = append(args, field{key: t.order[n], value: v})
		default:
			return args, r, false
		}
		if r.end {
			return args, r, true
		}
	}
}

// pythonKey reads "name =".
func pythonKey(t string, i int) (string, int, bool) {
	j := i
	for j < len(t) && isWord(t[j]) {
		j++
	}
	k := skipBlank(t, j)
	if j > i && k == len(t) {
		return "", k, false
	}
	if j == i || k >= len(t) || t[k] != '=' && t[k] != ':' || strings.HasPrefix(t[k:], "==") {
		return "", i, false
	}
	return t[i:j], k + 1, true
}
