package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// The gate is the only way to a tool. It asks the tool what the call would
// do, asks the policy whether that may happen, and, where a person must be
// asked, lets through exactly what the person was shown.

// ruling is the gate's word on one call.
type ruling struct {
	tool     tools.Tool
	action   policy.Action
	decision policy.Decision
	bound    []session.Fact // what the decision's digest covers besides the action, when a person is asked
	refused  string         // told to the model instead of running the call
	mistake  bool           // the model used the tool wrongly
}

// rule decides about one call as the workspace stands now.
func (r *run) rule(ctx context.Context, c *session.CallState) (ruling, error) {
	tool, ok := r.tools.Find(c.Name)
	if !ok {
		return ruling{mistake: true, refused: fmt.Sprintf("There is no tool %q. The tools are: %s.", c.Name, strings.Join(r.names(), ", "))}, nil
	}
	action, err := tool.Intent(ctx, c.Call)
	if err != nil {
		if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
			return ruling{}, fmt.Errorf("intent of %s: %w", c.Name, err)
		}
		return ruling{mistake: true, refused: err.Error()}, nil
	}
	if c.Truncated && action.Kind != policy.Read && action.Kind != policy.Converse {
		return ruling{mistake: true, refused: "Your answer was cut off inside this call, so it was not run. Send it again in smaller pieces."}, nil
	}
	action.Tool = c.Name
	action.Edits = r.modeEdits()
	action.Subject = subject([]session.Fact{{Name: "session", Value: r.state.Task.Session}, {Name: "call", Value: c.ID}})
	d := r.later(action, r.cfg.Policy.Check(r.mode, action))
	out := ruling{tool: tool, action: action, decision: d}
	if d.Verdict == policy.Ask {
		return out, r.bind(ctx, c.ID, &out)
	}
	if d.Verdict == policy.Deny {
		out.refused = "This was refused: " + reasonText(d) + "\nDo not try to get around it; choose another way or explain what you need."
	}
	return out, nil
}

// carryOut runs a tool as it was ruled. Nothing else runs one.
func (r *run) carryOut(ctx context.Context, c session.Call, ru ruling) (tools.Result, error) {
	return ru.tool.Run(ctx, c, func(text string) { r.live(Live{Call: c.ID, Output: text}) })
}

// bind ties a ruling that needs a person to this call, in this session, on
// this state of the branch and of the workspace, and to what the outside says
// at this moment. The digest that people approve covers all of it.
func (r *run) bind(ctx context.Context, callID string, ru *ruling) error {
	facts := []session.Fact{
		{Name: "session", Value: r.state.Task.Session},
		{Name: "call", Value: callID},
		{Name: "start of the work", Value: r.state.Task.Base},
		{Name: "last checkpoint", Value: r.state.Published},
		{Name: "last step that nobody approved", Value: r.state.Unchecked},
	}
	if r.cfg.Bound != nil {
		more, err := r.cfg.Bound(ctx)
		if err != nil {
			return fmt.Errorf("read what an approval is bound to: %w", err)
		}
		facts = append(facts, more...) //control:bound-facts
	}
	ru.bound = facts
	ru.action.Subject = subject(facts)
	ru.decision.Digest = ru.action.Digest()
	return nil
}

// subject writes facts so that no two lists look the same.
func subject(facts []session.Fact) string {
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "%q %q\n", f.Name, f.Value)
	}
	return b.String()
}

// outdated says why a request is no longer the one that would be made now, or
// "".
func outdated(c *session.CallState, ru ruling) string {
	if c.Approval().IsFor(ru.decision.Digest) && ru.decision.Verdict == policy.Ask {
		return ""
	}
	if why := session.Moved(c.Request.Bound, ru.bound); why != "" {
		return why
	}
	return "what would run is no longer what was shown"
}

// admitted says whether a person's yes counts for what is about to run, at
// this moment: for these bytes, on this state, by somebody who may still give
// it. A yes that stopped counting is recorded as stale, with the reason, and
// the request is made anew.
func (r *run) admitted(ctx context.Context, c *session.CallState, ru ruling) (bool, error) {
	if !c.Approval().Stands() {
		return false, nil
	}
	why := outdated(c, ru)
	if why == "" && r.cfg.Confirm != nil { //control:second-look
		var err error
		if why, err = r.cfg.Confirm(ctx, c.Request.Asked, *c.Request.Answer); err != nil {
			return false, fmt.Errorf("check approval %s again: %w", c.Request.ID, err)
		}
	}
	if why == "" {
		return true, nil
	}
	return false, r.stale(ctx, c, why)
}

// stale records that a request or the answer to it stopped counting.
func (r *run) stale(ctx context.Context, c *session.CallState, why string) error {
	return r.record(ctx, staled(c, why))
}

func staled(c *session.CallState, why string) *session.Event {
	return session.NewEvent(session.TypeResolved, c.Turn, session.Resolved{ID: c.Request.ID, Verdict: policy.Stale, Reason: why})
}

func (r *run) names() []string {
	var out []string
	for _, s := range r.offered() {
		out = append(out, s.Name)
	}
	return out
}

func reasonText(d policy.Decision) string {
	var parts []string
	for _, x := range d.Reasons {
		parts = append(parts, x.Text)
	}
	if len(parts) == 0 {
		return d.Rule
	}
	return strings.Join(parts, "; ")
}

// refusal is what the model hears of a request that was not granted; ok is
// false when the request is still open or was granted.
func refusal(c *session.CallState) (text string, ok bool) {
	if c.Request == nil || c.Request.Answer == nil || c.Approval().Waits() || c.Approval().Stands() {
		return "", false
	}
	who := c.Request.Answer.By
	if who == "" {
		who = "the person"
	}
	because := ""
	if c.Request.Answer.Reason != "" {
		because = ": " + c.Request.Answer.Reason
	}
	switch c.Approval().State {
	case policy.Denied:
		return fmt.Sprintf("%s denied this%s. It was not run. Go on without it, or choose another way.", who, because), true
	case policy.Withdrawn:
		return "The request was withdrawn because a new instruction arrived" + because + ". It was not run. Follow the new instruction.", true
	case policy.Expired:
		return "Nobody answered the request in time, so it was not run. Go on without it, or finish and say what is missing.", true
	}
	return "", false
}

// request turns a ruling into what a person is asked. The id is short enough
// to type and the same when the log is replayed.
func (r *run) ask(c *session.CallState, ru ruling) session.Asked {
	a := session.Asked{
		ID: r.askID(c.ID, ru.decision.Digest), Kind: session.AskApproval, Call: c.ID, Digest: ru.decision.Digest,
		Severity: ru.decision.Severity.String(), Tool: c.Name, Display: ru.action.Display,
		Paths: ru.action.Paths, Base: r.state.Task.Base, Head: r.state.Published, Bound: ru.bound,
	}
	if c.Approval().State == policy.Stale && c.Request.Answer.Reason != "" {
		a.Reasons = append(a.Reasons, "it is asked again, because "+c.Request.Answer.Reason)
	}
	if a.Display == "" {
		a.Display = ru.action.Command
	}
	if r.cfg.Secrets != nil && ru.action.Kind != policy.Execute {
		if a.Display = r.cfg.Secrets.Hide(a.Display); a.Display != ru.action.Display { //control:secret-hidden-in-request
			a.Reasons = append(a.Reasons, "it holds what looks like a secret, which is not shown; the digest is of the whole")
		}
	}
	for _, x := range ru.decision.Reasons {
		a.Reasons = append(a.Reasons, x.Text)
	}
	if d := r.cfg.Limits.Deadline; d > 0 {
		a.Deadline = r.cfg.Now().Add(d).UTC()
	}
	return a
}

func (r *run) askID(parts ...string) string {
	h := sha256.Sum256([]byte(strings.Join(append(parts, r.state.Task.Session, fmt.Sprint(len(r.state.Requests))), "\x00"))) //control:orders-fresh-id
	return hex.EncodeToString(h[:3])
}

func decisionEvent(c *session.CallState, ru ruling) *session.Event {
	d := session.Decision{
		Call: c.ID, Kind: ru.action.Kind, Verdict: ru.decision.Verdict, Severity: ru.decision.Severity.String(),
		Rule: ru.decision.Rule, Digest: ru.decision.Digest, Auto: ru.decision.Auto,
	}
	for _, x := range ru.decision.Reasons {
		d.Reasons = append(d.Reasons, x.Text)
	}
	return session.NewEvent(session.TypeDecision, c.Turn, d)
}
