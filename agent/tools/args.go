package tools

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// Args are the arguments of one call, by canonical name.
type Args struct {
	sheet  *Sheet
	Values map[string]json.RawMessage
	as     map[string]string // canonical name → the model's spelling
	Call   string            // id of the call
	Merged *session.Merged   // see [session.Call]
}

// Has reports whether an argument was given.
func (a Args) Has(name string) bool {
	_, ok := a.Values[name]
	return ok
}

// Text returns a string, "" if absent. A number or a boolean is returned as written,
// a list of strings as lines.
func (a Args) Text(name string) (string, error) {
	raw, ok := a.Values[name]
	if !ok {
		return "", nil
	}
	switch raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", a.WrongType(name, "a string")
		}
		return s, nil
	case '[':
		var lines []string
		if json.Unmarshal(raw, &lines) == nil {
			return strings.Join(lines, "\n"), nil
		}
		return "", a.WrongType(name, "a string")
	case '{':
		return "", a.WrongType(name, "a string")
	}
	return string(raw), nil
}

// Need returns a string that must not be blank.
func (a Args) Need(name string) (string, error) {
	s, err := a.Text(name)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(s) == "" {
		return "", a.sheet.wrong(a.Values, "argument %q is empty", name)
	}
	return s, nil
}

// Number returns a whole number, or def if absent or blank.
func (a Args) Number(name string, def int) (int, error) {
	raw, ok := a.Values[name]
	if !ok {
		return def, nil
	}
	s := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &s); err != nil {
			return 0, a.WrongType(name, "a whole number")
		}
		if s = strings.TrimSpace(s); s == "" {
			return def, nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1e9 {
		return 0, a.WrongType(name, "a whole number")
	}
	return int(f), nil
}

// Flag returns a boolean, or def if absent or blank.
func (a Args) Flag(name string, def bool) (bool, error) {
	raw, ok := a.Values[name]
	if !ok {
		return def, nil
	}
	switch strings.ToLower(strings.Trim(string(raw), "\" \t")) {
	case "":
		return def, nil
	case "true", "yes", "y", "on", "1":
		return true, nil
	case "false", "no", "n", "off", "0", "none":
		return false, nil
	}
	return false, a.WrongType(name, "true or false")
}

// Items returns the elements of a list. A list in a string is parsed; a single value
// is a list of one.
func (a Args) Items(name string) []json.RawMessage {
	raw, ok := a.Values[name]
	if !ok {
		return nil
	}
	return Elements(raw)
}

// Elements returns the elements of a list, or a list of one for any other value.
func Elements(raw json.RawMessage) []json.RawMessage {
	raw = Unwrap(raw)
	var list []json.RawMessage
	if len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil {
		return list
	}
	return []json.RawMessage{raw}
}

// Unwrap returns the JSON inside a string that holds an array or an object, or else
// raw itself.
func Unwrap(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return raw
	}
	s = strings.TrimSpace(s)
	if (strings.HasPrefix(s, "[") || strings.HasPrefix(s, "{")) && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return raw
}

// Fields returns the members of a JSON object by folded key. It returns false for any
// other value.
func Fields(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	raw = Unwrap(raw)
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
		return nil, false
	}
	out := make(map[string]json.RawMessage, len(m))
	for k, v := range m {
		out[FoldKey(k)] = bytes.TrimSpace(v)
	}
	return out, true
}

// Pick returns the first of names whose value in m is a string or a number.
func Pick(m map[string]json.RawMessage, names ...string) (string, bool) {
	for _, n := range names {
		raw, ok := m[FoldKey(n)]
		if !ok || len(raw) == 0 {
			continue
		}
		if s, ok := Plain(raw); ok {
			return s, true
		}
	}
	return "", false
}

// Plain returns a JSON string or number as text.
func Plain(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "", false
	}
	switch c := raw[0]; {
	case c == '"':
		var s string
		return s, json.Unmarshal(raw, &s) == nil
	case c == '-' || c >= '0' && c <= '9':
		return string(raw), true
	}
	return "", false
}

// WrongType returns the error for an argument whose form is not want.
func (a Args) WrongType(name, want string) error {
	return a.sheet.wrong(a.Values, "argument %q must be %s, not %s", name, want, Shorten(string(a.Values[name]), 60))
}

// Wrong returns an error about the call, with a correct call to copy.
func (a Args) Wrong(format string, values ...any) error {
	return a.sheet.wrong(a.Values, format, values...)
}

// Spelled returns the model's spelling of an argument name.
func (a Args) Spelled(name string) string { return a.as[name] }
