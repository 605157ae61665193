package policy

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"
)

// Schema returns the JSON schema of the configuration, made from [Config]. It
// knows what editors need: keys, types and choices; [ParseConfig] checks more.
func Schema() ([]byte, error) {
	r := jsonschema.Reflector{FieldNameTag: "yaml", ExpandedStruct: true, Anonymous: true, Mapper: scalarSchema, RequiredFromJSONSchemaTags: true}
	s := r.Reflect(&Config{})
	s.Title = "Handrail configuration"
	s.Description = "The file .github/agent.yml, and the limits that a server sets in the same form."
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	return append(out, '\n'), nil
}

// scalarSchema describes the types that are written as one word.
func scalarSchema(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`, Description: "A length of time, such as 90s, 30m or 72h."}
	case reflect.TypeFor[Size]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^[0-9]+ ?([kKmMgG]([iI]?[bB])?|[bB])?$`}, {Type: "integer", Minimum: "0"},
		}, Description: "A number of bytes, such as 512m or 4g."}
	}
	return nil
}
