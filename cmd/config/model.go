package config

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/openai"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/strict"
)

// Model is `model:` in the server's file.
type Model struct {
	Name        string          `yaml:"name" jsonschema:"description=Model for requests that name none\\, as its server names it."`
	Ollama      string          `yaml:"ollama" jsonschema:"description=Address of Ollama\\, as in OLLAMA_HOST.,default=127.0.0.1:11434"`
	Embedding   string          `yaml:"embedding" jsonschema:"description=Model of the same server that finds code by its meaning\\, such as nomic-embed-text; without one codebase_search finds text."`
	Provider    ProviderName    `yaml:"provider" jsonschema:"description=Kind of the model's server; openai is any that speaks OpenAI's API. Unset\\, it is openai if base_url is set."`
	BaseURL     string          `yaml:"base_url" jsonschema:"description=Address of the server\\, such as http://127.0.0.1:8000/v1."`
	Temperature *float64        `yaml:"temperature" jsonschema:"minimum=0,maximum=2"`
	Context     int             `yaml:"context" jsonschema:"description=Tokens of context; as many as are needed when unset.,minimum=0"`
	MaxTokens   int             `yaml:"max_tokens" jsonschema:"description=Tokens of one answer.,minimum=0"`
	Parallel    int             `yaml:"parallel" jsonschema:"description=Sessions that the model works for at the same time.,minimum=0"`
	KeepAlive   string          `yaml:"keep_alive" jsonschema:"description=How long Ollama keeps the model loaded: 30m\\, or forever."`
	Effort      string          `yaml:"effort" jsonschema:"description=Thinking effort of a model with levels: low\\, medium or high."`
	Cache       openai.Cache    `yaml:"cache" jsonschema:"enum=prompt_cache_key,enum=cache_control,description=How an OpenAI-compatible server is told the part of a prompt to reuse."`
	Silence     policy.Duration `yaml:"silence"` // maximum time without output
	AnswerTime  policy.Duration `yaml:"answer_time" jsonschema:"description=How long one answer may take from its first word on.,default=3m"`
	Form        string          `yaml:"form" jsonschema:"enum=auto,enum=native,enum=text,enum=files,default=auto,description=How the model is asked to act: with calls of its server\\, with calls in its text\\, or with files; auto begins with the form that worked in earlier sessions."`
	Can         Abilities       `yaml:"can"`
	CAFile      string          `yaml:"ca_file" jsonschema:"description=PEM file of certificate authorities to trust besides the system's."`

	Headers map[string]string `yaml:"headers" jsonschema:"description=Headers of each request to the model's server: the name of each\\, and the variable of the environment that holds its value."`

	Trusted *x509.CertPool          `yaml:"-"` // from CAFile
	Sent    map[string]secret.Value `yaml:"-"` // from Headers
	Key     secret.Value            `yaml:"-"`
}

// Abilities override the abilities that the model's server reports.
type Abilities struct {
	Tools    *bool `yaml:"tools" jsonschema:"description=It calls tools natively; otherwise in its text."`
	Thinking *bool `yaml:"thinking" jsonschema:"description=It thinks before it answers\\, apart from the answer."`
	Vision   *bool `yaml:"vision" jsonschema:"description=It sees pictures."`
	Context  int   `yaml:"context" jsonschema:"description=Tokens that it was made for.,minimum=0"`
}

// Check returns a fault for each invalid value.
func (m Model) Check() strict.Faults {
	var out strict.Faults
	add := func(bad bool, key, format string, args ...any) {
		if bad {
			out = append(out, strict.At(fmt.Sprintf(format, args...), Path("model."+key)...))
		}
	}
	p := m.Of()
	add(m.Provider != "" && string(m.Provider) != p.Name, "provider", "%s, not %q", either(ProviderNames()), m.Provider)
	if _, err := m.Address(); err != nil {
		add(true, map[bool]string{true: "ollama", false: "base_url"}[p.Name == "ollama" && m.BaseURL == ""], "%v", err)
	}
	add(
		m.Temperature != nil && !(*m.Temperature >= 0 && *m.Temperature <= 2),
		"temperature",
		"must be a number from 0 to 2",
	)
	add(
		m.Context != 0 && (m.Context < 2048 || m.Context > 10_000_000),
		"context",
		"%d tokens cannot hold a session; give at least 2048, or leave it out",
		m.Context,
	)
	add(m.MaxTokens < 0, "max_tokens", "must be a number from 0 up")
	add(
		m.Context > 0 && m.MaxTokens >= m.Context,
		"max_tokens",
		"%d leave no room for a question in a context of %d",
		m.MaxTokens,
		m.Context,
	)
	add(m.Parallel < 0, "parallel", "must be a number from 1 up, as OLLAMA_NUM_PARALLEL has it, or left out")
	add(m.Can.Context < 0, "can.context", "must be a number from 0 up")
	_, err := m.KeepAliveTime()
	add(err != nil, "keep_alive", "%v", err)
	add(m.KeepAlive != "" && !p.KeepAlive, "keep_alive", "only Ollama takes it; leave it out with provider %s", p.Name)
	add(
		!slices.Contains([]openai.Cache{"", openai.CacheKey, openai.CacheControl}, m.Cache),
		"cache",
		"prompt_cache_key or cache_control, not %q",
		m.Cache,
	)
	add(m.Cache != "" && !p.Cache, "cache", "Ollama keeps prompts by itself; leave it out with provider %s", p.Name)
	_, err = llm.ParseForm(m.Form)
	add(err != nil, "form", "%v", err)
	known := m.Effort == "" || p.Efforts == nil || slices.Contains(p.Efforts, m.Effort)
	add(!known, "effort", "%s takes %s, not %q", p.Title, either(p.Efforts), m.Effort)
	return out
}

// either joins words with "or".
func either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Answers returns the configured form of answers. An invalid name, which Check refuses,
// means auto.
func (m Model) Answers() llm.Form {
	form, err := llm.ParseForm(m.Form)
	if err != nil {
		return llm.FormAuto
	}
	return form
}

// Slots returns the maximum number of concurrent sessions of the model, 0 means no limit.
// It is 1 for Ollama unless Parallel is set.
func (m Model) Slots() int { return cmp.Or(m.Parallel, m.Of().Slots) }

// KeepAliveTime returns the time for which Ollama keeps the model loaded: 0 means
// Ollama's default, -1 for ever.
func (m Model) KeepAliveTime() (time.Duration, error) {
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

// withoutUser redacts the part of an address before an @, which may hold a password.
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
