// The scripted model as an OpenAI-compatible server: /v1/chat/completions and /v1/models.

package llmcheck

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// probeTool is the only tool in the openai adapter's probe for tool support. The answer
// to that probe is not part of a script.
const probeTool = "noop"

// server is the scripted model with the OpenAI routes.
type server struct{ *llmtest.Server }

// Dialect is an [llmtest.Dialect] that adds the OpenAI-compatible API.
func Dialect(of *llmtest.Server, mux *http.ServeMux) {
	s := server{of}
	mux.HandleFunc("POST /v1/chat/completions", s.openaiChat)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		if s.locked(w, r) {
			return
		}
		llmtest.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{s.openaiModel(s.ModelName())}})
	})
	mux.HandleFunc("GET /v1/models/{model...}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("model")
		switch {
		case s.locked(w, r):
		case !s.Has(name):
			llmtest.WriteJSON(
				w,
				http.StatusNotFound,
				openaiError(http.StatusNotFound, fmt.Sprintf("model '%s' not found", name)),
			)
		default:
			llmtest.WriteJSON(w, http.StatusOK, s.openaiModel(name))
		}
	})
}

func (s server) openaiModel(name string) map[string]any {
	return map[string]any{"id": name, "object": "model", "created": 1767225600, "owned_by": "library"}
}

// locked rejects a request without the key and reports whether it did.
func (s server) locked(w http.ResponseWriter, r *http.Request) bool {
	key := s.Script().Model.Key
	if key == "" || r.Header.Get("Authorization") == "Bearer "+key {
		return false
	}
	llmtest.WriteJSON(w, http.StatusUnauthorized, openaiError(http.StatusUnauthorized, "Incorrect API key provided."))
	return true
}

func openaiError(code int, text string) map[string]any {
	e := map[string]any{"message": text, "type": "api_error", "param": nil, "code": nil}
	switch {
	case code == http.StatusUnauthorized:
		e["type"], e["code"] = "invalid_request_error", "invalid_api_key"
	case text == llmtest.TooLongText:
		e["type"], e["code"] = "invalid_request_error", "context_length_exceeded"
		e["message"] = "This model's maximum context length is exceeded by the messages."
	}
	return map[string]any{"error": e}
}

type openaiRequest struct {
	Model         string             `json:"model"`
	Messages      []openaiMessage    `json:"messages"`
	Tools         []llmtest.WireTool `json:"tools"`
	Stream        bool               `json:"stream"`
	MaxTokens     int                `json:"max_tokens"`
	MaxCompletion int                `json:"max_completion_tokens"`
	Temperature   *float64           `json:"temperature"`
	Effort        string             `json:"reasoning_effort"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type openaiMessage struct {
	Role       llm.Role        `json:"role"`
	Content    json.RawMessage `json:"content"`
	Thinking   string          `json:"reasoning_content"`
	Reasoning  string          `json:"reasoning"`
	ToolCalls  []openaiCall    `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Name       string          `json:"name"`
}

type openaiCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (s server) openaiChat(w http.ResponseWriter, hr *http.Request) {
	if s.locked(w, hr) {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, llmtest.MaxBody))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var in openaiRequest
	if err := json.Unmarshal(body, &in); err != nil {
		llmtest.WriteJSON(w, http.StatusBadRequest, openaiError(http.StatusBadRequest, err.Error()))
		return
	}
	req := in.request()
	req.Header, req.Body = hr.Header, body
	if s.Script().Model.Tools && len(in.Tools) == 1 && in.Tools[0].Function.Name == probeTool {
		enc := &openaiEncoder{model: in.Model, stream: in.Stream}
		s.Answer(w, hr, req, enc)
		return
	}
	switch {
	case !s.Has(in.Model):
		s.Reject(req)
		llmtest.WriteJSON(
			w,
			http.StatusNotFound,
			openaiError(http.StatusNotFound, fmt.Sprintf("model '%s' not found", in.Model)),
		)
	case len(in.Tools) > 0 && !s.Script().Model.Tools:
		s.Reject(req)
		llmtest.WriteJSON(w, http.StatusBadRequest, openaiError(http.StatusBadRequest, in.Model+" does not support tools"))
	default:
		size := s.Script().Chunk
		s.Serve(
			w,
			hr,
			req,
			&openaiEncoder{model: in.Model, stream: in.Stream, usage: in.StreamOptions.IncludeUsage, size: size},
		)
	}
}

func (in *openaiRequest) request() *llmtest.Request {
	req := &llmtest.Request{
		Wire: llmtest.WireOpenAI, Model: in.Model, Tools: llmtest.ToolSpecs(in.Tools), Stream: in.Stream,
		MaxTokens: max(in.MaxTokens, in.MaxCompletion), Temperature: in.Temperature,
	}
	if in.Effort != "" {
		think := in.Effort != "none"
		req.Think = &think
	}
	names := map[string]string{}
	for _, m := range in.Messages {
		msg := llm.Message{Role: m.Role, Thinking: m.Thinking + m.Reasoning, ToolCallID: m.ToolCallID, ToolName: m.Name}
		msg.Content, msg.Images = openaiContent(m.Content)
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
			msg.Calls = append(
				msg.Calls,
				llm.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)},
			)
		}
		if msg.Role == llm.RoleTool && msg.ToolName == "" {
			msg.ToolName = names[msg.ToolCallID]
		}
		req.Messages = append(req.Messages, msg)
	}
	return req
}

// openaiContent reads a content that is a text or a list of texts and images.
func openaiContent(raw json.RawMessage) (string, [][]byte) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", nil
	}
	var b strings.Builder
	var images [][]byte
	for _, p := range parts {
		b.WriteString(p.Text)
		if p.ImageURL.URL != "" {
			images = append(images, dataURL(p.ImageURL.URL))
		}
	}
	return b.String(), images
}

// openaiEncoder writes events of /v1/chat/completions. If size is set, the arguments of a
// call are split into pieces, as by most servers; otherwise a call is sent whole, as by
// Ollama.
type openaiEncoder struct {
	model  string
	stream bool
	usage  bool
	size   int
	calls  int      // number of calls so far
	whole  llm.Part // the answer, if it is not streamed
}

type openaiDelta struct {
	Role      string       `json:"role,omitempty"`
	Content   string       `json:"content"`
	Reasoning string       `json:"reasoning,omitempty"`
	ToolCalls []openaiCall `json:"tool_calls,omitempty"`
}

func (e *openaiEncoder) ContentType() string {
	if e.stream {
		return "text/event-stream"
	}
	return "application/json"
}

func event(v any) []byte {
	b := append([]byte("data: "), llmtest.MarshalLine(v)...)
	return append(b, '\n')
}

func (e *openaiEncoder) envelope(object string, choice, usage any) map[string]any {
	out := map[string]any{"id": "chatcmpl-1", "object": object, "created": 1767225600, "model": e.model,
		"system_fingerprint": "fp_scripted", "choices": []any{}}
	if choice != nil {
		out["choices"] = []any{choice}
	}
	if usage != nil {
		out["usage"] = usage
	}
	return out
}

func (e *openaiEncoder) chunk(d openaiDelta, finish any) []byte {
	d.Role = "assistant"
	choice := map[string]any{"index": 0, "delta": d, "finish_reason": finish}
	return event(e.envelope("chat.completion.chunk", choice, nil))
}

func (e *openaiEncoder) call(c llm.ToolCall) openaiCall {
	out := openaiCall{Index: e.calls, ID: c.ID, Type: "function"}
	out.Function.Name, out.Function.Arguments = c.Name, string(c.Arguments)
	e.calls++
	return out
}

func (e *openaiEncoder) Piece(p llm.Part) []byte {
	if !e.stream {
		e.whole = p
		return nil
	}
	if len(p.Calls) == 0 {
		return e.chunk(openaiDelta{Content: p.Content, Reasoning: p.Thinking}, nil)
	}
	var out []byte
	for _, c := range p.Calls {
		call := e.call(c)
		args := llmtest.Pieces(call.Function.Arguments, e.size)
		call.Function.Arguments = ""
		for i, a := range append(args[:0:0], args...) {
			if i > 0 {
				call = openaiCall{Index: call.Index}
			}
			call.Function.Arguments = a
			out = append(out, e.chunk(openaiDelta{ToolCalls: []openaiCall{call}}, nil)...)
		}
		if len(args) == 0 {
			out = append(out, e.chunk(openaiDelta{ToolCalls: []openaiCall{call}}, nil)...)
		}
	}
	return out
}

func (e *openaiEncoder) End(p llm.Part) []byte {
	usage := map[string]int{"prompt_tokens": p.PromptTokens, "completion_tokens": p.AnswerTokens,
		"total_tokens": p.PromptTokens + p.AnswerTokens}
	if !e.stream {
		return e.complete(p, usage)
	}
	out := e.chunk(openaiDelta{}, e.reason(p))
	if e.usage {
		out = append(out, event(e.envelope("chat.completion.chunk", nil, usage))...)
	}
	return append(out, "data: [DONE]\n\n"...)
}

func (e *openaiEncoder) complete(p llm.Part, usage any) []byte {
	msg := openaiDelta{Role: "assistant", Content: e.whole.Content, Reasoning: e.whole.Thinking}
	for _, c := range e.whole.Calls {
		msg.ToolCalls = append(msg.ToolCalls, e.call(c))
	}
	choice := map[string]any{"index": 0, "message": msg, "finish_reason": e.reason(p)}
	return llmtest.MarshalLine(e.envelope("chat.completion", choice, usage))
}

func (e *openaiEncoder) reason(p llm.Part) string {
	switch {
	case p.DoneReason != "":
		return p.DoneReason
	case e.calls > 0:
		return "tool_calls"
	}
	return "stop"
}

func (e *openaiEncoder) Failure(text string) []byte {
	return event(openaiError(http.StatusInternalServerError, text))
}

func (e *openaiEncoder) Status(code int, text string) []byte {
	return llmtest.MarshalLine(openaiError(code, text))
}

// dataURL returns the content of a data: URL, or the URL itself if it is not one.
func dataURL(u string) []byte {
	if _, encoded, ok := strings.Cut(u, ";base64,"); ok {
		if b, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			return b
		}
	}
	return []byte(u)
}
