package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// noLoader refuses references outside of a schema.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema may refer only to itself") //control:mcp-local-references
}

// compile compiles a schema. References outside of it fail.
func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("tool.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("tool.json")
}

// CheckArguments returns the fault of a tool's arguments in words for the model, or "".
func CheckArguments(schema, arguments json.RawMessage) string {
	s, err := compile(schema)
	if err != nil {
		return "the schema of this tool cannot be used"
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return "the arguments are not JSON"
	}
	var bad *jsonschema.ValidationError
	if err := s.Validate(v); errors.As(err, &bad) {
		return strings.Join(causes(bad), "; ")
	} else if err != nil {
		return err.Error()
	}
	return ""
}

// maxCauses is the maximum number of faults to name.
const maxCauses = 4

func causes(e *jsonschema.ValidationError) (out []string) {
	if len(e.Causes) == 0 {
		at := strings.Join(e.InstanceLocation, ".")
		return []string{
			strings.TrimPrefix(
				fmt.Sprintf("%s: %s", at, e.ErrorKind.LocalizedString(message.NewPrinter(language.English))),
				": ",
			),
		}
	}
	for _, c := range e.Causes {
		for _, one := range causes(c) {
			if !slices.Contains(out, one) && len(out) < maxCauses {
				out = append(out, one)
			}
		}
	}
	return out
}

// Sample returns arguments with the required members of a schema, to copy.
func Sample(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Type    any
			Enum    []any
			Default any
		}
		Required []string
	}
	if json.Unmarshal(schema, &s) != nil {
		return "{}"
	}
	slices.Sort(s.Required)
	out := map[string]any{}
	for _, name := range s.Required {
		p := s.Properties[name]
		switch t, _ := p.Type.(string); {
		case p.Default != nil:
			out[name] = p.Default
		case len(p.Enum) > 0:
			out[name] = p.Enum[0]
		case t == "integer", t == "number":
			out[name] = 1
		case t == "boolean":
			out[name] = true
		case t == "array":
			out[name] = []any{}
		case t == "object":
			out[name] = map[string]any{}
		default:
			out[name] = "TEXT"
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return "{}"
	}
	return cmp.Or(string(data), "{}")
}
