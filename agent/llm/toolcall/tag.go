package toolcall

import (
	"strings"
	"unicode/utf8"
)

// maxTag bounds a tag with its attributes.
const maxTag = 4096

// lexTag reads <name>, </name>, <name/>, <name key="value"> and <name=value>.
// A namespace before the name is dropped.
func lexTag(s string, i int) mark {
	j := i + 1
	var m mark
	prefix := "<"
	if j < len(s) && s[j] == '/' {
		prefix = "</"
		j++
	}
	whole := j
	if n, ok := dsmlPrefix(s, j); ok {
		j += n
	}
	start := j
	for j < len(s) && j-start < maxMark && (isWord(s[j]) || strings.IndexByte("-.:", s[j]) >= 0) {
		j++
	}
	if j == len(s) {
		return mark{growing: j-start < maxMark}
	}
	if j == start || !letter(s[start]) {
		return mark{growing: prefix == "<" && strings.HasPrefix("<｜DSML｜", s[i:])}
	}
	m.tag, m.raw = s[start:j], s[whole:j]
	m.name = prefix + strings.ToLower(localName(m.tag)) + ">"
	if s[j] == '|' && j+1 < len(s) && s[j+1] == '>' { // <tool_call|>
		m.name, m.next = "</"+m.name[len(prefix):], j+2
		return m
	}
	if s[j] == '=' {
		return lexValueTag(s, j, m)
	}
	return lexAttrs(s, j, m)
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// localName drops a namespace, and what follows a second colon is kept.
func localName(s string) string {
	if i := strings.IndexByte(s, ':'); i >= 0 && i+1 < len(s) {
		return s[i+1:]
	}
	return s
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
		case '\n', '<', '{':
			return mark{}
		}
	}
	return mark{growing: len(s)-j < 256}
}

// lexAttrs reads the rest of a tag.
func lexAttrs(s string, j int, m mark) mark {
	if c := s[j]; c != '>' && c != '/' && c != ' ' && c != '\n' && c != '\t' && c != '\r' {
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
			body := s[j:k]
			if strings.HasSuffix(body, "/") {
				m.selfEnd, body = true, body[:len(body)-1]
			}
			m.attrs, m.next = strings.TrimSpace(body), k+1
			return m
		case c == '<':
			return mark{}
		}
	}
	return mark{growing: len(s)-j < maxTag}
}

// attributes reads key="value", key='value' and key=value.
func attributes(s string) []field {
	var list []field
	for s != "" {
		i := strings.IndexByte(s, '=')
		if i < 0 {
			break
		}
		key := strings.TrimSpace(s[:i])
		if sp := strings.LastIndexAny(key, " \t\n\r"); sp >= 0 {
			key = key[sp+1:]
		}
		s = strings.TrimLeft(s[i+1:], " \t\r\n")
		var value string
		if s != "" && (s[0] == '"' || s[0] == '\'') {
			end := strings.IndexByte(s[1:], s[0])
			if end < 0 {
				break
			}
			value, s = s[1:1+end], s[end+2:]
		} else {
			end := strings.IndexAny(s, " \t\r\n")
			if end < 0 {
				end = len(s)
			}
			value, s = s[:end], s[end:]
		}
		if key != "" {
			list = append(list, field{key: key, value: quoted(unescapeHTML(value))})
		}
	}
	return list
}

// entities are the HTML entities that stand for markup.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#34;", `"`, "&#39;", "'", "&apos;", "'", "&#x27;", "'", "&amp;", "&", "&#60;", "<", "&#62;", ">")

func unescapeHTML(s string) string {
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	return entities.Replace(s)
}

// lastRune says whether s ends with a whole rune.
func lastRune(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return r != utf8.RuneError || n != 1
}
