package speech

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/mend"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// editors are tools of other programs with one command argument for reading, writing
// and editing.
var editors = [...]string{"str_replace_editor", "str_replace_based_edit_tool"}

// Foreign returns the foreign tools that models call even if not offered.
func Foreign() (out []llm.ToolSpec) {
	for _, name := range editors {
		out = append(out, llm.ToolSpec{Name: name, Parameters: json.RawMessage(`{"properties":{"command":{"type":"string"},"path":{"type":"string"},"file_text":{"type":"string"},` +
			`"old_str":{"type":"string"},"new_str":{"type":"string"},"insert_line":{"type":"integer"},"insert_text":{"type":"string"},"view_range":{"type":"array"}},"required":["command","path"]}`)})
	}
	return out
}

// editorCommands maps the commands of editors to the equivalent tool here and the
// arguments that it accepts.
var editorCommands = map[string][]string{
	"view": {"view_file", "path", "view_range"}, "create": {"create_file", "path", "file_text"},
	"str_replace": {
		"str_replace",
		"path",
		"old_str",
		"new_str",
	}, "insert": {"insert_content", "path", "insert_line", "new_str", "insert_text"},
}

// translate translates a call of another program's tool into one of Handrail's.
func (s *Stream) translate(c session.Call) session.Call {
	fields, _ := mend.Fields(c.Arguments)
	shell, _ := s.Parser.Canonical("bash")
	if _, known := s.Parser.Canonical(c.Name); !known && s.Means != nil { //control:meant-tool
		if name := s.Means(c.Name, c.Arguments); name != "" {
			c.Name = name
		}
	}
	switch {
	case slices.Contains(editors[:], strings.ToLower(c.Name)):
		at := mend.Find(fields, "command")
		if at < 0 {
			return c
		}
		word, _ := mend.Text(fields[at].Value)
		does := editorCommands[word]
		if does == nil {
			return c
		}
		if name, ok := s.Parser.Canonical(does[0]); ok {
			c.Name, c.Arguments = name, editorArguments(fields, word, does[1:])
		}
	case c.Name == shell:
		if diff, ok := shellPatch(fields); ok {
			if name, ok := s.Parser.Canonical("apply_patch"); ok {
				c.Name, c.Arguments = name, mend.Object([]mend.Field{{Key: "diff", Value: mend.Quote(diff)}})
			}
		}
	}
	return c
}

// editorArguments translates the arguments of an editor command. Editors insert after
// a line, insert_content before one. A range that ends at -1 extends to the end.
func editorArguments(fields []mend.Field, word string, keys []string) json.RawMessage {
	var out []mend.Field
	for _, f := range fields {
		if !slices.Contains(keys, f.Key) || mend.IsNull(f.Value) || f.Key == "insert_text" && mend.Find(out, "new_str") >= 0 {
			continue
		}
		switch f.Key {
		case "insert_line":
			var n int
			if json.Unmarshal([]byte(strings.Trim(string(f.Value), `"`)), &n) == nil {
				f = mend.Field{Key: "line", Value: fmt.Append(nil, n+1)}
			}
		case "view_range":
			var r []int
			if json.Unmarshal(f.Value, &r) == nil && len(r) == 2 && r[1] < 0 {
				f = mend.Field{Key: "start_line", Value: fmt.Append(nil, max(r[0], 1))}
			}
		}
		out = append(out, f)
	}
	if word == "str_replace" && mend.Find(out, "new_str") < 0 {
		out = append(out, mend.Field{Key: "new_str", Value: mend.Quote("")})
	}
	return mend.Object(out)
}

// patchLine matches a command that only passes a patch to apply_patch: as a
// here-document, as an argument, or in a shell of its own.
var patchLine = pattern.Lazy(
	`(?s)^(?:(?:ba|z|da)?sh -l?c )?(['"]?)apply_patch\s+(?:<<-?\s*['"]?(\w+)['"]?\n)?(['"]?)(\*\*\* Begin Patch\n.*\n\*\*\* End Patch)\s*(['"]?)\s*(\w*)\s*(['"]?)$`,
)

// shellPatch returns the patch that a command passes to apply_patch. Commands that
// change the directory or do more are left to the shell.
func shellPatch(fields []mend.Field) (string, bool) {
	line := ""
	for _, f := range fields {
		text, isText := mend.Text(f.Value)
		var argv []string
		switch {
		case json.Unmarshal(f.Value, &argv) == nil && line == "":
			line = strings.Join(argv, " ")
		case isText && strings.Contains(text, "apply_patch"):
			line = text
		case strings.Contains(f.Key, "dir") || f.Key == "cwd":
			if text != "" && text != "." {
				return "", false
			}
		}
	}
	m := patchLine().FindStringSubmatch(strings.TrimSpace(line))
	if m == nil || m[1] != m[7] || m[2] != m[6] || m[3] != m[5] {
		return "", false
	}
	quotes := m[1] + m[3]
	if quotes != "" && strings.ContainsAny(m[4], quotes) ||
		strings.Contains(quotes, `"`) && strings.ContainsAny(m[4], "$`\\") {
		return "", false // the shell would change the patch
	}
	return m[4], true
}
