package toolcall

import "strings"

// looseCall reads a call that was written as lines of "key: value" inside
// markup: the name of the tool first, then its arguments, as an object or one
// a line. Text over several lines is not read; what is not understood is no
// call.
func (s *scanner) looseCall(i int) item {
	key, value, next := s.pair(i)
	name := s.known(value)
	if !contains(nameFields[:], key) || name == "" {
		return item{}
	}
	t := s.p.tools[name]
	var args []field
	for len(args) < maxArguments {
		i = s.space(next)
		if i >= len(s.t) {
			return item{calls: []Call{s.named(name, args, true, true)}, next: i, ok: true}
		}
		if s.t[i] == '<' || s.t[i] == '[' || s.t[i] == '`' {
			break
		}
		key, value, next = s.pair(i)
		switch {
		case key == "":
			return item{}
		case contains(argFields[:], key) && !t.has(key):
			if value == "" {
				continue
			}
			at := i + strings.IndexByte(s.t[i:], ':') + 1
			if at = s.indent(at); s.t[at] != '{' {
				return item{}
			}
			it := s.namedJSON(name, at)
			for n := range it.calls {
				it.calls[n].Repaired = true
			}
			return it
		case value == "" || value == "|" || value == ">":
			return item{}
		}
		args = put(args, field{key: key, value: t.typed(key, value)})
	}
	return item{calls: []Call{s.named(name, args, true, false)}, next: i, ok: true}
}

// pair reads a line "key: value" at i; key is empty when it is none.
func (s *scanner) pair(i int) (key, value string, next int) {
	j := i
	for j < len(s.t) && isWord(s.t[j]) {
		j++
	}
	if j == i || j >= len(s.t) || s.t[j] != ':' {
		return "", "", j
	}
	next = lineEnd(s.t, j)
	if m := strings.IndexByte(s.t[j:next], '<'); m >= 0 && s.p.marks[lexMark(s.t, j+m).name] == closes {
		next = j + m
	}
	value = strings.TrimSpace(s.t[j+1 : next])
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	return s.t[i:j], value, next
}

// proseInside looks for the object of a call that prose stands before, in the
// element m at i whose text begins at pos. It returns where the object begins
// and whether there is one.
func (s *scanner) proseInside(i int, m mark, pos int) (int, bool) {
	const far = 400
	if m.tag == "" || m.value != "" || m.attrs != "" || !s.ownLine(i) || s.exhausted() {
		return 0, false
	}
	end := min(len(s.t), pos+far)
	at := strings.IndexAny(s.t[pos:end], "{<`")
	if at < 0 || s.t[pos+at] != '{' {
		s.touched = s.touched || at < 0 && end == len(s.t)
		return 0, false
	}
	closing := s.index("</"+m.raw, pos)
	if closing < 0 {
		s.touched = true
		return 0, false
	}
	in := readJSON(s.t, pos+at, s.p.marks)
	s.guess(in.next - pos)
	if !in.ok || in.next > closing || !s.callable(in) {
		return 0, false
	}
	return pos + at, true
}

// lineComment skips a comment between an object and the mark that closes the
// call.
func (s *scanner) lineComment(i int) int {
	j := s.indent(i)
	if !s.has(j, "//") && !s.has(j, "#") {
		return i
	}
	k := s.space(lineEnd(s.t, j))
	if k < len(s.t) && s.p.marks[s.mark(k).name] == closes {
		return k
	}
	return i
}
