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

// meter holds what a session uses against what it may.
type meter struct {
	*journal
	limits Limits
	shares []Share
	now    func() time.Time
	from   allowance // what the session had used when this run began
	began  time.Time
	until  time.Time // zero for no end
}

func newMeter(cfg Config, j *journal) *meter {
	m := &meter{journal: j, limits: cfg.Limits, shares: cfg.Shares, now: cfg.Now, from: j.spent(), began: cfg.Now()}
	if cfg.Limits.Wall > 0 {
		m.until = m.began.Add(cfg.Limits.Wall)
	}
	return m
}

// shared says which shared budget is used up. A person who granted more after
// having been told has lifted them for this request.
func (m *meter) shared() string {
	if m.used.lifted {
		return ""
	}
	for _, sh := range m.shares {
		if why := sh.over(m.spent().minus(m.from), m.now().Sub(m.began)); why != "" {
			return why
		}
	}
	return ""
}

func (m *meter) turnLimit() int {
	n := m.mode.Turns
	if m.limits.Turns > 0 {
		n = m.limits.Turns
	}
	if m.Task.Turns > 0 {
		n = m.Task.Turns
	}
	return n + m.used.granted
}

func (m *meter) turnsLeft() int { return m.turnLimit() - (m.Turns - m.used.turnsFrom) }

// check parks a session that has used what it was given.
func (m *meter) check(context.Context) (*session.Outcome, error) {
	l, used := m.limits, m.spent().minus(m.used.from)
	why := m.shared()
	switch {
	case why != "":
	case m.turnsLeft() <= 0:
		why = fmt.Sprintf("All %d turns are used", m.turnLimit())
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
		Reason: why + ". Nothing is lost: grant more to go on from here.",
	}, nil
}
