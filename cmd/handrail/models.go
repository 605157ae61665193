package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
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
		return &tuned{Model: model, cfg: m}, nil
	}, nil
}

// tuned is a model as its operator wants it.
type tuned struct {
	llm.Model
	cfg modelConfig
}

// Capabilities implements [llm.Model]. What the operator says is final; the
// server is asked for the rest.
func (t *tuned) Capabilities(ctx context.Context) (caps llm.Capabilities, err error) {
	can := t.cfg.Can
	if can.Tools == nil || can.Thinking == nil || can.Vision == nil || can.Context == 0 {
		if caps, err = t.Model.Capabilities(ctx); err != nil {
			return caps, err
		}
	}
	for _, c := range []struct {
		said *bool
		into *bool
	}{{can.Tools, &caps.Tools}, {can.Thinking, &caps.Thinking}, {can.Vision, &caps.Vision}} {
		if c.said != nil {
			*c.into = *c.said
		}
	}
	if can.Context > 0 {
		caps.ContextLength = can.Context
	}
	return caps, nil
}

// Stream implements [llm.Model].
func (t *tuned) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Part, error] {
	if req.Temperature == nil {
		req.Temperature = t.cfg.Temperature
	}
	return t.Model.Stream(ctx, req)
}

// window is what the operator set for a model: tokens of context and of one
// answer, 0 for what the agent thinks best.
func window(m llm.Model) (tokens, answer int) {
	if t, ok := m.(*tuned); ok {
		return t.cfg.Context, t.cfg.MaxTokens
	}
	return 0, 0
}

// ollamaURL reads OLLAMA_HOST as Ollama's own clients do: scheme, port and
// path are optional; a bare address means port 11434, one with a scheme the
// scheme's port; a port that is none is left out. 0.0.0.0 and :: are where a
// server listens, so a client goes to the loopback address.
func ollamaURL(host string) (*url.URL, error) {
	given := strings.TrimSpace(strings.Trim(strings.TrimSpace(host), `"'`))
	scheme, rest, ok := strings.Cut(given, "://")
	if !ok {
		scheme, rest = "http", given
	}
	scheme = strings.ToLower(scheme)
	fallback, known := map[string]string{"http": "80", "https": "443"}[scheme]
	switch {
	case given == "ollama.com":
		scheme, fallback = "https", "443"
	case !ok:
		fallback = "11434"
	case !known:
		return nil, badOllama(given)
	}
	rest, path, _ := strings.Cut(rest, "/")
	var user *url.Userinfo
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		named, err := url.Parse("http://" + rest[:i+1] + "host")
		if err != nil {
			return nil, badOllama(given)
		}
		user, rest = named.User, rest[i+1:]
	}
	name, port := hostAndPort(rest, fallback)
	u := &url.URL{Scheme: scheme, User: user, Host: net.JoinHostPort(name, port)}
	if path = strings.TrimRight(path, "/"); path != "" {
		u.Path = "/" + path
	}
	if _, err := url.Parse(u.String()); err != nil || strings.ContainsAny(name, " \t\r\n\"'<>?#[]@\\") || strings.ContainsAny(path, "?#") {
		return nil, badOllama(given)
	}
	return u, nil
}

func badOllama(given string) error {
	return fmt.Errorf("OLLAMA_HOST %q is not an address like http://127.0.0.1:11434", withoutUser(given))
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

func hostAndPort(s, fallback string) (host, port string) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.Trim(s, "[]"), fallback
		if net.ParseIP(host) == nil {
			host = s // not an address with colons in it
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		port = fallback
	}
	switch ip := net.ParseIP(host); {
	case host == "":
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified() && ip.To4() != nil:
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	return host, port
}
