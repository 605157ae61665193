package mend

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxDepth limits nesting and thus recursion. No tool needs arguments nearly as deep.
const maxDepth = 100

// Results in place of an offset: invalid JSON, or JSON that may be cut off by the end of
// the text.
const (
	invalid  = -1
	cutShort = -2
)

// failed returns the result for an error at offset i.
func failed[T string | []byte](s T, i int) int {
	if i >= len(s) {
		return cutShort
	}
	return invalid
}

// valueEnd returns the offset after the JSON value at i of s. A value that nests too
// deeply is invalid.
func valueEnd[T string | []byte](s T, i, depth int) int {
	i = skipSpace(s, i)
	if i >= len(s) || depth >= maxDepth {
		return failed(s, i)
	}
	switch s[i] {
	case '"':
		return stringEnd(s, i+1)
	case '{', '[':
		return containerEnd(s, i, depth)
	}
	j := i
	for j < len(s) && (isWord(s[j]) || s[j] == '+' || s[j] == '-' || s[j] == '.') {
		j++
	}
	if json.Valid([]byte(s[i:j])) {
		return j
	}
	return failed(s, j)
}

// containerEnd returns the offset after the object or array at i.
func containerEnd[T string | []byte](s T, i, depth int) int {
	object, closer := s[i] == '{', s[i]+2
	if i = skipSpace(s, i+1); i < len(s) && s[i] == closer {
		return i + 1
	}
	for {
		if object {
			if i = skipSpace(s, i); i >= len(s) || s[i] != '"' {
				return failed(s, i)
			}
			if i = stringEnd(s, i+1); i < 0 {
				return i
			}
			if i = skipSpace(s, i); i >= len(s) || s[i] != ':' {
				return failed(s, i)
			}
			i++
		}
		if i = valueEnd(s, i, depth+1); i < 0 {
			return i
		}
		if i = skipSpace(s, i); i >= len(s) || s[i] != ',' && s[i] != closer {
			return failed(s, i)
		}
		i++
		if s[i-1] == closer {
			return i
		}
	}
}

// plainEscape are the bytes that can follow a backslash in JSON, except u.
var plainEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// stringEnd returns the offset after a string; i is the offset after its opening quote.
func stringEnd[T string | []byte](s T, i int) int {
	for ; i < len(s); i++ {
		c := s[i]
		if c != '"' && c != '\\' && c >= 0x20 {
			continue
		}
		if c == '"' {
			return i + 1
		}
		if c < 0x20 {
			return invalid
		}
		if i++; i >= len(s) {
			break
		}
		if s[i] == 'u' {
			n := hexDigits(s, i+1, 4)
			if i += n; n < 4 {
				return failed(s, i+1)
			}
		} else if !plainEscape[s[i]] {
			return invalid
		}
	}
	return cutShort
}

// hexDigits counts the hexadecimal digits at i, up to most.
func hexDigits[T string | []byte](s T, i, most int) int {
	n := 0
	for n < most && i+n < len(s) && isHex(s[i+n]) {
		n++
	}
	return n
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func skipSpace[T string | []byte](s T, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// each walks over the direct members or elements of a valid JSON value.
func each(v []byte, visit func(key string, value []byte)) {
	object := v[0] == '{'
	for i := skipSpace(v, 1); i < len(v)-1; i = skipSpace(v, i+1) {
		key := ""
		if object {
			end := max(i, stringEnd(v, i+1))
			key = unquote(v[i:end])
			i = skipSpace(v, skipSpace(v, end)+1)
		}
		end := valueEnd(v, i, 0)
		if end < 0 {
			return
		}
		visit(key, v[i:end])
		i = skipSpace(v, end) // at the comma or the end
	}
}

// Field is one member of a JSON object.
type Field struct {
	Key   string
	Value json.RawMessage
	many  bool // value is an array of repeated elements
}

// Fields lists the members of a valid JSON object in order; the last of equal keys wins.
// ok is false if obj is not an object.
func Fields(obj []byte) (list []Field, ok bool) {
	obj = bytes.TrimSpace(obj)
	if len(obj) == 0 || obj[0] != '{' {
		return nil, false
	}
	seen := map[string]int{}
	each(obj, func(key string, value []byte) {
		if at, twice := seen[key]; twice {
			list[at].Value = value
			return
		}
		seen[key] = len(list)
		list = append(list, Field{Key: key, Value: value})
	})
	return list, true
}

// Elements lists the elements of a valid JSON array.
func Elements(arr []byte) []json.RawMessage {
	var list []json.RawMessage
	each(arr, func(_ string, value []byte) { list = append(list, value) })
	return list
}

// Find returns the index of a member, or -1.
func Find(list []Field, key string) int {
	return slices.IndexFunc(list, func(f Field) bool { return f.Key == key })
}

// Put adds a member; a repeated key makes the value an array.
func Put(list []Field, f Field) []Field {
	i := Find(list, f.Key)
	if i < 0 {
		return append(list, f)
	}
	old := list[i].Value
	if list[i].many { // the array was allocated here and can grow in place
		list[i].Value = append(append(append(old[:len(old)-1], ','), f.Value...), ']')
		return list
	}
	list[i].Value = append(append(append(append(json.RawMessage{'['}, old...), ','), f.Value...), ']')
	list[i].many = true
	return list
}

func unquote(raw []byte) string {
	if n := len(raw); n > 1 && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : n-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// Text returns the string value of raw.
func Text(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return unquote(raw), true
}

// IsNull reports whether raw is null or missing.
func IsNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// Object encodes members as a JSON object without unnecessary space.
func Object(list []Field) json.RawMessage {
	out := []byte{'{'}
	for i, f := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendQuoted(out, f.Key), ':')
		out = appendCompact(out, f.Value)
	}
	out = append(out, '}')
	if !utf8.Valid(out) {
		return json.RawMessage(strings.ToValidUTF8(string(out), "\uFFFD"))
	}
	return out
}

// appendCompact copies valid JSON without the space between its tokens.
func appendCompact(out, v []byte) []byte {
	for i := 0; i < len(v); {
		i = skipSpace(v, i)
		end := i
		for end < len(v) && strings.IndexByte("\" \n\t\r", v[end]) < 0 {
			end++
		}
		if end < len(v) && v[end] == '"' {
			end = stringEnd(v, end+1)
		}
		out = append(out, v[i:end]...)
		i = end
	}
	return out
}

// Quote encodes s as a JSON string.
func Quote(s string) json.RawMessage { return appendQuoted(nil, s) }

// appendQuoted appends s as a JSON string.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	from := 0
	for i := range len(s) {
		if c := s[i]; c == '"' || c == '\\' || c < 0x20 {
			out = appendByte(append(out, s[from:i]...), c)
			from = i + 1
		}
	}
	return append(append(out, s[from:]...), '"')
}

// appendByte appends one byte of a JSON string, escaped if necessary.
func appendByte(out []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		return append(out, '\\', c)
	case c == '\n':
		return append(out, '\\', 'n')
	case c == '\t':
		return append(out, '\\', 't')
	case c == '\r':
		return append(out, '\\', 'r')
	case c < 0x20:
		return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
	return append(out, c)
}
