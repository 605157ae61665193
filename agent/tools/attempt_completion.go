package tools

import (
	"context"
	_ "embed" // the description

	"github.com/handrail-bot/handrail/policy"
)

//go:embed attempt_completion.md
var attemptCompletionDoc string

func attemptCompletion(*kit) *tool {
	return &tool{
		sheet: sheet{name: "attempt_completion", doc: attemptCompletionDoc,
			params: []param{
				{name: "result", required: true, doc: "What was done, for the person who asked; Markdown.",
					aliases: []string{"text", "message", "summary", "answer", "response", "final_answer", "content", "output"}},
				{name: "command", doc: "Ignored."},
			},
			example: `{"result":"Fixed the off-by-one error in the pager and added a test."}`},
		intent: func(_ context.Context, a args) (policy.Action, error) {
			_, err := a.need("result")
			return policy.Action{Kind: policy.Converse}, err
		},
		run: func(_ context.Context, a args, _ Progress) (Result, error) {
			s, err := a.need("result")
			if err != nil {
				return Result{}, err
			}
			return Result{Content: s, Title: "Finished", Complete: true}, nil
		},
	}
}
