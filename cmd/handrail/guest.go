package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/guest"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/builtin"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/cmd/config"
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
	g.at = guest.Endpoint{URL: u, HTTP: client, Keys: map[string]string{}}
	if m.Of().Name == "ollama" {
		g.at.URL = u.JoinPath("v1")
	}
	if m.Key != "" {
		g.at.Keys["Authorization"] = "Bearer " + m.Key.Reveal()
	}
	return g, nil
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

// notForGuests are tools that an external agent has itself, or that need Handrail's own loop.
var notForGuests = []string{"new_task", "switch_mode", "condense"}

// equip makes an external agent the model of a session. Of the tools it gets those that
// reach further than its workspace.
func (g *guests) equip(out *agent.Config, need work.Need, kit tools.Config) error {
	door, ok := need.Egress.(*guest.Door)
	if !ok {
		return errors.New("start the agent: its workspace has no way to the model")
	}
	of := guest.New(guest.Config{
		Agent: g.agent,
		Model: need.Model,
		Start: func(ctx context.Context, p workspace.Program) (io.ReadWriteCloser, error) {
			return need.Workspace.Start(ctx, p)
		},
		Root:    need.Workspace.Root(),
		Door:    door,
		Silence: g.Quiet(),
		Log:     out.Log,
	})
	kit.Files, kit.Search, kit.Shell, kit.Start = nil, nil, nil, nil
	list := slices.DeleteFunc(builtin.Tools(kit), func(t tools.Tool) bool {
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
