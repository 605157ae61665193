package toolcall

import "strings"

// argPairs reads <arg_key>k</arg_key><arg_value>v</arg_value>… at i, the form
// of GLM.
func (s *scanner) argPairs(name string, i int) item {
	n, _ := s.p.Canonical(name)
	t := s.p.tools[n]
	var args []field
	repaired := false
	end := func(at int, cut bool) item {
		cut = cut || at >= len(s.t) && t.lacks(args)
		return item{calls: []Call{{Name: n, Arguments: object(args), Repaired: repaired || cut, Truncated: cut}}, next: at, ok: true}
	}
	for {
		i = s.space(i)
		if i >= len(s.t) {
			return end(i, !s.closedBefore(i, "arg_value"))
		}
		m := s.mark(i)
		if m.growing {
			return end(len(s.t), t.lacks(args))
		}
		if m.name != "<arg_key>" {
			return end(i, false)
		}
		keyEnd := s.index("</arg_key>", m.next)
		if keyEnd < 0 {
			return end(len(s.t), true)
		}
		key := strings.TrimSpace(s.t[m.next:keyEnd])
		i = s.space(keyEnd + len("</arg_key>"))
		v := s.mark(min(i, len(s.t)))
		if v.growing {
			return end(len(s.t), true)
		}
		if v.name != "<arg_value>" {
			continue
		}
		if next := s.nextPair(v.next, t); next >= 0 {
			args = put(args, field{key: key, value: t.typed(key, trimValue(key, s.t[v.next:next]))})
			i, repaired = next, true
			continue
		}
		val := s.value(v, key, "", t)
		args = put(args, field{key: key, value: t.typed(key, val.text)})
		if i = val.next; val.cut {
			return end(i, true)
		}
	}
}

// lacks says whether an argument that the tool cannot do without is missing.
func (t *tool) lacks(args []field) bool {
	if t == nil {
		return false
	}
	for _, key := range t.order[:t.required] {
		if _, ok := find(args, key); !ok {
			return true
		}
	}
	return false
}

// nextPair returns where the next pair begins when the value at i is not
// closed before it, -1 when it is.
func (s *scanner) nextPair(i int, t *tool) int {
	closing, next := s.index("</arg_value>", i), s.index("<arg_key>", i)
	if next < 0 || closing >= 0 && closing < next {
		return -1
	}
	key, _, ok := strings.Cut(s.t[next+len("<arg_key>"):min(len(s.t), next+maxMark+20)], "</arg_key>")
	if !ok || !t.has(strings.TrimSpace(key)) {
		return -1
	}
	return next
}

// closedBefore says whether the text before i ends with a closing tag.
func (s *scanner) closedBefore(i int, tag string) bool {
	return strings.HasSuffix(strings.TrimRight(s.t[:i], " \t\r\n"), "</"+tag+">")
}
