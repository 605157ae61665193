package agent

import (
	"context"
	"fmt"

	"github.com/handrail-bot/handrail/agent/session"
)

// allowance is what was used up when the present allowance began: a person
// asked for something new, or granted more.
type allowance struct {
	tokens, edits, lines int
}

func (r *run) turnLimit() int {
	n := r.mode.Turns
	if r.cfg.Limits.Turns > 0 {
		n = r.cfg.Limits.Turns
	}
	if r.state.task.Turns > 0 {
		n = r.state.task.Turns
	}
	return n + r.state.granted
}

func (r *run) turnsLeft() int { return r.turnLimit() - (r.state.turn - r.state.turnsFrom) }

// checkBudget parks a session that has used what it was given.
func (r *run) checkBudget(context.Context) (verdict, *session.Outcome, error) {
	l, s := r.cfg.Limits, r.state
	tokens, edits, lines := s.tokens-s.from.tokens, s.edits-s.from.edits, s.lines-s.from.lines
	var why string
	switch {
	case r.turnsLeft() <= 0:
		why = fmt.Sprintf("All %d turns are used", r.turnLimit())
	case l.Tokens > 0 && tokens >= l.Tokens:
		why = fmt.Sprintf("%d tokens are used, %d were allowed", tokens, l.Tokens)
	case l.Edits > 0 && edits >= l.Edits:
		why = fmt.Sprintf("%d edits are made, %d were allowed", edits, l.Edits)
	case l.ChangedLines > 0 && lines >= l.ChangedLines:
		why = fmt.Sprintf("%d lines are changed, %d were allowed", lines, l.ChangedLines)
	case !r.until.IsZero() && !r.cfg.Now().Before(r.until):
		why = fmt.Sprintf("The session has run for %s", l.Wall)
	default:
		return goOn, nil, nil
	}
	return halt, &session.Outcome{
		Status: session.StatusOutOfBudget,
		Reason: why + ". Nothing is lost: grant more to go on from here.",
	}, nil
}
