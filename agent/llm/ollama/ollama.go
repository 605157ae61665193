// Package ollama implements [llm.Model] with the native API of an Ollama server.
//
// The OpenAI-compatible API of the server is not used, because only the native one lets a
// client set the context length (options.num_ctx), disable the truncation of old messages
// (truncate) and switch thinking.
//
// It relies on these facts, recorded from servers of version 0.17.4, 0.11.10 and 0.6.5
// (testdata) or taken from the API documentation in Ollama's repository (docs/api.md):
//
//   - /api/chat streams one JSON object per line. The last has done:true. A stream can
//     end without it and without an error: the server gives up silently after 30 equal
//     tokens, and so does a proxy that dies.
//   - An error after the first byte comes with status 200 as {"error":"…"} in a separate
//     line, for example when the runner was killed.
//   - A prompt longer than the context silently loses its oldest messages. 0.17.4 answers
//     truncate:false with 400 instead; 0.11.10 and 0.6.5 ignore it, so for versions
//     before 0.12.6 the length is estimated beforehand.
//   - Without options.num_ctx the server uses its default of a few thousand tokens,
//     regardless of the model. It is always sent.
//   - Calls come complete, in one object, with an id since about 0.12. Their arguments
//     are a JSON object. In the history of a conversation they must be one, or the server
//     answers 400.
//   - The server silently drops a call to an unknown tool, or one in broken JSON: the
//     answer is then empty, and only its token count (eval_count) reveals the call.
//   - A runner that hangs keeps hanging for the next request; a request with keep_alive:0
//     and no messages ends it.
//   - A thinking model thinks unless think:false is sent; a model without the capability
//     answers think:true with 400. 0.11.10 leaves <think> in the content unless think is
//     sent.
//   - Images for a model without vision are silently ignored, so they are refused here.
//   - If the server parses calls itself (qwen3-coder, gpt-oss), an unreadable call ends
//     the answer with the parser's raw error: {"error":"EOF"}.
//   - 503 means that the queue is full, 404 that the model is missing.
package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/wire"
)

// Config configures a [Model]. URL and Model are required.
type Config struct {
	URL       *url.URL      // without /api
	HTTP      *http.Client  // nil uses a new client
	Model     string        // as the server lists it, for example qwen3:8b
	KeepAlive time.Duration // time that the server keeps the model loaded: 0 its default, negative forever
	Effort    string        // thinking level if the model has levels: low, medium, high; "" for its default
	Idle      time.Duration // silence that ends a stream; 0 derives it from the prompt and the server's speed
	Log       *slog.Logger  // nil discards the log
}

// Model is one model on one Ollama server. It is safe for concurrent use.
type Model struct {
	end       wire.Endpoint
	chatURL   string
	api       *api.Client
	keepAlive *api.Duration
	effort    string
	noLevels  atomic.Bool  // the model has no thinking levels, like most models
	asked     atomic.Int64 // number of requests in progress
	window    window
	shown     shown
	tools     converted
	learned   bool // loaded is valid; both are guarded by shown.turn
	loaded    int  // context size that the server itself gives the model, see ownWindow
}

// New returns the model of cfg. It does not call the server.
func New(cfg Config) (*Model, error) {
	end, err := wire.NewEndpoint(wire.EndpointConfig{
		URL: cfg.URL, HTTP: cfg.HTTP, Model: cfg.Model, Idle: cfg.Idle, Log: cfg.Log,
		Example: "http://host:port", Names: "; `ollama list` shows those of a server",
	})
	if err != nil {
		return nil, fmt.Errorf("new ollama model: %w", err)
	}
	m := &Model{
		end:     end,
		chatURL: cfg.URL.JoinPath("api", "chat").String(),
		api:     api.NewClient(cfg.URL, end.HTTP),
		effort:  cfg.Effort,
		shown:   shown{turn: make(chan struct{}, 1)},
	}
	if cfg.KeepAlive != 0 {
		m.keepAlive = &api.Duration{Duration: cfg.KeepAlive}
	}
	return m, nil
}

// Name implements [llm.Model].
func (m *Model) Name() string { return m.end.Model }

// Capabilities implements [llm.Model]. The result is cached until a request fails in a
// way that suggests another server, or another model under the same name.
func (m *Model) Capabilities(ctx context.Context) (llm.Capabilities, error) {
	info, err := m.info(ctx)
	if err != nil {
		return llm.Capabilities{}, err
	}
	return m.window.of(info.caps), nil
}

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		err := m.chat(ctx, req, yield)
		if m.effort != "" && isLevelError(err) && !m.noLevels.Swap(true) {
			err = m.chat(ctx, req, yield)
		}
		if err == nil {
			return
		}
		if wire.Silent(err) && m.asked.Load() == 0 { //control:free-the-hung
			m.free(ctx)
		}
		if errors.Is(err, errMemory) {
			err = m.noMemory(ctx, err)
		}
		switch llm.KindOf(err) {
		case llm.Unreachable, llm.Cut, llm.NotFound, llm.Unsupported:
			m.shown.forget()
		}
		yield(llm.Part{}, err)
	}
}

// freeing is the maximum time for ending a runner.
const freeing = 20 * time.Second

// free makes the server end the model's runner, which hangs and would block the next
// request as well. The server starts a new runner on demand.
func (m *Model) free(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, freeing)
	defer cancel()
	body := fmt.Appendf(nil, `{"model":%q,"messages":[],"keep_alive":0}`, m.end.Model)
	resp, err := wire.Post(ctx, m.end.HTTP, m.chatURL, nil, body)
	if err == nil {
		err = resp.Body.Close()
	}
	m.end.Log.WarnContext(ctx, "model server was silent: its runner is ended", "model", m.end.Model, "err", err)
}

// isLevelError reports whether the server rejected the thinking level. The model may
// support thinking nevertheless.
func isLevelError(err error) bool {
	return llm.KindOf(err) == llm.Unsupported && strings.Contains(err.Error(), "think value")
}

// chat sends one request and yields the parts of the answer. It returns nil if the answer
// is complete or yield returns false.
func (m *Model) chat(ctx context.Context, req llm.Request, yield func(llm.Part, error) bool) error {
	m.asked.Add(1)
	defer m.asked.Add(-1)
	info, err := m.info(ctx)
	if err != nil {
		return err
	}
	body, numCtx, err := m.request(info, req)
	if err != nil {
		return err
	}
	resp, err := wire.Post(ctx, m.end.HTTP, m.chatURL, nil, body)
	if err != nil {
		return wire.Failure(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return m.statusError(resp)
	}
	m.window.loaded(numCtx)
	return m.read(ctx, resp, numCtx, yield)
}

// chunk is one line of an answer. [api.ChatResponse] is not used because it converts
// numbers in arguments to floats, which damages large integers, and fails if a server
// sends arguments as text.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Message struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done            bool   `json:"done"`
	DoneReason      string `json:"done_reason"`
	PromptEvalCount int    `json:"prompt_eval_count"`
	EvalCount       int    `json:"eval_count"`
}

func (c *chunk) part() llm.Part {
	p := llm.Part{Thinking: c.Message.Thinking, Content: c.Message.Content}
	for _, call := range c.Message.ToolCalls {
		args := call.Function.Arguments
		if len(args) == 0 || string(args) == "null" {
			args = json.RawMessage("{}")
		}
		p.Calls = append(p.Calls, llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: args})
	}
	if c.Done {
		p.Done, p.DoneReason = true, c.DoneReason
		p.PromptTokens, p.AnswerTokens = c.PromptEvalCount, c.EvalCount
	}
	return p
}

func (m *Model) read(ctx context.Context, resp *http.Response, numCtx int, yield func(llm.Part, error) bool) error {
	lines := wire.NewLines(resp.Body)
	var heard wire.Received
	for {
		line, whole, err := lines.Next()
		if err != nil {
			return m.endError(ctx, err)
		}
		var c chunk
		if err := json.Unmarshal(line, &c); err != nil {
			return m.lineError(line, whole)
		}
		if len(c.Error) > 0 && string(c.Error) != "null" {
			return m.textError(errorText(c.Error))
		}
		if c.Done && c.PromptEvalCount >= numCtx {
			return m.end.TooLong(fmt.Errorf("prompt of %d tokens fills the context of %d", c.PromptEvalCount, numCtx))
		}
		p := c.part()
		heard.Take(p)
		p.Dropped = p.Done && heard.Dropped(p.AnswerTokens)
		if !yield(p, nil) || c.Done {
			return nil
		}
	}
}
