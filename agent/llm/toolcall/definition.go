package toolcall

import (
	"encoding/json"
	"strings"
)

// schema is what arguments have to do with the schema of a tool.
type schema int

const (
	noSchema   schema = iota
	definition        // they are one: the model repeats what a tool takes
	filledIn          // they are one with values in the place of types
)

// schemaOf tells arguments from the definition of a tool's arguments, which
// models repeat when they are to explain what they can do. Small ones also
// write their arguments where the definition has the types, inside
// "properties"; those come back.
func schemaOf(args []field, t *tool) ([]field, schema) {
	i, ok := find(args, "properties")
	if !ok || t.has("properties") || args[i].value[0] != '{' {
		return nil, noSchema
	}
	for _, f := range args {
		switch f.key {
		case "type", "properties", "required", "additionalProperties", "$schema", "title", "description":
		default:
			return nil, noSchema
		}
	}
	inner, _ := fields(args[i].value)
	for _, f := range inner {
		if f.value[0] != '{' {
			return inner, filledIn
		}
		if list, _ := fields(f.value); !hasOther(list, []string{"type", "description", "anyOf", "enum", "$ref"}) {
			return inner, filledIn
		}
	}
	return nil, definition
}

// callText says whether a JSON string holds an object.
func callText(v []byte) bool {
	s, _ := text(v)
	s = strings.TrimSpace(s)
	return s == "" || strings.IndexByte("{[\"", s[0]) >= 0
}

// lowerFields evens out the case of the fields that a call has: "Name".
func lowerFields(list []field) {
	for i, f := range list {
		if f.key == "" || f.key[0] < 'A' || f.key[0] > 'Z' {
			continue
		}
		low := strings.ToLower(f.key)
		if !contains(nameFields[:], low) && !contains(argFields[:], low) {
			continue
		}
		if _, ok := find(list, low); !ok {
			list[i].key = low
		}
	}
}

// pairsOf reads arguments that were written as a list of
// {"name": …, "value": …}.
func pairsOf(list []json.RawMessage) ([]field, bool) {
	var out []field
	for _, e := range list {
		in, ok := fields(e)
		if !ok || len(in) != 2 {
			return nil, false
		}
		at, named := find(in, "name")
		if !named {
			at, named = find(in, "key")
		}
		value, valued := find(in, "value")
		if !named || !valued {
			return nil, false
		}
		key, ok := text(in[at].value)
		if !ok {
			return nil, false
		}
		out = append(out, field{key: key, value: in[value].value})
	}
	return out, true
}
