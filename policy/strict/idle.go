package strict

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Idle returns the keys of a file that are valid but have no effect: those without a
// value, and those with a 0 or an empty text that counts as unset and keeps the default.
// of is a value of the type that the file was read into.
func (d *Document) Idle(of any) Faults {
	if d == nil || d.root == nil {
		return nil
	}
	var out Faults
	idle(d.root, reflect.TypeOf(of), nil, &out)
	return out
}

func idle(n *yaml.Node, t reflect.Type, path []any, out *Faults) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, item := range n.Content {
			idle(item, t.Elem(), append(path[:len(path):len(path)], i), out)
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		fields := map[string]reflect.StructField{}
		for _, k := range Keys(t) {
			fields[k.Name], _ = t.FieldByName(k.Field)
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			f, ok := fields[key.Value]
			if !ok {
				continue
			}
			below := append(path[:len(path):len(path)], key.Value)
			if text := idleMessage(value, f); text != "" {
				one := At(text, below...)
				one.Line, one.Column = key.Line, key.Column
				*out = append(*out, one)
				continue
			}
			idle(value, f.Type, below, out)
		}
	}
}

// idleMessage returns a message if a value has no effect, or "".
func idleMessage(n *yaml.Node, f reflect.StructField) string {
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	if n.Tag == "!!null" {
		return "has no value and does nothing; give it one, or take it out"
	}
	v := reflect.New(f.Type)
	if f.Type.Kind() == reflect.Pointer || n.Decode(v.Interface()) != nil || !v.Elem().IsZero() {
		return ""
	}
	if is := Default(f); is != "" {
		return n.Value + " counts as not set, which means " + is + "; give it another value, or take it out"
	}
	return ""
}

// Default returns the default in a field's tag, or "".
func Default(f reflect.StructField) string {
	for _, part := range strings.Split(f.Tag.Get("jsonschema"), ",") {
		if is, ok := strings.CutPrefix(part, "default="); ok {
			return is
		}
	}
	return ""
}
