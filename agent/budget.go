package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// allowance is the consumption at the start of the current allowance. A new request or an
// additional grant starts an allowance.
type allowance struct {
	turns, tokens, edits, lines int
}

func (h *history) spent() allowance {
	return allowance{turns: h.AllTurns(), tokens: h.Tokens, edits: h.Edits, lines: h.Lines}
}

// budget is the budget of the current request and its starting point.
type budget struct {
	granted   int    // turns added by a grant
	of        string // words of the current request, if it is not the first; else empty
	asked     int    // turns that the current request asks for; 0 for those of the mode
	lifted    bool   // the current request got an additional grant
	turnsFrom int    // turn at which the current allowance began
	modeFrom  int    // edits before the current request
	from      allowance
}

// message folds a message. asks reports whether it begins a request of its own, over
// whether the session had ended.
func (b *budget) message(p *session.Message, over, asks bool, now allowance) {
	b.granted += p.Budget
	b.lifted = p.Budget > 0 || b.lifted && !over
	if over {
		b.turnsFrom, b.granted, b.modeFrom = now.turns, p.Budget, now.edits
		if asks {
			b.asked = p.Turns //control:turns-of-one-request
			b.of = firstLine(session.Command(p.Text), maxNamed)
		}
	}
	if over || p.Budget > 0 {
		b.from = now
	}
}

// turnsUsed says that no turn is left, and of which request.
func (m *meter) turnsUsed() string {
	whose := m.used.whose()
	asked := m.used.asked
	// The size of a change sets the turns of a review.
	if asked != m.configuredTurns() && asked == m.turnLimit() && m.mayWrite() {
		whose += fmt.Sprintf(" (`--turns %d`)", asked) //control:turns-name-their-limit
	}
	if m.turnLimit() == 1 {
		return fmt.Sprintf("The one turn%s is used", whose)
	}
	return fmt.Sprintf("All %d turns%s are used", m.turnLimit(), whose)
}

// maxNamed limits the words that name a request, in characters.
const maxNamed = 60

// whose names the request that the turns belong to, if the session had several.
func (b *budget) whose() string {
	if b.of == "" {
		return ""
	}
	return " for “" + b.of + "”" //control:turns-name-their-request
}

func (a allowance) minus(b allowance) allowance {
	return allowance{a.turns - b.turns, a.tokens - b.tokens, a.edits - b.edits, a.lines - b.lines}
}

// meter compares a session's consumption with its limits.
type meter struct {
	*journal
	limits Limits
	shares Shares
	now    func() time.Time
	began  time.Time
	until  time.Time // zero means no limit
}

func newMeter(cfg Config, j *journal) *meter {
	m := &meter{journal: j, limits: cfg.Limits, shares: cfg.Shares, now: cfg.Now, began: cfg.Now()}
	if cfg.Limits.Wall > 0 {
		m.until = m.began.Add(cfg.Limits.Wall)
	}
	return m
}

// exhaustedShare reports the consumption of this session and returns the shared budget that is
// exhausted, or "". A grant lifts shared budgets for the current request.
func (m *meter) exhaustedShare(ctx context.Context) (string, error) {
	if m.shares == nil {
		return "", nil
	}
	list, err := m.shares(
		ctx,
		policy.Limits{
			Turns:  m.spent().turns,
			Tokens: m.Tokens,
			Edits:  m.Edits,
			Lines:  m.Lines,
			Time:   policy.Duration(m.now().Sub(m.began)),
		},
	)
	if err != nil {
		return "", fmt.Errorf("look up shared budgets: %w", err)
	}
	for _, sh := range list {
		if why := sh.ReachedLimit(); why != "" && !m.used.lifted {
			return why, nil
		}
	}
	return "", nil
}

// configuredTurns returns the number of turns of a request that names none.
func (m *meter) configuredTurns() int { return cmp.Or(max(0, m.limits.Turns), m.mode.Turns) }

func (m *meter) turnLimit() int {
	n := m.configuredTurns()
	if asked := m.used.asked; asked > 0 && (asked < n || m.limits.Turns == 0) { //control:turns-are-a-limit
		n = asked
	}
	return n + m.used.granted
}

func (m *meter) turnsLeft() int { return m.turnLimit() - (m.spent().turns - m.used.turnsFrom) }

// guestActs reports whether an external agent may be carrying out an allowed action of its
// last answer. That ends with the request for the next one.
func (j *journal) guestActs() bool {
	return slices.ContainsFunc(j.Last, func(c *session.CallState) bool { return c.Name == session.GuestAction })
}

// acting reports whether that action is the last one of the budget.
func (m *meter) acting() bool { return m.turnsLeft() == 0 && m.guestActs() }

// turnsOfAgent returns the number of turns that an external agent may take.
func (m *meter) turnsOfAgent() int {
	if m.acting() {
		return 0
	}
	return max(1, m.turnsLeft())
}

// exhausted returns the budget that is used up, besides that of turns, or "".
func (m *meter) exhausted() string {
	l, used := m.limits, m.spent().minus(m.used.from)
	switch {
	case l.Tokens > 0 && used.tokens >= l.Tokens:
		return fmt.Sprintf("%d tokens are used, %d were allowed", used.tokens, l.Tokens)
	case l.Edits > 0 && used.edits >= l.Edits:
		return fmt.Sprintf("%d edits are made, %d were allowed", used.edits, l.Edits)
	case l.ChangedLines > 0 && used.lines >= l.ChangedLines:
		return fmt.Sprintf("%d lines are changed, %d were allowed", used.lines, l.ChangedLines)
	case !m.until.IsZero() && !m.now().Before(m.until):
		return fmt.Sprintf("The session has run for %s", l.Wall)
	}
	return ""
}

// check parks a session that has used up its budget.
func (m *meter) check(ctx context.Context) (*session.Outcome, error) {
	why, err := m.exhaustedShare(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case why != "":
	case m.turnsLeft() <= 0 && !m.acting() &&
		(m.mayWrite() || !m.Unanswered()): // a mode that only reads ends with an answer
		why = m.turnsUsed()
	default:
		if why = m.exhausted(); why == "" {
			return nil, nil
		}
	}
	return &session.Outcome{
		Status: session.StatusOutOfBudget,
		Reason: why + ". Nothing is lost: the session continues from here with a larger budget.",
	}, nil
}
