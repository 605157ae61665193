package policy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v4"
)

// Document is a YAML file that was read with [LoadStrict]. It knows the lines
// of its keys.
type Document struct{ root *yaml.Node }

// LoadStrict reads one YAML document into the struct that into points to, as
// strictly as [ParseConfig] reads a repository's configuration: an unknown
// key, a value of the wrong type, a tag, a merge key or a second document is
// an error that names the line and, for a slip of the keyboard, what was
// probably meant. An empty document changes nothing.
func LoadStrict(data []byte, into any) (*Document, error) {
	if len(data) > maxConfig {
		return nil, fmt.Errorf("the file has %d bytes, at most %d are read", len(data), maxConfig)
	}
	root, err := singleDocument(data)
	if err != nil || root == nil {
		return &Document{}, err
	}
	t := reflect.TypeOf(into).Elem()
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return &Document{}, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: expected keys and values, such as `model: qwen3:8b`", root.Line)
	}
	if err := checkNode(root, t, 0); err != nil {
		return nil, err
	}
	if err := yaml.Load(data, into, yaml.WithKnownFields()); err != nil {
		return nil, plainYAML(err)
	}
	return &Document{root: root}, nil
}

// Locate returns an error of [Config.Validate] with the line of its key in front.
// under is the path to the configuration in the document.
func (d *Document) Locate(err error, under ...string) error {
	if d == nil || d.root == nil || err == nil {
		return err
	}
	n := d.root
	for _, key := range under {
		if n = child(n, key); n == nil {
			return err
		}
	}
	return withLine(n, err)
}

// plainStruct returns a message of the decoder without the name of a struct, which
// means nothing to a person who writes a configuration.
func plainStruct(message string) string {
	return regexp.MustCompile(`(into|a list of) [a-z]+\.[A-Z]?[a-zA-Z]+$`).ReplaceAllStringFunc(message, func(m string) string {
		if strings.HasPrefix(m, "into") {
			return "as keys and values"
		}
		return "a list of keys and values"
	})
}

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
