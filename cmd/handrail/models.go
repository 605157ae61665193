package main

import (
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
	"github.com/handrail-bot/handrail/agent/llm/openai"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/runs"
	"github.com/handrail-bot/handrail/policy/secret"
)

// modelFlags say which model answers and where it runs.
type modelFlags struct {
	Model   string `env:"HANDRAIL_MODEL" help:"Model, as the server names it."`
	BaseURL string `name:"base-url" env:"HANDRAIL_BASE_URL" help:"Address of an OpenAI-compatible server, for example http://127.0.0.1:8000/v1; its key in HANDRAIL_API_KEY. Without it, Ollama at OLLAMA_HOST is used."`
	CAFile  string `name:"ca-file" type:"path" help:"File with the certificate, in PEM form, of an authority that the certificate of the model's server is of; it is trusted besides the system's."`
}

// tuneFlags say how a model answers.
type tuneFlags struct {
	Temperature *float64 `help:"Temperature, from 0 to 2; otherwise the model's own, or 0.2 where Ollama's model has none."`
	Context     int      `help:"Tokens of context; from 32768 upwards as needed otherwise."`
	MaxTokens   int      `help:"Tokens that one answer may have; otherwise 4096, 8192 if the model thinks or its size is not known, and at most a quarter of the context."`
	KeepAlive   string   `help:"How long Ollama keeps the model loaded, for example 30m or forever."`
	Form        string   `help:"How the model is asked to act: native (calls of its server), text (calls in its text), files (whole files, for models that cannot call), or auto, which is what went well in earlier sessions."`
	Effort      string   `help:"How hard a model thinks that knows levels: low, medium or high."`
}

// open returns how to reach a model by name on the chosen server.
func (f modelFlags) open(w *console) (func(name string) (llm.Model, error), error) {
	return f.openTuned(w, tuneFlags{})
}

func (f modelFlags) openTuned(w *console, t tuneFlags) (func(name string) (llm.Model, error), error) {
	key, err := runKey(f.BaseURL, os.Getenv)
	if err != nil {
		return nil, door.UsageError{Err: err}
	}
	trusted, err := f.trusted()
	if err != nil {
		return nil, err
	}
	m := config.Model{
		BaseURL: f.BaseURL, Ollama: os.Getenv("OLLAMA_HOST"), Key: key, Trusted: trusted,
		Temperature: t.Temperature, Context: t.Context, MaxTokens: t.MaxTokens, KeepAlive: t.KeepAlive, Effort: t.Effort, Form: t.Form,
	}
	if err := m.Check().Err(); err != nil {
		return nil, door.UsageError{Err: err}
	}
	return opener(m, w.log)
}

// trusted returns whose certificates are taken, nil for those that the system trusts.
func (f modelFlags) trusted() (*x509.CertPool, error) {
	pool, err := config.Authorities(f.CAFile)
	if err != nil {
		return nil, door.Usage("--ca-file: %w", err)
	}
	return pool, nil
}

// formsName is the file that remembers how models answered well, in the directory of the
// user's state or of a server's data.
const formsName = "forms.json"

// formsFile returns that file of this user, "" where no place for it is known.
func formsFile() string {
	dir, err := runs.Dir()
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(dir), formsName)
}

// serverOf returns the address of the model's server without a password, "" where it is
// wrong.
func serverOf(m config.Model) string {
	u, err := m.Address()
	if err != nil {
		return ""
	}
	return u.Redacted()
}

// server names the model's server in words. Its address was read before.
func (f modelFlags) server() string {
	u, err := config.Model{BaseURL: f.BaseURL, Ollama: os.Getenv("OLLAMA_HOST")}.Address()
	switch {
	case err != nil:
		return "the model server"
	case f.BaseURL != "":
		return "the model server at " + u.Redacted()
	}
	return "Ollama at " + u.Redacted()
}

// host returns where the model's server listens. Its address was read before.
func (f modelFlags) host() string {
	u, err := config.Model{BaseURL: f.BaseURL, Ollama: os.Getenv("OLLAMA_HOST")}.Address()
	if err != nil {
		return ""
	}
	return u.Host
}

// runKey returns the key for a model server. The key of OpenAI goes to OpenAI only.
func runKey(baseURL string, getenv func(string) string) (secret.Value, error) {
	key, err := config.Secret(getenv, "HANDRAIL_API_KEY")
	if err != nil || key != "" {
		return key, err
	}
	if u, err := url.Parse(baseURL); err == nil && u.Scheme == "https" && u.Hostname() == "api.openai.com" {
		return config.Secret(getenv, "OPENAI_API_KEY")
	}
	return "", nil
}

// opener returns how to reach a model by name.
func opener(m config.Model, log *slog.Logger) (func(name string) (llm.Model, error), error) {
	u, err := m.Address()
	if err != nil {
		return nil, err
	}
	keepAlive, err := m.KeepAliveTime()
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: config.Transport(m.Trusted, m.Sent)}
	shared := llm.Shared(func(name string) (model llm.Model, err error) {
		if m.BaseURL != "" {
			model, err = openai.New(openai.Config{
				HTTP: client, URL: u, Model: name, Key: openai.Key(m.Key.Reveal()), Temperature: m.Temperature, MaxTokens: m.MaxTokens,
				Effort: m.Effort, Cache: m.Cache, Idle: time.Duration(m.Silence), Log: log,
			})
		} else {
			model, err = ollama.New(ollama.Config{HTTP: client, URL: u, Model: name, KeepAlive: keepAlive, Effort: m.Effort, Idle: time.Duration(m.Silence), Log: log})
		}
		if err != nil {
			return nil, err
		}
		return llm.Tune(model, llm.Settings{
			Temperature: m.Temperature, Tools: m.Can.Tools, Thinking: m.Can.Thinking, Vision: m.Can.Vision, ContextLength: m.Can.Context,
		}), nil
	})
	return func(name string) (llm.Model, error) {
		if m.BaseURL == "" {
			name = strings.TrimSuffix(name, ":latest") // Ollama's other name for it
		}
		return shared(name)
	}, nil
}
