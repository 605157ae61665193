package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/secret"
)

// mcpOverHTTP is an MCP server over HTTP with one tool. It notes the tokens that it got.
type mcpOverHTTP struct {
	mu     sync.Mutex
	tokens []string
}

func (m *mcpOverHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.mu.Lock()
	m.tokens = append(m.tokens, r.Header.Get("Authorization"))
	m.mu.Unlock()
	id := `"none"`
	if _, rest, ok := strings.Cut(string(body), `"id":`); ok {
		id = rest[:strings.IndexAny(rest, ",}")]
	}
	w.Header().Set("Content-Type", "application/json")
	answer := `"error":{"code":-32601,"message":"no"}`
	switch {
	case strings.Contains(string(body), `"method":"initialize"`):
		answer = `"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"n","version":"1"},"capabilities":{"tools":{}}}`
	case strings.Contains(string(body), `"method":"tools/list"`):
		answer = `"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}`
	case strings.Contains(string(body), `"method":"notifications/`):
		w.WriteHeader(http.StatusAccepted)
		return
	}
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,`+answer+`}`) // the client may be gone
}

// TestMCPServersAtURLs: each is reached through an allowlist of its own host, with its own
// token and no other's; doctor lists them.
func TestMCPServersAtURLs(t *testing.T) {
	t.Parallel()
	one, two := &mcpOverHTTP{}, &mcpOverHTTP{}
	port := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u.Port()
	}
	cfg := config.Server{ServerHeaders: map[string]map[string]secret.Value{
		"one": {"Authorization": "Bearer of-one"}, "two": {"Authorization": "Bearer of-two"},
	}}
	cfg.Policy.Workspace.Inside = map[string]string{"one.test": "127.0.0.1", "two.test": "127.0.0.1"}
	cfg.Policy.MCP.Servers = map[string]policy.Server{
		"one": {URL: "http://one.test:" + port(one) + "/mcp"}, "two": {URL: "http://two.test:" + port(two) + "/mcp"},
		"far": {URL: "http://localhost:" + port(one) + "/mcp"}, "here": {Command: "node"},
	}
	var said []string
	for _, f := range mcpServersOf(t.Context(), cfg) {
		said = append(said, map[bool]string{true: "✔ ", false: "✗ "}[f.OK]+f.Detail)
	}
	got := strings.Join(said, "\n")
	for _, want := range []string{"✗ far: http://localhost:", "✔ here: node, in the workspace", "✔ one: http://one.test:", "/mcp, 1 tools", "✔ two: http://two.test:"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for name, m := range map[string]*mcpOverHTTP{"one": one, "two": two} {
		for _, token := range m.tokens {
			if token != "Bearer of-"+name {
				t.Errorf("server %s got %q", name, token)
			}
		}
		if len(m.tokens) == 0 {
			t.Errorf("server %s was not asked", name)
		}
	}
	way, err := serverTransport(cfg.Policy.MCP.Servers["one"], cfg.Policy.Workspace.Inside, cfg.ServerHeaders["one"], slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	before := len(two.tokens)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.Policy.MCP.Servers["two"].URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := way.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("another host answers %s", resp.Status)
		}
	}
	if len(two.tokens) != before {
		t.Error("the token of one server reached another")
	}
}

// TestMCPTokens: they come from the environment, are known to the redactor, and a missing
// one is named.
func TestMCPTokens(t *testing.T) {
	t.Parallel()
	cfg := config.Server{ServerHeaders: map[string]map[string]secret.Value{"one": {"Authorization": "Bearer of-one-and-no-other"}}}
	known, err := serverSecrets(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := known.outgoing("it said Bearer of-one-and-no-other"); strings.Contains(got, "of-one") {
		t.Errorf("said %q", got)
	}
}
