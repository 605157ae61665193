package toolcall

import (
	"encoding/json"
	"strings"
	"testing"
)

// cutForms write one file in the form of each family. Each is cut off at every
// byte.
var cutForms = map[string]string{
	"hermes":            "I write it.\n<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"src/a.go\", \"content\": \"package a\\n\\n// \\\"é\\\"\\n\"}}\n</tool_call>",
	"arguments first":   `<tool_call>{"arguments": {"content": "package a\n", "path": "src/a.go"}, "name": "write_file"}</tool_call>`,
	"arguments string":  `<tool_call>{"name": "write_file", "arguments": "{\"path\": \"src/a.go\", \"content\": \"package a\\n\\n// x\\n\"}"}</tool_call>`,
	"qwen coder":        "<tool_call>\n<function=write_file>\n<parameter=path>\nsrc/a.go\n</parameter>\n<parameter=content>\npackage a\n\nvar x = 1 < 2\n</parameter>\n</function>\n</tool_call>",
	"mistral":           `[TOOL_CALLS][{"name": "write_file", "arguments": {"path": "src/a.go", "content": "package a\n"}}]`,
	"mistral ARGS":      `[TOOL_CALLS]write_file[ARGS]{"path": "src/a.go", "content": "package a\n"}`,
	"python tag":        `<|python_tag|>{"name": "write_file", "parameters": {"path": "src/a.go", "content": "package a\n"}}<|eom_id|>`,
	"bare":              `{"name": "write_file", "parameters": {"path": "src/a.go", "content": "package a\n"}}`,
	"bare list":         `[{"name": "write_file", "arguments": {"path": "src/a.go", "content": "package a\n"}}]`,
	"pythonic":          `[write_file(path="src/a.go", content="package a\n\n// (x)\n")]`,
	"function tag":      `<function=write_file>{"path": "src/a.go", "content": "package a\n"}</function>`,
	"deepseek 3":        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>write_file\n```json\n{\"path\": \"src/a.go\", \"content\": \"package a\\n\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	"deepseek 3.1":      `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_file<｜tool▁sep｜>{"path": "src/a.go", "content": "package a\n"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
	"glm":               "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>src/a.go</arg_value>\n<arg_key>content</arg_key>\n<arg_value>package a\n\nvar x int</arg_value>\n</tool_call>",
	"kimi":              `<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>{"path": "src/a.go", "content": "package a\n"}<|tool_call_end|><|tool_calls_section_end|>`,
	"tool_code":         "```tool_code\nwrite_file(path=\"src/a.go\", content=\"\"\"package a\n\nvar x = \"y\"\n\"\"\")\n```",
	"phi":               `<|tool_call|>[{"name": "write_file", "arguments": {"path": "src/a.go", "content": "package a\n"}}]<|/tool_call|>`,
	"functools":         `functools[{"name": "write_file", "arguments": {"path": "src/a.go", "content": "package a\n"}}]`,
	"harmony":           `<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>{"path": "src/a.go", "content": "package a\n"}<|call|>`,
	"harmony, stripped": `commentary to=functions.write_file json{"path": "src/a.go", "content": "package a\n"}`,
	"command r":         "<|START_ACTION|>[\n  {\"tool_call_id\": \"0\", \"tool_name\": \"write_file\", \"parameters\": {\"path\": \"src/a.go\", \"content\": \"package a\\n\"}}\n]<|END_ACTION|>",
	"react":             "Thought: write.\nAction: write_file\nAction Input: {\"path\": \"src/a.go\", \"content\": \"package a\\n\"}",
	"functionary":       ">>>write_file\n{\"path\": \"src/a.go\", \"content\": \"package a\\n\"}",
	"name and object":   "write_file\n{\"path\": \"src/a.go\", \"content\": \"package a\\n\"}",
	"invoke":            "<function_calls>\n<invoke name=\"write_file\">\n<parameter name=\"path\">src/a.go</parameter>\n<parameter name=\"content\">package a\n\nvar x = 1 < 2\n</parameter>\n</invoke>\n</function_calls>",
	"elements":          "<write_file>\n<path>src/a.go</path>\n<content>\npackage a\n\nvar x = 1 < 2\n</content>\n</write_file>",
	"CDATA":             "<write_file><path>src/a.go</path><content><![CDATA[package a\n\n</content>\n]]></content></write_file>",
	"json fence":        "I write it.\n\n```json\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"src/a.go\", \"content\": \"package a\\n\"}}\n```",
	"function gemma":    "<start_function_call>call:write_file{path:<escape>src/a.go<escape>,content:<escape>package a\n<escape>}<end_function_call>",
	"lines of keys":     "<tool_call>\nname: write_file\narguments: {\"path\": \"src/a.go\", \"content\": \"package a\\n\"}\n</tool_call>",
	"joined strings":    "<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"src/a.go\", \"content\": \"package a\\n\" +\n\"var x int\\n\"}}</tool_call>",
	"smart quotes":      `<tool_call>{“name”: “write_file”, “arguments”: {“path”: “src/a.go”, “content”: “package a”}}</tool_call>`,
}

// TestCutOff: a call that was cut off anywhere is truncated or whole, never a
// shorter one that passes for whole, and holds nothing that was not written.
func TestCutOff(t *testing.T) {
	p := newParser(t)
	for name, form := range cutForms {
		t.Run(name, func(t *testing.T) {
			whole := p.Parse(form)
			if len(whole.Calls) != 1 || len(whole.Errors) > 0 || whole.Calls[0].Truncated {
				t.Fatalf("the whole call is not understood: %+v", whole)
			}
			want := members(t, whole.Calls[0].Arguments)
			for n := range form {
				got := p.Parse(form[:n])
				for _, c := range got.Calls {
					checkCut(t, form[:n], c, want)
				}
			}
		})
	}
}

func checkCut(t *testing.T, text string, c Call, want map[string]string) {
	t.Helper()
	if c.Name != "write_file" {
		t.Errorf("%q: a call of %q", text, c.Name)
	}
	have := members(t, c.Arguments)
	for key, value := range have {
		full, ok := want[key]
		if !ok || !strings.HasPrefix(full, value) && strings.TrimSpace(value) != strings.TrimSpace(full) {
			t.Errorf("%q: %s = %q was never written", text, key, value)
		}
		if !c.Truncated && strings.TrimSpace(value) != strings.TrimSpace(full) {
			t.Errorf("%q: %s = %q is cut, and the call is not truncated", text, key, value)
		}
	}
	if !c.Truncated && len(have) != len(want) {
		t.Errorf("%q: %v is not all of it, and the call is not truncated", text, have)
	}
}

// members are the members of an object, strings without their quotes.
func members(t *testing.T, args json.RawMessage) map[string]string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(args, &m); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	out := map[string]string{}
	for k, v := range m {
		s, ok := v.(string)
		if !ok {
			t.Errorf("%s is %v, not the text that was written", k, v)
		}
		out[k] = s
	}
	return out
}

// TestLineEnds: a text with CRLF for line breaks gives the same calls.
func TestLineEnds(t *testing.T) {
	p := newParser(t)
	even := strings.NewReplacer(`\r\n`, `\n`, `\r`, ``)
	for _, c := range readCases(t, allCases) {
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			got := p.Parse(strings.ReplaceAll(c.input, "\n", "\r\n"))
			var lines []string
			for _, call := range got.Calls {
				lines = append(lines, strings.TrimSuffix(even.Replace(call.line()), " repaired"))
			}
			for i, want := range c.calls {
				if i >= len(lines) || lines[i] != strings.TrimSuffix(even.Replace(want), " repaired") {
					t.Errorf("call %d is not %s but %s", i+1, want, strings.Join(lines, "; "))
				}
			}
			if len(lines) != len(c.calls) || len(got.Errors) != len(c.errors) {
				t.Errorf("calls %q, errors %q; want %q, %q", lines, got.Errors, c.calls, c.errors)
			}
			if text := strings.ReplaceAll(got.Text, "\r", ""); text != c.text {
				t.Errorf("text %q, want %q", text, c.text)
			}
		})
	}
}
