package main

import (
	"context"
	"crypto/x509"
	"errors"
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
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// modelFlags choose the model and its server.
type modelFlags struct {
	Model    string `env:"HANDRAIL_MODEL" placeholder:"NAME" help:"Model, as the server names it."`
	Provider string `env:"HANDRAIL_PROVIDER" placeholder:"KIND" help:"Kind of the model's server: ollama, or openai for any that speaks OpenAI's API; openai if --base-url is given."`
	BaseURL  string `name:"base-url" env:"HANDRAIL_BASE_URL" placeholder:"URL" help:"Address of the model's server, for example http://127.0.0.1:8000/v1; its key in HANDRAIL_API_KEY. Without it, Ollama at OLLAMA_HOST is used."`
	CAFile   string `name:"ca-file" type:"path" placeholder:"FILE" help:"PEM file with the certificate authority of the model's server, to trust besides the system's."`
}

// tuneFlags tune the answers of a model.
type tuneFlags struct {
	Temperature *float64 `placeholder:"NUMBER" help:"Temperature, from 0 to 2; otherwise the model's own, or 0.2 if Ollama's model has none."`
	Context     int      `placeholder:"TOKENS" help:"Tokens of context; from 32768 upwards as needed otherwise."`
	MaxTokens   int      `placeholder:"TOKENS" help:"Tokens that one answer may have; otherwise 4096, 8192 if the model thinks or its size is not known, and at most a quarter of the context."`
	KeepAlive   string   `placeholder:"TIME" help:"How long Ollama keeps the model loaded, for example 30m or forever."`
	Form        string   `placeholder:"FORM" help:"How the model is asked to act: native (calls of its server), text (calls in its text), files (whole files, for models that cannot call), or auto, the form that worked in earlier sessions."`
	Effort      string   `placeholder:"LEVEL" help:"Thinking effort of a model with levels: low, medium or high."`
}

// open returns a function that opens a model of the chosen server by name.
func (f modelFlags) open(w *console) (func(name string) (llm.Model, error), error) {
	return f.openTuned(w, tuneFlags{})
}

func (f modelFlags) openTuned(w *console, t tuneFlags) (func(name string) (llm.Model, error), error) {
	m, err := f.keyed()
	if err != nil {
		return nil, err
	}
	m.Temperature, m.Context, m.MaxTokens = t.Temperature, t.Context, t.MaxTokens
	m.KeepAlive, m.Effort, m.Form = t.KeepAlive, t.Effort, t.Form
	if err := m.Check().Err(); err != nil {
		return nil, door.UsageError{Err: err}
	}
	return opener(m, w.log)
}

// keyed returns the configuration of the model's server with its key and its authorities.
func (f modelFlags) keyed() (config.Model, error) {
	m := f.model()
	var err error
	if m.Key, err = runKey(f.BaseURL, os.Getenv); err != nil {
		return m, door.UsageError{Err: err}
	}
	m.Trusted, err = f.authorities()
	return m, err
}

// model returns the configuration of the model's server.
func (f modelFlags) model() config.Model {
	return config.Model{Provider: config.ProviderName(f.Provider), BaseURL: f.BaseURL, Ollama: os.Getenv("OLLAMA_HOST")}
}

// authorities returns the trusted certificate authorities; nil means those of the system.
func (f modelFlags) authorities() (*x509.CertPool, error) {
	pool, err := config.Authorities(f.CAFile)
	if err != nil {
		return nil, door.Usage("--ca-file: %w", err)
	}
	return pool, nil
}

// formsName is the file with the memory of answer forms, in the user's state directory or
// in a server's data directory.
const formsName = "forms.json"

// formsFile returns the path of that file for this user. It is empty if there is no state
// directory.
func formsFile() string {
	dir, err := local.Dir()
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(dir), formsName)
}

// serverOf returns the address of the model's server without a password. It is empty if
// the address is invalid.
func serverOf(m config.Model) string {
	u, err := m.Address()
	if err != nil {
		return ""
	}
	return u.Redacted()
}

// server names the model's server for use in a sentence.
func (f modelFlags) server() string { return f.model().Server() }

// host returns the host and port of the model's server; the address is known to be valid.
func (f modelFlags) host() string {
	u, err := f.model().Address()
	if err != nil {
		return ""
	}
	return u.Host
}

// runKey returns the key for a model server. OPENAI_API_KEY is sent only to OpenAI.
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

// pick returns the model for a session that names none: the only one of the server.
func (f modelFlags) pick(ctx context.Context) (string, error) {
	list, err := f.names(ctx)
	switch {
	case err != nil:
		return "", door.Usage("no model is named, and %w. %s", err, f.remedy(err))
	case len(list) == 0:
		return "", door.Usage("no model is named, and %s has none. %s", f.server(), f.remedy(nil))
	case len(list) > 1:
		return "", door.Usage("name a model with --model: the server has %s", untrusted.EscapeLine(strings.Join(list, ", ")))
	}
	return list[0], nil
}

// names returns the models of the server.
func (f modelFlags) names(ctx context.Context) ([]string, error) {
	m, err := f.keyed()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return m.Names(ctx)
}

// remedy says how to have a server with models; err is that of names.
func (f modelFlags) remedy(err error) string {
	const another = "name another address with OLLAMA_HOST or --base-url."
	switch {
	case config.UnknownAuthority(err):
		return "Name the file with the certificate of its authority with --ca-file."
	case errors.Is(err, config.ErrKey):
		return "Set HANDRAIL_API_KEY, or HANDRAIL_API_KEY_FILE, to a key that it takes."
	case err != nil:
		return "Start it, or " + another
	case f.model().Of().Keyed:
		return "Load one there, or " + another
	}
	return "Pull one, such as `ollama pull qwen3:8b`, or " + another
}

// endpoint is a server of models.
type endpoint struct {
	config.Model
	url       *url.URL
	http      *http.Client
	keepAlive time.Duration
	log       *slog.Logger
}

// adapters opens a model of each provider, see [config.Provider].
var adapters = map[string]func(at endpoint, name string) (llm.Model, error){
	"ollama": func(at endpoint, name string) (llm.Model, error) {
		return ollama.New(ollama.Config{
			HTTP:      at.http,
			URL:       at.url,
			Model:     name,
			KeepAlive: at.keepAlive,
			Effort:    at.Effort,
			Idle:      time.Duration(at.Silence),
			Log:       at.log,
		})
	},
	"openai": func(at endpoint, name string) (llm.Model, error) {
		return openai.New(openai.Config{
			HTTP:        at.http,
			URL:         at.url,
			Model:       name,
			Key:         openai.Key(at.Key.Reveal()),
			Temperature: at.Temperature,
			MaxTokens:   at.MaxTokens,
			Effort:      at.Effort,
			Cache:       at.Cache,
			Idle:        time.Duration(at.Silence),
			Log:         at.log,
		})
	},
}

// endpointOf returns the server of a configuration.
func endpointOf(m config.Model, log *slog.Logger) (endpoint, error) {
	u, err := m.Address()
	if err != nil {
		return endpoint{}, err
	}
	keepAlive, err := m.KeepAliveTime()
	if err != nil {
		return endpoint{}, err
	}
	return endpoint{
		Model:     m,
		url:       u,
		http:      &http.Client{Transport: config.Transport(m.Trusted, m.Sent)},
		keepAlive: keepAlive,
		log:       log,
	}, nil
}

// opener returns a function that opens a model by name.
func opener(m config.Model, log *slog.Logger) (func(name string) (llm.Model, error), error) {
	at, err := endpointOf(m, log)
	if err != nil {
		return nil, err
	}
	p := m.Of()
	shared := llm.Shared(func(name string) (llm.Model, error) {
		model, err := adapters[p.Name](at, name)
		if err != nil {
			return nil, err
		}
		return llm.Tune(model, llm.Settings{
			Temperature:   m.Temperature,
			Tools:         m.Can.Tools,
			Thinking:      m.Can.Thinking,
			Vision:        m.Can.Vision,
			ContextLength: m.Can.Context,
		}), nil
	})
	return func(name string) (llm.Model, error) {
		return shared(strings.TrimSuffix(name, p.Latest))
	}, nil
}
