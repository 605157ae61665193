package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/guest"
	"github.com/handrail-bot/handrail/policy"
)

// Values of `engine:` in the server's file.
const (
	engineOwn = "handrail"
	EngineACP = "acp"
)

// ACP is `acp:` in the server's file: the external agent that works on sessions in place of
// Handrail's own loop.
type ACP struct {
	Agent   string            `yaml:"agent" jsonschema:"description=Agent by name.,enum=opencode,enum=qwen-code,enum=gemini-cli,enum=codex-acp,enum=claude-agent-acp"`
	Command []string          `yaml:"command" jsonschema:"description=Program of the agent inside the workspace with its arguments; that of the named agent when unset."`
	Env     map[string]string `yaml:"env" jsonschema:"description=Variables of the agent; %m is the model and %u the address of its server. No secrets: the workspace sees them."`
	Mode    string            `yaml:"mode" jsonschema:"description=Mode of the agent in which it asks before it acts; that of the named agent when unset."`
	Silence policy.Duration   `yaml:"silence" jsonschema:"description=Time without a word after which the agent is ended.,default=15m"`
}

// Chosen returns the agent.
func (a ACP) Chosen() (guest.Agent, error) { return guest.Choose(a.Agent, a.Command, a.Mode, a.Env) }

// Quiet returns the time without a word; 0 means the default.
func (a ACP) Quiet() time.Duration { return time.Duration(a.Silence) }

// checkEngine adds a problem for each invalid value of the choice of an engine.
func (c *Server) checkEngine(bad *problems) {
	bad.when(
		!slices.Contains([]string{"", engineOwn, EngineACP}, c.Engine),
		"engine",
		"%q is not one of %s, %s",
		c.Engine,
		engineOwn,
		EngineACP,
	)
	if c.Engine != EngineACP {
		return
	}
	if _, err := c.ACP.Chosen(); err != nil {
		bad.add("acp", fmt.Errorf("acp: %w", err))
	}
	bad.when(c.ACP.Silence < 0, "acp.silence", "must be 0, for its default, or more")
	bad.when(c.Workspace == "local", "workspace", "engine: acp works only behind a wall: docker or bwrap")
	bad.when(
		c.Policy.Workspace.Network == "open",
		"policy.workspace.network",
		"engine: acp needs network none or allowlist: the agent reaches its model through Handrail alone",
	)
}
