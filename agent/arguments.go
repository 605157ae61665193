package agent

import "encoding/json"

// argument reads the first string argument of a call that goes by one of the
// names; "" when there is none.
func argument(raw json.RawMessage, names ...string) string {
	var args map[string]any
	if json.Unmarshal(raw, &args) != nil {
		return ""
	}
	for _, n := range names {
		if s, ok := args[n].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

func pathArgument(raw json.RawMessage) string {
	return argument(raw, "path", "file", "filePath", "file_path")
}

// pathArguments reads all files that a call names.
func pathArguments(raw json.RawMessage) []string {
	var args struct {
		Files []struct {
			Path string `json:"path"`
		} `json:"files"`
	}
	if json.Unmarshal(raw, &args) == nil && len(args.Files) > 0 {
		var out []string
		for _, f := range args.Files {
			if f.Path != "" {
				out = append(out, f.Path)
			}
		}
		return out
	}
	if p := pathArgument(raw); p != "" {
		return []string{p}
	}
	return nil
}
