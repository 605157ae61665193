// Package openai implements [llm.Model] for servers with an OpenAI-compatible
// /chat/completions: OpenAI itself, vLLM, llama.cpp, LM Studio, OpenRouter, Ollama's /v1
// and others. The wire types are those of github.com/sashabaranov/go-openai. Streams are
// read here, because servers vary more than that library supports (the name of the
// reasoning field, comments between events, arguments as objects, answers that are not
// streamed), and because silence, Retry-After and cut streams must be distinguished.
//
// Facts about the API, from OpenAI's API reference, the documentation of the servers
// named, and a recording of Ollama 0.17.4's /v1 (testdata):
//
//   - The stream consists of server-sent events, ended by "data: [DONE]". An answer is
//     complete after a finish_reason or [DONE]; without either it was cut off.
//   - A call comes in deltas joined by index: id and name once, the arguments in pieces.
//     Ollama sends it whole. Some servers send no index, or the same index for calls with
//     different ids, or no id: calls are distinguished by the available fields, and a
//     missing id is generated.
//   - Reasoning comes as reasoning_content (DeepSeek, vLLM, llama.cpp) or reasoning
//     (Ollama, OpenRouter); it is sent back under the name used by the server.
//   - An error within a stream is an event with an error object.
//   - Servers reject unknown parameters with 400 or 422. Optional ones (stream_options,
//     temperature, reasoning, caching, the older name of max_tokens) are then omitted or
//     renamed for all later requests.
package openai

import (
	"bytes"
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

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/wire"
)

// Key is the secret API key. It prints as a placeholder.
type Key string

// String implements [fmt.Stringer].
func (Key) String() string { return "[key]" }

// GoString implements [fmt.GoStringer].
func (Key) GoString() string { return "[key]" }

// LogValue implements [slog.LogValuer].
func (Key) LogValue() slog.Value { return slog.StringValue("[key]") }

// Config configures a [Model]. URL and Model are required.
type Config struct {
	URL          *url.URL          // base address with its version, for example https://api.openai.com/v1
	HTTP         *http.Client      // nil uses a new client
	Model        string            // as the server lists it
	Key          Key               // empty if none is required
	Temperature  *float64          // default for requests
	MaxTokens    int               // default for requests, 0 for the server's
	Effort       string            // reasoning_effort of requests with thinking, empty to omit it
	Cache        Cache             // request field for prompt caching, or ""
	Capabilities *llm.Capabilities // configured by the operator; nil asks the server
	Idle         time.Duration     // silence that ends a stream; 0 derives it from the prompt and the server's speed
	Log          *slog.Logger      // nil discards the log
}

// Model is one model on one server. It is safe for concurrent use.
type Model struct {
	end     wire.Endpoint
	cfg     Config
	dialect atomic.Pointer[dialect]
	probed  probed
}

// New returns the model of cfg. It does not call the server.
func New(cfg Config) (*Model, error) {
	end, err := wire.NewEndpoint(wire.EndpointConfig{
		URL: cfg.URL, HTTP: cfg.HTTP, Model: cfg.Model, Idle: cfg.Idle, Log: cfg.Log, Example: "https://host/v1",
	})
	if err != nil {
		return nil, fmt.Errorf("new openai model: %w", err)
	}
	if strings.ContainsAny(string(cfg.Key), "\r\n") {
		return nil, errors.New("new openai model: the key has a line break in it")
	}
	m := &Model{end: end, cfg: cfg, probed: probed{turn: make(chan struct{}, 1)}}
	m.dialect.Store(&dialect{reasoning: "reasoning_content", cache: cfg.Cache})
	return m, nil
}

// Name implements [llm.Model].
func (m *Model) Name() string { return m.end.Model }

// Stream implements [llm.Model]. Request.Context is ignored, because these servers do not
// let a client choose it. All calls come with the last part.
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		if err := m.chat(ctx, req, yield); err != nil {
			yield(llm.Part{}, err)
		}
	}
}

func (m *Model) header(accept string) http.Header {
	h := http.Header{"Accept": {accept}}
	if m.cfg.Key != "" {
		h.Set("Authorization", "Bearer "+string(m.cfg.Key))
	}
	return h
}

func (m *Model) chat(ctx context.Context, req llm.Request, yield func(llm.Part, error) bool) error {
	resp, err := m.send(ctx, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if strings.Contains(resp.Header.Get("Content-Type"), "application/json") {
		return m.readWhole(ctx, resp, yield)
	}
	return m.readEvents(ctx, resp, yield)
}

// send posts the request and returns the response with status 200. If the server rejects
// an optional parameter, send repeats the request without it, at most once per parameter.
func (m *Model) send(ctx context.Context, req llm.Request) (*http.Response, error) {
	for {
		d := *m.dialect.Load()
		body, err := m.body(d, req)
		if err != nil {
			return nil, err
		}
		resp, err := m.post(ctx, body)
		var known *llm.Error
		if err == nil || !errors.As(err, &known) || known.Kind != llm.Invalid {
			return resp, err
		}
		next, learned := d.learn(body, known.Err.Error())
		if !learned {
			return nil, err
		}
		m.end.Log.InfoContext(
			ctx, "model server does not know a parameter; asking without", "model", m.end.Model, "err", known.Err,
		)
		m.dialect.Store(&next)
	}
}

func (m *Model) post(ctx context.Context, body []byte) (*http.Response, error) {
	resp, err := wire.Post(
		ctx,
		m.end.HTTP,
		m.cfg.URL.JoinPath("chat", "completions").String(),
		m.header("text/event-stream, application/json"),
		body,
	)
	if err != nil {
		return nil, wire.Failure(ctx, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, m.statusError(resp)
}

// dialect records the peculiarities of a server.
type dialect struct {
	noUsage       bool   // rejects stream_options
	newMaxTokens  bool   // requires max_completion_tokens instead of max_tokens
	noTemperature bool   // rejects any temperature but its own
	noEffort      bool   // rejects reasoning_effort
	reasoning     string // name of the reasoning field in messages, empty if rejected
	cache         Cache  // empty if rejected
}

// learn finds the rejected parameter in an error message and returns the dialect without
// it.
func (d dialect) learn(body []byte, refusal string) (dialect, bool) {
	names := func(param string) bool {
		return bytes.Contains(body, []byte(`"`+param+`":`)) && strings.Contains(refusal, param)
	}
	switch {
	case names("stream_options"):
		d.noUsage = true
	case names("max_tokens") && !d.newMaxTokens:
		d.newMaxTokens = true
	case names("temperature"):
		d.noTemperature = true
	case names("reasoning_effort"):
		d.noEffort = true
	case d.cache != "" && names(string(d.cache)): //control:refused-cache
		d.cache = ""
	case d.reasoning != "" && names(d.reasoning):
		d.reasoning = ""
	default:
		return d, false
	}
	return d, true
}

func (m *Model) invalidRequest(err error) error {
	return &llm.Error{Kind: llm.Invalid, Public: "the request to the model could not be written", Err: err}
}

// marshal encodes a request. It fails only for a tool with a schema that is not JSON.
func (m *Model) marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, m.invalidRequest(err)
	}
	return b, nil
}
