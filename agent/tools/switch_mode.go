package tools

import (
	"context"
	_ "embed" // the description
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

//go:embed switch_mode.md
var switchModeDoc string

func switchMode(*kit) *tool {
	var names []string
	for _, m := range policy.Modes() {
		names = append(names, m.Name)
	}
	t := &tool{
		sheet: sheet{name: "switch_mode", doc: switchModeDoc,
			params: []param{
				{name: "mode", required: true, doc: "Name of the mode.", enum: names, aliases: []string{"mode_slug", "slug", "name", "to"}},
				{name: "why", doc: "Why, in a sentence; optional."},
			},
			example: `{"mode":"debug"}`},
	}
	t.intent = func(_ context.Context, a args) (policy.Action, error) {
		_, err := a.mode()
		return policy.Action{Kind: policy.Converse}, err
	}
	t.run = func(_ context.Context, a args, _ Progress) (Result, error) {
		m, err := a.mode()
		if err != nil {
			return Result{}, err
		}
		return Result{Content: fmt.Sprintf("The mode is now %s. %s", m.Name, m.Description), Title: "Switched to " + m.Name + " mode",
			State: &session.State{Mode: m.Name}}, nil
	}
	return t
}

func (a args) mode() (policy.Mode, error) {
	name, err := a.need("mode")
	if err != nil {
		return policy.Mode{}, err
	}
	m, err := policy.ParseMode(name)
	if err != nil {
		return m, a.sheet.wrong("%v", err)
	}
	return m, nil
}
