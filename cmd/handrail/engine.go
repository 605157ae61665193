package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
)

// engine works on sessions: it is where the brain (model, policy, git) meets
// the hands (a workspace). `run`, `serve`, `demo` and the Action share it.
type engine struct {
	bases     *bases
	workspace workspace.Engine
	model     func(name string) (llm.Model, error)
	policy    *policy.Policy
	config    policy.Config
	secrets   *secrets
	log       *slog.Logger
}

// job is one stretch of work on one session.
type job struct {
	task     session.Task
	name     string // how people call the repository
	log      session.Log
	repo     *gitops.Mirror
	author   gitops.Signature
	push     func(ctx context.Context, p gitops.SafePush) (gitops.Pushed, error) // nil: local branch only
	review   bool                                                                // sensitive edits may be put up as pull requests
	approver agent.Approver
	inbox    func(context.Context) error
	onEvent  func(session.Event)
	onLive   func(agent.Live)
	shares   []agent.Share
	rulesAt  string // commit of the base branch, whose instructions count; "" for none
	// bound and confirm are as in agent.Config; nil for nothing.
	bound   func(context.Context) ([]session.Fact, error)
	confirm func(context.Context, session.Asked, session.Resolved) (string, error)
}

// run opens a workspace on the state that the session's log ends with, and
// lets the agent work in it.
func (e *engine) run(ctx context.Context, j job) (session.Outcome, error) {
	for {
		out, err := e.runOnce(ctx, j)
		if !errors.Is(err, errMoved) {
			return out, err
		}
	}
}

func (e *engine) runOnce(ctx context.Context, j job) (out session.Outcome, err error) {
	at, err := standing(ctx, j.log, j.task)
	if err != nil {
		return out, err
	}
	if at.ended != nil {
		return *at.ended, nil
	}
	if at, err = e.rebuild(ctx, j, at); err != nil {
		return out, err
	}
	ws, closeAll, err := e.open(ctx, j, at)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, closeAll(context.WithoutCancel(ctx))) }()
	a, err := e.agent(ctx, ws, j, at)
	if err != nil {
		return out, err
	}
	return a.Run(ctx, j.task, j.log)
}

func (e *engine) agent(ctx context.Context, ws *workspace.Workspace, j job, at place) (*agent.Agent, error) {
	model, err := e.model(j.task.Model)
	if err != nil {
		return nil, err
	}
	words, err := e.prompt(ctx, ws, j)
	if err != nil {
		return nil, err
	}
	builtin := tools.Builtin(tools.Config{
		Files: ws, Search: ws, Shell: ws, Changes: ws, Start: ws, Root: ws.Root(), Name: j.name, LongCommands: e.config.LongRunningCommands,
	})
	list := make([]agent.Tool, 0, len(builtin))
	for _, t := range builtin {
		list = append(list, t)
	}
	keep := &checkpoints{ws: ws, job: j, base: at.saved, branch: at.branch, published: at.published, redactor: e.secrets.redactor}
	tokens, answer := window(model)
	return agent.New(agent.Config{
		Redactor: e.secrets.redactor, Secrets: e.secrets.scan(j.repo),
		Model: model, Policy: e.policy, Tools: list, Approver: j.approver, Checkpoints: keep, Proposer: e.proposer(j, keep),
		Prompt: words, Provide: provide(ws, j),
		Inbox: keep.inbox, OnEvent: j.onEvent, OnLive: j.onLive,
		Bound: e.bound(ws, j), Confirm: j.confirm,
		Context: tokens, MaxTokens: answer, Limits: e.limits(), Shares: j.shares, Log: e.log,
	})
}

// bound says what approvals are bound to besides the call and the session:
// where it would run, and what the job adds.
func (e *engine) bound(ws *workspace.Workspace, j job) func(context.Context) ([]session.Fact, error) {
	return func(ctx context.Context) ([]session.Fact, error) {
		facts := []session.Fact{
			{Name: "workspace engine", Value: ws.Engine()},
			{Name: "workspace image", Value: e.config.Workspace.Image},
			{Name: "workspace network", Value: e.config.Workspace.Network},
		}
		if j.bound == nil {
			return facts, nil
		}
		more, err := j.bound(ctx)
		return append(facts, more...), err
	}
}

func (e *engine) limits() agent.Limits {
	b := e.config.Budget.Session
	return agent.Limits{
		Turns: first(b.Turns, e.config.Turns), Tokens: b.Tokens, Wall: time.Duration(b.Time), Edits: b.Edits, ChangedLines: b.Lines,
		Deadline: time.Duration(e.config.Approvals.Deadline),
	}
}

func first(list ...int) int {
	for _, n := range list {
		if n != 0 {
			return n
		}
	}
	return 0
}

// configPath is where a repository keeps its configuration.
const configPath = ".github/agent.yml"

// open opens a workspace on the saved state. The returned function closes it.
func (e *engine) open(ctx context.Context, j job, at place) (*workspace.Workspace, func(context.Context) error, error) {
	source, drop, err := e.bases.take(ctx, j.repo, at.saved)
	if err != nil {
		return nil, nil, err
	}
	state, err := os.MkdirTemp(e.bases.dir, "ws-"+j.task.Session+"-")
	if err != nil {
		drop()
		return nil, nil, fmt.Errorf("make workspace directory: %w", err)
	}
	w := e.config.Workspace
	ws, err := e.workspace.Open(ctx, workspace.Spec{
		Session: j.task.Session, Name: j.name, Source: source, State: filepath.Join(state, "state"), Image: w.Image, Network: w.Network == "open",
		Limits: workspace.Limits{MemoryBytes: int64(w.Memory), Pids: int64(w.Pids), CPUs: w.CPUs},
	})
	if err != nil {
		drop()
		return nil, nil, errors.Join(err, os.RemoveAll(state))
	}
	return ws, func(ctx context.Context) error {
		defer drop()
		return errors.Join(ws.Close(ctx), os.RemoveAll(state))
	}, nil
}

// place is where a session's log ends.
type place struct {
	saved     string // commit of the last saved state
	published string // commit of the last checkpoint on the branch, or the base
	branch    string // that has it
	reviewed  string // commit of the edit that was last put up for review
	last      session.Checkpoint
	ended     *session.Outcome
}

// standing reads where a session stands: what to open a workspace on, and
// whether there is anything to do.
func standing(ctx context.Context, log session.Log, task session.Task) (place, error) {
	events, err := log.Events(ctx, 0)
	if err != nil {
		return place{}, fmt.Errorf("read log: %w", err)
	}
	at := place{saved: task.Base, published: task.Base, branch: task.Branch}
	for _, ev := range events {
		switch ev.Type {
		case session.TypeCheckpoint:
			c, err := session.Decode[session.Checkpoint](ev)
			if err != nil {
				return at, err
			}
			at.saved, at.last = c.Commit, c
			if !c.Parked {
				at.published, at.reviewed = c.Commit, ""
			}
			if c.Branch != "" {
				at.branch = c.Branch
			}
		case session.TypeAsked:
			a, err := session.Decode[session.Asked](ev)
			if err != nil {
				return at, err
			}
			if at.reviewed = ""; a.Review != nil && a.Head == at.published {
				at.reviewed = a.Review.Commit
			}
		case session.TypeEnded:
			p, err := session.Decode[session.Ended](ev)
			if err != nil {
				return at, err
			}
			at.ended = &p.Outcome
		case session.TypeMessage, session.TypeResolved:
			at.ended = nil
		}
	}
	return at, nil
}
