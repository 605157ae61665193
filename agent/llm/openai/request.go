package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/handrail-bot/handrail/agent/llm"
)

// request extends [goopenai.ChatCompletionRequest], which cannot express a temperature of
// 0, an empty content, or the name of the reasoning field.
type request struct {
	Model               string                  `json:"model"`
	Messages            []message               `json:"messages"`
	Tools               []goopenai.Tool         `json:"tools,omitempty"`
	Temperature         *float64                `json:"temperature,omitempty"`
	MaxTokens           int                     `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                     `json:"max_completion_tokens,omitempty"`
	ReasoningEffort     string                  `json:"reasoning_effort,omitempty"`
	Stream              bool                    `json:"stream"`
	StreamOptions       *goopenai.StreamOptions `json:"stream_options,omitempty"`
	PromptCacheKey      string                  `json:"prompt_cache_key,omitempty"`
}

type message struct {
	Role             llm.Role            `json:"role"`
	Content          any                 `json:"content"` // string, []ChatMessagePart or null beside calls
	ReasoningContent string              `json:"reasoning_content,omitempty"`
	Reasoning        string              `json:"reasoning,omitempty"`
	ToolCalls        []goopenai.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID       string              `json:"tool_call_id,omitempty"`
}

// body encodes req in the dialect d.
func (m *Model) body(d dialect, req llm.Request) ([]byte, error) {
	if c := m.cfg.Capabilities; c != nil && !c.Vision {
		for _, msg := range req.Messages {
			if len(msg.Images) > 0 {
				return nil, m.end.Unsupported(llm.SeeImages, fmt.Errorf("message with %d images", len(msg.Images)))
			}
		}
	}
	out := request{Model: m.end.Model, Messages: messages(d, req.Messages), Stream: true}
	switch d.cache {
	case CacheKey:
		out.PromptCacheKey = conversation(req.Messages)
	case CacheControl:
		markForCache(out.Messages)
	}
	for _, spec := range req.Tools {
		params := any(spec.Parameters)
		if len(spec.Parameters) == 0 {
			params = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out.Tools = append(out.Tools, goopenai.Tool{Type: goopenai.ToolTypeFunction,
			Function: &goopenai.FunctionDefinition{Name: spec.Name, Description: spec.Description, Parameters: params}})
	}
	if !d.noUsage {
		out.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	}
	if out.Temperature = req.Temperature; out.Temperature == nil {
		out.Temperature = m.cfg.Temperature
	}
	if d.noTemperature {
		out.Temperature = nil
	}
	limit := req.MaxTokens
	if limit == 0 {
		limit = m.cfg.MaxTokens
	}
	if d.newMaxTokens {
		out.MaxCompletionTokens = limit
	} else {
		out.MaxTokens = limit
	}
	if req.Think && !d.noEffort {
		out.ReasoningEffort = m.cfg.Effort
	}
	return m.marshal(out)
}

// messages converts a conversation. Servers require that each result refers to its call.
// Calls without an id, as from older Ollama servers, get one, and results without an id
// are assigned to the calls in order.
func messages(d dialect, in []llm.Message) []message {
	out := make([]message, 0, len(in))
	var waiting []string // ids of calls in the last answer without a result
	for i, msg := range in {
		w := message{Role: msg.Role, Content: content(msg), ToolCallID: msg.ToolCallID}
		switch d.reasoning {
		case "reasoning_content":
			w.ReasoningContent = msg.Thinking
		case "reasoning":
			w.Reasoning = msg.Thinking
		}
		switch msg.Role {
		case llm.RoleAssistant:
			waiting = waiting[:0]
			for j, c := range msg.Calls {
				if c.ID == "" {
					c.ID = fmt.Sprintf("call_%d_%d", i, j)
				}
				waiting = append(waiting, c.ID)
				w.ToolCalls = append(w.ToolCalls, goopenai.ToolCall{ID: c.ID, Type: goopenai.ToolTypeFunction,
					Function: goopenai.FunctionCall{Name: c.Name, Arguments: argumentText(c.Arguments)}})
			}
		case llm.RoleTool:
			w.ToolCallID, waiting = answered(msg.ToolCallID, waiting)
		}
		out = append(out, w)
	}
	return out
}

// answered returns the id of the call that a result with the given id belongs to, and the
// ids of the calls still without a result.
func answered(id string, waiting []string) (string, []string) {
	if id == "" {
		if len(waiting) == 0 {
			return "", waiting
		}
		return waiting[0], waiting[1:]
	}
	for i, w := range waiting {
		if w == id {
			return id, append(waiting[:i:i], waiting[i+1:]...)
		}
	}
	return id, waiting
}

// argumentText returns the arguments of a call as the JSON object that servers require.
// Any other value is stored under one key, so that the model sees its mistake.
func argumentText(raw json.RawMessage) string {
	text := string(raw)
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "{}"
	case json.Valid([]byte(text)) && strings.HasPrefix(strings.TrimSpace(text), "{"):
		return text
	}
	b, err := json.Marshal(map[string]string{"arguments": text})
	if err != nil { // cannot happen for a map of strings
		return "{}"
	}
	return string(b)
}

func content(msg llm.Message) any {
	if len(msg.Images) == 0 {
		if msg.Content == "" && len(msg.Calls) > 0 {
			return nil
		}
		return msg.Content
	}
	var parts []goopenai.ChatMessagePart
	if msg.Content != "" {
		parts = append(parts, goopenai.ChatMessagePart{Type: goopenai.ChatMessagePartTypeText, Text: msg.Content})
	}
	for _, img := range msg.Images {
		u := "data:" + http.DetectContentType(img) + ";base64," + base64.StdEncoding.EncodeToString(img)
		parts = append(
			parts,
			goopenai.ChatMessagePart{
				Type:     goopenai.ChatMessagePartTypeImageURL,
				ImageURL: &goopenai.ChatMessageImageURL{URL: u},
			},
		)
	}
	return parts
}
