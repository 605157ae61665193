// Package guest lets an external coding agent do the work of a session. The agent is a
// program in the workspace that speaks the Agent Client Protocol. To the loop of Handrail it
// is a model: its turns are answers, and all that it asks for becomes calls of tools. So the
// gate, approvals, budgets, checkpoints and the log are those of any other model, and there
// is no second state machine.
//
//   - A request for permission is a call of agent_action. Only that tool's Run allows it, once.
//   - A call of our tools arrives over a synthetic MCP server, and is a call as it stands.
//   - Its own actions are told by calls of agent_step, and saved like those of a command.
//
// Nothing rests on the agent's own words: it lives in the disposable copy, without a
// network, and reaches the model's server only through [Door].
//
//	guest.go       the model; start reading here
//	turn.go        from the events of a turn to an answer
//	history.go     the conversation as the agent knows it
//	process.go     the agent's process, and the probe of its mode and model
//	permission.go  requests for permission as actions for the policy
//	agents.go      the known agents
//	door.go        the way from the workspace to the bot
//	endpoint.go    the model's server, as the agent reaches it
package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// DefaultSilence is the time without a word after which an agent is ended.
const DefaultSilence = 15 * time.Minute

// Window is the context that the loop may assume: the agent keeps its own conversation, so
// the loop need not shorten the one in the log.
const Window = 1 << 20

// Config configures a guest. Only Log is optional, and Silence, whose zero value means
// [DefaultSilence].
type Config struct {
	Agent   Agent
	Model   string // name of the model on its server
	Start   func(ctx context.Context, p workspace.Program) (io.ReadWriteCloser, error)
	Root    string // of the workspace, absolute
	Door    *Door
	Silence time.Duration
	Log     *slog.Logger
}

// Guest is an external agent in one workspace. It implements [llm.Model]. Stream starts the
// agent's process at the first request, and again after it ended; the process ends with the
// workspace.
type Guest struct {
	cfg Config

	turn sync.Mutex // held by Stream

	mu     sync.Mutex
	at     *process        // nil if none runs
	ran    bool            // a process ran since the last query of Busy
	grants map[string]bool // approved requests that no living process waits for, by their text
}

// New returns a guest. Nothing is started.
func New(cfg Config) *Guest {
	if cfg.Silence <= 0 {
		cfg.Silence = DefaultSilence
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Guest{cfg: cfg, grants: map[string]bool{}}
}

// Name returns the name of the model that the agent uses.
func (g *Guest) Name() string { return g.cfg.Model }

// Capabilities returns those of any agent: it calls tools.
func (g *Guest) Capabilities(context.Context) (llm.Capabilities, error) {
	return llm.Capabilities{Tools: true, ContextLength: Window, ContextSet: Window}, nil
}

// Busy implements [tools.Beside]: the agent may change files at any time.
func (g *Guest) Busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.ran
	g.ran = g.at != nil && !g.at.gone()
	return was || g.ran
}

// News implements [tools.Beside].
func (*Guest) News() []string { return nil }

// Stream brings the agent up to date with a conversation, and yields its messages until it
// calls a tool or ends its turn.
func (g *Guest) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		g.turn.Lock()
		defer g.turn.Unlock()
		p, err := g.resume(ctx, req)
		if err == nil {
			done := false
			done, err = g.listen(ctx, p, req, func(part llm.Part) bool { return yield(part, nil) })
			if done {
				return
			}
		}
		if p != nil {
			g.end(p)
		}
		if err != nil {
			yield(llm.Part{}, g.worded(ctx, err))
		}
	}
}

// Try starts the agent, as a session does, and ends it. It returns its name and version in
// its own words, in one line.
func (g *Guest) Try(ctx context.Context) (string, error) {
	g.turn.Lock()
	defer g.turn.Unlock()
	p, err := g.start(ctx)
	if err != nil {
		return "", g.worded(ctx, err)
	}
	defer g.end(p)
	return oneLine(p.about.Info.Name + " " + p.about.Info.Version), nil
}

// end ends a process.
func (g *Guest) end(p *process) {
	p.close()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == p {
		g.at = nil
	}
}

// refusal is an agent that is not used.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

var (
	errSilent = errors.New("no word for too long")
	errLate   = errors.New("its time is over")
	errFlood  = errors.New("it sent more than can be kept")
)

// worded returns an error of the agent as one of a model.
func (g *Guest) worded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var no *refusal
	var of *llm.Error
	name := "the agent " + g.cfg.Agent.Name
	switch {
	case errors.Is(err, workspace.ErrGone): //control:guest-workspace-gone
		return err // the session gets another one
	case errors.As(err, &of):
		return of
	case errors.As(err, &no):
		return &llm.Error{Kind: llm.Refused, Public: fmt.Sprintf("%s is not used: %s", name, no.why), Err: err}
	case errors.Is(err, errSilent):
		say := fmt.Sprintf("%s said nothing for %s and was ended", name, g.cfg.Silence)
		return &llm.Error{Kind: llm.Cut, Public: say, Err: err}
	case errors.Is(err, errFlood):
		return &llm.Error{Kind: llm.Invalid, Public: name + " sent more than can be kept and was ended", Err: err}
	}
	return &llm.Error{Kind: llm.Cut, Public: name + " ended unexpectedly", Err: err}
}
