package github

import (
	"context"

	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Wait returns the named tool, which waits for the checks of the session's commit.
// answered returns their results, or an error that parks the session.
func Wait(name string, answered func(ctx context.Context) (Page, error), nonce string) tools.Tool {
	r := reader{nonce: nonce}
	s := tools.Sheet{
		Name: name, Kind: policy.Read, Outer: true, Example: "{}",
		Doc: "Wait until the checks (CI) of the last pushed commit have answered, and read how. Use it when the task depends on CI.",
	}
	return tools.New(s,
		func(context.Context, tools.Args) (policy.Action, error) {
			return policy.Action{Kind: policy.Read}, nil
		},
		func(ctx context.Context, _ tools.Args, _ tools.Progress) (tools.Result, error) {
			page, err := answered(ctx)
			if err != nil {
				return tools.Result{}, err
			}
			head := untrusted.EscapeLine(page.Head)
			return tools.Result{Content: r.show(head, page), Title: "Waited: " + head}, nil
		})
}
