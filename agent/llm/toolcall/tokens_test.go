package toolcall

import (
	"strings"
	"testing"
)

// Control tokens that a model wrote behind the name of a tool, or before it, are no part
// of it: natively and in every form of text.
func TestControlTokensAtNames(t *testing.T) {
	p := newParser(t)
	for _, name := range []string{
		"read_file<|channel|>commentary", "read_file<|channel|>json", "functions.read_file<|channel|>analysis", "read_file<|message|>", "read_file <|constrain|>json",
		"read_file<｜tool▁sep｜>", "read_file<¦|channel|>commentary", "read_file</tool_call>", "read_file[ARGS]", "<|channel|>commentary to=functions.read_file",
		"assistant<|channel|>commentary to=functions.read_file<|constrain|>json", "<|start|>read_file", "ReadFile<|end|>", "read_file:0<|tool_call_argument_begin|>",
	} {
		if got, ok := p.Canonical(name); got != "read_file" || !ok {
			t.Errorf("%q is taken for %q", name, got)
		}
	}
	for _, name := range []string{"<|channel|>", "<|x", "", "[TOOL_", "nothing<|channel|>commentary"} {
		if got, ok := p.Canonical(name); ok || strings.Contains(got, "commentary") {
			t.Errorf("%q is taken for %q", name, got)
		}
	}
	const args = `{"path": "a.go"}`
	for _, text := range []string{
		`<tool_call>{"name": "read_file<|channel|>commentary", "arguments": ` + args + `}</tool_call>`,
		`{"name": "read_file<|channel|>commentary", "arguments": ` + args + `}`,
		"```json\n{\"name\": \"functions.read_file<|channel|>json\", \"arguments\": " + args + "}\n```",
		`<tool_call>read_file<|channel|>commentary` + "\n" + args + `</tool_call>`,
		`<function=read_file<|channel|>commentary><parameter=path>a.go</parameter></function>`,
		`<invoke name="read_file<|channel|>commentary"><parameter name="path">a.go</parameter></invoke>`,
		`[TOOL_CALLS]read_file<|channel|>commentary[ARGS]` + args,
		`[TOOL_CALLS][{"name": "read_file<|channel|>commentary", "arguments": ` + args + `}]`,
		"Action: read_file<|channel|>commentary\nAction Input: " + args,
		`<|start|>assistant<|channel|>commentary to=functions.read_file<|channel|>commentary <|constrain|>json<|message|>` + args + `<|call|>`,
		`<tool_call><tool_name>read_file<|channel|>commentary</tool_name><parameters><path>a.go</path></parameters></tool_call>`,
		`<|tool_call_begin|>functions.read_file<|channel|>commentary:0<|tool_call_argument_begin|>` + args + `<|tool_call_end|>`,
	} {
		got := p.Parse(text)
		if len(got.Calls) != 1 || got.Calls[0].Name != "read_file" || !strings.Contains(string(got.Calls[0].Arguments), `"a.go"`) || len(got.Errors) > 0 {
			t.Errorf("%s\nis %+v", text, got)
		}
		checkPrefixes(t, p, text)
	}
}
