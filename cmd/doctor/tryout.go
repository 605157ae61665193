// A trial runs each answer form of a model on three small tasks, with the loop, the
// workspace and the git code of real sessions, so that it measures the product.
//
//	tryout.go    the trial; start reading here
//	task.go      the tasks and their tests
//	meter.go     the speed of the model
//	report.go    the report for the user
//	template.go  models with a template without roles

package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// TrialConfig configures a trial. Only Tell is optional.
type TrialConfig struct {
	Model llm.Model
	// Engine returns an engine for sessions with this model and form, in a new directory.
	Engine func(dir string, m llm.Model, form llm.Form, rules policy.Config) (*work.Engine, error)
	Time   time.Duration // for all tasks, after the model is loaded
	Now    func() time.Time
	Tell   func(line string) // receives progress messages; nil discards them
}

// minSolved is the minimum number of solved tasks that makes a form usable.
const minSolved = 2

const (
	maxTurns = 8
	minTry   = 200 * time.Millisecond // minimum time left to begin a task
	maxLoad  = 10 * time.Minute       // maximum time to load the model
)

var (
	author = gitops.Signature{Name: "Handrail", Email: "handrail@localhost"}
	forms  = [...]llm.Form{llm.FormNative, llm.FormText, llm.FormFiles}
)

// trial is a trial in progress.
type trial struct {
	TrialConfig
	caps llm.Capabilities
	dir  string
}

// Run tries the model. The error is not nil only if nothing could be tried at all.
func Run(ctx context.Context, cfg TrialConfig) (report Trial, err error) {
	t := &trial{TrialConfig: cfg}
	if t.Tell == nil {
		t.Tell = func(string) {}
	}
	t.Tell("asking for the model " + cfg.Model.Name())
	if t.caps, err = cfg.Model.Capabilities(ctx); err != nil {
		return report, err
	}
	if t.dir, err = os.MkdirTemp("", "handrail-tryout-"); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, workspace.RemoveTree(t.dir)) }()
	report = Trial{
		Model:         cfg.Model.Name(),
		Tools:         t.caps.Tools,
		Parameters:    t.caps.Parameters,
		ContextLength: t.caps.ContextLength,
		Auto:          llm.FormOf(t.caps),
	}
	if report.LoadSeconds, err = t.load(ctx); err != nil {
		return report, err
	}
	rows, err := t.all(ctx)
	if err != nil {
		return report, err
	}
	report.Forms = rows
	report.conclude()
	return report, nil
}

// load has the server load the model with the context size of sessions, so that no task
// pays for it.
func (t *trial) load(ctx context.Context) (seconds float64, err error) {
	t.Tell("loading it")
	ctx, cancel := context.WithTimeout(ctx, maxLoad)
	defer cancel()
	began := t.Now()
	req := llm.Request{
		Messages:  []llm.Message{{Role: llm.RoleUser, Content: "Say OK."}},
		Context:   t.caps.Window(),
		MaxTokens: 8,
	}
	for _, err := range t.Model.Stream(ctx, req) {
		if err != nil {
			return 0, err
		}
	}
	return tenths(t.Now().Sub(began).Seconds()), nil
}

// all tries each form, the shortest prompt first: a slow machine then gets a reliable
// result for one form. Each form gets most of the remaining time; unused time passes to
// the next.
func (t *trial) all(ctx context.Context) ([]Row, error) {
	ends := t.Now().Add(t.Time)
	rows := make([]Row, len(forms))
	for i := len(forms) - 1; i >= 0; i-- {
		rows[i] = Row{Form: forms[i]}
		if forms[i] == llm.FormNative && !t.caps.Tools {
			rows[i].LeftOut = "the server says that the model calls no tools"
			continue
		}
		now := t.Now()
		share := ends.Sub(now)
		if i > 1 || i == 1 && t.caps.Tools { // other forms follow
			share = share * 3 / 5
		}
		if err := t.form(ctx, &rows[i], now.Add(share)); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// form tries one form until the time ends.
func (t *trial) form(ctx context.Context, row *Row, ends time.Time) error {
	m := &meter{Model: t.Model, now: t.Now}
	rules := policy.DefaultConfig()
	rules.Test = []string{testCommand}
	dir := filepath.Join(t.dir, string(row.Form))
	e, err := t.Engine(filepath.Join(dir, "work"), m, row.Form, rules)
	if err != nil {
		return err
	}
	began := t.Now()
	for i, task := range tasks {
		now := t.Now()
		left := ends.Sub(now)
		if i < len(tasks)-1 { // a hanging task leaves time for the others
			left = left * 3 / 4
		}
		if left < minTry {
			row.Tasks = append(row.Tasks, Try{Task: task.name, Why: whyTime})
			continue
		}
		if i > 0 && m.mute() {
			row.Tasks = append(row.Tasks, Try{Task: task.name, Why: row.Tasks[i-1].Why})
			continue
		}
		t.Tell(fmt.Sprintf("%s: %s", row.Form, task.request))
		try, err := t.try(ctx, e, task, filepath.Join(dir, task.name), left)
		if err != nil {
			return fmt.Errorf("try %s in the form %s: %w", task.name, row.Form, err)
		}
		try.Seconds = tenths(t.Now().Sub(now).Seconds())
		t.Tell(try.String())
		row.Tasks = append(row.Tasks, try)
		row.Tried++
		if try.Solved {
			row.Solved++
		}
	}
	row.Seconds = tenths(t.Now().Sub(began).Seconds())
	row.PerSecond, row.FirstWord, row.Waited = m.figures()
	return nil
}

// whyTime is the reason for a task that timed out.
const whyTime = "the time was over"

// try runs a session on one task.
func (t *trial) try(
	ctx context.Context,
	e *work.Engine,
	task task,
	dir string,
	most time.Duration,
) (out Try, err error) {
	out.Task = task.name
	repo, base, err := task.repository(ctx, filepath.Join(dir, "repo"))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	end, err := e.Run(limited, work.Job{
		Task: session.Task{
			Session: session.NewID(), Text: task.request, Mode: "code", Model: t.Model.Name(), Base: base, Branch: "agent/trial", Turns: maxTurns,
		},
		Name:     task.name,
		Log:      &session.Memory{},
		Repo:     repo,
		RulesAt:  base,
		Approver: denyAll{},
		Commits:  work.Commits{Author: author},
	})
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case limited.Err() != nil:
		out.Why = whyTime
		return out, nil
	case err != nil:
		return out, err
	}
	if out.End = string(end.Status); end.Status != session.StatusDone {
		out.Why = end.Reason
		return out, nil
	}
	if end.Commit == "" {
		out.Why = "nothing was changed"
		return out, nil
	}
	if out.Solved, err = task.solved(ctx, repo, end.Commit, filepath.Join(dir, "result")); err == nil && !out.Solved {
		out.Why = "its test fails"
	}
	return out, err
}

// denyAll is an approver that denies every request.
type denyAll struct{}

// Approve implements [agent.Approver].
func (denyAll) Approve(_ context.Context, asked []session.Asked) (out []session.Resolved, err error) {
	for _, a := range asked {
		out = append(
			out,
			session.Resolved{ID: a.ID, Verdict: policy.Denied, By: "handrail doctor", Reason: "a trial has no approver"},
		)
	}
	return out, nil
}

var _ agent.Approver = denyAll{}
