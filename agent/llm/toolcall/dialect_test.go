package toolcall

import "testing"

// TestDialectOfRepairs: a repaired call names the format in which it was written, and a
// call that needed no repair names none.
func TestDialectOfRepairs(t *testing.T) {
	known := map[string]bool{}
	for _, d := range dialects() {
		known[d.name] = true
	}
	for text, want := range map[string]string{
		`<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>`:              "",
		`<tool_call>{'name': 'read_file', 'arguments': {'path': 'a',}}</tool_call>`:             "hermes, qwen, granite, glm",
		`[TOOL_CALLS][{'name': 'read_file', 'arguments': {'path': 'a',}}]`:                      "mistral",
		"```json\n{'name': 'read_file', 'arguments': {'path': 'a',}}\n```":                      "code fences",
		`{'name': 'read_file', 'arguments': {'path': 'a',}}`:                                    "bare JSON (llama 3)",
		`&lt;tool_call&gt;{'name': 'read_file', 'arguments': {'path': 'a',}}&lt;/tool_call&gt;`: "hermes, qwen, granite, glm",
	} {
		got := newParser(t).Parse(text)
		if len(got.Calls) != 1 || got.Calls[0].Dialect != want || got.Calls[0].Repaired != (want != "") {
			t.Errorf("%s: %+v, want the dialect %q", text, got, want)
		}
		if want != "" && !known[want] {
			t.Errorf("%s is no dialect of the table", want)
		}
	}
}
