package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

func TestUpdateTodoList(t *testing.T) {
	want := []session.Todo{{Text: "Read it", Status: "done"}, {Text: "Fix it", Status: "doing"}, {Text: "Test it", Status: "pending"}}
	for name, args := range map[string]string{
		"lines":            arguments("todos", "[x] Read it\n[-] Fix it\n[ ] Test it"),
		"bullets":          arguments("todos", "- [x] Read it\n- [-] Fix it\n* [ ] Test it\n"),
		"numbers":          arguments("todo_list", "# Plan\n1. [X] Read it\n2. [~] Fix it\n3. Test it\n"),
		"list of lines":    arguments("items", []string{"[x] Read it", "[-] Fix it", "Test it"}),
		"objects":          `{"todos":[{"content":"Read it","status":"completed"},{"text":"Fix it","status":"in_progress"},{"title":"Test it"}]}`,
		"objects, done":    `{"todos":[{"task":"Read it","done":true},{"task":"Fix it","status":"in-progress"},{"task":"Test it","done":false}]}`,
		"string of a list": arguments("todos", `[{"content":"Read it","status":"done"},{"content":"Fix it","status":"doing"},{"content":"Test it","status":"pending"}]`),
		"nested":           `{"todos":{"todos":["[x] Read it","[-] Fix it","[ ] Test it"]}}`,
		"signs":            arguments("todos", "✅ Read it\n[>] Fix it\n☐ Test it"),
	} {
		t.Run(name, func(t *testing.T) {
			action, res := open(t, nil).do("update_todo_list", args)
			if res.State == nil || !cmp.Equal(res.State.Todo, want) {
				t.Errorf("list is %+v", res.State)
			}
			if action.Kind != policy.Converse {
				t.Errorf("kind is %v", action.Kind)
			}
			contains(t, res.Content, "1 of 3 done", "[x] Read it\n[-] Fix it\n[ ] Test it\n")
		})
	}
	b := open(t, nil)
	b.fails("update_todo_list", `{}`, `missing argument "todos"`)
	b.fails("update_todo_list", `{"todos":""}`, "no entries")
	b.fails("update_todo_list", `{"todos":[{"status":"done"}]}`, "needs a text")
}

func TestConversation(t *testing.T) {
	b := open(t, nil)
	action, res := b.do("attempt_completion", `{"result":"Done it."}`)
	if !res.Complete || res.Content != "Done it." || action.Kind != policy.Converse {
		t.Errorf("completion is %+v, %+v", action, res)
	}
	b.fails("attempt_completion", `{"result":" "}`, `"result" is empty`)
	for _, choices := range []string{`["A","B"]`, `"- A\n- B"`, `[{"text":"A"},{"answer":"B"}]`, `"<suggest>A</suggest>\n<suggest mode=\"code\">B</suggest>"`, `"[\"A\",\"B\"]"`} {
		_, res = b.do("ask_followup_question", `{"question":"Which?","follow_up":`+choices+`}`)
		want := &session.Asked{Kind: "question", Display: "Which?", Choices: []string{"A", "B"}}
		if !cmp.Equal(res.Ask, want) {
			t.Errorf("%s is asked as %+v", choices, res.Ask)
		}
	}
	b.fails("ask_followup_question", `{"options":["A"]}`, `missing argument "question"`)
	_, res = b.do("switch_mode", `{"mode_slug":"Debug","reason":"a bug"}`)
	if res.State == nil || res.State.Mode != "debug" {
		t.Errorf("mode is %+v", res.State)
	}
	b.fails("switch_mode", `{"mode":"root"}`, "root", "A correct call")
	_, res = b.do("fetch_instructions", `{"task":"Release"}`)
	contains(t, res.Content, "Tag, then push.")
	b.fails("fetch_instructions", `{"task":"cook"}`, "release")
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"read_file": "read_file", "readFile": "read_file", "ReadFile": "read_file", "read-file": "read_file", "functions.read_file": "read_file",
		"default_api.readFile": "read_file", "create_file": "write_file", "write_to_file": "write_file", "WriteToFile": "write_file",
		"execute_command": "run_terminal_command", "functions.executeCommand": "run_terminal_command", "bash": "run_terminal_command",
		"search_files": "search_workspace", "grep": "search_workspace", "apply_patch": "apply_diff", "str_replace": "edit_file",
		"list_dir": "list_files", "TodoWrite": "update_todo_list", "read_file()": "read_file",
		"find_definition": "find_definition", "goToDefinition": "find_definition", "browser_action": "browser_action",
		"some_mcp.tool": "some_mcp.tool", "functions.MyTool": "MyTool", "": "",
	} {
		if got := tools.Canonical(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestSpecs(t *testing.T) {
	b := open(t, nil)
	if len(b.tools) != 16 {
		t.Errorf("%d tools", len(b.tools))
	}
	for _, tool := range b.tools {
		spec := tool.Spec()
		if got, ok := tools.Find(b.tools, spec.Name); !ok || got != tool || tools.Canonical(spec.Name) != spec.Name {
			t.Errorf("%s is not found by its name", spec.Name)
		}
		if len(spec.Description) < 40 {
			t.Errorf("%s has no description", spec.Name)
		}
		doc, err := jsonschema.UnmarshalJSON(bytesReader(spec.Parameters))
		if err != nil {
			t.Fatalf("%s: %v", spec.Name, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem://s", doc); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile("mem://s"); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
		_, err = tool.Intent(t.Context(), call(spec.Name, `{"no_such_argument":1}`))
		if err == nil {
			t.Errorf("%s takes any argument", spec.Name)
			continue
		}
		contains(t, err.Error(), "no_such_argument", `{"name":"`+spec.Name+`","arguments":{`)
		for _, raw := range []string{`null`, `"x"`, `[]`, `{"arguments":{"arguments":{"arguments":{"arguments":{"arguments":{}}}}}}`, `{`} {
			if _, err := tool.Intent(t.Context(), session.Call{Name: spec.Name, Arguments: json.RawMessage(raw)}); err == nil && spec.Name != "list_files" && spec.Name != "condense" {
				t.Errorf("%s takes %s", spec.Name, raw)
			}
		}
	}
	if all := tools.Builtin(tools.Config{}); len(all) != 5 {
		t.Errorf("without a workspace there are %d tools", len(all))
	}
}

func BenchmarkFind(b *testing.B) {
	w := open(b, nil)
	for b.Loop() {
		if _, ok := tools.Find(w.tools, "switch_mode"); !ok {
			b.Fatal("not found")
		}
	}
}
