package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/openai"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// TestOllamaURL holds OLLAMA_HOST to what Ollama's own client makes of it.
func TestOllamaURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                             "http://127.0.0.1:11434",
		"  ":                           "http://127.0.0.1:11434",
		"localhost":                    "http://localhost:11434",
		"example.com":                  "http://example.com:11434",
		"example.com:8080":             "http://example.com:8080",
		"example.com:":                 "http://example.com:11434",
		"example.com:66000":            "http://example.com:11434",
		"example.com:-1":               "http://example.com:11434",
		"example.com:abc":              "http://example.com:11434",
		":8080":                        "http://127.0.0.1:8080",
		":":                            "http://127.0.0.1:11434",
		"http://":                      "http://127.0.0.1:80",
		"http://:8080":                 "http://127.0.0.1:8080",
		"http://example.com":           "http://example.com:80",
		"HTTP://example.com":           "http://example.com:80",
		"https://example.com":          "https://example.com:443",
		"https://example.com:1234":     "https://example.com:1234",
		"https://example.com:abc":      "https://example.com:443",
		"http://example.com/":          "http://example.com:80",
		"example.com/ollama":           "http://example.com:11434/ollama",
		"https://example.com:8/a/b/":   "https://example.com:8/a/b",
		"1.2.3.4":                      "http://1.2.3.4:11434",
		"0.0.0.0":                      "http://127.0.0.1:11434",
		"0.0.0.0:80":                   "http://127.0.0.1:80",
		"http://0.0.0.0":               "http://127.0.0.1:80",
		"::":                           "http://[::1]:11434",
		"[::]:11434":                   "http://[::1]:11434",
		"::1":                          "http://[::1]:11434",
		"[::1]":                        "http://[::1]:11434",
		"[::1]:80":                     "http://[::1]:80",
		"[fe80::1%eth0]:1":             "http://[fe80::1%25eth0]:1",
		`"1.2.3.4"`:                    "http://1.2.3.4:11434",
		"'http://example.com:1'":       "http://example.com:1",
		` "example.com" `:              "http://example.com:11434",
		"ollama.com":                   "https://ollama.com:443",
		"ollama.com:80":                "http://ollama.com:80",
		"http://me:pass%20word@h:1":    "http://me:pass%20word@h:1",
		"http://me:pw@[::1]:80/ollama": "http://me:pw@[::1]:80/ollama",
	} {
		u, err := config.OllamaURL(in)
		if err != nil {
			t.Errorf("ollamaURL(%q): %v", in, err)
			continue
		}
		if got := u.String(); got != want {
			t.Errorf("ollamaURL(%q) = %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"ftp://example.com:1", "a b", "http://exa mple.com", "http://me:hidden-word@a b", "http://example.com?x=1", "http://a\nb", "unix:///run/x", "a:b:c:d"} {
		u, err := config.OllamaURL(in)
		if err == nil {
			t.Errorf("ollamaURL(%q) = %s, want an error", in, u)
		} else if !strings.Contains(err.Error(), "not an address of Ollama") || strings.Contains(err.Error(), "hidden-word") {
			t.Errorf("ollamaURL(%q): %v", in, err)
		}
	}
}

func TestModelConfigCheck(t *testing.T) {
	t.Parallel()
	half, hot, nan := 0.5, 2.5, func() float64 { z := 0.0; return z / z }()
	for name, c := range map[string]struct {
		cfg  config.Model
		want string
	}{
		"nothing":             {config.Model{}, ""},
		"all of Ollama":       {config.Model{Ollama: "h", Temperature: &half, Context: 65536, MaxTokens: 4096, KeepAlive: "30m"}, ""},
		"for ever":            {config.Model{KeepAlive: "forever"}, ""},
		"all of the other":    {config.Model{BaseURL: "https://api.example.com/v1", Effort: "high", MaxTokens: 10}, ""},
		"hot":                 {config.Model{Temperature: &hot}, "temperature"},
		"not a number":        {config.Model{Temperature: &nan}, "temperature"},
		"tiny context":        {config.Model{Context: 512}, "at least 2048"},
		"negative context":    {config.Model{Context: -1}, "at least 2048"},
		"negative answer":     {config.Model{MaxTokens: -1}, "max_tokens"},
		"answer fills all":    {config.Model{Context: 4096, MaxTokens: 4096}, "leave no room"},
		"keep alive a word":   {config.Model{KeepAlive: "long"}, `"long" is not a length of time`},
		"keep alive zero":     {config.Model{KeepAlive: "0s"}, "is not a length of time"},
		"keep alive, no home": {config.Model{BaseURL: "http://h/v1", KeepAlive: "1m"}, "only Ollama takes it"},
		"effort of Ollama":    {config.Model{Effort: "low"}, ""},
		"effort unknown":      {config.Model{Effort: "some"}, "low, medium or high"},
		"base URL bare":       {config.Model{BaseURL: "example.com/v1"}, "is not an address like"},
		"base URL scheme":     {config.Model{BaseURL: "ftp://example.com/v1"}, "is not an address like"},
		"base URL password":   {config.Model{BaseURL: "ftp://me:hidden-word@example.com/v1"}, "[redacted]@example.com"},
		"Ollama address":      {config.Model{Ollama: "ftp://x"}, "is not an address of Ollama"},
	} {
		var said []string
		for _, err := range c.cfg.Check() {
			said = append(said, err.Error())
		}
		all := strings.Join(said, "\n")
		if c.want == "" && all != "" || !strings.Contains(all, c.want) || strings.Contains(all, "hidden-word") {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
	}
}

// TestModelOptionsOnTheWire asks both kinds of servers and looks at what they
// were sent.
func TestModelOptionsOnTheWire(t *testing.T) {
	t.Parallel()
	var sent map[string]any
	var key string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/version":
			io.WriteString(w, `{"version":"0.17.4"}`)
		case "/api/show":
			io.WriteString(w, `{"capabilities":["completion"],"model_info":{}}`)
		case "/api/chat":
			sent = decodeBody(t, r)
			io.WriteString(w, `{"message":{"content":"hi"},"done":true,"done_reason":"stop"}`+"\n")
		case "/v1/chat/completions":
			sent, key = decodeBody(t, r), r.Header.Get("Authorization")
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	yes, no, warm := true, false, 0.25
	ask := func(cfg config.Model) {
		t.Helper()
		open, err := opener(cfg, logger(io.Discard, "error"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := open("m")
		if err != nil {
			t.Fatal(err)
		}
		tokens, answer := cfg.Context, cfg.MaxTokens
		req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}, Context: tokens, MaxTokens: answer, Think: true}
		for _, err := range m.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
		}
		caps, err := m.Capabilities(t.Context())
		if err != nil || !caps.Tools || caps.Thinking || !caps.Vision || caps.ContextLength != 9000 {
			t.Errorf("Capabilities = %+v, %v; the operator said something else", caps, err)
		}
	}
	can := config.Abilities{Tools: &yes, Thinking: &no, Vision: &yes, Context: 9000}
	ask(config.Model{Ollama: server.URL, Temperature: &warm, Context: 8192, MaxTokens: 77, KeepAlive: "90s", Can: can})
	options, _ := sent["options"].(map[string]any)
	if options["temperature"] != 0.25 || options["num_ctx"] != 8192.0 || options["num_predict"] != 77.0 || sent["keep_alive"] != "1m30s" {
		t.Errorf("Ollama was sent %v", sent)
	}
	ask(config.Model{Ollama: server.URL, KeepAlive: "forever", Can: can})
	if sent["keep_alive"] != -1.0 {
		t.Errorf("keep_alive = %v, want -1", sent["keep_alive"])
	}
	ask(config.Model{BaseURL: server.URL + "/v1", Temperature: &warm, MaxTokens: 77, Effort: "low", Can: can, Key: secret.Value("k-123")})
	if _, ok := sent["prompt_cache_key"]; ok {
		t.Errorf("a cache that nobody named was asked for: %v", sent)
	}
	ask(config.Model{BaseURL: server.URL + "/v1", Temperature: &warm, MaxTokens: 77, Effort: "low", Cache: openai.CacheKey, Can: can, Key: secret.Value("k-123")})
	if key, _ := sent["prompt_cache_key"].(string); len(key) < 20 {
		t.Errorf("the other server was sent %v", sent)
	}
	if sent["temperature"] != 0.25 || sent["max_tokens"] != 77.0 || sent["reasoning_effort"] != "low" || key != "Bearer k-123" {
		t.Errorf("the other server was sent %v with %q", sent, key)
	}
}

func decodeBody(t *testing.T, r *http.Request) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		t.Error(err)
	}
	return v
}

// TestSomeAbilities: what the operator leaves open is asked of the server.
func TestSomeAbilities(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/version":
			io.WriteString(w, `{"version":"0.17.4"}`)
		case "/api/show":
			io.WriteString(w, `{"capabilities":["completion","tools"],"model_info":{"general.architecture":"a","a.context_length":4096}}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	no := false
	open, err := opener(config.Model{Ollama: server.URL, Can: config.Abilities{Tools: &no}, Silence: policy.Duration(time.Minute)}, logger(io.Discard, "error"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := open("m")
	if err != nil {
		t.Fatal(err)
	}
	caps, err := m.Capabilities(t.Context())
	if err != nil || caps.Tools || caps.ContextLength != 4096 {
		t.Errorf("Capabilities = %+v, %v; want no tools and the server's context", caps, err)
	}
}

// TestForm: the form of the configuration is that of sessions, and no other name is one.
func TestForm(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]llm.Form{"": llm.FormAuto, "auto": llm.FormAuto, "native": llm.FormNative, "text": llm.FormText, "files": llm.FormFiles} {
		m := config.Model{Name: "m", Form: name}
		if err := m.Check().Err(); err != nil {
			t.Errorf("form %q: %v", name, err)
		}
		known := newForms(formsConfig{})
		ws := &workspace.Workspace{}
		got, err := engineParts{model: func(string) (llm.Model, error) { return nil, nil }, form: m.Answers(), forms: known, secrets: &secrets{}}.agent(work.Need{Workspace: ws})
		if err != nil || got.Form != want || got.Forms != known {
			t.Errorf("form %q: sessions have %q and %v, %v", name, got.Form, got.Forms, err)
		}
	}
	if err := (config.Model{Name: "m", Form: "xml"}).Check().Err(); err == nil || !strings.Contains(err.Error(), "model.form: \"xml\" is not a form of answering: auto, native, text or files") {
		t.Errorf("form xml: %v", err)
	}
}

// TestRunKey: the key of OpenAI is not handed to whoever --base-url names.
func TestRunKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url  string
		env  map[string]string
		want string
	}{
		"own":            {"http://h/v1", map[string]string{"HANDRAIL_API_KEY": "own", "OPENAI_API_KEY": "openai"}, "own"},
		"own, of a file": {"http://h/v1", map[string]string{"HANDRAIL_API_KEY_FILE": file}, "from-file"},
		"OpenAI":         {"https://api.openai.com/v1", map[string]string{"OPENAI_API_KEY": "openai"}, "openai"},
		"somebody":       {"https://api.openai.com.example/v1", map[string]string{"OPENAI_API_KEY": "openai"}, ""},
		"a user's name":  {"https://api.openai.com@example.com/v1", map[string]string{"OPENAI_API_KEY": "openai"}, ""},
		"in the open":    {"http://api.openai.com/v1", map[string]string{"OPENAI_API_KEY": "openai"}, ""},
		"this machine":   {"http://127.0.0.1:8000/v1", map[string]string{"OPENAI_API_KEY": "openai"}, ""},
	} {
		got, err := runKey(c.url, func(k string) string { return c.env[k] })
		if err != nil || got.Reveal() != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got.Reveal(), err, c.want)
		}
	}
}

// A provider of the configuration has an adapter, and no adapter is without a provider.
func TestProvidersHaveAdapters(t *testing.T) {
	t.Parallel()
	if got := slices.Sorted(maps.Keys(adapters)); !slices.Equal(got, slices.Sorted(slices.Values(config.ProviderNames()))) {
		t.Errorf("adapters in models.go has %v, and providers in cmd/config/provider.go has %v: add the missing row", got, config.ProviderNames())
	}
}

// The provider decides how an address is read and which settings are refused; without one
// the address decides.
func TestProviders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model config.Model
		at    string
		fault string
	}{
		"default":              {config.Model{}, "http://127.0.0.1:11434", ""},
		"by address":           {config.Model{BaseURL: "http://m:1/v1"}, "http://m:1/v1", ""},
		"Ollama by base_url":   {config.Model{Provider: "ollama", BaseURL: "gpu:5", KeepAlive: "1h"}, "http://gpu:5", ""},
		"named, no address":    {config.Model{Provider: "openai"}, "", "base_url"},
		"keep_alive elsewhere": {config.Model{BaseURL: "http://m:1/v1", KeepAlive: "1h"}, "http://m:1/v1", "only Ollama takes it"},
		"unknown":              {config.Model{Provider: "olama"}, "http://127.0.0.1:11434", `, not "olama"`},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := c.model.Address()
			if (err == nil) != (c.at != "") || err == nil && u.String() != c.at {
				t.Errorf("address %v, %v", u, err)
			}
			got := fmt.Sprint(c.model.Check().Err())
			if c.fault == "" && got != "<nil>" || !strings.Contains(got, c.fault) {
				t.Errorf("fault: %s", got)
			}
		})
	}
}
