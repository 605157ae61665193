package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// allowance is what was used up when the present allowance began: a person
// asked for something new, or granted more.
type allowance struct {
	turns, tokens, edits, lines int
}

func (h *history) spent() allowance {
	return allowance{turns: h.Turns, tokens: h.Tokens, edits: h.Edits, lines: h.Lines}
}

// budget is what the present request may use, and from where that is counted.
type budget struct {
	granted   int  // turns added by people
	lifted    bool // a person granted more for the present request
	turnsFrom int  // turn at which the present allowance began
	modeFrom  int  // edits made before the present request
	from      allowance
}

func (b *budget) message(p *session.Message, over bool, now allowance) {
	b.granted += p.Budget
	b.lifted = p.Budget > 0 || b.lifted && !over
	if over {
		b.turnsFrom, b.granted, b.modeFrom = now.turns, p.Budget, now.edits
	}
	if over || p.Budget > 0 {
		b.from = now
	}
}

func (a allowance) minus(b allowance) allowance {
	return allowance{a.turns - b.turns, a.tokens - b.tokens, a.edits - b.edits, a.lines - b.lines}
}

// Share is a budget that a session shares with others: those of its thread,
// those of one person on one day. Used is what was used of it before this run,
// by this session too.
type Share struct {
	Of     string // for people, as the beginning of a sentence: "This thread"
	Limits Limits
	Used   Limits
}

// over says which of a share's limits is reached, given what this run used.
func (sh Share) over(run allowance, wall time.Duration) string {
	for _, l := range []struct {
		used, most int
		what       string
	}{
		{sh.Used.Turns + run.turns, sh.Limits.Turns, "turns"},
		{sh.Used.Tokens + run.tokens, sh.Limits.Tokens, "tokens"},
		{sh.Used.Edits + run.edits, sh.Limits.Edits, "edits"},
		{sh.Used.ChangedLines + run.lines, sh.Limits.ChangedLines, "changed lines"},
	} {
		if l.most > 0 && l.used >= l.most {
			return fmt.Sprintf("%s has used %d %s, %d were allowed", sh.Of, l.used, l.what, l.most)
		}
	}
	if sh.Limits.Wall > 0 && sh.Used.Wall+wall >= sh.Limits.Wall {
		return fmt.Sprintf("%s has used %s of time, %s were allowed", sh.Of, (sh.Used.Wall + wall).Round(time.Second), sh.Limits.Wall)
	}
	return ""
}

// shared says which shared budget is used up. A person who granted more after
// having been told has lifted them for this request.
func (r *run) shared() string {
	if r.state.used.lifted {
		return ""
	}
	for _, sh := range r.cfg.Shares {
		if why := sh.over(r.state.spent().minus(r.from), r.cfg.Now().Sub(r.began)); why != "" {
			return why
		}
	}
	return ""
}

func (r *run) turnLimit() int {
	n := r.mode.Turns
	if r.cfg.Limits.Turns > 0 {
		n = r.cfg.Limits.Turns
	}
	if r.state.Task.Turns > 0 {
		n = r.state.Task.Turns
	}
	return n + r.state.used.granted
}

func (r *run) turnsLeft() int { return r.turnLimit() - (r.state.Turns - r.state.used.turnsFrom) }

// checkBudget parks a session that has used what it was given.
func (r *run) checkBudget(context.Context) (verdict, *session.Outcome, error) {
	l, s := r.cfg.Limits, r.state
	tokens, edits, lines := s.Tokens-s.used.from.tokens, s.Edits-s.used.from.edits, s.Lines-s.used.from.lines
	why := r.shared()
	switch {
	case why != "":
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
