// Package acp speaks the Agent Client Protocol, version 1, with a program that is a coding
// agent. It is the client's half: it asks the agent for a session and for turns, and hands
// on its updates and its requests for permission. It decides nothing, and offers the agent
// neither files nor terminals: the agent has its own inside the workspace.
//
//	acp.go    the connection
//	wire.go   the messages
//	frame.go  one message per line, bounded
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sourcegraph/jsonrpc2"
)

// version is the version of the protocol.
const version = 1

// Handler receives the unasked messages of an agent. Its methods are called one at a time, in
// the order of the messages, also before a turn begins and after it has ended. They must
// return at once.
type Handler interface {
	Update(session string, u Update)
	// Permission receives a request. answer may be called once, at any time, from any
	// goroutine; nil means cancelled, otherwise it is the id of the chosen option.
	Permission(session string, p Permission, answer func(option *string))
}

// Conn is a connection to an agent. It is safe for concurrent use.
type Conn struct{ rpc *jsonrpc2.Conn }

// Connect speaks with an agent over its standard input and output until either side closes
// them.
func Connect(ctx context.Context, stdio io.ReadWriteCloser, h Handler) *Conn {
	alive := context.WithoutCancel(ctx)
	return &Conn{jsonrpc2.NewConn(alive, newFrames(stdio), incoming{h}, jsonrpc2.SetLogger(silent{}))}
}

// silent drops the log of the library: the agent could fill it.
type silent struct{}

// Printf implements the library's logger.
func (silent) Printf(string, ...any) {}

// Gone is closed once the connection has ended.
func (c *Conn) Gone() <-chan struct{} { return c.rpc.DisconnectNotify() }

// Close ends the connection, and so the agent.
func (c *Conn) Close() { _ = c.rpc.Close() }

// ErrGone means that the agent ended, or sent something that is no message.
var ErrGone = errors.New("the agent ended")

func (c *Conn) call(ctx context.Context, method string, params, result any) error {
	err := c.rpc.Call(ctx, method, params, result)
	var said *jsonrpc2.Error
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.As(err, &said):
		return fmt.Errorf("%s: the agent answers: %s", method, said.Message)
	}
	return fmt.Errorf("%s: %w (%w)", method, ErrGone, err)
}

// Initialize introduces both sides.
func (c *Conn) Initialize(ctx context.Context) (About, error) {
	var out About
	hello := map[string]any{
		"protocolVersion":    version,
		"clientInfo":         map[string]string{"name": "handrail", "version": "1"},
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false}},
	}
	err := c.call(ctx, "initialize", hello, &out)
	if err == nil && out.Version != version {
		err = fmt.Errorf("the agent speaks version %d of the protocol, and Handrail version %d", out.Version, version)
	}
	return out, err
}

// NewSession begins a session in a directory, with MCP servers that the agent starts.
func (c *Conn) NewSession(ctx context.Context, dir string, servers ...Server) (Session, error) {
	var out Session
	if servers == nil {
		servers = []Server{}
	}
	err := c.call(ctx, "session/new", map[string]any{"cwd": dir, "mcpServers": servers}, &out)
	return out, err
}

// SetOption chooses a value of an option, and returns all options as they are now.
func (c *Conn) SetOption(ctx context.Context, session, option, value string) ([]Option, error) {
	var out struct {
		Options []Option `json:"configOptions"`
	}
	in := map[string]string{"sessionId": session, "configId": option, "value": value}
	err := c.call(ctx, "session/set_config_option", in, &out)
	return out.Options, err
}

// SetMode chooses a mode. The agent does not answer with it: its next
// current_mode_update does.
func (c *Conn) SetMode(ctx context.Context, session, mode string) error {
	return c.call(ctx, "session/set_mode", map[string]string{"sessionId": session, "modeId": mode}, nil)
}

// Prompt asks for a turn, and returns why it ended: one of the Stop constants.
func (c *Conn) Prompt(ctx context.Context, session, text string) (string, error) {
	var out struct {
		StopReason string `json:"stopReason"`
	}
	in := map[string]any{"sessionId": session, "prompt": []Content{{Type: "text", Text: text}}}
	err := c.call(ctx, "session/prompt", in, &out)
	return out.StopReason, err
}

// Cancel ends a turn. Prompt returns once the agent has done so.
func (c *Conn) Cancel(ctx context.Context, session string) error {
	return c.rpc.Notify(ctx, "session/cancel", map[string]string{"sessionId": session})
}

// incoming hands on the messages that the agent begins.
type incoming struct{ h Handler }

// Handle implements [jsonrpc2.Handler]. It runs on the reading goroutine, which keeps the
// order.
func (in incoming) Handle(ctx context.Context, c *jsonrpc2.Conn, req *jsonrpc2.Request) {
	switch req.Method {
	case "session/update":
		var p struct {
			SessionID string `json:"sessionId"`
			Update    Update `json:"update"`
		}
		if decode(req.Params, &p) == nil {
			in.h.Update(p.SessionID, p.Update)
		}
	case "session/request_permission":
		var p Permission
		if req.Notif || decode(req.Params, &p) != nil {
			fail(ctx, c, req, jsonrpc2.CodeInvalidParams, "not a request for permission")
			return
		}
		in.h.Permission(p.SessionID, p, func(option *string) {
			out := map[string]string{"outcome": "cancelled"}
			if option != nil {
				out = map[string]string{"outcome": "selected", "optionId": *option}
			}
			// An error means that the agent is gone, and with it the request.
			_ = c.Reply(context.WithoutCancel(ctx), req.ID, map[string]any{"outcome": out})
		})
	default:
		fail(ctx, c, req, jsonrpc2.CodeMethodNotFound, "this client has no "+req.Method)
	}
}

func fail(ctx context.Context, c *jsonrpc2.Conn, req *jsonrpc2.Request, code int64, text string) {
	if !req.Notif {
		_ = c.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: code, Message: text})
	}
}

func decode(params *json.RawMessage, into any) error {
	if params == nil {
		return errors.New("no parameters")
	}
	return json.Unmarshal(*params, into)
}
