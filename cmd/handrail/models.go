package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
	"github.com/handrail-bot/handrail/agent/llm/openai"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// modelFlags say which model answers and where it runs.
type modelFlags struct {
	Model   string `env:"HANDRAIL_MODEL" help:"Model, as the server names it."`
	BaseURL string `name:"base-url" env:"HANDRAIL_BASE_URL" help:"Address of an OpenAI-compatible server, for example http://127.0.0.1:8000/v1; its key in HANDRAIL_API_KEY. Without it, Ollama at OLLAMA_HOST is used."`
}

// tuneFlags say how a model answers.
type tuneFlags struct {
	Temperature *float64 `help:"Temperature, from 0 to 2; the server's own otherwise."`
	Context     int      `help:"Tokens of context; from 32768 upwards as needed otherwise."`
	MaxTokens   int      `help:"Tokens that one answer may have; the server's own limit otherwise."`
	KeepAlive   string   `help:"How long Ollama keeps the model loaded, for example 30m or forever."`
	Effort      string   `help:"Reasoning effort that an OpenAI-compatible server is asked for, for example low, medium or high."`
}

// open returns how to reach a model by name on the chosen server.
func (f modelFlags) open(w *world) (func(name string) (llm.Model, error), error) {
	return f.openTuned(w, tuneFlags{})
}

func (f modelFlags) openTuned(w *world, t tuneFlags) (func(name string) (llm.Model, error), error) {
	key, err := runKey(f.BaseURL, os.Getenv)
	if err != nil {
		return nil, usageError{err}
	}
	m := modelConfig{
		BaseURL: f.BaseURL, Ollama: os.Getenv("OLLAMA_HOST"), key: key,
		Temperature: t.Temperature, Context: t.Context, MaxTokens: t.MaxTokens, KeepAlive: t.KeepAlive, Effort: t.Effort,
	}
	if err := errors.Join(m.check()...); err != nil {
		return nil, usageError{err}
	}
	return m.opener(w.log)
}

// runKey is the key for a model server. The key of OpenAI goes to OpenAI only.
func runKey(baseURL string, getenv func(string) string) (secret.Value, error) {
	key, err := secretFrom(getenv, "HANDRAIL_API_KEY")
	if err != nil || key != "" {
		return key, err
	}
	if u, err := url.Parse(baseURL); err == nil && u.Scheme == "https" && u.Hostname() == "api.openai.com" {
		return secretFrom(getenv, "OPENAI_API_KEY")
	}
	return "", nil
}

// modelConfig is `model:` in the server's file. Without BaseURL the model runs
// in Ollama.
type modelConfig struct {
	Name        string          `yaml:"name"`
	Ollama      string          `yaml:"ollama"`   // address of Ollama, as in OLLAMA_HOST
	BaseURL     string          `yaml:"base_url"` // of an OpenAI-compatible server
	Temperature *float64        `yaml:"temperature"`
	Context     int             `yaml:"context"`    // tokens
	MaxTokens   int             `yaml:"max_tokens"` // of one answer
	KeepAlive   string          `yaml:"keep_alive"` // 30m, or forever; Ollama only
	Effort      string          `yaml:"effort"`     // OpenAI-compatible servers only
	Silence     policy.Duration `yaml:"silence"`    // after which an answer counts as cut
	Can         modelAbilities  `yaml:"can"`

	key secret.Value
}

// modelAbilities is what the operator knows better than the server.
type modelAbilities struct {
	Tools    *bool `yaml:"tools"`    // calls tools natively; otherwise in its text
	Thinking *bool `yaml:"thinking"` // thinks before it answers, apart from the answer
	Vision   *bool `yaml:"vision"`   // sees pictures
	Context  int   `yaml:"context"`  // tokens that it was made for
}

// check returns everything that cannot work.
func (m modelConfig) check() []error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if _, err := m.address(); err != nil {
		errs = append(errs, err)
	}
	add(m.Temperature != nil && !(*m.Temperature >= 0 && *m.Temperature <= 2), "model temperature: must be a number from 0 to 2")
	add(m.Context != 0 && (m.Context < 2048 || m.Context > 10_000_000), "model context: %d tokens cannot hold a session; give at least 2048, or leave it out", m.Context)
	add(m.MaxTokens < 0, "model max_tokens: must be a number from 0 up")
	add(m.Context > 0 && m.MaxTokens >= m.Context, "model max_tokens: %d leave no room for a question in a context of %d", m.MaxTokens, m.Context)
	add(m.Can.Context < 0, "model can.context: must be a number from 0 up")
	_, err := m.keepAlive()
	add(err != nil, "model keep_alive: %w", err)
	add(m.KeepAlive != "" && m.BaseURL != "", "model keep_alive: only Ollama takes it; leave it out with base_url")
	add(m.Effort != "" && m.BaseURL == "", "model effort: only servers with base_url take it; leave it out for Ollama")
	return errs
}

func (m modelConfig) keepAlive() (time.Duration, error) {
	switch m.KeepAlive {
	case "":
		return 0, nil
	case "forever", "-1":
		return -1, nil
	}
	d, err := time.ParseDuration(m.KeepAlive)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a length of time such as 30m, or forever", m.KeepAlive)
	}
	return d, nil
}

func (m modelConfig) address() (*url.URL, error) {
	if m.BaseURL == "" {
		return ollamaURL(m.Ollama)
	}
	u, err := url.Parse(m.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("model base URL %q is not an address like http://127.0.0.1:8000/v1", withoutUser(m.BaseURL))
	}
	return u, nil
}

// opener returns how to reach a model by name.
func (m modelConfig) opener(log *slog.Logger) (func(name string) (llm.Model, error), error) {
	u, err := m.address()
	if err != nil {
		return nil, err
	}
	keep, err := m.keepAlive()
	if err != nil {
		return nil, err
	}
	return func(name string) (model llm.Model, err error) {
		if m.BaseURL != "" {
			model, err = openai.New(openai.Config{
				URL: u, Model: name, Key: openai.Key(m.key.Reveal()), Temperature: m.Temperature, MaxTokens: m.MaxTokens,
				Effort: m.Effort, Idle: time.Duration(m.Silence), Log: log,
			})
		} else {
			model, err = ollama.New(ollama.Config{URL: u, Model: name, KeepAlive: keep, Idle: time.Duration(m.Silence), Log: log})
		}
		if err != nil {
			return nil, err
		}
		return llm.Tune(model, llm.Settings{
			Temperature: m.Temperature, Tools: m.Can.Tools, Thinking: m.Can.Thinking, Vision: m.Can.Vision, ContextLength: m.Can.Context,
		}), nil
	}, nil
}

// ollamaURL reads an address as OLLAMA_HOST has it.
func ollamaURL(host string) (*url.URL, error) {
	u, err := ollama.ParseHost(host)
	if err != nil {
		return nil, fmt.Errorf("OLLAMA_HOST %q is not an address like http://127.0.0.1:11434", withoutUser(strings.TrimSpace(host)))
	}
	return u, nil
}

// withoutUser is an address for an error text: what stands before an @ may be
// a password.
func withoutUser(address string) string {
	i := strings.LastIndex(address, "@")
	if i < 0 {
		return address
	}
	if scheme, _, ok := strings.Cut(address, "://"); ok && !strings.Contains(scheme, "@") {
		return scheme + "://" + secret.Redacted + address[i:]
	}
	return secret.Redacted + address[i:]
}
