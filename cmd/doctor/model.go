package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// model checks that the server has the model of the configuration.
func (c *Config) model(ctx context.Context) []Finding {
	m := c.Server.Model
	name := m.Name
	if name == "" {
		name = c.Server.Policy.Model
	}
	u, err := m.Address()
	if err != nil {
		return []Finding{wrong("model", "Set model.ollama or model.base_url.", "%v", err)}
	}
	ask := asking{client: &http.Client{Transport: c.HTTP, Timeout: 15 * time.Second}, provider: m.Of(), key: m.Key}
	look := ask.openai
	if ask.provider.Name == "ollama" {
		look = ask.ollama
	}
	found := look(ctx, u, name)
	if !found.OK {
		return []Finding{found}
	}
	return append([]Finding{found}, c.abilities(ctx, name)...)
}

// abilities reports the model's abilities, from its server and the configuration.
func (c *Config) abilities(ctx context.Context, name string) []Finding {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	m, err := c.Model(name)
	if err != nil {
		return []Finding{wrong("model", "", "%v", err)}
	}
	caps, err := m.Capabilities(ctx)
	if err != nil {
		return []Finding{wrong("model", "Try it: handrail doctor model "+name, "it does not tell its capabilities: %v", err)}
	}
	calls := "as text"
	if caps.Tools {
		calls = "in the server's own form"
	}
	out := passed("context", "calls travel %s", calls)
	if caps.ContextLength > 0 {
		out = passed(
			"context",
			"%d tokens, made for %d; calls travel %s",
			max(c.Server.Model.Context, min(32768, caps.ContextLength)),
			caps.ContextLength,
			calls,
		)
	}
	switch set := c.Server.Model.Context; {
	case caps.ContextLength > 0 && set > caps.ContextLength:
		out = wrong(
			"context", "Set model.context to at most that, or leave it out.",
			"model.context is %d, and the model was made for %d", set, caps.ContextLength,
		)
	case caps.ContextLength > 0 && caps.ContextLength < minContext:
		out = wrong(
			"context", "Choose a model with a longer context.", "the model was made for %d tokens; a session needs %d",
			caps.ContextLength, minContext,
		)
	}
	return []Finding{out}
}

type asking struct {
	client   *http.Client
	provider config.Provider
	key      secret.Value
}

// get decodes a server's answer into into, and returns the status. An answer that is not
// JSON counts as not found.
func (a asking) get(ctx context.Context, u *url.URL, into any) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, err
	}
	if a.key != "" {
		req.Header.Set(a.provider.KeyHeader(a.key))
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 8<<20)).Decode(into); err != nil {
		return http.StatusNotFound, nil // probably a web page
	}
	return resp.StatusCode, nil
}

// unreachable is the finding for an unreachable server.
func unreachable(u *url.URL, err error, start string) Finding {
	var why *url.Error
	if errors.As(err, &why) {
		err = why.Err
	}
	remedy := start
	switch {
	case config.UnknownAuthority(err):
		remedy = "The certificate is of an authority that this machine does not know: put that authority's certificate into a file and name it as model.ca_file in the configuration, or with --ca-file."
	case strings.Contains(err.Error(), "certificate"):
		remedy = "Mend the certificate of the model's server, or name the server in the configuration as its certificate does."
	}
	return wrong("model", remedy, "%s does not answer: %v", u.Redacted(), err)
}

// Names lists names, shortened.
func Names(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	out := make([]string, 0, len(list))
	for _, n := range list[:min(len(list), 8)] {
		out = append(out, untrusted.EscapeLine(n))
	}
	if len(list) > len(out) {
		out = append(out, fmt.Sprintf("%d more", len(list)-len(out)))
	}
	return strings.Join(out, ", ")
}

func (a asking) ollama(ctx context.Context, u *url.URL, name string) Finding {
	var list struct{ Models []struct{ Name string } }
	status, err := a.get(ctx, u.JoinPath("api", "tags"), &list)
	switch {
	case err != nil:
		return unreachable(u, err, "Start Ollama there (ollama serve), or set model.ollama or OLLAMA_HOST to its address.")
	case status != http.StatusOK:
		return wrong(
			"model",
			"Is it Ollama? The address of an OpenAI-compatible server goes into model.base_url.",
			"%s answers %d to a request for Ollama",
			u.Redacted(),
			status,
		)
	}
	var there []string
	for _, m := range list.Models {
		there = append(there, m.Name)
	}
	if name == "" {
		return wrong(
			"model",
			"Set model.name to one of them.",
			"no model is named; Ollama at %s has: %s",
			u.Redacted(),
			Names(there),
		)
	}
	want := name
	if !strings.Contains(want, ":") {
		want += ":latest"
	}
	if !slices.Contains(there, name) && !slices.Contains(there, want) {
		return wrong(
			"model",
			"Pull it where Ollama runs: ollama pull "+name,
			"Ollama at %s does not have %s; it has: %s",
			u.Redacted(),
			untrusted.EscapeLine(name),
			Names(there),
		)
	}
	return passed("model", "Ollama at %s has %s", u.Redacted(), untrusted.EscapeLine(name))
}

func (a asking) openai(ctx context.Context, u *url.URL, name string) Finding {
	var list struct{ Data []struct{ ID string } }
	status, err := a.get(ctx, u.JoinPath("models"), &list)
	if err != nil {
		return unreachable(u, err, "Start the model's server, or set model.base_url to its address.")
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return wrong(
			"model",
			"Set HANDRAIL_API_KEY, or HANDRAIL_API_KEY_FILE, to a key that it takes.",
			"%s refuses: it answers %d",
			u.Redacted(),
			status,
		)
	}
	if status != http.StatusOK {
		below := u.JoinPath("v1")
		if again, err := a.get(ctx, below.JoinPath("models"), &list); err == nil &&
			(again == http.StatusOK || again == http.StatusUnauthorized) {
			return wrong(
				"model",
				"Set model.base_url to "+below.Redacted(),
				"%s answers %d: its API is below /v1",
				u.Redacted(),
				status,
			)
		}
		return wrong(
			"model",
			"model.base_url must be the address below which /models and /chat/completions are.",
			"%s answers %d",
			u.JoinPath("models").Redacted(),
			status,
		)
	}
	var there []string
	for _, m := range list.Data {
		there = append(there, m.ID)
	}
	if name == "" || len(there) > 0 && !slices.Contains(there, name) {
		return wrong(
			"model",
			"Set model.name to one of them, as the server names it.",
			"%s does not list %q; it has: %s",
			u.Redacted(),
			untrusted.EscapeLine(name),
			Names(there),
		)
	}
	return passed("model", "%s has %s", u.Redacted(), untrusted.EscapeLine(name))
}
