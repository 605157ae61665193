package builtin

import (
	"context"
	_ "embed" // the description

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed condense.md
var condenseDoc string

func condense(*tools.Kit) tools.Tool {
	return tools.New(tools.Sheet{Name: "condense", Doc: condenseDoc, Kind: policy.Converse, Untold: true,
		Params:  []tools.Param{{Name: "why", Aliases: []string{"reason", "message", "context"}}},
		Example: `{"why":"The search results are no longer needed."}`},
		func(context.Context, tools.Args) (policy.Action, error) {
			return policy.Action{Kind: policy.Converse}, nil
		},
		func(context.Context, tools.Args, tools.Progress) (tools.Result, error) {
			return tools.Result{
				Content:  "The conversation so far will be summarized before your next answer.",
				Title:    "Condensing the conversation",
				Condense: true,
			}, nil
		})
}
