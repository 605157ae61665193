package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
	"github.com/handrail-bot/handrail/agent/llm/openai"
)

// modelFlags say which model answers and where it runs.
type modelFlags struct {
	Model   string `env:"HANDRAIL_MODEL" help:"Model, as the server names it."`
	BaseURL string `name:"base-url" env:"HANDRAIL_BASE_URL" help:"Address of an OpenAI-compatible server, for example http://127.0.0.1:8000/v1. Without it, Ollama at OLLAMA_HOST is used."`
}

// open returns how to reach a model by name on the chosen server.
func (f modelFlags) open(w *world) (func(name string) (llm.Model, error), error) {
	if f.BaseURL != "" {
		u, err := url.Parse(f.BaseURL)
		if err != nil || u.Host == "" {
			return nil, usage("--base-url %q is not an address like http://127.0.0.1:8000/v1", f.BaseURL)
		}
		key := os.Getenv("HANDRAIL_API_KEY")
		if key == "" {
			key = os.Getenv("OPENAI_API_KEY")
		}
		return func(name string) (llm.Model, error) {
			return openai.New(openai.Config{URL: u, Model: name, Key: openai.Key(key), Log: w.log})
		}, nil
	}
	u, err := ollamaURL(os.Getenv("OLLAMA_HOST"))
	if err != nil {
		return nil, usageError{err}
	}
	return func(name string) (llm.Model, error) {
		return ollama.New(ollama.Config{URL: u, Model: name, Log: w.log})
	}, nil
}

// ollamaURL reads OLLAMA_HOST as Ollama's own clients do: scheme, port and
// path are optional; a bare address means port 11434; 0.0.0.0 is where a
// server listens, so a client goes to the loopback address.
func ollamaURL(host string) (*url.URL, error) {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	if host == "" {
		host = "127.0.0.1"
	}
	port := "11434"
	switch {
	case strings.HasPrefix(host, "https://"):
		port = "443"
	case strings.HasPrefix(host, "http://"):
		port = "80"
	case strings.HasPrefix(host, ":"):
		host = "http://127.0.0.1" + host
	default:
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("OLLAMA_HOST %q is not an address like http://127.0.0.1:11434", host)
	}
	name := u.Hostname()
	if name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if p := u.Port(); p != "" {
		port = p
	}
	u.Host = name + ":" + port
	return u, nil
}
