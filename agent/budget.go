package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// allowance is what was used up when the present allowance began: a person
// asked for something new, or granted more.
type allowance struct {
	turns, tokens, edits, lines int
}

func (h *history) spent() allowance {
	return allowance{turns: h.AllTurns(), tokens: h.Tokens, edits: h.Edits, lines: h.Lines}
}

// budget is what the present request may use, and from where that is counted.
type budget struct {
	granted   int  // turns added by people
	asked     int  // turns that the present request is to have; 0 for those of the task
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
		if p.Text != "" { // it asks for something new
			b.asked = p.Turns
		}
	}
	if over || p.Budget > 0 {
		b.from = now
	}
}

func (a allowance) minus(b allowance) allowance {
	return allowance{a.turns - b.turns, a.tokens - b.tokens, a.edits - b.edits, a.lines - b.lines}
}

// meter holds what a session uses against what it may.
type meter struct {
	*journal
	limits Limits
	shares Shares
	now    func() time.Time
	began  time.Time
	until  time.Time // zero for no end
}

func newMeter(cfg Config, j *journal) *meter {
	m := &meter{journal: j, limits: cfg.Limits, shares: cfg.Shares, now: cfg.Now, began: cfg.Now()}
	if cfg.Limits.Wall > 0 {
		m.until = m.began.Add(cfg.Limits.Wall)
	}
	return m
}

// shared tells the others what this session has used, and says which of the budgets
// that it has in common with them is used up. A person who granted more after having
// been told has lifted them for this request.
func (m *meter) shared(ctx context.Context) (string, error) {
	if m.shares == nil {
		return "", nil
	}
	list, err := m.shares(ctx, policy.Limits{Turns: m.spent().turns, Tokens: m.Tokens, Edits: m.Edits, Lines: m.Lines, Time: policy.Duration(m.now().Sub(m.began))})
	if err != nil {
		return "", fmt.Errorf("look up shared budgets: %w", err)
	}
	for _, sh := range list {
		if why := sh.Over(); why != "" && !m.used.lifted {
			return why, nil
		}
	}
	return "", nil
}

func (m *meter) turnLimit() int {
	n := m.mode.Turns
	if m.limits.Turns > 0 {
		n = m.limits.Turns
	}
	if asked := cmp.Or(m.used.asked, m.Task.Turns); asked > 0 && (asked < n || m.limits.Turns == 0) { //control:turns-are-a-limit
		n = asked
	}
	return n + m.used.granted
}

func (m *meter) turnsLeft() int { return m.turnLimit() - (m.spent().turns - m.used.turnsFrom) }

// check parks a session that has used what it was given.
func (m *meter) check(ctx context.Context) (*session.Outcome, error) {
	l, used := m.limits, m.spent().minus(m.used.from)
	why, err := m.shared(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case why != "":
	case m.turnsLeft() <= 0:
		why = fmt.Sprintf("All %d turns are used", m.turnLimit())
		if m.turnLimit() == 1 {
			why = "The one turn is used"
		}
	case l.Tokens > 0 && used.tokens >= l.Tokens:
		why = fmt.Sprintf("%d tokens are used, %d were allowed", used.tokens, l.Tokens)
	case l.Edits > 0 && used.edits >= l.Edits:
		why = fmt.Sprintf("%d edits are made, %d were allowed", used.edits, l.Edits)
	case l.ChangedLines > 0 && used.lines >= l.ChangedLines:
		why = fmt.Sprintf("%d lines are changed, %d were allowed", used.lines, l.ChangedLines)
	case !m.until.IsZero() && !m.now().Before(m.until):
		why = fmt.Sprintf("The session has run for %s", l.Wall)
	default:
		return nil, nil
	}
	return &session.Outcome{
		Status: session.StatusOutOfBudget,
		Reason: why + ". Nothing is lost: it goes on from here when more is granted.",
	}, nil
}
