package builtin_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
)

func TestUpdateTodoList(t *testing.T) {
	want := []session.Todo{{Text: "Read it", Status: "done"}, {Text: "Fix it", Status: "doing"}, {Text: "Test it", Status: "pending"}}
	for name, args := range map[string]string{
		"lines":            toolstest.Arguments("todos", "[x] Read it\n[-] Fix it\n[ ] Test it"),
		"bullets":          toolstest.Arguments("todos", "- [x] Read it\n- [-] Fix it\n* [ ] Test it\n"),
		"numbers":          toolstest.Arguments("todo_list", "# Plan\n1. [X] Read it\n2. [~] Fix it\n3. Test it\n"),
		"list of lines":    toolstest.Arguments("items", []string{"[x] Read it", "[-] Fix it", "Test it"}),
		"objects":          `{"todos":[{"content":"Read it","status":"completed"},{"text":"Fix it","status":"in_progress"},{"title":"Test it"}]}`,
		"objects, done":    `{"todos":[{"task":"Read it","done":true},{"task":"Fix it","status":"in-progress"},{"task":"Test it","done":false}]}`,
		"string of a list": toolstest.Arguments("todos", `[{"content":"Read it","status":"done"},{"content":"Fix it","status":"doing"},{"content":"Test it","status":"pending"}]`),
		"nested":           `{"todos":{"todos":["[x] Read it","[-] Fix it","[ ] Test it"]}}`,
		"signs":            toolstest.Arguments("todos", "✅ Read it\n[>] Fix it\n☐ Test it"),
	} {
		t.Run(name, func(t *testing.T) {
			action, res := toolstest.Open(t, nil).Do("update_todo_list", args)
			if res.State == nil || !cmp.Equal(res.State.Todo, want) {
				t.Errorf("list is %+v", res.State)
			}
			if action.Kind != policy.Converse {
				t.Errorf("kind is %v", action.Kind)
			}
			toolstest.Contains(t, res.Content, "1 of 3 done", "[x] Read it\n[-] Fix it\n[ ] Test it\n")
		})
	}
	b := toolstest.Open(t, nil)
	b.Fails("update_todo_list", `{}`, `missing argument "todos"`)
	b.Fails("update_todo_list", `{"todos":""}`, "no entries")
	b.Fails("update_todo_list", `{"todos":[{"status":"done"}]}`, "needs a text")
}

func TestConversation(t *testing.T) {
	b := toolstest.Open(t, nil)
	action, res := b.Do("attempt_completion", `{"result":"Done it."}`)
	if !res.Complete || res.Content != "Done it." || action.Kind != policy.Converse {
		t.Errorf("completion is %+v, %+v", action, res)
	}
	b.Fails("attempt_completion", `{"result":" "}`, `"result" is empty`)
	for _, choices := range []string{`["A","B"]`, `"- A\n- B"`, `[{"text":"A"},{"answer":"B"}]`, `"<suggest>A</suggest>\n<suggest mode=\"code\">B</suggest>"`, `"[\"A\",\"B\"]"`} {
		_, res = b.Do("ask_followup_question", `{"question":"Which?","follow_up":`+choices+`}`)
		want := &session.Asked{Kind: "question", Display: "Which?", Choices: []string{"A", "B"}}
		if !cmp.Equal(res.Ask, want) {
			t.Errorf("%s is asked as %+v", choices, res.Ask)
		}
	}
	b.Fails("ask_followup_question", `{"options":["A"]}`, `missing argument "question"`)
	_, res = b.Do("switch_mode", `{"mode_slug":"Debug","reason":"a bug"}`)
	if res.State == nil || res.State.Mode != "debug" {
		t.Errorf("mode is %+v", res.State)
	}
	b.Fails("switch_mode", `{"mode":"root"}`, "root", "A correct call")
	_, res = b.Do("new_task", `{"prompt":" Find it. ","max_turns":"4"}`)
	if s := res.Task; s == nil || s.Text != "Find it." || s.Mode != "explore" || s.Turns != 4 {
		t.Errorf("the sub-task is %+v", res.Task)
	}
	_, res = b.Do("task", `{"task":"Mend it.","mode":"Debug"}`)
	if s := res.Task; s == nil || s.Mode != "debug" || s.Turns != 0 {
		t.Errorf("the sub-task is %+v", res.Task)
	}
	b.Fails("new_task", `{"task":"x","mode":"root"}`, "root", "A correct call")
	b.Fails("new_task", `{"task":"x","turns":-1}`, "above 0")
	b.Fails("new_task", `{"mode":"ask"}`, "missing argument")
}

// Instructions come whole with their path, and a name that is none is answered with the list.
func TestFetchInstructions(t *testing.T) {
	all := map[string]tools.Instructions{"release": {Names: []string{"- a: how"}, Path: "a/SKILL.md", Text: "Tag first."}, "": {Names: []string{"- a: how"}}, "none": {Names: []string{"- a: how"}}}
	cfg := tools.Config{Instructions: func(_ context.Context, name string) (tools.Instructions, error) { return all[name], nil }}
	tool := offered(t, cfg, "fetch_instructions")
	if tool.Spec().Untold {
		t.Fatal("it is not announced")
	}
	for args, want := range map[string]string{
		`{"name":"release"}`: "## a/SKILL.md\n\nTag first.\n", `{}`: "- a: how\n", `{"name":"none"}`: "There are no instructions \"none\". There are:\n- a: how\n",
	} {
		action, err := tool.Intent(t.Context(), toolstest.Call("fetch_instructions", args))
		if err != nil || action.Kind != policy.Read || (args == `{"name":"release"}`) != (action.Paths[0] == "a/SKILL.md") {
			t.Errorf("%s: %+v, %v", args, action, err)
		}
		res, err := tool.Run(t.Context(), toolstest.Call("fetch_instructions", args), nil)
		if err != nil || res.Content != want {
			t.Errorf("%s: %q, %v", args, res.Content, err)
		}
	}
}
