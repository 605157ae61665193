package toolcall

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
)

func newForms(t testing.TB) *Parser {
	return newParser(t).Forms([]llm.ToolSpec{{Name: "str_replace_editor", Parameters: json.RawMessage(`{"properties":{"command":{"type":"string"},"path":{"type":"string"},"old_str":{},"new_str":{}},"required":["command","path"]}`)}},
		func(string, string) bool { return true })
}

// What other programs take for calls is one where nothing else can be meant, also
// while it grows.
func TestForms(t *testing.T) {
	p := newForms(t)
	cases := readCases(t, filepath.Join("testdata", "forms"))
	if *update {
		writeCases(t, p, cases, "forms")
		return
	}
	none := newParser(t).Forms(nil, func(string, string) bool { return false })
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			checkCase(t, p, c)
			checkPrefixes(t, p, c.input)
			for _, call := range none.Parse(c.input).Calls { // a mode without these tools
				if call.Name == "apply_diff" || call.Name == "run_terminal_command" {
					t.Errorf("a tool that cannot be called is: %s", call.line())
				}
			}
		})
	}
}

// What is no call without the forms is none with them: prose, quotations, examples,
// fences in an explanation.
func TestFormsLeaveCasesAlone(t *testing.T) {
	plain, p := newParser(t), newForms(t)
	for _, c := range readCases(t, allCases) {
		if diff := cmp.Diff(plain.Parse(c.input), p.Parse(c.input)); diff != "" {
			t.Errorf("%s/%s: (-without +with)\n%s", c.file, c.name, diff)
		}
		checkPrefixes(t, p, c.input)
	}
}

// A form that stands in an answer for people is still known, so that the model can be
// told how to send it.
func TestGuess(t *testing.T) {
	p := newParser(t)
	for text, want := range map[string]string{
		"To run the tests, use:\n\n```bash\ngo test ./...\n```\nThat is all.":    `run_terminal_command {"command":"go test ./..."}`,
		"<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE":                         `apply_diff {"path":"NAME OF THE FILE",`,
		"Apply it:\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nand go.": `apply_diff {"diff":"*** Begin Patch`,
		"Nothing has to change.": "",
	} {
		got := ""
		if c, ok := p.Guess(text); ok {
			got = c.line()
		}
		if !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%q is guessed as %q, want %q", text, got, want)
		}
	}
}
