package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
)

// WireOpenAI is the other wire; see [Dialect].
const (
	wireOllama = "ollama"
	WireOpenAI = "openai"
)

// MaxBody is the maximum size of a request in bytes; one with images has a few megabytes.
const MaxBody = 256 << 20

func (s *Server) routeOllama(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/chat", s.ollamaChat)
	mux.HandleFunc("POST /api/embed", s.ollamaEmbed)
	mux.HandleFunc("POST /api/show", s.ollamaShow)
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, http.StatusOK, map[string]string{"version": s.version()})
	})
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, http.StatusOK, map[string]any{"models": []any{s.listed()}})
	})
	mux.HandleFunc("GET /api/ps", func(w http.ResponseWriter, _ *http.Request) {
		running := s.listed()
		running["expires_at"] = "2318-01-01T00:00:00Z"
		running["context_length"] = s.contextLength()
		if asked := s.Requests(); len(asked) > 0 { // the model was reloaded for that size
			running["context_length"] = asked[len(asked)-1].Context
		}
		WriteJSON(w, http.StatusOK, map[string]any{"models": []any{running}})
	})
}

func (s *Server) version() string {
	if v := s.script.Model.ServerVersion; v != "" {
		return v
	}
	return "0.17.4"
}

func (s *Server) contextLength() int { return orElse(s.script.Model.Context, 32768) }

// ModelName returns the name of the server's model.
func (s *Server) ModelName() string {
	if n := s.script.Model.Name; n != "" {
		return n
	}
	return "scripted"
}

func (s *Server) listed() map[string]any {
	name := withTag(s.ModelName())
	return map[string]any{
		"name": name, "model": name, "modified_at": "2026-01-01T00:00:00Z", "size": 1,
		"digest": strings.Repeat("0", 64), "details": details(),
	}
}

func details() map[string]any {
	return map[string]any{"parent_model": "", "format": "gguf", "family": "scripted",
		"families": []string{"scripted"}, "parameter_size": "0", "quantization_level": "unknown"}
}

// withTag returns a model's name with its tag, which defaults to latest.
func withTag(name string) string {
	if strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ":") {
		return name
	}
	return name + ":latest"
}

// Has reports whether the server has a model of that name.
func (s *Server) Has(model string) bool {
	name := s.script.Model.Name
	return name == "" || withTag(name) == withTag(model)
}

func (s *Server) ollamaShow(w http.ResponseWriter, r *http.Request) {
	var req struct{ Model, Name string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxBody)).Decode(&req); err != nil {
		WriteJSON(w, http.StatusBadRequest, ollamaError(err.Error()))
		return
	}
	if req.Model == "" {
		req.Model = req.Name
	}
	if !s.Has(req.Model) {
		WriteJSON(w, http.StatusNotFound, ollamaError(fmt.Sprintf("model '%s' not found", req.Model)))
		return
	}
	m := s.script.Model
	capabilities, template := []string{"completion"}, "{{ .System }}{{ .Prompt }}"
	if m.Tools {
		capabilities, template = append(capabilities, "tools"), "{{ .System }}{{ .Tools }}{{ .Prompt }}"
	}
	if m.Template != "" {
		template = m.Template
	}
	if m.Thinking {
		capabilities = append(capabilities, "thinking")
	}
	if m.Vision {
		capabilities = append(capabilities, "vision")
	}
	parameters := ""
	if m.ContextSet > 0 {
		parameters = fmt.Sprintf("num_ctx                        %d", m.ContextSet)
	}
	about := map[string]any{"general.architecture": "scripted", "scripted.context_length": s.contextLength()}
	if m.Parameters > 0 {
		about["general.parameter_count"] = m.Parameters
	}
	WriteJSON(w, http.StatusOK, map[string]any{
		"parameters": parameters, "template": template, "details": details(), "capabilities": capabilities,
		"model_info":  about,
		"modified_at": "2026-01-01T00:00:00Z",
	})
}

func ollamaError(text string) map[string]string { return map[string]string{"error": text} }

// WriteJSON answers a request with a JSON value.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has left
}

// ollamaRequest is the body of /api/chat.
type ollamaRequest struct {
	Model     string          `json:"model"`
	Messages  []ollamaMessage `json:"messages"`
	Tools     []WireTool      `json:"tools"`
	Stream    *bool           `json:"stream"`
	Think     *thinks         `json:"think"`
	Truncate  *bool           `json:"truncate"`
	KeepAlive json.RawMessage `json:"keep_alive"`
	Options   struct {
		NumCtx      int      `json:"num_ctx"`
		NumPredict  int      `json:"num_predict"`
		Temperature *float64 `json:"temperature"`
	} `json:"options"`
	body []byte
}

// thinks is true, false, or a level of thinking.
type thinks bool

// UnmarshalJSON implements [json.Unmarshaler].
func (t *thinks) UnmarshalJSON(b []byte) error {
	*t = string(b) != "false"
	return nil
}

type ollamaMessage struct {
	Role       llm.Role     `json:"role"`
	Content    string       `json:"content"`
	Thinking   string       `json:"thinking,omitempty"`
	Images     [][]byte     `json:"images,omitempty"`
	ToolCalls  []ollamaCall `json:"tool_calls,omitempty"`
	ToolName   string       `json:"tool_name,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type ollamaCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// WireTool is a tool in a request.
type WireTool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// ToolSpecs converts the tools of a request.
func ToolSpecs(tools []WireTool) []llm.ToolSpec {
	out := make([]llm.ToolSpec, len(tools))
	for i, t := range tools {
		out[i] = llm.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters}
	}
	return out
}

// isObject reports whether a call's arguments are a JSON object. Ollama neither accepts
// nor produces anything else.
func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && strings.HasPrefix(strings.TrimSpace(string(raw)), "{")
}

func (s *Server) ollamaChat(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, MaxBody))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var in ollamaRequest
	if err := json.Unmarshal(body, &in); err != nil {
		WriteJSON(w, http.StatusBadRequest, ollamaError(err.Error()))
		return
	}
	if len(in.Messages) == 0 && string(in.KeepAlive) == "0" { // unloads the model
		WriteJSON(
			w,
			http.StatusOK,
			ollamaLine{
				Model:      in.Model,
				CreatedAt:  "2026-01-01T00:00:00Z",
				Message:    ollamaMessage{Role: llm.RoleAssistant},
				Done:       true,
				DoneReason: "unload",
			},
		)
		return
	}
	in.body = body
	req := in.request()
	req.Header, req.Body = hr.Header, body
	if status, text := s.ollamaRefuses(&in); status != 0 {
		s.Reject(req)
		WriteJSON(w, status, ollamaError(text))
		return
	}
	s.Serve(w, hr, req, &ollamaEncoder{model: in.Model, stream: req.Stream})
}

// ollamaRefuses returns the error for a request that the real server rejects outright.
func (s *Server) ollamaRefuses(in *ollamaRequest) (int, string) {
	m := s.script.Model
	switch {
	case !s.Has(in.Model):
		return http.StatusNotFound, fmt.Sprintf("model '%s' not found", in.Model)
	case len(in.Tools) > 0 && !m.Tools:
		return http.StatusBadRequest, fmt.Sprintf("registry.ollama.ai/library/%s does not support tools", withTag(in.Model))
	case in.Think != nil && bool(*in.Think) && !m.Thinking:
		return http.StatusBadRequest, fmt.Sprintf("%q does not support thinking", in.Model)
	}
	if limit := in.Options.NumCtx; m.Enforce && limit > 0 && len(in.body)/bytesPerToken > limit {
		return http.StatusBadRequest, TooLongText
	}
	for _, msg := range in.Messages {
		for _, c := range msg.ToolCalls {
			if !isObject(c.Function.Arguments) {
				return http.StatusBadRequest, "Value looks like object, but can't find closing '}' symbol"
			}
		}
	}
	return 0, ""
}

func (in *ollamaRequest) request() *Request {
	req := &Request{
		Wire: wireOllama, Model: in.Model, Tools: ToolSpecs(in.Tools), Think: (*bool)(in.Think),
		Context: in.Options.NumCtx, MaxTokens: in.Options.NumPredict, Temperature: in.Options.Temperature,
		Truncate: in.Truncate, Stream: in.Stream == nil || *in.Stream,
	}
	for _, m := range in.Messages {
		msg := llm.Message{Role: m.Role, Content: m.Content, Thinking: m.Thinking,
			ToolName: m.ToolName, ToolCallID: m.ToolCallID, Images: m.Images}
		for _, c := range m.ToolCalls {
			msg.Calls = append(msg.Calls, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		req.Messages = append(req.Messages, msg)
	}
	return req
}

// Answer serves a turn that is not part of the script.
func (s *Server) Answer(w http.ResponseWriter, hr *http.Request, req *Request, enc Encoder) {
	r := &reply{s: s, t: &Turn{Say: "ok"}, req: req, enc: enc, w: w, ctx: hr.Context}
	r.run()
}

// Serve answers req with the matching turn.
func (s *Server) Serve(w http.ResponseWriter, hr *http.Request, req *Request, enc Encoder) {
	s.serving.Add(1)
	defer s.serving.Done()
	t, err := s.take(req)
	r := &reply{s: s, t: t, req: req, enc: enc, w: w, ctx: hr.Context}
	if err != nil {
		r.t = &Turn{}
		r.writeStatus(http.StatusBadRequest, "model script: "+err.Error())
		return
	}
	r.run()
}

// ollamaEncoder writes lines of /api/chat.
type ollamaEncoder struct {
	model  string
	stream bool
	whole  ollamaLine // the only line of an answer that is not streamed
}

type ollamaLine struct {
	Model           string        `json:"model"`
	CreatedAt       string        `json:"created_at"`
	Message         ollamaMessage `json:"message"`
	Done            bool          `json:"done"`
	DoneReason      string        `json:"done_reason,omitempty"`
	TotalDuration   int           `json:"total_duration,omitempty"`
	PromptEvalCount int           `json:"prompt_eval_count,omitempty"`
	EvalCount       int           `json:"eval_count,omitempty"`
}

func (e *ollamaEncoder) ContentType() string {
	if e.stream {
		return "application/x-ndjson"
	}
	return "application/json; charset=utf-8"
}

func (e *ollamaEncoder) line(p llm.Part) ollamaLine {
	l := ollamaLine{Model: e.model, CreatedAt: "2026-01-01T00:00:00Z",
		Message: ollamaMessage{Role: llm.RoleAssistant, Content: p.Content, Thinking: p.Thinking}}
	for i, c := range p.Calls {
		if !isObject(c.Arguments) {
			continue // the real server drops such calls
		}
		call := ollamaCall{ID: c.ID}
		call.Function.Index, call.Function.Name, call.Function.Arguments = i, c.Name, c.Arguments
		l.Message.ToolCalls = append(l.Message.ToolCalls, call)
	}
	return l
}

func (e *ollamaEncoder) Piece(p llm.Part) []byte {
	l := e.line(p)
	if !e.stream {
		e.whole = l
		return nil
	}
	return MarshalLine(l)
}

func (e *ollamaEncoder) End(p llm.Part) []byte {
	l := e.line(llm.Part{})
	if !e.stream {
		l = e.whole
	}
	l.Done, l.DoneReason, l.TotalDuration = true, p.DoneReason, 1
	if l.DoneReason == "" {
		l.DoneReason = "stop"
	}
	l.PromptEvalCount, l.EvalCount = p.PromptTokens, p.AnswerTokens
	return MarshalLine(l)
}

func (e *ollamaEncoder) Failure(text string) []byte { return MarshalLine(ollamaError(text)) }

func (e *ollamaEncoder) Status(_ int, text string) []byte { return MarshalLine(ollamaError(text)) }

// MarshalLine returns a value as a line of JSON.
func MarshalLine(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // arguments are already checked; nothing else can fail
		b = []byte(`{"error":"scripted model: ` + err.Error() + `"}`)
	}
	return append(b, '\n')
}
