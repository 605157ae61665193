package openai_test

import (
	"net/url"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/openai"
)

// open returns the model at a server's address, without /v1.
func open(t *testing.T, address string, change func(*openai.Config)) *openai.Model {
	t.Helper()
	u, err := url.Parse(address + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	cfg := openai.Config{URL: u, Model: "scripted", Key: "sesame",
		Capabilities: &llm.Capabilities{Tools: true, Vision: true, Thinking: true}}
	if change != nil {
		change(&cfg)
	}
	m, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConform(t *testing.T) {
	llmcheck.Conform(t, func(address string) llm.Model { return open(t, address, nil) })
}
