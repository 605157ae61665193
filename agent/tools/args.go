package tools

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// args are the arguments of one call by their canonical names.
type args struct {
	sheet  *sheet
	values map[string]json.RawMessage
	as     map[string]string // how the model spelled the name
}

func (a args) has(name string) bool {
	_, ok := a.values[name]
	return ok
}

// text returns a string, "" when absent. A number or a boolean is taken as
// it is written, a list of strings as lines.
func (a args) text(name string) (string, error) {
	raw, ok := a.values[name]
	if !ok {
		return "", nil
	}
	switch raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", a.wrongType(name, "a string")
		}
		return s, nil
	case '[':
		var lines []string
		if json.Unmarshal(raw, &lines) == nil {
			return strings.Join(lines, "\n"), nil
		}
		return "", a.wrongType(name, "a string")
	case '{':
		return "", a.wrongType(name, "a string")
	}
	return string(raw), nil
}

// need returns a string that must not be blank.
func (a args) need(name string) (string, error) {
	s, err := a.text(name)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(s) == "" {
		return "", a.sheet.wrong("argument %q is empty", name)
	}
	return s, nil
}

// number returns a whole number, or def when absent or blank.
func (a args) number(name string, def int) (int, error) {
	raw, ok := a.values[name]
	if !ok {
		return def, nil
	}
	s := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &s); err != nil {
			return 0, a.wrongType(name, "a whole number")
		}
		if s = strings.TrimSpace(s); s == "" {
			return def, nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1e9 {
		return 0, a.wrongType(name, "a whole number")
	}
	return int(f), nil
}

// flag returns a boolean, or def when absent or blank.
func (a args) flag(name string, def bool) (bool, error) {
	raw, ok := a.values[name]
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
	return false, a.wrongType(name, "true or false")
}

// items returns the elements of a list. A list written as a string is read;
// a single value is a list of one.
func (a args) items(name string) []json.RawMessage {
	raw, ok := a.values[name]
	if !ok {
		return nil
	}
	return elements(raw)
}

func elements(raw json.RawMessage) []json.RawMessage {
	raw = unwrapString(raw)
	var list []json.RawMessage
	if len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil {
		return list
	}
	return []json.RawMessage{raw}
}

// unwrapString returns the JSON inside a string that holds an array or an
// object, else raw itself.
func unwrapString(raw json.RawMessage) json.RawMessage {
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

// fields reads a JSON object with folded keys; ok is false for anything else.
func fields(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	raw = unwrapString(raw)
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
		return nil, false
	}
	out := make(map[string]json.RawMessage, len(m))
	for k, v := range m {
		out[foldKey(k)] = bytes.TrimSpace(v)
	}
	return out, true
}

// pick returns the first of names that is a string (or a number) in m.
func pick(m map[string]json.RawMessage, names ...string) (string, bool) {
	for _, n := range names {
		raw, ok := m[foldKey(n)]
		if !ok || len(raw) == 0 {
			continue
		}
		if s, ok := plain(raw); ok {
			return s, true
		}
	}
	return "", false
}

// plain reads a JSON string or number as text.
func plain(raw json.RawMessage) (string, bool) {
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

func (a args) wrongType(name, want string) error {
	given := string(a.values[name])
	if len(given) > 60 {
		given = given[:60] + "…"
	}
	return a.sheet.wrong("argument %q must be %s, not %s", name, want, given)
}
