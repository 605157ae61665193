package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/ollama/ollama/api"

	"github.com/handrail-bot/handrail/agent/llm"
)

// defaultContext is the context length if neither the request nor the model's operator
// sets one. It is enough for a few turns of an agent and fits into the memory of a small
// machine.
const defaultContext = 16384

// answerShare is the divisor of the context that limits an answer by default: without a
// limit the server would continue until the context is full.
const (
	answerShare = 4
	minAnswer   = 4096 // in tokens; enough for a whole file
)

// lowTemperature is the default for models without one in their Modelfile: the server's
// own default, 0.8, is meant for conversation, but a call has to be exact.
const lowTemperature = 0.2

// contextFor returns the context length to request, at most the model's maximum.
func (i info) contextFor(ask int) int {
	n := ask
	if n <= 0 {
		n = i.caps.ContextSet
	}
	if n <= 0 {
		n = defaultContext
	}
	if limit := i.caps.ContextLength; limit > 0 {
		n = min(n, limit)
	}
	return n
}

// request encodes req and returns the requested context length.
func (m *Model) request(i info, req llm.Request) ([]byte, int, error) {
	numCtx := m.window.widen(i.contextFor(req.Context)) //control:one-window
	no := false
	chat := api.ChatRequest{
		Model:     m.end.Model,
		Messages:  make([]api.Message, 0, len(req.Messages)),
		KeepAlive: m.keepAlive,
		Options:   map[string]any{"num_ctx": numCtx},
		Truncate:  &no,
		Shift:     &no, // an answer that outgrows the context ends with "length" and keeps the history
	}
	for _, msg := range req.Messages {
		if len(msg.Images) > 0 && !i.caps.Vision {
			return nil, 0, m.end.Unsupported(llm.SeeImages, fmt.Errorf("message with %d images", len(msg.Images)))
		}
		chat.Messages = append(chat.Messages, message(msg))
	}
	chat.Tools = m.tools.of(req.Tools)
	if i.caps.Thinking {
		chat.Think = &api.ThinkValue{Value: req.Think}
		if req.Think && m.effort != "" && !m.noLevels.Load() {
			chat.Think.Value = m.effort
		}
	}
	chat.Options["num_predict"] = min(max(numCtx/answerShare, minAnswer), numCtx) //control:bounded-answer
	if req.MaxTokens > 0 {
		chat.Options["num_predict"] = req.MaxTokens
	}
	switch {
	case req.Temperature != nil:
		chat.Options["temperature"] = *req.Temperature
	case !i.temperature:
		chat.Options["temperature"] = lowTemperature
	}
	body, err := json.Marshal(&chat)
	if err != nil {
		return nil, 0, &llm.Error{Kind: llm.Invalid, Public: "the request to the model could not be written", Err: err}
	}
	if estimate := textSize(req) / bytesPerToken; !i.truncates && estimate > numCtx {
		return nil, 0, m.end.TooLong(
			fmt.Errorf("about %d tokens for a context of %d, on a server that would cut them silently", estimate, numCtx),
		)
	}
	return body, numCtx, nil
}

// bytesPerToken is the typical length of a token in source code and English.
const bytesPerToken = 4

func textSize(req llm.Request) int {
	n := 0
	for _, msg := range req.Messages {
		n += len(msg.Content) + len(msg.Thinking)
		for _, call := range msg.Calls {
			n += len(call.Name) + len(call.Arguments)
		}
	}
	for _, spec := range req.Tools {
		n += len(spec.Name) + len(spec.Description) + len(spec.Parameters)
	}
	return n
}

func message(msg llm.Message) api.Message {
	out := api.Message{
		Role:       string(msg.Role),
		Content:    msg.Content,
		Thinking:   msg.Thinking,
		ToolName:   msg.ToolName,
		ToolCallID: msg.ToolCallID,
	}
	for _, img := range msg.Images {
		out.Images = append(out.Images, img)
	}
	for n, call := range msg.Calls {
		out.ToolCalls = append(out.ToolCalls, api.ToolCall{
			ID:       call.ID,
			Function: api.ToolCallFunction{Index: n, Name: call.Name, Arguments: arguments(call.Arguments)},
		})
	}
	return out
}

// arguments encodes a call's arguments as the object that the server requires, with each
// value as written. Anything else but a string with an object is stored under one key, so
// that the model still sees its mistake.
func arguments(raw json.RawMessage) api.ToolCallFunctionArguments {
	args := api.NewToolCallFunctionArguments()
	if len(bytes.TrimSpace(raw)) == 0 {
		return args
	}
	if fill(&args, raw) {
		return args
	}
	args = api.NewToolCallFunctionArguments()
	text := string(raw)
	if json.Unmarshal(raw, &text) == nil && fill(&args, []byte(text)) {
		return args
	}
	args = api.NewToolCallFunctionArguments()
	args.Set("arguments", text)
	return args
}

// fill adds the members of the JSON object raw in order. It reports whether raw is an
// object.
func fill(args *api.ToolCallFunctionArguments, raw []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return false
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return false
		}
		args.Set(key.(string), v)
	}
	_, err := dec.Token()
	return err == nil && !dec.More()
}

// converted holds the tools of the last request, because most requests of a session offer the
// same ones.
type converted struct {
	mu    sync.Mutex
	specs []llm.ToolSpec
	tools api.Tools
}

// of returns the tools in the form of the server. The caller must not change them.
func (c *converted) of(specs []llm.ToolSpec) api.Tools {
	c.mu.Lock()
	defer c.mu.Unlock()
	same := func(a, b llm.ToolSpec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
	}
	if !slices.EqualFunc(c.specs, specs, same) {
		c.specs, c.tools = slices.Clone(specs), nil
		for _, spec := range specs {
			c.tools = append(c.tools, tool(spec))
		}
	}
	return c.tools
}

// tool encodes a tool for the server's types. The server rejects the whole request if one
// schema does not fit them, so a property that does not fit is reduced to its
// description.
func tool(spec llm.ToolSpec) api.Tool {
	t := api.Tool{Type: "function", Function: api.ToolFunction{Name: spec.Name, Description: spec.Description}}
	if json.Unmarshal(spec.Parameters, &t.Function.Parameters) != nil {
		t.Function.Parameters = looseParameters(spec.Parameters)
	}
	t.Function.Parameters.Type = "object"
	if t.Function.Parameters.Properties == nil {
		t.Function.Parameters.Properties = api.NewToolPropertiesMap()
	}
	return t
}

func looseParameters(schema json.RawMessage) api.ToolFunctionParameters {
	var loose struct {
		Required   json.RawMessage            `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	out := api.ToolFunctionParameters{Properties: api.NewToolPropertiesMap()}
	if json.Unmarshal(schema, &loose) != nil {
		return out
	}
	if json.Unmarshal(loose.Required, &out.Required) != nil {
		out.Required = nil
	}
	for _, name := range sortedKeys(loose.Properties) {
		var p api.ToolProperty
		if json.Unmarshal(loose.Properties[name], &p) != nil {
			var d struct {
				Description string `json:"description"`
			}
			if json.Unmarshal(loose.Properties[name], &d) != nil {
				d.Description = ""
			}
			p = api.ToolProperty{Description: d.Description}
		}
		out.Properties.Set(name, p)
	}
	return out
}
