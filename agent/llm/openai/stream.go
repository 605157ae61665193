package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/wire"
)

// chunk is one event of a stream, or a whole answer, which has message in place of delta.
type chunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int    `json:"index"`
		Delta        *delta `json:"delta"`
		Message      *delta `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage       *goopenai.Usage `json:"usage"`
	Fingerprint string          `json:"system_fingerprint"`
}

type delta struct {
	Content          text        `json:"content"`
	ReasoningContent text        `json:"reasoning_content"`
	Reasoning        text        `json:"reasoning"`
	Refusal          text        `json:"refusal"`
	ToolCalls        []callDelta `json:"tool_calls"`
	FunctionCall     *function   `json:"function_call"` // the single call of older servers
}

// text is a string, null, or a list of text parts.
type text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*t = text(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return fmt.Errorf("read content: %w", err)
	}
	for _, p := range parts {
		*t += text(p.Text)
	}
	return nil
}

// answer is the answer received so far.
type answer struct {
	m      *Model
	calls  calls
	reason string
	usage  goopenai.Usage
	heard  wire.Received
	drops  bool // the server is Ollama, which silently drops some calls
}

// take reads one event and returns its new content.
func (a *answer) take(c *chunk) llm.Part {
	var p llm.Part
	if c.Usage != nil {
		a.usage = *c.Usage
	}
	a.drops = a.drops || c.Fingerprint == "fp_ollama"
	for _, choice := range c.Choices {
		d := choice.Delta
		if d == nil {
			d = choice.Message
		}
		if choice.Index != 0 || d == nil {
			continue
		}
		p.Content += string(d.Content + d.Refusal)
		p.Thinking += string(d.ReasoningContent)
		if d.ReasoningContent == "" && d.Reasoning != "" {
			p.Thinking += string(d.Reasoning)
			a.m.useReasoning()
		}
		for _, call := range d.ToolCalls {
			a.calls.add(call)
		}
		if d.FunctionCall != nil { //control:older-calls
			a.calls.add(callDelta{Index: new(int), Function: *d.FunctionCall})
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
	}
	a.heard.Take(p)
	return p
}

// useReasoning records that the server calls the field reasoning.
func (m *Model) useReasoning() {
	d := *m.dialect.Load()
	if d.reasoning == "reasoning_content" {
		d.reasoning = "reasoning"
		m.dialect.Store(&d)
	}
}

// last returns the last part of the answer.
func (a *answer) last() llm.Part {
	p := llm.Part{Calls: a.calls.all(), Done: true, DoneReason: a.reason,
		PromptTokens: a.usage.PromptTokens, AnswerTokens: a.usage.CompletionTokens}
	if d := a.usage.PromptTokensDetails; d != nil {
		p.CachedTokens = d.CachedTokens
	}
	if p.DoneReason == "" {
		p.DoneReason = "stop"
		if len(p.Calls) > 0 {
			p.DoneReason = "tool_calls"
		}
	}
	a.heard.Take(p)
	p.Dropped = a.drops && a.heard.Dropped(p.AnswerTokens)
	return p
}

// readEvents reads a stream. It returns nil if the answer is complete or yield returns
// false.
func (m *Model) readEvents(ctx context.Context, resp *http.Response, yield func(llm.Part, error) bool) error {
	a := answer{m: m}
	lines := wire.NewLines(resp.Body)
	event := ""
	for {
		line, whole, err := lines.Next()
		if err != nil && a.reason != "" && ctx.Err() == nil {
			break // complete, only [DONE] is missing
		}
		if err != nil {
			return m.endError(ctx, err)
		}
		field, data, _ := bytes.Cut(line, []byte(":"))
		data = bytes.TrimSpace(data)
		switch string(field) {
		case "event":
			event = string(data)
			continue
		case "", "id", "retry":
			continue
		case "data":
		default:
			return m.lineError(line, whole)
		}
		if string(data) == "[DONE]" {
			break
		}
		p, err := a.event(data, whole, event)
		if err != nil {
			return err
		}
		if a.reason == "content_filter" { //control:filtered-is-said
			return &llm.Error{
				Kind:   llm.Invalid,
				Public: "the model server's content filter stopped the answer; put the task in other words, or use another model",
			}
		}
		if (p.Content != "" || p.Thinking != "") && !yield(p, nil) {
			return nil
		}
		event = ""
	}
	yield(a.last(), nil)
	return nil
}

// event decodes the data of one event and returns its new content. name is the event's
// name, which some servers send.
func (a *answer) event(data []byte, whole bool, name string) (llm.Part, error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return llm.Part{}, a.m.lineError(data, whole)
	}
	if isError(c.Error) {
		return llm.Part{}, a.m.streamError(c.Error)
	}
	if name == "error" {
		return llm.Part{}, a.m.streamError(data)
	}
	return a.take(&c), nil
}

func isError(raw json.RawMessage) bool {
	s := string(raw)
	return len(raw) > 0 && s != "null" && s != `""` && s != "{}" && s != "false"
}

// readWhole reads an answer of a server that does not stream.
func (m *Model) readWhole(ctx context.Context, resp *http.Response, yield func(llm.Part, error) bool) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxLine))
	if err != nil {
		return m.endError(ctx, err)
	}
	var c chunk
	if err := json.Unmarshal(body, &c); err != nil {
		return m.lineError(body, !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "unexpected end"))
	}
	if isError(c.Error) {
		return m.streamError(c.Error)
	}
	if len(c.Choices) == 0 {
		return m.notCompatible(fmt.Errorf("answer without choices: %.200q", body))
	}
	a := answer{m: m}
	if p := a.take(&c); (p.Content != "" || p.Thinking != "") && !yield(p, nil) {
		return nil
	}
	yield(a.last(), nil)
	return nil
}
