package toolcall

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// field is one member of a JSON object.
type field struct {
	key   string
	value json.RawMessage
	many  bool // value is an array that repeated elements grew
}

// fields lists the members of a valid JSON object in their order; of equal
// keys the last value counts. ok is false for anything but an object.
func fields(obj []byte) (list []field, ok bool) {
	obj = bytes.TrimSpace(obj)
	if len(obj) == 0 || obj[0] != '{' {
		return nil, false
	}
	seen := map[string]int{}
	each(obj, func(key string, value []byte) {
		if at, twice := seen[key]; twice {
			list[at].value = value
			return
		}
		seen[key] = len(list)
		list = append(list, field{key: key, value: value})
	})
	return list, true
}

// elements lists the elements of a valid JSON array.
func elements(arr []byte) []json.RawMessage {
	var list []json.RawMessage
	each(arr, func(_ string, value []byte) { list = append(list, value) })
	return list
}

// each walks over the direct members or elements of a valid JSON value.
func each(v []byte, visit func(key string, value []byte)) {
	i := skipJSONSpace(v, 0)
	object := v[i] == '{'
	i = skipJSONSpace(v, i+1)
	for i < len(v) && v[i] != '}' && v[i] != ']' {
		if v[i] == ',' {
			i = skipJSONSpace(v, i+1)
			continue
		}
		key := ""
		if object {
			end := skipValue(v, i)
			key = unquote(v[i:end])
			i = skipJSONSpace(v, skipJSONSpace(v, end)+1)
		}
		end := skipValue(v, i)
		visit(key, v[i:end])
		i = skipJSONSpace(v, end)
	}
}

func skipJSONSpace(v []byte, i int) int {
	for i < len(v) && (v[i] == ' ' || v[i] == '\n' || v[i] == '\t' || v[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the value at i of valid JSON.
func skipValue(v []byte, i int) int {
	depth := 0
	for i < len(v) {
		switch v[i] {
		case '"':
			for i++; i < len(v) && v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
		if depth < 0 {
			return i
		}
		i++
		if depth == 0 && (v[i-1] == '"' || v[i-1] == '}' || v[i-1] == ']') {
			return i
		}
	}
	return min(i, len(v))
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

// text returns the string that raw is.
func text(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return unquote(raw), true
}

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// object writes members as a JSON object without needless space.
func object(list []field) json.RawMessage {
	out := []byte{'{'}
	for i, f := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendQuoted(out, f.key), ':')
		out = appendCompact(out, f.value)
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
		switch v[i] {
		case ' ', '\n', '\t', '\r':
			i++
		case '"':
			end := skipValue(v, i)
			out = append(out, v[i:end]...)
			i = end
		default:
			out = append(out, v[i])
			i++
		}
	}
	return out
}

func quoted(s string) json.RawMessage { return appendQuoted(nil, s) }

// tool is what the parser knows of a tool that can be called.
type tool struct {
	name     string
	order    []string            // properties, required ones first
	required int                 // how many of order are required
	types    map[string][]string // by property; nil when the schema does not say
	items    map[string][]string // types of an array's elements
}

func newTool(name string, schema json.RawMessage) *tool {
	t := &tool{name: name, types: map[string][]string{}, items: map[string][]string{}}
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return t
	}
	t.order, t.required = append(t.order, s.Required...), len(s.Required)
	if len(s.Properties) == 0 {
		return t
	}
	props, _ := fields(s.Properties)
	for _, p := range props {
		t.types[p.key] = typesOf(p.value)
		var in struct {
			Items json.RawMessage `json:"items"`
		}
		if json.Unmarshal(p.value, &in) == nil && len(in.Items) > 0 {
			t.items[p.key] = typesOf(in.Items)
		}
		if !contains(s.Required, p.key) {
			t.order = append(t.order, p.key)
		}
	}
	return t
}

// typesOf lists the JSON types that a schema allows; none when it does not
// say.
func typesOf(schema json.RawMessage) []string {
	var s struct {
		Type  json.RawMessage   `json:"type"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
		Enum  []json.RawMessage `json:"enum"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var one string
	if json.Unmarshal(s.Type, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(s.Type, &many) == nil && len(many) > 0 {
		return many
	}
	for _, alt := range append(s.AnyOf, s.OneOf...) {
		many = append(many, typesOf(alt)...)
	}
	for _, e := range s.Enum {
		if _, ok := text(e); ok && !contains(many, "string") {
			many = append(many, "string")
		}
	}
	return many
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// has says whether the tool takes an argument of that name.
func (t *tool) has(name string) bool {
	if t == nil {
		return false
	}
	_, ok := t.types[name]
	return ok
}

// only returns the one argument that the tool cannot do without, if there is
// exactly one.
func (t *tool) only() (string, bool) {
	if t == nil || t.required != 1 {
		return "", false
	}
	return t.order[0], true
}
