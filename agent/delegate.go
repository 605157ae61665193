package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/policy"
)

// maxParallelTasks is the maximum number of sub-tasks that run at once.
const maxParallelTasks = 4

// delegate works on the sub-tasks of a session. Each is the same loop in the same
// workspace, behind the same gate, on its own part of the log. It publishes nothing: its
// changes are saved, and pushed when the session continues.
type delegate struct {
	*journal
	agent *Agent
	gate  *gate
	meter *meter
	logMu sync.Mutex // serializes access to the log and to progress reports
	askMu sync.Mutex // serializes approval requests

	endMu sync.Mutex
	ends  map[*Agent]func() // the ends of the calls that run in sub-tasks
}

// job is a sub-task and its call.
type job struct {
	call *session.CallState
	task session.Task
}

// run works on the sub-task of a call, and at the same time on those of the calls that
// follow if all of them only read. It records their results. The outcome is not nil if
// the session has to wait.
func (d *delegate) run(ctx context.Context, c *session.CallState, task session.Task) (*session.Outcome, error) {
	jobs, err := d.jobs(ctx, job{c, task})
	if err != nil {
		return nil, err
	}
	results, waits := make([]*session.Result, len(jobs)), make([]*session.Outcome, len(jobs))
	errs := make([]error, len(jobs))
	var all sync.WaitGroup
	for i, jb := range jobs {
		all.Go(func() {
			errs[i] = d.guard(ctx, "a sub-task", func() (err error) {
				results[i], waits[i], err = d.work(ctx, jb)
				return err
			})
		})
	}
	all.Wait()
	if err := d.catchUp(ctx); err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	var wait *session.Outcome
	for i, jb := range jobs {
		if res := results[i]; res != nil {
			res.Call = jb.call.ID
			if err := d.record(ctx, session.NewEvent(session.TypeResult, jb.call.Turn, *res)); err != nil {
				return nil, err
			}
		}
		if wait == nil {
			wait = waits[i]
		}
	}
	return wait, errors.Join(errs...)
}

// jobs returns the sub-tasks that can run at the same time.
func (d *delegate) jobs(ctx context.Context, first job) ([]job, error) {
	out := []job{first}
	reads := func(name string) bool {
		m, err := policy.ParseMode(name)
		return err == nil && m.ReadOnly() && !m.Allows(policy.Execute)
	}
	at := slices.Index(d.Last, first.call) + 1
	for _, c := range d.Last[at:] {
		if c.Name != first.call.Name || !c.Open() || len(out) == maxParallelTasks || !reads(first.task.Mode) {
			break
		}
		ru, err := d.gate.rule(ctx, c)
		if err != nil {
			return nil, err
		}
		if ru.refused != "" || ru.decision.Verdict != policy.Allow {
			break
		}
		res, err := d.gate.carryOut(ctx, c.Call, ru)
		if err != nil || res.Task == nil || !reads(res.Task.Mode) {
			break // handled in its turn
		}
		if err := d.record(ctx, decisionEvent(c, ru), session.NewEvent(session.TypeStarted, c.Turn, session.Started{
			Call:  c.ID,
			Title: callTitle(c, ru),
		})); err != nil {
			return nil, err
		}
		out = append(out, job{c, *res.Task})
	}
	return out, nil
}

// work runs a sub-task until it has a result or the session has to wait. If it returns
// neither, the session itself has to be checked again.
func (d *delegate) work(ctx context.Context, jb job) (*session.Result, *session.Outcome, error) {
	want, err := policy.ParseMode(jb.task.Mode)
	if err == nil && !want.Within(d.mode) { //control:no-wider-inside
		err = fmt.Errorf(
			"mode %q allows more than %q, which this session works in; give the sub-task one of %s",
			want.Name,
			d.mode.Name,
			d.mode.IncludedModes(),
		)
	}
	if err != nil {
		return &session.Result{Content: err.Error(), Mistake: true}, nil, nil
	}
	task := session.Task{
		Session:   d.Task.Session,
		Thread:    d.Task.Thread,
		Text:      tools.TaskText(jb.task.Text),
		Mode:      want.Name,
		Turns:     jb.task.Turns,
		Model:     d.ModelName(),
		Base:      d.Published,
		Branch:    d.Branch,
		Nonce:     d.Task.Nonce,
		Requester: d.Task.Requester,
	}
	a := d.inner()
	j := newJournal(a, session.NewPart(d.log, jb.call.ID, d.onEvent, &d.logMu))
	j.onEvent = nil // the part of the log reports its events
	if err := j.open(ctx, task); err != nil {
		return nil, nil, fmt.Errorf("open sub-task %s: %w", jb.call.ID, err)
	}
	if j.Outcome == nil || j.Outcome.Status.Parked() && j.Outcome.Status != session.StatusOutOfBudget {
		r := newRun(a, j)
		r.finisher.inside, r.calls.opened, r.task = true, true, jb.call.ID+"/"
		r.calls.gate.subTaskReasons = []string{fmt.Sprintf("a sub-task asks: %q", firstLine(jb.task.Text, 80))}
		if d.mode.EditLimit != policy.NoEditLimit { //control:edits-inside-count
			j.used.modeFrom = j.Edits - d.modeEdits() // inherits the session's count
		}
		r.steps = []step{r.provide, r.calls.finish, r.handleLosses, r.finisher.finish, d.look, r.meter.check, r.think}
		out, err := r.loop(ctx)
		var over *overError
		switch {
		case errors.As(err, &over):
			return nil, over.out, nil
		case err != nil:
			return nil, nil, err
		case out.Status == session.StatusMoved:
			return nil, nil, nil
		case out.Status == session.StatusAwaitingApproval:
			return nil, &out, nil
		}
	}
	out := *j.Outcome
	out.Files = j.Unpushed
	if out.Summary == "" {
		out.Summary = (&finisher{journal: j}).lastExplanation()
	}
	res := tools.Report(j.Task, out)
	return &res, nil, nil
}

// inner returns the agent for sub-tasks. Its approval requests, its inbox and its
// progress reports are serialized.
func (d *delegate) inner() *Agent {
	in := *d.agent.subTasks
	if in.cfg.Approver != nil {
		in.cfg.Approver = serialApprover{&d.askMu, in.cfg.Approver}
	}
	if report := in.cfg.OnCall; report != nil {
		in.cfg.OnCall = func(end func()) { d.onCall(&in, end, report) }
	}
	if hear := in.cfg.Inbox; hear != nil {
		in.cfg.Inbox = func(ctx context.Context) error {
			d.logMu.Lock()
			defer d.logMu.Unlock()
			return hear(ctx)
		}
	}
	if show := in.cfg.OnLive; show != nil {
		in.cfg.OnLive = func(l Live) {
			if l.Output == "" && l.Title == "" {
				return // the text of a sub-task is not shown
			}
			d.logMu.Lock()
			defer d.logMu.Unlock()
			show(Live{Call: l.Call, Output: l.Output, Title: l.Title, Silent: l.Silent, Stall: l.Stall})
		}
	}
	return &in
}

// onCall reports the calls that run in sub-tasks at the same time as one: its end ends all of
// them.
func (d *delegate) onCall(of *Agent, end func(), report func(end func())) {
	d.endMu.Lock()
	defer d.endMu.Unlock()
	if d.ends == nil {
		d.ends = map[*Agent]func(){}
	}
	if d.ends[of] = end; end == nil {
		delete(d.ends, of)
	}
	if len(d.ends) == 0 {
		report(nil)
		return
	}
	all := slices.Collect(maps.Values(d.ends))
	report(func() {
		for _, end := range all { //control:skip-reaches-all
			end()
		}
	})
}

// serialApprover is an Approver that handles one request at a time.
type serialApprover struct {
	turn *sync.Mutex
	Approver
}

// Approve implements Approver.
func (i serialApprover) Approve(ctx context.Context, asked []session.Asked) ([]session.Resolved, error) {
	i.turn.Lock()
	defer i.turn.Unlock()
	return i.Approver.Approve(ctx, asked)
}

// overError means that the session itself has to stop, and its sub-tasks with it. The
// outcome is nil if the session restarts in another workspace.
type overError struct{ out *session.Outcome }

// Error implements error.
func (*overError) Error() string { return "the session has to stop first" }

// look is the step of a sub-task that checks whether the session may continue.
func (d *delegate) look(ctx context.Context) (*session.Outcome, error) {
	d.logMu.Lock()
	defer d.logMu.Unlock()
	if err := d.catchUp(ctx); err != nil {
		return nil, err
	}
	if d.TakeBack != nil {
		return nil, &overError{}
	}
	out, err := d.meter.check(ctx)
	if out != nil { //control:budget-inside
		err = &overError{out}
	}
	return nil, err
}

// subTaskConfig returns the configuration for sub-tasks, without session-level features.
func subTaskConfig(cfg Config) Config {
	cfg.Plans, cfg.Shares = false, nil
	cfg.Tools = slices.DeleteFunc(slices.Clone(cfg.Tools), func(t tools.Tool) bool { return t.Spec().Outer }) //control:no-people-inside
	return cfg
}
