package agent

import (
	"encoding/json"
	"strings"
)

// inspectedArgs holds the arguments that the session itself inspects. The rest is not decoded
// because it may contain whole files.
type inspectedArgs struct {
	Path     json.RawMessage `json:"path"`
	File     json.RawMessage `json:"file"`
	Camel    json.RawMessage `json:"filePath"`
	Snake    json.RawMessage `json:"file_path"`
	Command  json.RawMessage `json:"command"`
	Cmd      json.RawMessage `json:"cmd"`
	Commands json.RawMessage `json:"commands"`
	Files    []struct {
		Path string `json:"path"`
	} `json:"files"`
}

// readNamed decodes arguments of any shape.
func readNamed(raw json.RawMessage) inspectedArgs {
	var n inspectedArgs
	if json.Unmarshal(raw, &n) != nil {
		n.Files = nil // the other fields stay valid
	}
	return n
}

// firstString returns the first non-empty string in list.
func firstString(list ...json.RawMessage) string {
	for _, raw := range list {
		var s string
		if len(raw) > 0 && json.Unmarshal(raw, &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

func (n inspectedArgs) path() string { return firstString(n.Path, n.File, n.Camel, n.Snake) }

// command returns the command line of a call. A list is a program with its arguments.
func (n inspectedArgs) command() string {
	for _, raw := range []json.RawMessage{n.Command, n.Cmd, n.Commands} {
		var argv []string
		if json.Unmarshal(raw, &argv) == nil && len(argv) > 0 {
			return strings.Join(argv, " ")
		}
	}
	return firstString(n.Command, n.Cmd, n.Commands)
}

// paths returns all files that a call names.
func (n inspectedArgs) paths() []string {
	var out []string
	for _, f := range n.Files {
		if f.Path != "" {
			out = append(out, f.Path)
		}
	}
	if p := n.path(); p != "" && len(out) == 0 {
		out = append(out, p)
	}
	return out
}

func pathArgument(raw json.RawMessage) string { return readNamed(raw).path() }
