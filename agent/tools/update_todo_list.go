package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed update_todo_list.md
var updateTodoListDoc string

// The states of an entry, as session.Todo has them.
const (
	todoPending = "pending"
	todoDoing   = "doing"
	todoDone    = "done"
)

func updateTodoList(*kit) *tool {
	return &tool{
		sheet: sheet{name: "update_todo_list", doc: updateTodoListDoc,
			params: []param{
				{name: "todos", kind: free, schema: `{"type":"string"}`, required: true,
					doc:     "The whole list, one entry per line: [ ] open, [-] in progress, [x] done.",
					aliases: []string{"todo", "items", "list", "todo_list", "tasks", "todoList", "plan"}},
				{name: "merge", kind: flag, doc: "Ignored: the list always replaces the one before."},
			},
			example: `{"todos":"[x] Read the code\n[-] Write the fix\n[ ] Run the tests"}`},
		intent: func(_ context.Context, a args) (policy.Action, error) {
			_, err := a.todos()
			return policy.Action{Kind: policy.Converse}, err
		},
		run: func(_ context.Context, a args, _ Progress) (Result, error) {
			list, err := a.todos()
			if err != nil {
				return Result{}, err
			}
			done := 0
			var b strings.Builder
			for _, t := range list {
				mark := map[string]string{todoDone: "x", todoDoing: "-"}[t.Status]
				if mark == "" {
					mark = " "
				}
				if t.Status == todoDone {
					done++
				}
				fmt.Fprintf(&b, "[%s] %s\n", mark, t.Text)
			}
			return Result{Content: fmt.Sprintf("The list is recorded: %d of %d done.\n%s", done, len(list), b.String()),
				Title: fmt.Sprintf("Updated the todo list (%d of %d done)", done, len(list)),
				State: &session.State{Todo: list}}, nil
		},
	}
}

func (a args) todos() ([]session.Todo, error) {
	var out []session.Todo
	for _, item := range a.items("todos") {
		if f, ok := fields(item); ok {
			if inner, ok := f["todos"]; ok {
				a.values = map[string]json.RawMessage{"todos": inner}
				return a.todos()
			}
			t, ok := todoOf(f)
			if !ok {
				return nil, a.sheet.wrong("every entry of %q needs a text", "todos")
			}
			out = append(out, t)
			continue
		}
		s, ok := plain(item)
		if !ok {
			return nil, a.wrongType("todos", "lines with [ ], [-] or [x]")
		}
		for line := range strings.Lines(s) {
			if t, ok := todoLine(line); ok {
				out = append(out, t)
			}
		}
	}
	if len(out) == 0 {
		return nil, a.sheet.wrong("argument %q has no entries", "todos")
	}
	return out, nil
}

func todoOf(f map[string]json.RawMessage) (session.Todo, bool) {
	text, ok := pick(f, "text", "content", "title", "task", "description", "todo", "name", "step", "item", "label")
	if !ok || strings.TrimSpace(text) == "" {
		return session.Todo{}, false
	}
	t, marked := todoLine(text)
	if !marked {
		return session.Todo{}, false
	}
	if status, ok := pick(f, "status", "state", "progress"); ok {
		t.Status = todoStatus(status)
	}
	for _, key := range [...]string{"done", "completed", "checked", "complete"} {
		if string(f[key]) == "true" {
			t.Status = todoDone
		}
	}
	return t, true
}

func todoStatus(s string) string {
	switch foldKey(strings.TrimSpace(s)) {
	case "x", "done", "completed", "complete", "finished", "closed", "resolved", "success", "✓", "✔", "☑", "✅":
		return todoDone
	case "~", "/", ">", "doing", "inprogress", "active", "started", "current", "working", "running", "ongoing":
		return todoDoing
	}
	if strings.TrimSpace(s) == "-" {
		return todoDoing
	}
	return todoPending
}

// todoLine reads "- [x] text", "1. [ ] text", "* text" and headings (none).
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
	t := session.Todo{Text: s, Status: todoPending}
	if rest, ok := strings.CutPrefix(s, "["); ok {
		if mark, text, ok := strings.Cut(rest, "]"); ok && len([]rune(mark)) <= 1 {
			t = session.Todo{Text: strings.TrimSpace(text), Status: todoStatus(mark)}
		}
	}
	for _, sign := range [...]struct{ mark, status string }{{"☐", todoPending}, {"☑", todoDone}, {"✅", todoDone}, {"✔", todoDone}, {"⬜", todoPending}} {
		if rest, ok := strings.CutPrefix(s, sign.mark); ok {
			t = session.Todo{Text: strings.TrimSpace(rest), Status: sign.status}
		}
	}
	return t, t.Text != ""
}
