package builtin

import (
	"context"
	_ "embed" // the description
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed switch_mode.md
var switchModeDoc string

func switchMode(*tools.Kit) tools.Tool {
	var names []string
	for _, m := range policy.Modes() {
		if !m.Triages() {
			names = append(names, m.Name)
		}
	}
	return tools.New(tools.Sheet{Name: "switch_mode", Doc: switchModeDoc, Kind: policy.Converse, Outer: true,
		Aliases: []string{"change_mode", "set_mode"},
		Params: []tools.Param{
			{Name: "mode", Required: true, Doc: "Mode.", Enum: names, Aliases: []string{"mode_slug", "slug", "name", "to"}},
			{Name: "why"},
		},
		Example: `{"mode":"debug"}`},
		func(_ context.Context, a tools.Args) (policy.Action, error) {
			_, err := readMode(a)
			return policy.Action{Kind: policy.Converse}, err
		},
		func(_ context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
			m, err := readMode(a)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{
				Content: fmt.Sprintf("The mode is now %s. %s", m.Name, m.Description),
				Title:   "Switched to " + m.Name + " mode",
				State:   &session.Update{Mode: m.Name},
			}, nil
		})
}

func readMode(a tools.Args) (policy.Mode, error) {
	name, err := a.Need("mode")
	if err != nil {
		return policy.Mode{}, err
	}
	m, err := policy.ParseMode(name)
	if err != nil {
		return m, a.Wrong("%v", err)
	}
	return m, nil
}
