package tools

import (
	"context"
	_ "embed" // the description

	"github.com/handrail-bot/handrail/policy"
)

//go:embed condense.md
var condenseDoc string

func condense(*kit) *tool {
	return &tool{
		sheet: sheet{name: "condense", doc: condenseDoc,
			params:  []param{{name: "why", doc: "Why, in a sentence; optional.", aliases: []string{"reason", "message", "context"}}},
			example: `{"why":"The search results are no longer needed."}`},
		intent: func(context.Context, args) (policy.Action, error) { return policy.Action{Kind: policy.Converse}, nil },
		run: func(context.Context, args, Progress) (Result, error) {
			return Result{Content: "The conversation so far will be summarized before your next answer.", Title: "Condensing the conversation", Condense: true}, nil
		},
	}
}
