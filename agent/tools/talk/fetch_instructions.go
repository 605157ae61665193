package talk

import (
	"context"
	_ "embed" // the description
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed fetch_instructions.md
var fetchInstructionsDoc string

func fetchInstructions(k *tools.Kit) tools.Tool {
	if len(k.Instructions) == 0 {
		return nil
	}
	var names []string
	for name := range k.Instructions {
		names = append(names, name)
	}
	slices.Sort(names)
	find := func(a tools.Args) (string, error) {
		name, err := a.Need("task")
		if err != nil {
			return "", err
		}
		for _, n := range names {
			if tools.FoldKey(n) == tools.FoldKey(strings.TrimSpace(name)) {
				return k.Instructions[n], nil
			}
		}
		return "", a.Wrong("there are no instructions for %q; there are some for %s", name, strings.Join(names, ", "))
	}
	return tools.New(tools.Sheet{Name: "fetch_instructions", Doc: fetchInstructionsDoc, Kind: policy.Converse,
		Aliases: []string{"get_instructions"},
		Params:  []tools.Param{{Name: "task", Required: true, Doc: "What the instructions are for.", Enum: names, Aliases: []string{"name", "topic", "instructions"}}},
		Example: `{"task":` + strconv.Quote(names[0]) + `}`},
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			_, err := find(a)
			return policy.Action{Kind: policy.Converse}, err
		},
		func(_ context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
			text, err := find(a)
			return tools.Result{Content: text, Title: "Read instructions"}, err
		})
}
