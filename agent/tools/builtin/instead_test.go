package builtin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
)

// A name that every model has seen elsewhere is understood where the arguments fit.
func TestMeans(t *testing.T) {
	r := toolstest.Open(t, nil).Tools
	for _, tt := range []struct{ name, args, want string }{
		{"modify_file", `{"path":"a","old_string":"x","new_string":"y"}`, "edit_file"}, {"fileEditor.replace", `{"file_path":"a","old_str":"x","new_str":"y"}`, "edit_file"},
		{"make_new_file", `{"filename":"a","contents":"x"}`, "write_file"}, {"update_source_file", `{"path":"a","content":"x"}`, "write_file"}, {"open_document", `{"file":"a"}`, "read_file"},
		{"run_python_script", `{"command":"python a.py"}`, "run_terminal_command"}, {"update_plan", `{"plan":["a","b"]}`, "update_todo_list"}, {"give_final_answer", `{"answer":"x"}`, "attempt_completion"},
		{"print_file", `{"path":"a","colour":"red"}`, ""}, {"open_url", `{"uri":"x"}`, ""}, {"git_show", `{"path":"a"}`, ""}, {"slug", `{"text":"x"}`, ""}, {"run_tests", `{}`, ""}, {"create_directory", `{"path":"a"}`, ""},
	} {
		if got := r.Means(tt.name, json.RawMessage(tt.args)); got != tt.want {
			t.Errorf("%s %s means %q, want %q", tt.name, tt.args, got, tt.want)
		}
	}
	for name, want := range map[string]string{"create": "write_file", "execute": "run_terminal_command", "ls": "list_files", "cat": "read_file", "view": "read_file", "open": "read_file",
		"edit": "edit_file", "find": "find_files", "grep": "search_workspace", "done": "attempt_completion", "finish": "attempt_completion", "submit": "attempt_completion", "shell": "run_terminal_command"} {
		if got := r.Canonical(name); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
}

// In the place of a tool that does not exist the right one is named, with a call to copy.
func TestInstead(t *testing.T) {
	b := toolstest.Open(t, nil)
	known, err := tools.NewRegistry(builtin.Tools(tools.Config{Files: b.WS, Search: b.WS, Shell: b.WS, Changes: b.WS, Tests: []string{"go test ./..."}})...)
	if err != nil {
		t.Fatal(err)
	}
	all := tools.Names(tools.ForModel(known.Specs()))
	reads := []string{"read_file", "search_workspace", "list_files", "attempt_completion"}
	for _, tt := range []struct {
		name, args string
		offered    []string
		want       string
	}{
		{"run_tests", `{}`, all, `run by a command: {"name":"run_terminal_command","arguments":{"command":"go test ./..."}}`},
		{"test", `{}`, all, `{"command":"go test ./..."}`}, {"test", `{}`, reads, `The tools that you need are: read_file, search_workspace, list_files, attempt_completion.`},
		{"git_commit", `{"message":"x"}`, all, `commits and pushes what you change by itself: do not commit. When the change is made, finish: {"name":"attempt_completion"`},
		{"git.push", `{}`, reads, `commits and pushes`}, {"git_diff", `{}`, all, `{"command":"git diff"}`},
		{"create_directory", `{"path":"a"}`, all, `write_file makes the directories of a new file: `}, {"npm", `{"args":["test"]}`, all, `{"command":"npm"}`},
		{"modify_file", `{"path":"a.go"}`, all, `Do you mean this? {"name":"edit_file","arguments":{"path":"a.go","old_string":"old text","new_string":"new text"}}`},
		{"rread_fille", `{"path":"a.go"}`, all, `Do you mean this? {"name":"read_file","arguments":{"path":"a.go"`},
		{"slug", `{"text":"x"}`, all, `The tools that you need are: read_file, write_file, edit_file, list_files, search_workspace, run_terminal_command, attempt_completion, report_finding.`},
		{"", `nonsense`, reads, `There is no tool "". The tools`},
	} {
		got := known.Instead(tt.name, json.RawMessage(tt.args), tt.offered)
		if !strings.Contains(got, tt.want) || strings.Count(got, ",") > 20 {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
	if got := b.Tools.Instead("run_tests", nil, all); !strings.Contains(got, `{"command":"COMMAND"}`) {
		t.Errorf("where nobody knows how tests run: %s", got)
	}
}

// No text that models are told of a tool, or copy from, names a file that is not there.
func TestExamplesNameNoFile(t *testing.T) {
	b := toolstest.Open(t, nil)
	for _, spec := range b.Tools.Specs() {
		_, err := b.Tool(spec.Name).Intent(t.Context(), toolstest.Call(spec.Name, `{"no_such_argument":1}`))
		text := spec.Description + string(spec.Parameters) + err.Error()
		for _, bad := range []string{"src/", "main.go", "README", ".txt", "hello", "foo"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s speaks of %s: %s", spec.Name, bad, text)
			}
		}
	}
}
