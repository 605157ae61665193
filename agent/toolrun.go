package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// callRunner runs the calls of an answer.
type callRunner struct {
	*journal
	gate     *gate
	saves    Checkpointer
	shrinker *shrinker
	tasks    *delegate
	reminder *reminder
	merger   *merger
	problems Problems
	onCall   func(end func())
	now      func() time.Time

	opened bool              // gone is known
	gone   []session.LeftOut // lost with an earlier workspace
}

// finish runs the first call of the last answer that has no result yet, or stops if the
// call must wait for an approval. Requests for later calls in the same answer are made
// together with it. It runs one call at a time, so that answers received meanwhile, such
// as a denial of the next call, count before that call begins.
func (r *callRunner) finish(ctx context.Context) (*session.Outcome, error) {
	for i, c := range r.Last {
		if !c.Open() {
			continue
		}
		parked, err := r.wait(ctx, c)
		if err == nil && parked == nil {
			parked, err = r.finishCall(ctx, i)
		}
		if err != nil || parked != nil {
			return parked, err
		}
		if c.Open() {
			return nil, nil // an event arrived in between: look again
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.Result != nil {
			if err := r.reminder.remind(ctx, c); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return nil, nil
}

// wait parks the session if c waits for an answer. A request that would now be made
// differently becomes stale first.
func (r *callRunner) wait(ctx context.Context, c *session.CallState) (*session.Outcome, error) {
	if !c.Waits() {
		return nil, nil
	}
	if c.Request.Kind != session.AskQuestion {
		ru, err := r.gate.rule(ctx, c)
		if err != nil {
			return nil, err
		}
		if why := outdatedReason(c, ru); why != "" {
			return nil, r.record(ctx, staleEvent(c, why))
		}
	}
	return r.gate.stillWaits(ctx, c)
}

// finishCall brings the i-th call as far as possible: to a result, or to a request that
// parks the session.
func (r *callRunner) finishCall(ctx context.Context, i int) (*session.Outcome, error) {
	c := r.Last[i]
	if text, refused := refusalText(c); refused {
		return nil, r.result(ctx, c, session.Result{Content: text, Class: session.ClassPermission})
	}
	if c.Approval().State == policy.Answered {
		return nil, r.result(ctx, c, session.Result{OK: true, Content: answerText(c.Request)})
	}
	if cutOff(c) { //control:cut-off-call
		return nil, r.result(ctx, c, session.Result{Cut: true, Content: cutOffText(c.Name), Title: c.Title()})
	}
	if c.Request == nil { // a call that waited for its approval is no repetition
		if text, stop := r.habits.Repeated(c.ID, r.gate.tools.Spec(c.Name).Repeats); stop {
			return nil, r.result(ctx, c, session.Result{Content: text, Mistake: true, Class: session.ClassRepetition})
		}
	}
	ru, err := r.gate.rule(ctx, c)
	if err != nil {
		return nil, err
	}
	if ru.refused != "" {
		if asked, err := r.merger.ask(ctx, c, ru.open); asked || err != nil {
			return nil, err
		}
		return nil, r.refuseRuled(ctx, c, ru)
	}
	if ru.decision.Verdict == policy.Ask {
		yes, err := r.gate.approvalHolds(ctx, c, ru)
		if err != nil {
			return nil, err
		}
		if !yes {
			return r.askFirst(ctx, i, ru)
		}
	}
	return r.execute(ctx, c, ru)
}

// askFirst requests an approval of the i-th call, and continues with the answer if there
// is one already.
func (r *callRunner) askFirst(ctx context.Context, i int, ru ruling) (*session.Outcome, error) {
	c := r.Last[i]
	if _, refused := refusalText(c); !refused {
		if err := r.askAll(ctx, i, ru); err != nil {
			return nil, err
		}
	}
	if c.Waits() {
		return parkedOutcome(c), nil
	}
	return r.finishCall(ctx, i)
}

func (r *callRunner) refuseRuled(ctx context.Context, c *session.CallState, ru ruling) error {
	res := session.Result{Call: c.ID, Content: r.withRegion(ctx, c, ru.refused), Mistake: ru.mistake, Class: ru.class}
	if ru.mistake {
		return r.result(ctx, c, res)
	}
	return r.record(ctx, decisionEvent(c, ru), session.NewEvent(session.TypeResult, c.Turn, res))
}

func (r *callRunner) result(ctx context.Context, c *session.CallState, res session.Result) error {
	res.Call = c.ID
	return r.record(ctx, session.NewEvent(session.TypeResult, c.Turn, res))
}

// askAll records the request for the i-th call, together with those for all later calls
// of the same answer that would also have to wait, so that the approver is interrupted
// only once. If the effect of a later call has changed by its turn, it is requested
// again.
func (r *callRunner) askAll(ctx context.Context, i int, first ruling) error {
	var asked []session.Asked
	var events []*session.Event
	add := func(c *session.CallState, ru ruling) {
		a := r.gate.ask(c, ru)
		asked = append(asked, a)
		events = append(events, decisionEvent(c, ru), session.NewEvent(session.TypeAsked, c.Turn, a))
	}
	add(r.Last[i], first)
	for _, later := range r.Last[i+1:] {
		known := later.Approval().IsPending() || later.Approval().IsApproved()
		if !later.Open() || later.Request != nil && !known {
			continue
		}
		ru, err := r.gate.rule(ctx, later)
		if err != nil {
			return err
		}
		if known {
			why := outdatedReason(later, ru)
			if why == "" {
				continue
			}
			events = append(events, staleEvent(later, why))
		}
		if ru.refused == "" && ru.decision.Verdict == policy.Ask {
			add(later, ru)
		}
		if k := ru.action.Kind; ru.decision.Verdict == policy.Allow && k != policy.Read && k != policy.Converse {
			break // its changes would make later approvals stale
		}
	}
	if err := r.record(ctx, events...); err != nil {
		return err
	}
	return r.gate.approve(ctx, asked)
}

// execute runs a permitted call. The start is recorded before the call, the result after
// it, together with the changes.
func (r *callRunner) execute(ctx context.Context, c *session.CallState, ru ruling) (*session.Outcome, error) {
	title := callTitle(c, ru)
	if err := r.start(ctx, c, ru, title); err != nil {
		return nil, err
	}
	if ru.decision.Verdict == policy.Ask && c.Approval().State != policy.Begun { //control:last-moment
		return nil, nil // the approval was withdrawn before the start: look again
	}
	begin := r.now()
	here, ended := r.endable(ctx)
	res, err := r.gate.carryOut(tools.WithRoom(here, r.shrinker.share()), c.Call, ru)
	err = ended(err)
	if err != nil &&
		(errors.Is(err, workspace.ErrGone) || errors.Is(err, workspace.ErrFull) || errors.As(err, new(*session.Away)) ||
			ctx.Err() != nil) {
		return nil, fmt.Errorf(
			"run %s: %w",
			c.Name,
			err,
		) // no mistake of the model: the call is resolved when the session resumes
	}
	if err == nil && res.Task != nil {
		return r.tasks.run(ctx, c, *res.Task)
	}
	out := session.Result{
		Call:     c.ID,
		OK:       err == nil,
		Content:  res.Content,
		Title:    res.Title,
		Changes:  res.Changes,
		Images:   res.Images,
		Millis:   r.now().Sub(begin).Milliseconds(),
		Complete: res.Complete,
		NoChange: res.NoChange,
		Tests:    res.Tests,
		Ran:      res.Ran,
		Mistake:  res.Mistake,
		Class:    res.Class,
		Finding:  res.Finding,
		Dir:      res.Dir,
		Handle:   res.Handle,
		Output:   res.Output,
	}
	if a := ru.action; a.Kind == policy.MCP {
		out.Ran = &session.TestRun{Line: a.Server + " " + a.Remote, Unknown: true}
	}
	switch {
	case errors.Is(err, errEnded):
		out.Content, out.Class = err.Error(), session.ClassPermission
	case err != nil:
		out.Content, out.Mistake = r.withRegion(ctx, c, err.Error()), true
		out.Class = tools.ClassOf(err, r.gate.tools.Spec(c.Name))
	}
	if !out.Complete {
		out.Content = r.shrinker.bound(out.Content)
	}
	if say, yes := r.shrinker.shownAbove(c, out.Content); yes && ru.action.Kind == policy.Read && len(out.Images) == 0 {
		out.Content = say
	}
	if out.Title == "" {
		out.Title = title
	}
	if out.OK && !slices.ContainsFunc(out.Changes, func(c session.FileChange) bool { return c.Fault != "" }) {
		say, err := r.problems.after(ctx, ru.action.Kind)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", c.Name, err)
		}
		if say != "" { //control:edit-brought
			out.Content = strings.TrimRight(out.Content, "\n") + "\n" + say
		}
	}
	r.shrinker.asked = r.shrinker.asked || res.Condense
	if res.Ask != nil {
		return r.question(ctx, c, *res.Ask)
	}
	if r.gate.tools.Busy() { //control:beside-is-saved
		ru.action.Kind = policy.Execute // background commands may have changed files
	}
	events, err := r.outcome(ctx, c, ru.action, out)
	if err != nil {
		return nil, err
	}
	if res.State != nil {
		if err := r.allowState(res.State); err != nil {
			out.OK, out.Content = false, err.Error()
			events = []*session.Event{session.NewEvent(session.TypeResult, c.Turn, out)}
		} else {
			events = append(events, session.NewEvent(session.TypeState, c.Turn, *res.State))
		}
	}
	return nil, r.record(ctx, events...)
}

// errEnded is the result of a call that the user ended.
var errEnded = errors.New("the user ended this call, and wants the work to go on without it")

// endable returns the context of a call that the user can end, and a function that takes
// the error of the call and returns that of its end.
func (r *callRunner) endable(ctx context.Context) (here context.Context, ended func(error) error) {
	here, end := context.WithCancel(ctx)
	if r.onCall != nil {
		r.onCall(end)
	}
	return here, func(err error) error {
		if err != nil && here.Err() != nil && ctx.Err() == nil {
			err = errEnded
		}
		if r.onCall != nil {
			r.onCall(nil)
		}
		end()
		return err
	}
}

// start records that a call begins.
func (r *callRunner) start(ctx context.Context, c *session.CallState, ru ruling, title string) error {
	start := session.NewEvent(session.TypeStarted, c.Turn, session.Started{Call: c.ID, Title: title})
	if c.Decision == nil || c.Decision.Digest != ru.decision.Digest {
		return r.record(ctx, decisionEvent(c, ru), start)
	}
	return r.record(ctx, start)
}

// outcome pairs a result with the saved state after it, so that a crash cannot lose the
// effect of a recorded result.
func (r *callRunner) outcome(
	ctx context.Context,
	c *session.CallState,
	action policy.Action,
	out session.Result,
) ([]*session.Event, error) {
	switch action.Kind {
	case policy.Write, policy.Delete, policy.Execute:
	default:
		return []*session.Event{session.NewEvent(session.TypeResult, c.Turn, out)}, nil
	}
	saved, err := r.saves.Save(ctx, c.Turn, r.gate.mode.Writes())
	if err != nil {
		return nil, fmt.Errorf("save changes: %w", err)
	}
	r.nameLeftOut(&out, saved.LeftOut)
	events := []*session.Event{session.NewEvent(session.TypeResult, c.Turn, out)}
	events = append(events, saved.notes(c.Turn, c.ID)...)
	events = append(events, saved.neighbors(c.Turn)...)
	if !saved.Changed {
		return events, nil
	}
	return append(events, session.NewEvent(session.TypeCheckpoint, c.Turn, saved.checkpoint(r.Published))), nil
}

// question parks the session until the model's question is answered.
func (r *callRunner) question(ctx context.Context, c *session.CallState, q session.Asked) (*session.Outcome, error) {
	q.ID, q.Kind, q.Call, q.Tool = r.gate.NewAskID(), session.AskQuestion, c.ID, c.Name
	if err := r.record(ctx, session.NewEvent(session.TypeAsked, c.Turn, q)); err != nil {
		return nil, err
	}
	if err := r.gate.approve(ctx, []session.Asked{q}); err != nil {
		return nil, err
	}
	if c.Waits() {
		return parkedOutcome(c), nil
	}
	return nil, nil
}

// allowState checks a change of mode: a session may restrict its mode, and return to the
// mode granted to the requester, but never exceed it.
func (r *callRunner) allowState(s *session.Update) error {
	if s.Mode == "" {
		return nil
	}
	want, err := policy.ParseMode(s.Mode)
	if err != nil {
		return err
	}
	granted, err := policy.ParseMode(r.ModeName())
	if err != nil {
		return err
	}
	if !want.Within(granted) {
		return fmt.Errorf(
			"mode %q allows more than %q, which is what was asked for; stay in a mode within it",
			want.Name,
			granted.Name,
		)
	}
	return nil
}

// callTitle returns the title of a call while it runs.
func callTitle(c *session.CallState, ru ruling) string {
	a := ru.action
	if ru.tool != nil && a.Kind == policy.Read {
		if doing := ru.tool.Spec().Doing; doing != "" {
			return doing
		}
	}
	verb := map[policy.Kind]string{policy.Read: "Reading ", policy.Write: "Writing ", policy.Delete: "Deleting "}[a.Kind]
	switch n := len(a.Paths); {
	case a.Kind == policy.MCP:
		return fmt.Sprintf("Using %s of the MCP server %s", firstLine(a.Remote, 80), a.Server)
	case a.Kind == policy.Execute:
		return "Running " + firstLine(a.Command, 80)
	case n > 1:
		return fmt.Sprintf("%s%s and %d more", verb, a.Paths[0], n-1)
	case n == 1:
		return verb + a.Paths[0]
	case (a.Kind == policy.Read || a.Kind == policy.Network) && a.Display != "":
		return firstLine(a.Display, 80)
	}
	return c.Name
}
