package builtin

import (
	"context"
	_ "embed" // the description
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed fetch_instructions.md
var fetchInstructionsDoc string

func fetchInstructions(k *tools.Kit) tools.Tool {
	f := fetcher{k}
	return tools.New(tools.Sheet{Name: "fetch_instructions", Doc: fetchInstructionsDoc, Kind: policy.Read,
		Untold:  k.Instructions == nil,
		Aliases: []string{"fetch_rules", "get_instructions", "skill", "use_skill", "load_skill"},
		Params: []tools.Param{{Name: "name", Doc: "As it is listed.",
			Aliases: []string{"task", "skill", "path", "command", "instruction", "rule_names"}}},
		Example: `{"name":"NAME"}`},
		f.intent, f.run)
}

type fetcher struct{ *tools.Kit }

// fetch returns the instructions that a call asks for. Without instructions they are empty.
func (f fetcher) fetch(ctx context.Context, a tools.Args) (name string, got tools.Instructions, err error) {
	if name, err = a.Text("name"); err != nil || f.Instructions == nil {
		return name, got, err
	}
	got, err = f.Instructions(ctx, name)
	return name, got, err
}

func (f fetcher) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	_, got, err := f.fetch(ctx, a)
	action := policy.Action{Kind: policy.Read, Paths: []string{"."}}
	if got.Path != "" {
		action.Paths = []string{got.Path}
	}
	return action, err
}

func (f fetcher) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	name, got, err := f.fetch(ctx, a)
	switch {
	case err != nil:
		return tools.Result{}, err
	case len(got.Names) == 0:
		return tools.Result{Content: "This repository has no instructions to fetch.", Title: "Looked for instructions (0)"}, nil
	case got.Text != "":
		return tools.Result{Content: fmt.Sprintf("## %s\n\n%s\n", got.Path, got.Text), Title: "Read the instructions " + got.Path}, nil
	}
	list := strings.Join(got.Names, "\n") + "\n"
	if strings.TrimSpace(name) != "" {
		list = fmt.Sprintf("There are no instructions %q. There are:\n%s", name, list)
	}
	return tools.Result{Content: list, Title: fmt.Sprintf("Listed the instructions (%d)", len(got.Names))}, nil
}
