// Package openai is the [llm.Model] behind any server with an OpenAI-compatible
// /chat/completions: OpenAI itself, vLLM, llama.cpp, LM Studio, OpenRouter,
// Ollama's /v1 and others. The words of the wire are those of
// github.com/sashabaranov/go-openai; reading the stream is done here, because
// servers differ in more than that library reads (the name of the reasoning
// field, comments between events, arguments as objects, answers that are not
// streamed) and because silence, Retry-After and cut streams must be told apart.
//
// Facts of the wire, from OpenAI's API reference, the documentation of the
// servers named, and a recording of Ollama 0.17.4's /v1 (testdata):
//
//   - The stream is server-sent events, ended by "data: [DONE]". An answer is
//     complete when a finish_reason or [DONE] came; without either it was cut.
//   - A call comes in deltas joined by index: id and name once, the arguments in
//     pieces. Ollama sends it whole. Some servers send no index, or the same for
//     every call with another id, or no id: calls are told apart by what there
//     is, and an id is made up when none came.
//   - Reasoning comes as reasoning_content (DeepSeek, vLLM, llama.cpp) or
//     reasoning (Ollama, OpenRouter); it is sent back under the name that the
//     server used.
//   - An error in mid-stream is an event with an error object.
//   - Servers refuse parameters they do not know with 400 or 422. Those that are
//     not essential (stream_options, temperature, reasoning, what concerns the cache,
//     the older name of max_tokens) are then left out or renamed, and that is remembered.
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

// Key is the secret that the server wants. It prints as a placeholder.
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
	HTTP         *http.Client      // nil for a client of its own
	Model        string            // as the server lists it
	Key          Key               // empty for servers that want none
	Temperature  *float64          // for requests that do not say
	MaxTokens    int               // for requests that do not say, 0 for the server's
	Effort       string            // reasoning_effort when a request wants thinking, empty to send none
	Cache        Cache             // how the server is told what to keep of a prompt, "" for not at all
	Capabilities *llm.Capabilities // what the operator knows; nil to ask the server
	Idle         time.Duration     // silence after which a stream counts as cut, 0 for as long as the prompt and the server's speed have it
	Log          *slog.Logger      // nil to discard
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

// Stream implements [llm.Model]. Request.Context is not sent: no server of this
// kind lets a client choose it. Calls come together, with the last part.
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

// send posts the request and returns the answer with status 200. When the server
// refuses a parameter that is not essential, send asks again without it, at most
// once for each parameter.
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
		m.end.Log.InfoContext(ctx, "model server does not know a parameter; asking without", "model", m.end.Model, "err", known.Err)
		m.dialect.Store(&next)
	}
}

func (m *Model) post(ctx context.Context, body []byte) (*http.Response, error) {
	resp, err := wire.Post(ctx, m.end.HTTP, m.cfg.URL.JoinPath("chat", "completions").String(), m.header("text/event-stream, application/json"), body)
	if err != nil {
		return nil, wire.Failure(ctx, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, m.statusError(resp)
}

// dialect is what was learned about a server.
type dialect struct {
	noUsage       bool   // refuses stream_options
	newMaxTokens  bool   // wants max_completion_tokens for max_tokens
	noTemperature bool   // refuses another temperature than its own
	noEffort      bool   // refuses reasoning_effort
	reasoning     string // field of the reasoning in messages, empty when it refuses both
	cache         Cache  // empty when it refuses that
}

// learn finds in a refusal the name of a parameter that was sent, and returns
// the dialect without it.
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

// marshal renders a request. It fails only for a tool whose schema is not JSON.
func (m *Model) marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, m.invalidRequest(err)
	}
	return b, nil
}
