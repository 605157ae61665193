package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm/ollama"
	"github.com/handrail-bot/handrail/policy/secret"
)

// ProviderName is the value of `model.provider`.
type ProviderName string

// Provider is a kind of model server. Its name selects the adapter, see the table in
// cmd/handrail/models.go; all other differences between servers are here.
type Provider struct {
	Name      string   // its [ProviderName]
	Title     string   // title before the server's address in a sentence
	Models    []string // path of the list of models, below the server's address
	Show      []string // path that describes a model with its template; nil if there is none
	Keyed     bool     // requests carry a key, see KeyHeader
	OpenAI    []string // path of its API in OpenAI's form, below the server's address
	KeepAlive bool     // model.keep_alive is supported
	Cache     bool     // model.cache is supported
	Efforts   []string // values of model.effort; nil allows any
	Slots     int      // default of model.parallel; 0 means no limit
	Latest    string   // redundant suffix of a model's name

	// Parse parses an address. For "" it returns the default, or an error without one.
	Parse func(address string) (*url.URL, error)
}

// providers returns all providers. The first is the default.
func providers() []Provider {
	return []Provider{
		{
			Name:      "ollama",
			Title:     "Ollama",
			Models:    []string{"api", "tags"},
			Show:      []string{"api", "show"},
			OpenAI:    []string{"v1"},
			KeepAlive: true,
			Efforts:   []string{"low", "medium", "high"},
			Slots:     1,
			Latest:    ":latest",
			Parse:     OllamaURL,
		},
		{
			Name:   "openai",
			Title:  "the model server",
			Models: []string{"models"},
			Keyed:  true,
			Cache:  true,
			Parse:  baseURL,
		},
	}
}

// ProviderNames returns the names of all providers.
func ProviderNames() (names []string) {
	for _, p := range providers() {
		names = append(names, p.Name)
	}
	return names
}

// KeyHeader returns the header of a request that carries a key.
func (Provider) KeyHeader(key secret.Value) (name, value string) {
	return "Authorization", "Bearer " + key.Reveal()
}

// Of returns the provider: the named one, else openai if base_url is set, else Ollama. An
// unknown name, which Check refuses, means Ollama.
func (m Model) Of() Provider {
	all, name := providers(), string(m.Provider)
	if name == "" && m.BaseURL != "" {
		name = "openai"
	}
	if i := slices.IndexFunc(all, func(p Provider) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	return all[0]
}

// Server names the model's server in a sentence. It omits an invalid address.
func (m Model) Server() string {
	u, err := m.Address()
	if err != nil {
		return m.Of().Title
	}
	return m.Of().Title + " at " + u.Redacted()
}

// Address returns the base URL of the model server.
func (m Model) Address() (*url.URL, error) {
	p := m.Of()
	if p.Name == "ollama" && m.BaseURL == "" {
		return p.Parse(m.Ollama)
	}
	return p.Parse(m.BaseURL)
}

func baseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not an address like http://127.0.0.1:8000/v1", withoutUser(address))
	}
	return u, nil
}

// OllamaURL parses an address in the form of OLLAMA_HOST.
func OllamaURL(host string) (*url.URL, error) {
	u, err := ollama.ParseHost(host)
	if err != nil {
		return nil, fmt.Errorf(
			"%q is not an address of Ollama like http://127.0.0.1:11434",
			withoutUser(strings.TrimSpace(host)),
		)
	}
	return u, nil
}
