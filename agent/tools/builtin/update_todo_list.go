package builtin

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed update_todo_list.md
var updateTodoListDoc string

func updateTodoList(*tools.Kit) tools.Tool {
	return tools.New(tools.Sheet{Name: "update_todo_list", Doc: updateTodoListDoc, Kind: policy.Converse,
		Aliases: []string{"todo_write", "update_todos", "todo_list", "manage_todo_list", "write_todos", "update_todo"},
		Params: []tools.Param{
			{Name: "todos", Form: tools.Free, Schema: `{"type":"string"}`, Required: true,
				Doc:     "The list.",
				Aliases: []string{"todo", "items", "list", "todo_list", "tasks", "todoList", "plan"}},
			{Name: "merge", Form: tools.Flag},
		},
		Example: `{"todos":"[x] Read the code\n[-] Write the fix\n[ ] Run the tests"}`},
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			_, err := readTodos(a)
			return policy.Action{Kind: policy.Converse}, err
		},
		func(_ context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
			list, err := readTodos(a)
			if err != nil {
				return tools.Result{}, err
			}
			done := 0
			var b strings.Builder
			for _, t := range list {
				mark := map[session.TodoStatus]string{session.TodoDone: "x", session.TodoDoing: "-"}[t.Status]
				if mark == "" {
					mark = " "
				}
				if t.Status == session.TodoDone {
					done++
				}
				fmt.Fprintf(&b, "[%s] %s\n", mark, t.Text)
			}
			return tools.Result{Content: fmt.Sprintf("The list is recorded: %d of %d done.\n%s", done, len(list), b.String()),
				Title: fmt.Sprintf("Updated the todo list (%d of %d done)", done, len(list)),
				State: &session.Update{Todo: list}}, nil
		})
}

func readTodos(a tools.Args) ([]session.Todo, error) {
	var out []session.Todo
	for _, item := range a.Items("todos") {
		if f, ok := tools.Fields(item); ok {
			if inner, ok := f["todos"]; ok {
				a.Values = map[string]json.RawMessage{"todos": inner}
				return readTodos(a)
			}
			t, ok := todoOf(f)
			if !ok {
				return nil, a.Wrong("every entry of %q needs a text", "todos")
			}
			out = append(out, t)
			continue
		}
		s, ok := tools.Plain(item)
		if !ok {
			return nil, a.WrongType("todos", "lines with [ ], [-] or [x]")
		}
		for line := range strings.Lines(s) {
			if t, ok := todoLine(line); ok {
				out = append(out, t)
			}
		}
	}
	if len(out) == 0 {
		return nil, a.Wrong("argument %q has no entries", "todos")
	}
	return out, nil
}

func todoOf(f map[string]json.RawMessage) (session.Todo, bool) {
	text, ok := tools.Pick(f, "text", "content", "title", "task", "description", "todo", "name", "step", "item", "label")
	if !ok || strings.TrimSpace(text) == "" {
		return session.Todo{}, false
	}
	t, marked := todoLine(text)
	if !marked {
		return session.Todo{}, false
	}
	if status, ok := tools.Pick(f, "status", "state", "progress"); ok {
		t.Status = todoStatus(status)
	}
	for _, key := range [...]string{"done", "completed", "checked", "complete"} {
		if string(f[key]) == "true" {
			t.Status = session.TodoDone
		}
	}
	return t, true
}

func todoStatus(s string) session.TodoStatus {
	switch tools.FoldKey(strings.TrimSpace(s)) {
	case "x", "done", "completed", "complete", "finished", "closed", "resolved", "success", "✓", "✔", "☑", "✅":
		return session.TodoDone
	case "~", "/", ">", "doing", "inprogress", "active", "started", "current", "working", "running", "ongoing":
		return session.TodoDoing
	}
	if strings.TrimSpace(s) == "-" {
		return session.TodoDoing
	}
	return session.TodoPending
}

// todoLine reads "- [x] text", "1. [ ] text" and "* text". It skips headings.
func todoLine(line string) (session.Todo, bool) {
	s := strings.TrimSpace(line)
	if s == "" || strings.HasPrefix(s, "#") || strings.HasPrefix(s, "```") {
		return session.Todo{}, false
	}
	bare := strings.TrimLeft(s, "0123456789")
	if n := len(s) - len(bare); n > 0 && n < 4 && len(bare) > 1 && (bare[0] == '.' || bare[0] == ')') && bare[1] == ' ' {
		s = strings.TrimSpace(bare[1:])
	}
	for _, bullet := range [...]string{"- ", "* ", "+ ", "• "} {
		if rest, ok := strings.CutPrefix(s, bullet); ok {
			s = strings.TrimSpace(rest)
			break
		}
	}
	t := session.Todo{Text: s, Status: session.TodoPending}
	if rest, ok := strings.CutPrefix(s, "["); ok {
		if mark, text, ok := strings.Cut(rest, "]"); ok && len([]rune(mark)) <= 1 {
			t = session.Todo{Text: strings.TrimSpace(text), Status: todoStatus(mark)}
		}
	}
	for _, sign := range [...]struct {
		mark   string
		status session.TodoStatus
	}{{"☐", session.TodoPending}, {"☑", session.TodoDone}, {"✅", session.TodoDone}, {"✔", session.TodoDone}, {"⬜", session.TodoPending}} {
		if rest, ok := strings.CutPrefix(s, sign.mark); ok {
			t = session.Todo{Text: strings.TrimSpace(rest), Status: sign.status}
		}
	}
	return t, t.Text != ""
}
