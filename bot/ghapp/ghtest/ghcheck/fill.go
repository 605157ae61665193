package ghcheck

import (
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

type object = map[string]any

// placeholderBase is the base of generated placeholder URLs.
const placeholderBase = "https://github.test/"

// fill adds missing required fields, as the description defines them. GitHub's answers
// have about two hundred required fields that are never read.
func fill(schema *openapi3.Schema, v any) any {
	if schema == nil {
		return v
	}
	switch v := v.(type) {
	case object:
		fillObject(schema, v)
		return v
	case []object:
		if schema.Items != nil {
			for i := range v {
				fill(schema.Items.Value, v[i])
			}
		}
		if v == nil {
			return []object{}
		}
		return v
	}
	return v
}

func fillObject(schema *openapi3.Schema, v object) {
	if v == nil {
		return
	}
	for _, part := range schema.AllOf {
		fillObject(part.Value, v)
	}
	// With several alternatives, the handler has chosen one.
	if alts := slices.Concat(schema.OneOf, schema.AnyOf); len(schema.Properties) == 0 && len(alts) == 1 {
		fillObject(alts[0].Value, v)
	}
	for name, ref := range schema.Properties {
		if old, ok := v[name]; ok {
			if old != nil {
				v[name] = fill(ref.Value, old)
			}
		} else if slices.Contains(schema.Required, name) {
			v[name] = placeholder(ref.Value, name)
		}
	}
}

// placeholder returns a valid placeholder for an unset field.
func placeholder(schema *openapi3.Schema, name string) any {
	if schema.Nullable {
		return nil
	}
	if len(schema.Enum) > 0 {
		return schema.Enum[0]
	}
	switch {
	case schema.Type.Is("string"):
		if schema.Format == "date-time" {
			return "2026-01-01T00:00:00Z"
		}
		if schema.Format == "uri" || strings.HasSuffix(name, "url") {
			return placeholderBase + strings.TrimSuffix(name, "_url")
		}
		return ""
	case schema.Type.Is("integer"), schema.Type.Is("number"):
		return 0
	case schema.Type.Is("boolean"):
		return false
	case schema.Type.Is("array"):
		return []any{}
	}
	return fill(schema, object{})
}
