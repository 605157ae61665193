package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// gate is the only way to a tool. It asks the tool for the effect of a call and the
// policy for permission. If an approval is needed, the gate lets through exactly the
// content that was displayed.
type gate struct {
	*journal
	Approvals
	policy         *policy.Policy
	tools          *toolset
	secrets        SecretScanner
	deadline       time.Duration // for an approver's answer
	now            func() time.Time
	subTaskReasons []string // reasons that mark the requests of a sub-task
}

// ruling is the gate's decision on one call.
type ruling struct {
	tool     tools.Tool
	action   policy.Action
	decision policy.Decision
	bound    []session.Fact // facts covered by the digest besides the action, if an approval is needed
	refused  string         // text for the model if the call is not run
	mistake  bool           // the model used the tool wrongly
	class    session.ErrorClass
	open     *patch.Unsettled // an edit whose places are open; nil if there is none
}

// rule decides on one call in the current state of the workspace.
func (g *gate) rule(ctx context.Context, c *session.CallState) (ruling, error) {
	tool, ok := g.tools.Find(c.Name)
	if !ok {
		return ruling{mistake: true, refused: g.tools.Instead(c.Name, c.Arguments, g.tools.names())}, nil
	}
	if name := tool.Spec().Name; g.policy.ToolOff(g.mode, name) { //control:tool-is-off
		return ruling{
			class:   session.ClassPermission,
			refused: fmt.Sprintf("The tool %s is switched off here, in %s mode. Choose another way.", name, g.mode.Name),
		}, nil
	}
	var action policy.Action
	here, reads := tools.WithReads(g.strict(ctx))
	cause := g.guard(here, "the tool "+c.Name, func() (err error) {
		action, err = tool.Intent(here, c.Call)
		return err
	})
	var broke *panicked
	if errors.As(cause, &broke) {
		return ruling{mistake: true, refused: toolBroke(cause)}, nil
	}
	if cause != nil {
		if errors.Is(cause, workspace.ErrGone) || ctx.Err() != nil {
			return ruling{}, fmt.Errorf("intent of %s: %w", c.Name, cause)
		}
		out := ruling{mistake: true, refused: cause.Error(), class: tools.ClassOf(cause, tool.Spec())}
		hidden, err := g.hidden(ctx, c, *reads)
		if err != nil {
			return ruling{}, err
		}
		if hidden != "" {
			out.refused = hidden
			return out, nil
		}
		errors.As(cause, &out.open)
		return out, nil
	}
	if c.Truncated && action.Kind != policy.Read && action.Kind != policy.Converse {
		return ruling{
			mistake: true,
			refused: "Your answer was cut off inside this call, so it was not run. Send it again in smaller pieces.",
		}, nil
	}
	action.Tool = c.Name
	action.Edits = g.modeEdits()
	action.Subject = subject([]session.Fact{{Name: "session", Value: g.Task.Session}, {Name: "call", Value: c.ID}})
	d := g.later(action, g.policy.Check(g.mode, action))
	out := ruling{tool: tool, action: action, decision: d}
	if d.Verdict == policy.Ask {
		return out, g.bind(ctx, c.ID, &out)
	}
	if d.Verdict == policy.Deny {
		out.class = session.ClassPermission
		out.refused = "This was refused: " + reasonText(d) + "\nDo not try to get around it; choose another way or explain what you need."
	}
	return out, nil
}

// hidden returns the words for the model about an edit that failed, in place of those of the tool, if they
// may have lines of one of these files whose reading needs an approval. Otherwise it returns "".
func (g *gate) hidden(ctx context.Context, c *session.CallState, files []string) (string, error) {
	for _, path := range files {
		_, ru, err := g.reading(ctx, c, path)
		if err != nil {
			return "", err
		}
		if ru.tool != nil && ru.decision.Verdict != policy.Allow { //control:refusals-of-secret-files
			return fmt.Sprintf("%s was not made, or not all of it. The reason may have lines of %s, whose reading needs an approval: "+
				"compare the edit with the file as read_file shows it.", c.Name, path), nil
		}
	}
	return "", nil
}

// reading returns a call of read_file in place of c, and the ruling about it.
func (g *gate) reading(ctx context.Context, c *session.CallState, path string) (session.Call, ruling, error) {
	args, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return session.Call{}, ruling{}, fmt.Errorf("read %s: %w", path, err)
	}
	call := session.Call{ID: c.ID, Name: "read_file", Arguments: args}
	ru, err := g.rule(ctx, &session.CallState{Call: call, Turn: c.Turn})
	return call, ru, err
}

// strict makes edits strict for a small model: it seldom mends a file that it broke.
func (g *gate) strict(ctx context.Context) context.Context {
	if g.tools.window.model.weak() {
		return tools.Strict(ctx)
	}
	return ctx
}

// carryOut runs a tool according to a ruling. All tools run through it.
func (g *gate) carryOut(ctx context.Context, c session.Call, ru ruling) (tools.Result, error) {
	var res tools.Result
	here, cancel, most := g.limited(ctx, ru.tool.Spec().Name)
	defer cancel()
	here, reads := tools.WithReads(g.strict(here))
	err := g.guard(ctx, "the tool "+c.Name, func() (err error) {
		res, err = ru.tool.Run(here, c, func(text string) { g.live(Live{Call: c.ID, Output: text}) })
		return err
	})
	var broke *panicked
	if errors.As(err, &broke) {
		return tools.Result{}, errors.New(toolBroke(err))
	}
	if err != nil && ctx.Err() == nil && here.Err() != nil {
		return tools.Result{}, fmt.Errorf("%s took longer than the %s that a call of it has here. Ask for less at once", c.Name, most)
	}
	if (err != nil || res.Mistake) && ctx.Err() == nil {
		hidden, errRead := g.hidden(ctx, &session.CallState{Call: c}, *reads)
		switch {
		case errRead != nil:
			return tools.Result{}, errRead
		case hidden != "" && err != nil:
			return tools.Result{}, errors.New(hidden)
		case hidden != "":
			res.Content = hidden
		}
	}
	return res, err
}

// limited returns the context of a call with its time limit, if it has one. A command has
// its own.
func (g *gate) limited(ctx context.Context, tool string) (context.Context, context.CancelFunc, time.Duration) {
	most := g.policy.ToolTime(tool)
	if most == 0 || tool == commandTool {
		return ctx, func() {}, 0
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	return ctx, cancel, most
}

// commandTool is the name of the tool that runs commands.
const commandTool = "run_terminal_command"

// bind ties a ruling that needs an approval to this call and session, to the state of the
// branch and the workspace, and to the current ApprovalFacts. The digest that is approved
// covers all of them.
func (g *gate) bind(ctx context.Context, callID string, ru *ruling) error {
	facts := []session.Fact{
		{Name: "session", Value: g.Task.Session},
		{Name: "call", Value: callID},
		{Name: "start of the work", Value: g.BaseNow()},
		{Name: "last checkpoint", Value: g.Published},
		{Name: "last step that nobody approved", Value: g.Unchecked},
	}
	if g.ApprovalFacts != nil {
		more, err := g.ApprovalFacts(ctx)
		if err != nil {
			return fmt.Errorf("read the facts of an approval: %w", err)
		}
		facts = append(facts, more...) //control:bound-facts
	}
	ru.bound = facts
	ru.action.Subject = subject(facts)
	ru.decision.Digest = ru.action.Digest()
	return nil
}

// subject encodes facts unambiguously.
func subject(facts []session.Fact) string {
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "%q %q\n", f.Name, f.Value)
	}
	return b.String()
}

// later permits an edit in the workspace if it only waits because a file is sensitive. It
// is held back from the branch and reviewed there.
func (g *gate) later(a policy.Action, d policy.Decision) policy.Decision {
	if g.Proposer == nil {
		return d
	}
	return g.policy.Later(a, d)
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
