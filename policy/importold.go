package policy

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/handrail-bot/handrail/policy/strict"
)

// ImportSensitiveFilePatterns reads a list of {pattern, value} as stored by editor
// extensions, in JSON or YAML, alone or under the key sensitiveFilePatterns. There, the
// boolean means "safe to approve automatically", so true becomes auto and false becomes
// required. The mapping form {"glob": bool} is also accepted, in its order.
func ImportSensitiveFilePatterns(data []byte) ([]SensitiveFile, error) {
	root, err := strict.Single(data)
	if err != nil {
		return nil, fmt.Errorf("import sensitive file patterns: %w", err)
	}
	if root != nil && root.Kind == yaml.MappingNode {
		if inner := strict.Child(root, "sensitiveFilePatterns"); inner != nil {
			root = inner
		}
	}
	var out []SensitiveFile
	switch {
	case root == nil:
	case root.Kind == yaml.SequenceNode:
		for _, item := range root.Content {
			s, err := importEntry(item, strict.Child(item, "pattern"), strict.Child(item, "value"))
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	case root.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(root.Content); i += 2 {
			s, err := importEntry(root, root.Content[i], root.Content[i+1])
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	default:
		return nil, fmt.Errorf("import sensitive file patterns: line %d: a list of {pattern, value} is needed", root.Line)
	}
	return out, Config{SensitiveFiles: out}.Validate()
}

func importEntry(at, pattern, value *yaml.Node) (SensitiveFile, error) {
	var safe bool
	if pattern == nil || value == nil || pattern.Kind != yaml.ScalarNode ||
		json.Unmarshal([]byte(value.Value), &safe) != nil ||
		value.Tag != "!!bool" {
		return SensitiveFile{}, fmt.Errorf(
			"import sensitive file patterns: line %d: an entry needs a pattern and a value that is true (safe) or false (sensitive)",
			at.Line,
		)
	}
	approve := "required"
	if safe {
		approve = "auto"
	}
	return SensitiveFile{Pattern: pattern.Value, Approve: approve}, nil
}
