package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
)

// ask turns a ruling into a request for approval.
func (g *gate) ask(c *session.CallState, ru ruling) session.Asked {
	a := session.Asked{
		ID: g.NewAskID(), Kind: session.AskApproval, Call: c.ID, Digest: ru.decision.Digest,
		Severity: ru.decision.Severity.String(), Tool: c.Name, Display: displayText(c, ru.action),
		Paths: ru.action.Paths, Effects: ru.action.Effects, Base: g.BaseNow(), Head: g.Published, Bound: ru.bound,
		Server: ru.action.Server,
	}
	if c.Approval().State == policy.Stale && c.Request.Answer.Reason != "" {
		a.Reasons = append(a.Reasons, "it is asked again, because "+c.Request.Answer.Reason)
	}
	if shown := a.Display; g.secrets != nil && ru.action.Kind != policy.Execute {
		if a.Display = g.secrets.Hide(shown); a.Display != shown { //control:secret-hidden-in-request
			a.Reasons = append(a.Reasons, "it seems to hold a secret, which is not shown; the digest covers the whole")
		}
	}
	a.Reasons = slices.Concat(a.Reasons, reasonTexts(ru.decision), g.subTaskReasons)
	if d := g.deadline; d > 0 {
		a.Deadline = g.now().Add(d).UTC()
	}
	return a
}

// displayText returns the text of a call in a request: a diff, a command, or the call.
func displayText(c *session.CallState, a policy.Action) string {
	if a.Display != "" || len(a.Effects) > 0 {
		return a.Display
	}
	return cmp.Or(a.Command, c.Name+" "+string(c.Arguments))
}

// reasonTexts lists the reasons of a request: the effects of the action, then the rules.
func reasonTexts(d policy.Decision) []string {
	var does, rules []string
	for _, x := range d.Reasons {
		if x.Rule == d.Rule {
			rules = append(rules, x.Text)
			continue
		}
		does = append(does, x.Text)
	}
	return append(does, rules...)
}

// Answers presents requests to the approver. It returns the events of the answers, if there
// are any yet. turn is the turn of the requests.
func (a Approvals) Answers(ctx context.Context, turn int, asked []session.Asked) (events []*session.Event, err error) {
	if a.Approver == nil {
		return nil, nil
	}
	answers, err := a.Approver.Approve(ctx, asked)
	if err != nil {
		return nil, fmt.Errorf("ask for approval: %w", err)
	}
	for _, answer := range answers {
		events = append(events, session.NewEvent(session.TypeResolved, turn, answer))
	}
	return events, nil
}

// Doubt returns the reason that the approval of a request no longer counts, or "".
func (a Approvals) Doubt(ctx context.Context, r *session.Request) (why string, err error) {
	if a.Confirm == nil {
		return "", nil
	}
	if why, err = a.Confirm(ctx, r.Asked, *r.Answer); err != nil {
		return "", fmt.Errorf("check approval %s again: %w", r.ID, err)
	}
	return why, nil
}

// approve presents requests to the approver and records the answers, if there are any
// yet.
func (g *gate) approve(ctx context.Context, asked []session.Asked) error {
	events, err := g.Answers(ctx, g.Turns, asked)
	if len(events) == 0 || err != nil {
		return err
	}
	return g.record(ctx, events...)
}

// stillWaits parks the session if c waits for an approver. It presents the request again
// first, because the process may have died between request and answer.
func (g *gate) stillWaits(ctx context.Context, c *session.CallState) (*session.Outcome, error) {
	if err := g.approve(ctx, []session.Asked{c.Request.Asked}); err != nil {
		return nil, err
	}
	if c.Waits() {
		return parkedOutcome(c), nil
	}
	return nil, nil
}

// parkedOutcome returns the outcome of a session in which c waits.
func parkedOutcome(c *session.CallState) *session.Outcome {
	status := session.StatusAwaitingApproval
	if c.Request.Kind == session.AskQuestion {
		status = session.StatusAwaitingAnswer
	}
	return &session.Outcome{Status: status}
}

// outdatedReason returns the reason that a request differs from the one that would be made now,
// or "".
func outdatedReason(c *session.CallState, ru ruling) string {
	if c.Approval().IsFor(ru.decision.Digest) && ru.decision.Verdict == policy.Ask {
		return ""
	}
	if why := session.Moved(c.Request.Bound, ru.bound); why != "" {
		return why
	}
	return "its content is no longer the one shown"
}

// approvalHolds reports whether an approval currently covers the action: the same content, the
// same state, and a still entitled approver. An approval that no longer counts is
// recorded as stale, with the reason, and the request is made again.
func (g *gate) approvalHolds(ctx context.Context, c *session.CallState, ru ruling) (bool, error) {
	if c.Approval().State == policy.Begun {
		return false, g.record(ctx, staleEvent(c, "it began to run under its approval, and was cut off"))
	}
	if !c.Approval().IsApproved() {
		return false, nil
	}
	why := outdatedReason(c, ru)
	if why == "" { //control:second-look
		var err error
		if why, err = g.Doubt(ctx, c.Request); err != nil {
			return false, err
		}
	}
	if why == "" {
		return true, nil
	}
	return false, g.record(ctx, staleEvent(c, why))
}

// completionDoubt returns the reason that an approval used in the workspace does not count for a
// push to the branch, or "".
func (g *gate) approvalDoubt(ctx context.Context, r *session.Request) (string, error) {
	if g.ApprovalFacts != nil {
		now, err := g.ApprovalFacts(ctx)
		if err != nil {
			return "", fmt.Errorf("read the facts of an approval: %w", err)
		}
		if why := session.Moved(r.Bound, now); why != "" {
			return why, nil
		}
	}
	return g.Doubt(ctx, r)
}

// staleEvent records that a request or its answer no longer counts.
func staleEvent(c *session.CallState, why string) *session.Event {
	return session.NewEvent(
		session.TypeResolved,
		c.Turn,
		session.Resolved{ID: c.Request.ID, Verdict: policy.Stale, Reason: why},
	)
}

// isRefused reports whether a request was closed without an approval.
func isRefused(c *session.CallState) bool {
	if c.Request == nil || c.Request.Answer == nil {
		return false
	}
	s := c.Approval().State
	return s == policy.Denied || s == policy.Withdrawn || s == policy.Expired
}

// answerText returns the text for the model once a question was answered. The question
// of an MCP server ended its call, so that the answer waits for the next one.
func answerText(r *session.Request) string {
	if r.Server != "" {
		return "The requester answered the server's question: " + r.Answer.Reason +
			"\nCall the tool again with the same arguments: the answer is then given to the server."
	}
	return "The person answered: " + r.Answer.Reason
}

// refusalText returns the text for the model if a request was not granted; ok is false if the
// request is still open or was granted.
func refusalText(c *session.CallState) (text string, ok bool) {
	if !isRefused(c) {
		return "", false
	}
	return c.Refusal() + " It was not run. " + c.GoOn(), true
}
