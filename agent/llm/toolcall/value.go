package toolcall

import (
	"encoding/json"
	"strings"
)

// maxCandidates bounds how many closing tags are looked at for one value.
const maxCandidates = 64

// raw reads the text in k up to its closing tag. Text that goes into files
// may hold anything, tags and the closing tag itself included: what follows a
// closing tag tells whether it is the one.
func (s *scanner) raw(k mark, key string, in frame) node {
	closing := "</" + k.raw + ">"
	first := s.index(closing, k.next)
	if first >= 0 && isParam(k) && !textKey(key) && in.outer != "" {
		if next := s.index("<"+k.raw+"=", k.next); next >= 0 && next < first && in.tool.has(lexMark(s.t, next).value) {
			if v, ok := s.unclosed(k, key, in); ok {
				return v
			}
		}
	}
	if first >= 0 {
		if c := s.closingOf(k, key, first, in); c >= 0 {
			return s.textNode(key, k.next, c, c+len(closing))
		}
		return s.textNode(key, k.next, first, first+len(closing))
	}
	if in.outer != "" {
		if v, ok := s.unclosed(k, key, in); ok {
			return v
		}
	}
	s.touched = true
	v := node{plain: true, next: len(s.t), cut: true}
	v.text = trimLines(trimCut(s.t[k.next:], closing))
	if strings.HasPrefix("<![CDATA[", strings.TrimSpace(v.text)) {
		v.text = ""
	}
	if !textKey(key) {
		v.text = trimValue(key, v.text)
	}
	return v
}

// unclosed ends a value whose closing tag is missing at the next argument or
// at the end of the call.
func (s *scanner) unclosed(k mark, key string, in frame) (node, bool) {
	end := s.index("</"+in.outer+">", k.next)
	if isParam(k) {
		if next := s.index("<"+k.raw+"=", k.next); next >= 0 && (end < 0 || next < end) {
			end = next
		}
	}
	if end < 0 {
		return node{}, false
	}
	v := s.textNode(key, k.next, end, end)
	for _, wrong := range [...]string{"</" + key + ">", "</" + k.raw + "=" + key + ">"} {
		if text, ok := strings.CutSuffix(strings.TrimRight(v.text, " \t\r\n"), wrong); ok {
			v.text = trimValue(key, text)
		}
	}
	v.repaired = true
	return v, true
}

func (s *scanner) textNode(key string, from, to, next int) node {
	return node{plain: true, text: trimValue(key, s.t[from:to]), next: next}
}

// closingOf returns the closing tag of a value among several: the first that
// another argument or the end of the call follows, else the last before the
// end of the call; -1 when neither is there.
func (s *scanner) closingOf(k mark, key string, first int, in frame) int {
	if pathKey(key) || in.outer == "" {
		return first
	}
	closing := "</" + k.raw + ">"
	most := maxCandidates
	if s.exhausted() {
		most = 2
	}
	c, n := first, 0
	for ; n < most; n++ {
		if s.ends(k, c+len(closing), in) && !s.insideCall(k, c, in) {
			return c
		}
		next := strings.Index(s.t[c+1:min(len(s.t), c+1<<16)], closing)
		if next < 0 {
			break
		}
		c += 1 + next
	}
	s.guess(c - first)
	if outer := s.index("</"+in.outer+">", first); outer >= 0 && outer-first < 1<<20 && !s.exhausted() {
		s.guess((outer - first) / 8)
		return first + strings.LastIndex(s.t[first:outer], closing)
	}
	return -1
}

// insideCall says whether the value of k, ended at to, would hold a call
// that has begun and not ended: then this closing tag is that call's.
func (s *scanner) insideCall(k mark, to int, in frame) bool {
	if !isParam(k) || in.outer == "" || to-k.next > 1<<16 {
		return false
	}
	text := s.t[k.next:to]
	return strings.Count(text, "<"+in.outer+"=")+strings.Count(text, "<"+in.outer+" ") > strings.Count(text, "</"+in.outer+">")
}

// ends says whether a value may end before i.
func (s *scanner) ends(k mark, i int, in frame) bool {
	j := s.space(i)
	if j >= len(s.t) {
		return true
	}
	if s.t[j] != '<' || j+1 >= len(s.t) {
		s.touched = s.touched || j+1 >= len(s.t)
		return false
	}
	rest := s.t[j+1:]
	if rest[0] == '/' {
		if strings.HasPrefix(rest[1:], in.outer) {
			return true
		}
		s.touched = s.touched || strings.HasPrefix(in.outer, rest[1:])
		return s.p.marks[s.mark(j).name] == closes
	}
	n := 0
	for n < len(rest) && (isWord(rest[n]) || rest[n] == '-' || rest[n] >= 0x80 || rest[n] == ':') {
		n++
	}
	if n == len(rest) {
		s.touched = true
		return true
	}
	return n > 0 && (in.tool == nil || rest[:n] == k.raw || in.tool.has(rest[:n]))
}

// trimLines drops one line break at either end: they belong to the markup.
func trimLines(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// trimValue drops the white space that belongs to the markup: a line break at
// either end, and around short values all of it. Text that goes into files
// keeps its indentation.
func trimValue(key, s string) string {
	s = trimLines(s)
	if keepsBlanks(key) {
		return s
	}
	if t := strings.TrimSpace(s); strings.IndexByte(t, '\n') < 0 {
		return t
	}
	return s
}

func keepsBlanks(key string) bool { return textKey(key) && key != "command" || fold(key) == "diff" }

// typesOf returns the JSON types of an argument, none when nothing is known.
func (t *tool) typesOf(key string) []string {
	if t == nil {
		return nil
	}
	return t.types[key]
}

// typed turns the value of an element into JSON by the tool's schema.
func (s *scanner) typed(t *tool, key string, v node) json.RawMessage {
	if v.plain {
		return t.typed(key, v.text)
	}
	if contains(t.typesOf(key), "array") {
		if list, ok := fields(v.raw); ok && len(list) == 1 && list[0].key != "path" {
			if in := list[0].value; in[0] == '[' {
				return in
			}
			return append(append(json.RawMessage{'['}, list[0].value...), ']')
		}
		if v.raw[0] == '{' {
			return append(append(json.RawMessage{'['}, v.raw...), ']')
		}
	}
	return v.raw
}

// typed turns text into JSON of the type that the schema asks for. What does
// not fit stays text: the tool says what is wrong with it.
func (t *tool) typed(key, value string) json.RawMessage {
	types := t.typesOf(key)
	trimmed := strings.TrimSpace(value)
	if len(types) == 0 || trimmed == "" {
		return quoted(value)
	}
	if contains(types, "string") && (len(types) == 1 || strings.IndexByte("[{", trimmed[0]) < 0) {
		return quoted(value)
	}
	in := readJSON(trimmed, 0, nil)
	if !in.ok || in.next != len(trimmed) || in.ended && in.open > 0 {
		return t.untyped(key, value)
	}
	if fits(in.json, types) {
		return in.json
	}
	if s, ok := text(in.json); ok && !contains(types, "string") {
		if again := readJSON(s, 0, nil); again.ok && again.next == len(s) && fits(again.json, types) {
			return again.json
		}
	}
	return t.untyped(key, value)
}

// untyped is for text that is not of the type: lines of a list of strings, and
// the words for yes and no.
func (t *tool) untyped(key, value string) json.RawMessage {
	if contains(t.typesOf(key), "boolean") {
		switch strings.ToLower(strings.TrimSpace(value)) {
		case "true", "yes", "on":
			return json.RawMessage("true")
		case "false", "no", "off":
			return json.RawMessage("false")
		}
	}
	return quoted(value)
}

// fits says whether a JSON value is of one of the types.
func fits(v json.RawMessage, types []string) bool {
	for _, typ := range types {
		switch c := v[0]; typ {
		case "string":
			if c == '"' {
				return true
			}
		case "integer":
			if (c == '-' || c >= '0' && c <= '9') && !strings.ContainsAny(string(v), ".eE") {
				return true
			}
		case "number":
			if c == '-' || c >= '0' && c <= '9' {
				return true
			}
		case "boolean":
			if c == 't' || c == 'f' {
				return true
			}
		case "array":
			if c == '[' {
				return true
			}
		case "object":
			if c == '{' {
				return true
			}
		case "null":
			if c == 'n' {
				return true
			}
		}
	}
	return false
}

// value reads the value of an argument whose element is m.
func (s *scanner) value(m mark, key, outer string, t *tool) node {
	return s.node(m, key, frame{outer: outer, tool: t, depth: maxElements})
}
