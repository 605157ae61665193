package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/guest"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/doctor"
	"github.com/handrail-bot/handrail/cmd/door"
)

// guests are the external agents of sessions. The zero value means that there are none.
type guests struct {
	config.ACP
	agent guest.Agent
	at    guest.Endpoint // without a model
}

// guestsOf returns the external agents of a server, which reach its model.
func guestsOf(cfg config.Server) (*guests, error) {
	if cfg.Engine != config.EngineACP {
		return nil, nil
	}
	a, err := cfg.ACP.Chosen()
	if err != nil {
		return nil, err
	}
	m := cfg.Model
	u, err := m.Address()
	if err != nil {
		return nil, err
	}
	g := &guests{ACP: cfg.ACP, agent: a}
	client := &http.Client{Transport: config.Transport(m.Trusted, m.Sent)}
	g.at = guest.Endpoint{URL: u.JoinPath(m.Of().OpenAI...), HTTP: client, Keys: map[string]string{}}
	if m.Key != "" {
		g.at.Keys = a.Keys(u.Hostname(), m.Key.Reveal())
	}
	return g, nil
}

// guests returns the external agents of a session in a local clone; nil if it has none.
func (f modelFlags) guests(name, command string) (*guests, error) {
	if name == "" && command == "" {
		return nil, nil
	}
	m, err := f.keyed()
	if err != nil {
		return nil, err
	}
	out, err := guestsOf(config.Server{
		Engine: config.EngineACP, Model: m, ACP: config.ACP{Agent: name, Command: strings.Fields(command)},
	})
	if err != nil {
		return nil, door.Usage("--engine: %w", err)
	}
	return out, nil
}

// workspaces returns the preparation of workspaces; nil if g is.
func (g *guests) workspaces(p engineParts) *work.Guests {
	if g == nil {
		return nil
	}
	return &work.Guests{
		Masks: guest.Masks,
		Door: func(model string, next workspace.Egress) workspace.Egress {
			at := g.at
			at.Model, at.Log = model, p.log
			return guest.NewDoor(at, next)
		},
	}
}

// in returns the agent in a workspace.
func (g *guests) in(ws *workspace.Workspace, way *guest.Door, model string, log *slog.Logger) *guest.Guest {
	return guest.New(guest.Config{
		Agent: g.agent,
		Model: model,
		Start: func(ctx context.Context, p workspace.Program) (io.ReadWriteCloser, error) {
			return ws.Start(ctx, p)
		},
		Root:    ws.Root(),
		Door:    way,
		Silence: g.Quiet(),
		Log:     log,
	})
}

// agentOf starts the external agent of a configuration in an empty workspace, and reports
// its version.
func agentOf(ctx context.Context, e workspace.Engine, cfg config.Server) doctor.Finding {
	f := doctor.Finding{
		Name:   "agent",
		Needed: true,
		Remedy: "Is acp.agent, or acp.command, installed in the workspace, and is acp.mode one in which it asks?",
	}
	g, err := guestsOf(cfg)
	if err == nil {
		f.Detail, err = g.try(ctx, e, cfg)
	}
	if said := new(llm.Error); errors.As(err, &said) && said.Public != "" {
		f.Detail = said.Public
	} else if err != nil {
		f.Detail = err.Error()
	} else {
		f.OK, f.Remedy = true, ""
	}
	return f
}

// try starts the agent, and returns its name and version.
func (g *guests) try(ctx context.Context, e workspace.Engine, cfg config.Server) (said string, err error) {
	dir, err := os.MkdirTemp("", "handrail-doctor-")
	if err != nil {
		return "", fmt.Errorf("make workspace directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	at := g.at
	at.Model = cfg.Model.Name
	way := guest.NewDoor(at, nil)
	w := cfg.Policy.Workspace
	ws, err := e.Open(ctx, workspace.Spec{
		Session: "doctor", State: filepath.Join(dir, "state"), Image: w.Image, Egress: way,
		Limits: workspace.Limits{MemoryBytes: int64(w.Memory), Pids: int64(w.Pids), CPUs: w.CPUs, DiskBytes: int64(w.Disk)},
	})
	if err != nil {
		return "", err
	}
	said, err = g.in(ws, way, cfg.Model.Name, slog.New(slog.DiscardHandler)).Try(ctx)
	return fmt.Sprintf("%s: %s, which starts and asks", g.agent.Name, said), errors.Join(err, ws.Close(ctx))
}

// notForGuests are tools that need Handrail's own loop.
var notForGuests = []string{"new_task", "switch_mode", "condense"}

// equip makes an external agent the model of a session. Of the tools it gets those that
// reach further than its workspace.
func (g *guests) equip(out *agent.Config, need work.Need, kit tools.Config) error {
	way, ok := need.Egress.(*guest.Door)
	if !ok {
		return errors.New("start the agent: its workspace has no way to the model")
	}
	of := g.in(need.Workspace, way, need.Model, out.Log)
	list := slices.DeleteFunc(builtin.Beside(kit), func(t tools.Tool) bool {
		return slices.Contains(notForGuests, t.Spec().Name)
	})
	out.Words, out.Model = out.Model, of
	out.Tools = append(list, of.Tools()...)
	out.Context, out.MaxTokens, out.AnswerTime = guest.Window, 0, -1
	out.Form, out.Forms = llm.FormNative, nil
	return nil
}

// carryTools carries the MCP connection of an agent inside of a workspace to the bot.
func carryTools(ctx context.Context, w *console) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", workspace.ProxyAddress)
	if err != nil {
		return fmt.Errorf("reach Handrail's tools: %w", err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, guest.Hello+"\n"); err != nil {
		return fmt.Errorf("reach Handrail's tools: %w", err)
	}
	ended := make(chan error, 2)
	go func() { _, err := io.Copy(conn, w.in); ended <- err }()
	go func() { _, err := io.Copy(w.raw, conn); ended <- err }()
	return <-ended
}
