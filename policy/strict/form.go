package strict

import (
	"reflect"
	"strings"
)

// typeAt returns the type of the value at a path in a struct, or nil if there is none.
func typeAt(t reflect.Type, path []any) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || len(path) == 0 {
		return t
	}
	name, isKey := path[0].(string)
	switch {
	case !isKey && t.Kind() == reflect.Slice, isKey && t.Kind() == reflect.Map:
		return typeAt(t.Elem(), path[1:])
	case isKey && t.Kind() == reflect.Struct:
		for _, k := range Keys(t) {
			if f, ok := t.FieldByName(k.Field); ok && k.Name == name {
				return typeAt(f.Type, path[1:])
			}
		}
	}
	return nil
}

// formOf returns the notation of a type with its required keys, or "" if it has none.
func formOf(t reflect.Type) string {
	if t != nil && t.Kind() == reflect.Slice {
		if item := formOf(t.Elem()); item != "" {
			return "[" + item + "]"
		}
	}
	if t == nil || t.Kind() != reflect.Struct {
		return ""
	}
	var must []string
	for _, k := range Keys(t) {
		f, _ := t.FieldByName(k.Field)
		value, required := "…", false
		for _, tag := range strings.Split(f.Tag.Get("jsonschema"), ",") {
			required = required || tag == "required"
			if one, ok := strings.CutPrefix(tag, "enum="); ok {
				value = one // the last value is the cautious one
			}
		}
		if required {
			must = append(must, k.Name+": "+value)
		}
	}
	if len(must) == 0 {
		return ""
	}
	return "{" + strings.Join(must, ", ") + "}"
}
