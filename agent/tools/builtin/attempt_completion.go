package builtin

import (
	"context"
	_ "embed" // the description
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed attempt_completion.md
var attemptCompletionDoc string

func attemptCompletion(*tools.Kit) tools.Tool {
	return tools.New(
		tools.Sheet{
			Name:      "attempt_completion",
			Doc:       attemptCompletionDoc,
			Kind:      policy.Converse,
			Essential: true,
			Few:       "Say that the task is done. Call it alone, at the end.",
			Reads:     "Give the answer, and end the work with it. Call it alone.",
			Repeats:   9, // high: the completion check has its own limit
			Aliases: []string{
				"complete_task", "task_complete", "finish", "finish_task", "task_done", "done", "submit", "complete",
				"final_answer", "submit_answer",
			},
			Params: []tools.Param{
				{Name: "result", Required: true, Doc: "For the person who asked; Markdown.",
					Aliases: []string{"text", "message", "summary", "answer", "response", "final_answer", "content", "output"}},
				{Name: "command"},
				{Name: "no_change_reason", Few: true, Edits: true, Doc: "Why no file had to change. Only when you changed none.",
					Aliases: []string{"no_change", "why_no_change", "nothing_to_change", "reason"}},
			},
			Example: `{"result":"What was changed, and how it was checked."}`,
		},
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			_, err := a.Need("result")
			return policy.Action{Kind: policy.Converse}, err
		},
		func(_ context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
			s, err := a.Need("result")
			if err != nil {
				return tools.Result{}, err
			}
			why, err := a.Text("no_change_reason")
			if err != nil {
				return tools.Result{}, err
			}
			if strings.Trim(s, ".… \n") == "" { // the prompt's example
				s = ""
			}
			return tools.Result{Content: s, Title: "Finished", Complete: true, NoChange: why}, nil
		},
	)
}
