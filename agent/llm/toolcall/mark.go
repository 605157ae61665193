package toolcall

import (
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// maxMark exceeds the length of any mark, maxTag that of any tag with attributes.
const (
	maxMark = 64
	maxTag  = 4096
)

// mark is a tag, a token or a bracketed word of markup.
type mark struct {
	name    string // normalized, "" if there is no mark
	tag     string // name of a tag as written
	raw     string // tag with its DSML prefix
	value   string // value in <function=value>
	attrs   string // attributes of a tag, unparsed
	next    int    // offset after it
	selfEnd bool   // <name/>
	growing bool   // cut off by the end of the text
}

// opening reports whether m is an opening tag.
func (m mark) opening() bool { return m.tag != "" && m.name[1] != '/' }

// word returns the name of an opening tag in lower case.
func (m mark) word() string { return m.name[1 : len(m.name)-1] }

// closedBy reports whether c closes m. Separators in the name are ignored: </readfile>
// closes <read_file>.
func (m mark) closedBy(c mark) bool {
	name, ok := strings.CutPrefix(c.name, "</")
	return ok && sameFolded(name, m.name[1:])
}

// lexMark reads the mark at s[i:].
func lexMark(s string, i int) mark {
	if i >= len(s) {
		return mark{growing: true}
	}
	switch s[i] {
	case '<':
		if i+1 < len(s) && !startsMark(s[i+1]) {
			return mark{}
		}
		if bar := barAt(s, i+1); bar > 0 && dsmlAt(s, i+1) == 0 {
			return lexToken(s, i, i+1+bar)
		}
		return lexTag(s, i)
	case '[':
		return lexBracket(s, i)
	}
	return mark{}
}

// startsMark reports whether c can follow the < of a tag or token.
func startsMark(c byte) bool { return letter(c) || c == '/' || c == '|' || c == 0xef }

func letter(c byte) bool { return isWord(c) && (c < '0' || c > '9') }

// barAt returns the length of the bar at i, which is | or its full-width form.
func barAt(s string, i int) int {
	switch {
	case i >= len(s):
	case s[i] == '|':
		return 1
	case strings.HasPrefix(s[i:], "｜"):
		return len("｜")
	}
	return 0
}

// dsmlAt returns the length of the prefix of DeepSeek's own tags at i.
func dsmlAt(s string, i int) int {
	if bar := barAt(s, i); bar > 0 && strings.HasPrefix(s[i+bar:], "DSML"+s[i:i+bar]) {
		return 2*bar + len("DSML")
	}
	return 0
}

// tokenBytes normalizes the characters in a token's name.
var tokenBytes = strings.NewReplacer("▁", "_", " ", "_", `\_`, "_")

// lexToken reads <|name|>, <｜name｜> or <|name>; from is the offset of the name.
func lexToken(s string, i, from int) mark {
	end := from
	for end < len(s) && end-i < maxMark && s[end] != '>' && s[end] != '\n' && s[end] != '<' {
		end++
	}
	closed := end < len(s) && s[end] == '>'
	if closed && from == i+2 && end > from && s[end-1] == '|' && isPlain(s[from:end-1]) {
		return mark{name: s[i : end+1], next: end + 1}
	}
	name := tokenBytes.Replace(s[from:end])
	if closed {
		name = strings.TrimSuffix(strings.TrimSuffix(name, "|"), "｜")
	} else {
		name = strings.TrimRightFunc(name, func(r rune) bool { // possibly cut off within one of them
			return r == '\\' || r == '|' || r == '｜' || r == utf8.RuneError
		})
	}
	for k := range len(name) {
		if c := name[k]; !isWord(c) && c != '/' && c != '-' {
			return mark{}
		}
	}
	if !closed {
		return mark{growing: end == len(s) && end-i < maxMark}
	}
	return mark{name: "<|" + strings.ToLower(name) + "|>", next: end + 1}
}

// isPlain reports whether a name is written as in the table of dialects.
func isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return name != ""
}

// lexBracket reads [NAME] and [/NAME] in capitals.
func lexBracket(s string, i int) mark {
	for j := i + 1; j < len(s) && j-i < maxMark; j++ {
		c := s[j]
		if c == ']' && j > i+1 {
			return mark{name: s[i : j+1], next: j + 1}
		}
		if (c < 'A' || c > 'Z') && c != '_' && (c != '/' || j != i+1) {
			return mark{}
		}
	}
	return mark{growing: len(s)-i < maxMark}
}

// lexTag reads <name>, </name>, <name/>, <name key="value"> and <name=value>. A namespace
// before the name is dropped.
func lexTag(s string, i int) mark {
	j := i + 1
	prefix := "<"
	if j < len(s) && s[j] == '/' {
		prefix = "</"
		j++
	}
	whole := j
	j += dsmlAt(s, j)
	start := j
	for j < len(s) && j-start < maxMark && (isWord(s[j]) || strings.IndexByte("-.:", s[j]) >= 0) {
		j++
	}
	if j == len(s) {
		return mark{growing: j-start < maxMark}
	}
	if j == start || !letter(s[start]) {
		return mark{growing: strings.HasPrefix(prefix+"｜DSML｜", s[i:])}
	}
	m := mark{tag: s[start:j], raw: s[whole:j]}
	local := m.tag
	if _, rest, _ := strings.Cut(local, ":"); rest != "" {
		local = rest
	}
	if s[j] == '>' && isPlain(s[i+len(prefix):j]) {
		m.name, m.next = s[i:j+1], j+1
		return m
	}
	m.name = prefix + strings.ToLower(local) + ">"
	if s[j:] == "|" {
		return mark{growing: true}
	}
	if strings.HasPrefix(s[j:], "|>") { // <tool_call|>
		m.name, m.next = "</"+m.name[len(prefix):], j+2
		return m
	}
	if s[j] == '=' {
		return lexValueTag(s, j, m)
	}
	return lexAttrs(s, j, m)
}

// lexValueTag reads the rest of <function=name>.
func lexValueTag(s string, j int, m mark) mark {
	for k := j + 1; k < len(s) && k-j < 256; k++ {
		switch s[k] {
		case '>':
			m.value = strings.TrimSpace(s[j+1 : k])
			if at := strings.IndexByte(m.value, ' '); at > 0 && strings.IndexByte(m.value, '=') > at { // attributes follow
				m.value = m.value[:at]
			}
			m.value = strings.Trim(m.value, "\"'")
			m.next = k + 1
			return m
		case '<':
			end := strings.IndexByte(s[k:min(len(s), k+maxMark)], '>')
			if barAt(s, k+1) == 0 || end < 0 {
				return mark{growing: k+1 == len(s) || barAt(s, k+1) > 0 && len(s)-k < maxMark}
			}
			k += end // a token after the name
		case '\n', '{':
			return mark{}
		}
	}
	return mark{growing: len(s)-j < 256}
}

// lexAttrs reads the rest of a tag.
func lexAttrs(s string, j int, m mark) mark {
	if strings.IndexByte(">/ \n\t\r", s[j]) < 0 {
		return mark{}
	}
	quote := byte(0)
	for k := j; k < len(s) && k-j < maxTag; k++ {
		c := s[k]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && s[k-1] == '=':
			quote = c
		case c == '>':
			body, selfEnd := strings.CutSuffix(s[j:k], "/")
			m.selfEnd, m.attrs, m.next = selfEnd, strings.TrimSpace(body), k+1
			return m
		case c == '<':
			return mark{}
		}
	}
	return mark{growing: len(s)-j < maxTag}
}

// attributes reads key="value", key='value' and key=value.
func attributes(s string) []mend.Field {
	var list []mend.Field
	for {
		key, rest, ok := strings.Cut(s, "=")
		if !ok {
			return list
		}
		key = strings.TrimSpace(key)
		key = key[strings.LastIndexAny(key, " \t\n\r")+1:]
		s = strings.TrimLeft(rest, " \t\r\n")
		value := s
		if s != "" && (s[0] == '"' || s[0] == '\'') {
			if value, s, ok = strings.Cut(s[1:], s[:1]); !ok {
				return list
			}
		} else if end := strings.IndexAny(s, " \t\r\n"); end >= 0 {
			value, s = s[:end], s[end:]
		} else {
			s = ""
		}
		if key != "" {
			list = append(list, mend.Field{Key: key, Value: mend.Quote(unescapeHTML(value))})
		}
	}
}

// entities are the HTML entities for characters of markup.
var entities = strings.NewReplacer(
	"&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#34;", `"`, "&#39;", "'", "&apos;", "'", "&#x27;", "'",
	"&amp;", "&", "&#60;", "<", "&#62;", ">",
)

func unescapeHTML(s string) string {
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	return entities.Replace(s)
}

// role is the function of a mark.
type role int

const (
	noMark role = iota
	opens
	closes
	inside
)

// marks maps the marks of all dialects to their roles. It implements [mend.Marks].
type marks map[string]role

// At reports whether there is a mark of any dialect at s[i:].
func (m marks) At(s string, i int) bool {
	if strings.HasPrefix(s[i:], "```") {
		return true
	}
	l := lexMark(s, i)
	return m[l.name] != noMark || strings.HasPrefix(l.name, "</")
}

// Cut reports whether s ends within a mark that begins at i.
func (m marks) Cut(s string, i int) bool { return lexMark(s, i).growing }

// Trailing returns the offset of the closing marks at the end of s, or -1.
func (m marks) Trailing(s string) int {
	at := -1
	for {
		s = strings.TrimRight(s, " \t\r\n")
		i := -1
		switch {
		case strings.HasSuffix(s, "```"):
			i = len(s) - 3
		case strings.HasSuffix(s, ">"):
			i = strings.LastIndexByte(s, '<')
		case strings.HasSuffix(s, "]"):
			i = strings.LastIndexByte(s, '[')
		}
		if i < 0 || len(s)-i > maxMark || s[i] != '`' && m[lexMark(s, i).name] != closes {
			return at
		}
		at, s = i, s[:i]
	}
}

// Closing returns the offset of the first closing mark at or after from, or -1. If to is
// not negative, a call must begin after the mark and before to.
func (m marks) Closing(s string, from, to int) int {
	end := to
	if to < 0 {
		end = len(s)
	}
	for i := from; i < end; i++ {
		if s[i] != '<' && s[i] != '[' {
			continue
		}
		l := lexMark(s, i)
		if m[l.name] != closes {
			continue
		}
		if next := skipSpace(s[:min(len(s), l.next+maxMark)], l.next); to < 0 ||
			next < to && m[lexMark(s, next).name] == opens {
			return i
		}
	}
	return -1
}
