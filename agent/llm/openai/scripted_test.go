package openai_test

import (
	"errors"
	"io"
	"testing"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// The scripted server is understood by another client, streaming or not.
func TestScriptedServerSpeaksToAnotherClient(t *testing.T) {
	turn := llmtest.Turn{Think: "hm", Say: "hello", Calls: []llmtest.Call{{ID: "c1", Name: "x", Arguments: map[string]any{"a": 1}}}}
	s := llmcheck.Serve(t, llmtest.Script{Model: llmcheck.FullModel(), Chunk: 3, Turns: []llmtest.Turn{turn, turn}})
	cfg := goopenai.DefaultConfig("sesame")
	cfg.BaseURL = s.URL() + "/v1"
	c := goopenai.NewClientWithConfig(cfg)
	list, err := c.ListModels(t.Context())
	if err != nil || len(list.Models) != 1 || list.Models[0].ID != "scripted" {
		t.Errorf("models: %+v, %v", list, err)
	}
	if _, err := c.GetModel(t.Context(), "other"); err == nil {
		t.Error("a model that is not there is found")
	}
	req := goopenai.ChatCompletionRequest{Model: "scripted", Messages: []goopenai.ChatCompletionMessage{{Role: "user", Content: "hi"}}}
	whole, err := c.CreateChatCompletion(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if m := whole.Choices[0].Message; m.Content != "hello" || len(m.ToolCalls) != 1 || m.ToolCalls[0].Function.Arguments != `{"a":1}` || whole.Usage.TotalTokens == 0 {
		t.Errorf("whole answer %+v", whole)
	}
	req.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	stream, err := c.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	content, args, usage, finish := "", "", 0, goopenai.FinishReason("")
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Usage != nil {
			usage = r.Usage.TotalTokens
		}
		for _, ch := range r.Choices {
			content += ch.Delta.Content
			for _, call := range ch.Delta.ToolCalls {
				args += call.Function.Arguments
			}
			if ch.FinishReason != "" {
				finish = ch.FinishReason
			}
		}
	}
	if content != "hello" || args != `{"a":1}` || usage == 0 || finish != "tool_calls" {
		t.Errorf("stream: %q, %q, %d tokens, %q", content, args, usage, finish)
	}
}
