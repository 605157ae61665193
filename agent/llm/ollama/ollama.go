// Package ollama is the [llm.Model] behind an Ollama server's own API.
//
// The native API is used and not the server's OpenAI-compatible one because
// only it lets a client set the context length (options.num_ctx), forbid that
// old messages are cut (truncate) and switch thinking.
//
// Facts of the wire it is built on, recorded from servers of version 0.17.4,
// 0.11.10 and 0.6.5 (testdata) and from the API documentation in Ollama's
// repository (docs/api.md):
//
//   - /api/chat streams one JSON object a line. The last has done:true. A stream
//     can end without it and without an error: the server gives up silently
//     after 30 equal tokens, and so does a proxy that dies.
//   - An error after the first byte comes with status 200 as {"error":"…"} in
//     its own line, for example when the runner was killed.
//   - A prompt longer than the context loses its oldest messages silently.
//     0.17.4 answers truncate:false with 400 instead; 0.11.10 and 0.6.5 ignore
//     it, so for versions before 0.12.6 the length is estimated beforehand.
//   - Without options.num_ctx the server's default of a few thousand tokens
//     counts, whatever the model was made for. It is always sent.
//   - Calls come complete, in one object; their id is there since 0.12 or so.
//     Arguments are a JSON object. In the history of a conversation they must be
//     one, or the server answers 400.
//   - A call to a tool that was not offered, or one in broken JSON, is dropped
//     by the server without a word: the answer is then empty, and only the count of
//     its tokens (eval_count) tells.
//   - A runner that hangs keeps hanging for the next request; a request with
//     keep_alive:0 and no messages ends it.
//   - A thinking model thinks unless think:false is sent; a model without the
//     capability answers think:true with 400. 0.11.10 leaves <think> in the
//     content unless think is sent.
//   - Images sent to a model without vision are ignored silently. They are
//     refused here.
//   - Where the server parses calls itself (qwen3-coder, gpt-oss), one that it
//     cannot read ends the answer with the parser's bare words: {"error":"EOF"}.
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
	URL       *url.URL      // of the server, without /api
	HTTP      *http.Client  // nil for a client of its own
	Model     string        // as the server lists it, for example qwen3:8b
	KeepAlive time.Duration // how long the server keeps the model loaded: 0 its default, negative for ever
	Effort    string        // how hard a model thinks that knows levels: low, medium, high; "" for its default
	Idle      time.Duration // silence after which a stream counts as cut, 0 for as long as the prompt and the server's speed have it
	Log       *slog.Logger  // nil to discard
}

// Model is one model on one Ollama server. It is safe for concurrent use.
type Model struct {
	end       wire.Endpoint
	chatURL   string
	api       *api.Client
	keepAlive *api.Duration
	effort    string
	noLevels  atomic.Bool  // the model takes no levels of thinking, as most do
	asked     atomic.Int64 // requests under way
	window    window
	shown     shown
	learned   bool // loaded is known; both are for who has the turn of shown
	loaded    int  // window that the server gives the model by itself, see ownWindow
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

// Capabilities implements [llm.Model]. The server is asked once; it is asked
// again after a request failed in a way that another server or another model
// under the same name would explain.
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

// freeing is how long it may take to have a runner end.
const freeing = 20 * time.Second

// free has the server end the model's runner, which hangs: another request would wait
// for it as long again. The server starts a new one for that.
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

// isLevelError reports whether a server refuses a level of thinking. The model may
// think all the same.
func isLevelError(err error) bool {
	return llm.KindOf(err) == llm.Unsupported && strings.Contains(err.Error(), "think value")
}

// chat sends one request and passes the parts on. It returns nil when the
// answer is complete or yield wants no more.
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

// chunk is one line of an answer. It is not [api.ChatResponse] because that
// turns the numbers in arguments into floats, and with them large integers into
// others, and fails as a whole when one server sends arguments as text.
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
	var heard wire.Heard
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
