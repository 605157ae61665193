package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"reflect"

	"github.com/invopop/jsonschema"
)

// Words describes a type that is written as one word: a pattern or the list of values, a
// description, and whether a non-negative integer is also allowed. Switch is the key of a
// switch beside the word, which is the name then; "" if there is none.
type Words struct {
	Pattern, Means string
	OneOf          []string
	Number         bool
	Switch         string
}

// Schema returns the JSON schema of a configuration, derived from its struct. It covers
// the needs of editors: keys, types and choices. [Read] and later checks are stricter.
func Schema(of any, title, about string, words map[reflect.Type]Words) ([]byte, error) {
	r := jsonschema.Reflector{
		FieldNameTag:               "yaml",
		ExpandedStruct:             true,
		Anonymous:                  true,
		RequiredFromJSONSchemaTags: true,
	}
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		w, ok := words[t]
		switch {
		case !ok:
			return nil
		case w.Switch != "":
			word, keys := &jsonschema.Schema{Type: "string", Pattern: w.Pattern}, jsonschema.NewProperties()
			keys.Set("name", word)
			keys.Set(w.Switch, &jsonschema.Schema{Type: "boolean"})
			return &jsonschema.Schema{
				OneOf: []*jsonschema.Schema{word, {
					Type:                 "object",
					Properties:           keys,
					Required:             []string{"name"},
					AdditionalProperties: jsonschema.FalseSchema,
				}},
				Description: w.Means,
			}
		case w.Number:
			return &jsonschema.Schema{
				OneOf:       []*jsonschema.Schema{{Type: "string", Pattern: w.Pattern}, {Type: "integer", Minimum: "0"}},
				Description: w.Means,
			}
		}
		s := &jsonschema.Schema{Type: "string", Pattern: w.Pattern, Description: w.Means}
		for _, value := range w.OneOf {
			s.Enum = append(s.Enum, value)
		}
		return s
	}
	r.Namer = func(t reflect.Type) string { // packages may have types of the same name
		if t.PkgPath() == "" {
			return ""
		}
		return path.Base(t.PkgPath()) + "." + t.Name()
	}
	s := r.Reflect(of)
	s.Title, s.Description = title, about
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	return out.Bytes(), nil
}
