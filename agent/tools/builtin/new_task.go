package builtin

import (
	"context"
	_ "embed" // the description
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed new_task.md
var newTaskDoc string

// taskMode is the default mode of a sub-task.
const taskMode = "explore"

func newTask(*tools.Kit) tools.Tool {
	return tools.New(tools.Sheet{Name: "new_task", Doc: newTaskDoc, Kind: policy.Converse, Outer: true,
		Aliases: []string{"task", "subtask", "sub_task", "delegate", "spawn_agent", "dispatch_agent"},
		Params: []tools.Param{
			{
				Name:     "task",
				Required: true,
				Doc:      "All that it must know.",
				Aliases:  []string{"message", "prompt", "instructions", "description", "text", "content"},
			},
			{Name: "mode", Doc: "explore when absent.", Aliases: []string{"mode_slug", "agent", "subagent_type"}},
			{Name: "turns", Form: tools.Number, Aliases: []string{"max_turns", "limit", "budget"}},
		},
		Example: `{"task":"All that it must know.","mode":"explore"}`},
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			_, err := readTask(a)
			return policy.Action{Kind: policy.Converse}, err
		},
		func(_ context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
			t, err := readTask(a)
			return tools.Result{Task: &t, Title: "Sub-task in " + t.Mode + " mode"}, err
		})
}

func readTask(a tools.Args) (t session.Task, err error) {
	if t.Text, err = a.Need("task"); err != nil {
		return t, err
	}
	t.Mode = taskMode
	if a.Has("mode") {
		m, err := readMode(a)
		if err != nil {
			return t, err
		}
		t.Mode = m.Name
	}
	n, err := a.Number("turns", 0)
	if err == nil && n < 0 {
		err = a.WrongType("turns", "a number above 0")
	}
	t.Text, t.Turns = strings.TrimSpace(t.Text), n
	return t, err
}
