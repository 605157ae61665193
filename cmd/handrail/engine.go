package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/project"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/egress"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// engineParts are the parts of an engine that run, serve and the demo choose.
type engineParts struct {
	dir       string // for workspaces
	bases     gitops.BasesConfig
	setups    work.SetUps
	workspace workspace.Engine
	model     func(name string) (llm.Model, error)
	waits     bool // park sessions while the model's server is unreachable
	context   int  // context and maxTokens, in tokens; 0 means the agent's default
	maxTokens int
	longest   time.Duration // time limit of one answer; 0 means the agent's default
	server    string        // displayed address of the model's server
	form      llm.Form      // chosen by the operator
	forms     agent.Forms   // memory of answer forms; nil disables it
	rules     policy.Config
	headers   map[string]map[string]secret.Value // of MCP servers at URLs, by server
	secrets   *secrets
	index     *index.Index // finds code by its meaning; nil disables it
	guests    *guests      // external agents; nil: the model works itself
	log       *slog.Logger
}

// newEngine combines model, tools, workspace and git.
func newEngine(p engineParts) (*work.Engine, error) {
	if _, err := door.BuiltinTools(nil); err != nil { // fail at start, not when the first session opens
		return nil, err
	}
	rules, err := policy.New(p.rules)
	if err != nil {
		return nil, err
	}
	bases, err := work.OpenBases(p.bases, p.dir)
	if err != nil {
		return nil, err
	}
	return work.New(work.Config{
		Bases:     bases,
		SetUps:    p.setups,
		Workspace: p.workspace,
		Agent:     p.agent,
		Secrets:   p.secrets.Secrets,
		Index:     p.index,
		Policy:    rules,
		Rules:     p.rules,
		Image:     project.FindImage,
		Created:   project.FindCommands,
		Recipe:    project.FindRecipe,
		Log:       p.log,
		Guests:    p.guests.workspaces(p),
		Servers: func(name string, m policy.Server) (http.RoundTripper, error) {
			return serverTransport(m, p.rules.Workspace.Inside, p.headers[name], p.log)
		},
		Egress: func(w policy.Workspace, key string, log *slog.Logger) (workspace.Egress, error) {
			return egress.New(egress.Config{Key: key, Hosts: w.Reaches(), Inside: w.Inside, Log: log})
		},
	}), nil
}

// agent returns the model, the tools and the limits of a session.
func (p engineParts) agent(need work.Need) (agent.Config, error) {
	m, err := p.model(need.Model)
	if err != nil {
		return agent.Config{}, err
	}
	out := agent.Config{
		Model:      m,
		Context:    p.context,
		MaxTokens:  p.maxTokens,
		Form:       p.form,
		Forms:      p.forms,
		AnswerTime: p.longest,
		Server:     p.server,
		Retry:      llm.Retry{Park: p.waits, Patience: 30 * time.Minute},
	}
	ws := need.Workspace
	kit := tools.Config{Files: ws, Search: ws, Shell: ws, Changes: ws, Start: ws, Root: ws.Root(), Name: need.Name}
	kit.Model, kit.Context, kit.Tests, kit.Shelled = m, p.context, need.Tests, need.Shell
	kit.Output, kit.Refuse, kit.Lacks = need.Output, need.Refuse, need.Lacks
	kit.TimedOut = need.TimedOut
	kit.Servers, kit.Nonce, kit.Answered = need.Servers, need.Nonce, need.Answered
	kit.Pages, kit.Browser = need.Pages, need.Browser
	kit.Code, kit.Languages, kit.Meaning = ws, need.Languages, need.Meaning
	kit.Redact = func(text string) string { text, _ = p.secrets.Redactor.Redact(text); return text }
	if need.Instructions != nil {
		kit.Instructions = func(ctx context.Context, name string) (tools.Instructions, error) {
			got, err := need.Instructions(ctx, name)
			return tools.Instructions(got), err
		}
	}
	if most := time.Duration(need.Rules.Tools["run_terminal_command"].Timeout); most > 0 { //control:command-time
		kit.MaxTimeout = min(most, workspace.DefaultLimits.Command)
		kit.CommandTimeout = min(2*time.Minute, kit.MaxTimeout)
	}
	kit.LongCommands = need.Rules.LongRunningCommands //control:long-commands
	if p.guests != nil {
		err := p.guests.equip(&out, need, kit)
		return out, err
	}
	out.Tools = builtin.Tools(kit)
	return out, nil
}
