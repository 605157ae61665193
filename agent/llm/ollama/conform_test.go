package ollama_test

import (
	"net/url"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
)

func open(t *testing.T, address string) *ollama.Model {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newModel(u)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func openWith(t *testing.T, address string, change func(*ollama.Config)) *ollama.Model {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	cfg := ollama.Config{URL: u, Model: "scripted"}
	change(&cfg)
	m, err := ollama.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newModel(u *url.URL) (*ollama.Model, error) {
	return ollama.New(ollama.Config{URL: u, Model: "scripted"})
}

func TestConform(t *testing.T) {
	llmcheck.Conform(t, func(address string) llm.Model { return open(t, address) })
}
