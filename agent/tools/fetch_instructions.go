package tools

import (
	"context"
	_ "embed" // the description
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy"
)

//go:embed fetch_instructions.md
var fetchInstructionsDoc string

func fetchInstructions(k *kit) *tool {
	if len(k.Instructions) == 0 {
		return nil
	}
	var names []string
	for name := range k.Instructions {
		names = append(names, name)
	}
	slices.Sort(names)
	find := func(a args) (string, error) {
		name, err := a.need("task")
		if err != nil {
			return "", err
		}
		for _, n := range names {
			if foldKey(n) == foldKey(strings.TrimSpace(name)) {
				return k.Instructions[n], nil
			}
		}
		return "", a.sheet.wrong("there are no instructions for %q; there are some for %s", name, strings.Join(names, ", "))
	}
	return &tool{
		sheet: sheet{name: "fetch_instructions", doc: fetchInstructionsDoc,
			params:  []param{{name: "task", required: true, doc: "What the instructions are for.", enum: names, aliases: []string{"name", "topic", "instructions"}}},
			example: `{"task":` + quote(names[0]) + `}`},
		intent: func(_ context.Context, a args) (policy.Action, error) {
			_, err := find(a)
			return policy.Action{Kind: policy.Converse}, err
		},
		run: func(_ context.Context, a args, _ Progress) (Result, error) {
			text, err := find(a)
			return Result{Content: text, Title: "Read instructions"}, err
		},
	}
}
