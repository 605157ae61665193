package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// toolShapes lists the accepted formats of a file with tools.
const toolShapes = `expected an array of names, of {"name","description","parameters"}, of {"type":"function","function":{…}} as in a request to a model, or of {"name","inputSchema"} as a server of tools lists them; or an object with such an array as "tools"`

// specEntry is a tool in any of the formats of models, servers and libraries.
type specEntry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Function    *specEntry      `json:"function"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Snake       json.RawMessage `json:"input_schema"`
}

// ReadTools reads a list of tools in any of the formats of models, servers and libraries.
// An error lists these formats.
func ReadTools(data []byte) ([]ToolSpec, error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(data) > 0 && data[0] == '{' {
		var around struct {
			Tools     json.RawMessage `json:"tools"`
			Functions json.RawMessage `json:"functions"`
			Result    struct {
				Tools json.RawMessage `json:"tools"`
			} `json:"result"` // response to tools/list
		}
		if err := json.Unmarshal(data, &around); err != nil {
			return nil, fmt.Errorf("%w (%s)", err, toolShapes)
		}
		data = nil
		for _, list := range []json.RawMessage{around.Tools, around.Functions, around.Result.Tools} {
			if data == nil {
				data = list
			}
		}
		if data == nil {
			return nil, fmt.Errorf("the object has no \"tools\" (%s)", toolShapes)
		}
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%w (%s)", err, toolShapes)
	}
	specs := make([]ToolSpec, 0, len(list))
	seen := map[string]bool{}
	for i, raw := range list {
		spec, err := toolSpec(raw)
		if err != nil {
			return nil, fmt.Errorf("tool %d: %w (%s)", i+1, err, toolShapes)
		}
		if seen[spec.Name] {
			return nil, fmt.Errorf("tool %d: %q is there twice", i+1, spec.Name)
		}
		seen[spec.Name] = true
		specs = append(specs, spec)
	}
	return specs, nil
}

func toolSpec(raw json.RawMessage) (ToolSpec, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil && name != "" {
		return ToolSpec{Name: name}, nil
	}
	if len(raw) == 0 || raw[0] != '{' {
		return ToolSpec{}, fmt.Errorf("%.60s is neither a name nor an object", raw)
	}
	var e specEntry
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &e); errors.As(err, &wrong) {
		return ToolSpec{}, fmt.Errorf("%q is a %s", wrong.Field, wrong.Value) // the original error names internal types
	} else if err != nil {
		return ToolSpec{}, err
	}
	if e.Function != nil {
		e = *e.Function
	}
	if e.Name == "" {
		return ToolSpec{}, fmt.Errorf("a tool has no name: %.60s", raw)
	}
	schema := e.Parameters
	for _, s := range []json.RawMessage{e.InputSchema, e.Snake} {
		if schema == nil {
			schema = s
		}
	}
	return ToolSpec{Name: e.Name, Description: e.Description, Parameters: schema}, nil
}
