package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// The gate is the only way to a tool. It asks the tool what the call would
// do, asks the policy whether that may happen, and, where a person must be
// asked, lets through exactly what the person was shown.

// ruling is the gate's word on one call.
type ruling struct {
	tool     Tool
	action   policy.Action
	decision policy.Decision
	refused  string // told to the model instead of running the call
	mistake  bool   // the model used the tool wrongly
}

// rule decides about one call as the workspace stands now.
func (r *run) rule(ctx context.Context, c *call) (ruling, error) {
	tool := r.tool(c.Name)
	if tool == nil {
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
	action.Subject = r.subject(c.ID)
	d := r.cfg.Policy.Check(r.mode, action)
	out := ruling{tool: tool, action: action, decision: d}
	if d.Verdict == policy.Deny {
		out.refused = "This was refused: " + reasonText(d) + "\nDo not try to get around it; choose another way or explain what you need."
	}
	return out, nil
}

// subject binds an approval to this call, in this session, on this state of
// the branch, in this kind of workspace. The workspace state itself needs no
// mention: a command that ran before would have made another state.
func (r *run) subject(callID string) string {
	return strings.Join([]string{r.state.task.Session, callID, r.state.task.Base, r.state.published, r.cfg.Binding}, "\x00")
}

func (r *run) tool(name string) Tool {
	for _, t := range r.cfg.Tools {
		if t.Spec().Name == name {
			return t
		}
	}
	return nil
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

// admits compares an approval with what is about to run: the person's yes
// counts for these bytes and no others.
func (c *call) admits(d policy.Decision) bool {
	return c.resolved != nil && c.resolved.Verdict == verdictApproved && c.asked != nil && c.asked.Digest == d.Digest
}

const (
	verdictApproved  = "approved"
	verdictDenied    = "denied"
	verdictAnswered  = "answered"
	verdictWithdrawn = "withdrawn"
	verdictExpired   = "expired"
	verdictStale     = "stale"
)

// refusal is what the model hears of a request that was not granted; ok is
// false when the request is still open or was granted.
func (c *call) refusal() (text string, ok bool) {
	if c.resolved == nil {
		return "", false
	}
	who := c.resolved.By
	if who == "" {
		who = "the person"
	}
	because := ""
	if c.resolved.Reason != "" {
		because = ": " + c.resolved.Reason
	}
	switch c.resolved.Verdict {
	case verdictDenied:
		return fmt.Sprintf("%s denied this%s. It was not run. Go on without it, or choose another way.", who, because), true
	case verdictWithdrawn:
		return "The request was withdrawn because a new instruction arrived" + because + ". It was not run. Follow the new instruction.", true
	case verdictExpired:
		return "Nobody answered the request in time, so it was not run. Go on without it, or finish and say what is missing.", true
	}
	return "", false
}

// request turns a ruling into what a person is asked. The id is short enough
// to type and the same when the log is replayed.
func (r *run) ask(c *call, ru ruling) session.Asked {
	a := session.Asked{
		ID: r.askID(c.ID, ru.decision.Digest), Kind: "approval", Call: c.ID, Digest: ru.decision.Digest,
		Severity: ru.decision.Severity.String(), Tool: c.Name, Display: ru.action.Display,
		Paths: ru.action.Paths, Base: r.state.task.Base, Head: r.state.published,
	}
	if a.Display == "" {
		a.Display = ru.action.Command
	}
	if r.cfg.Secrets != nil && ru.action.Kind != policy.Execute {
		if a.Display = r.cfg.Secrets.Hide(a.Display); a.Display != ru.action.Display {
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
	h := sha256.Sum256([]byte(strings.Join(append(parts, r.state.task.Session, fmt.Sprint(r.state.asked)), "\x00")))
	return hex.EncodeToString(h[:3])
}

func decisionEvent(c *call, ru ruling) *session.Event {
	d := session.Decision{
		Call: c.ID, Verdict: ru.decision.Verdict.String(), Severity: ru.decision.Severity.String(),
		Rule: ru.decision.Rule, Digest: ru.decision.Digest, Auto: ru.decision.Auto,
	}
	for _, x := range ru.decision.Reasons {
		d.Reasons = append(d.Reasons, x.Text)
	}
	return session.NewEvent(session.TypeDecision, c.turn, d)
}
