package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// ModelInfo is Ollama's description of a model.
type ModelInfo struct {
	Template string `json:"template"`
	Renderer string `json:"renderer"` // built into the server; replaces the template
	Remote   string `json:"remote_host"`
	Details  struct {
		Family string `json:"family"`
	} `json:"details"`
}

const maxShown = 64 << 20 // large, because the answer lists all tensors

// Show asks the address of a server for its description of a model.
func Show(ctx context.Context, client *http.Client, address *url.URL, model string) (s ModelInfo, err error) {
	body, err := json.Marshal(map[string]string{"model": model})
	if err != nil {
		return s, err
	}
	req, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		address.String(),
		bytes.NewReader(body),
	)
	if err != nil {
		return s, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("it answers %s", resp.Status)
	}
	return s, json.NewDecoder(io.LimitReader(resp.Body, maxShown)).Decode(&s)
}

// KnowsRoles reports whether the prompt separates instructions, requests and answers. It
// reports true if Ollama does not show the template.
func (s ModelInfo) KnowsRoles() bool {
	if s.Template == "" || s.Renderer != "" || s.Remote != "" {
		return true
	}
	for _, word := range []string{".Messages", ".Role", ".System"} {
		if strings.Contains(s.Template, word) {
			return true
		}
	}
	return false
}

// examples maps a family to a model of Ollama's library that has the family's template.
var examples = map[string]string{
	"qwen2": "qwen2.5-coder:1.5b", "qwen3": "qwen3:4b", "llama": "llama3.2:3b", "gemma2": "gemma2:2b", "gemma3": "gemma3:4b", "phi3": "phi4-mini",
}

// ReportNoRoles adds to the report that the model's template has no roles, and a remedy.
func (r *Trial) ReportNoRoles(s ModelInfo) {
	r.NoRoles = true
	family := s.Details.Family
	from := "a model of its family from ollama.com"
	if e := examples[family]; e != "" {
		from = "one such as " + e
	}
	if family == "" {
		family = "unknown"
	}
	r.say(
		"This model's template knows no roles (it is %q, as of a Modelfile that says only `FROM file.gguf`): instructions, requests and answers reach it as one text. Write a Modelfile with the lines `FROM %s` and `TEMPLATE \"\"\"…\"\"\"`, the template of its family (%s), which `ollama show --template` prints of %s; then run `ollama create %s -f Modelfile` and try again. docs/models.md has one.",
		clipAnswer(
			s.Template,
		),
		untrusted.EscapeLine(r.Model),
		untrusted.EscapeLine(family),
		from,
		untrusted.EscapeLine(r.Model),
	)
}

// clipAnswer shortens a text to fit into a sentence.
func clipAnswer(s string) string {
	return phrase.Short(strings.Join(strings.Fields(s), " "), 61)
}
