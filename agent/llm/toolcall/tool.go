package toolcall

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/mend"
)

// tool is the parser's knowledge of a callable tool; nil is an unknown one.
type tool struct {
	order    []string            // properties, the required ones first
	required int                 // number of required properties in order
	types    map[string][]string // types by property; nil if the schema does not specify them
}

func newTool(schema json.RawMessage) *tool {
	t := &tool{types: map[string][]string{}}
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return t
	}
	t.order, t.required = append(t.order, s.Required...), len(s.Required)
	props, _ := mend.Fields(s.Properties)
	for _, p := range props {
		t.types[p.Key] = typesOf(p.Value)
		if !slices.Contains(s.Required, p.Key) {
			t.order = append(t.order, p.Key)
		}
	}
	return t
}

// typesOf lists the JSON types that a schema allows; empty if it does not specify them.
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
	if one, ok := mend.Text(s.Type); ok && one != "" {
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
		if e[0] == '"' && !slices.Contains(many, "string") {
			many = append(many, "string")
		}
	}
	return many
}

// has reports whether the tool has an argument of that name.
func (t *tool) has(name string) bool {
	if t == nil {
		return false
	}
	_, ok := t.types[name]
	return ok
}

// only returns the required argument if there is exactly one.
func (t *tool) only() (string, bool) {
	if t == nil || t.required != 1 {
		return "", false
	}
	return t.order[0], true
}

// lacks reports whether a required argument is missing.
func (t *tool) lacks(args []mend.Field) bool {
	return t != nil && slices.ContainsFunc(t.order[:t.required], func(key string) bool { return mend.Find(args, key) < 0 })
}

// typesOf returns the JSON types of an argument; empty if they are unknown.
func (t *tool) typesOf(key string) []string {
	if t == nil {
		return nil
	}
	return t.types[key]
}

// typed converts text to JSON of the type in the schema. A value that does not fit stays
// text, so that the tool reports the error.
func (t *tool) typed(key, value string) json.RawMessage {
	types, trimmed := t.typesOf(key), strings.TrimSpace(value)
	if len(types) == 0 || trimmed == "" ||
		slices.Contains(types, "string") && (len(types) == 1 || strings.IndexByte("[{", trimmed[0]) < 0) {
		return mend.Quote(value)
	}
	for s, n := trimmed, 0; n < 2; n++ {
		in := mend.Read(s, 0, nil)
		if !in.OK || in.Next != len(s) || in.Open > 0 {
			break
		}
		if fits(in.JSON, types) {
			return in.JSON
		}
		inner, ok := mend.Text(in.JSON)
		if !ok || slices.Contains(types, "string") {
			break
		}
		s = inner
	}
	if slices.Contains(types, "boolean") {
		switch strings.ToLower(trimmed) {
		case "true", "yes", "on":
			return json.RawMessage("true")
		case "false", "no", "off":
			return json.RawMessage("false")
		}
	}
	return mend.Quote(value)
}

// fits reports whether a JSON value has one of the types.
func fits(v json.RawMessage, types []string) bool {
	kind := ""
	switch v[0] {
	case '"':
		kind = "string"
	case 't', 'f':
		kind = "boolean"
	case '[':
		kind = "array"
	case '{':
		kind = "object"
	case 'n':
		kind = "null"
	default:
		kind = "number"
		if !strings.ContainsAny(string(v), ".eE") && slices.Contains(types, "integer") {
			return true
		}
	}
	return slices.Contains(types, kind)
}

// pathKey reports whether arguments of that name are always paths.
func pathKey(key string) bool { return named(key, pathKeys[:]) }

var pathKeys = [...]string{"path", "file", "files", "filepath", "filename"}

// textKeys are arguments that are always text, regardless of their content.
var textKeys = [...]string{
	"content", "contents", "code", "codeedit", "text", "filetext", "oldstring", "newstring", "oldstr", "newstr",
	"oldtext", "newtext", "search", "replace", "replacement", "command", "message", "result", "regex", "pattern",
	"query", "question", "patch", "thought",
}

func textKey(key string) bool { return named(key, textKeys[:]) }

// keepsBlanks reports whether the indentation of an argument is significant.
func keepsBlanks(key string) bool { return textKey(key) && key != "command" || sameFolded(key, "diff") }

// trimLines removes one line break at either end, which belongs to the markup.
func trimLines(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// trimValue removes the white space that belongs to the markup: a line break at either
// end, and for values on one line all surrounding white space. Text for files keeps its
// indentation.
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
