package agent

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// withRegion adds the current text around a failed edit, from the second failure in the
// same file on: the model's copy of the file is stale or invented.
func (r *callRunner) withRegion(ctx context.Context, c *session.CallState, text string) string {
	path := pathArgument(c.Arguments)
	if path == "" || !r.gate.tools.Spec(c.Name).Edits || r.habits.WrongAt(path) == 0 {
		return text
	}
	now, ok := r.reread(ctx, c, path)
	if !ok {
		return text
	}
	return fmt.Sprintf(
		"%s\n\nThis is what %s contains there now; copy from it exactly, without the line numbers:\n%s",
		text,
		path,
		tools.Region(now, c.Arguments),
	)
}

// reread reads a file for the model, through the gate, like a call of the model.
func (r *callRunner) reread(ctx context.Context, c *session.CallState, path string) (string, bool) {
	again, ru, err := r.gate.reading(ctx, c, path)
	if err != nil || ru.decision.Verdict != policy.Allow || ru.action.Kind != policy.Read {
		return "", false
	}
	res, err := r.gate.carryOut(ctx, again, ru)
	return res.Content, err == nil
}
