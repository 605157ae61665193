package ollama_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/ollama"
)

// TestRealServer runs against the server in OLLAMA_HOST, with the model in
// OLLAMA_TEST_MODEL or else the first one that the server lists.
func TestRealServer(t *testing.T) {
	host := os.Getenv("OLLAMA_HOST")
	if host == "" {
		t.Log("NOT TESTED AGAINST A REAL SERVER: set OLLAMA_HOST to the address of an Ollama server, and OLLAMA_TEST_MODEL to one of its models")
		t.SkipNow()
	}
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	name := os.Getenv("OLLAMA_TEST_MODEL")
	if name == "" {
		list, err := api.NewClient(u, http.DefaultClient).List(ctx)
		if err != nil || len(list.Models) == 0 {
			t.Fatalf("list models: %v, %d of them; `ollama pull` one", err, len(list.Models))
		}
		name = list.Models[0].Name
	}
	m, err := ollama.New(ollama.Config{URL: u, Model: name, KeepAlive: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	caps, err := m.Capabilities(ctx)
	if err != nil || caps.ContextLength == 0 {
		t.Fatalf("capabilities of %s: %+v, %v", name, caps, err)
	}
	req := llmcheck.Ask("Say hello.")
	req.Think, req.MaxTokens, req.Context = caps.Thinking, 64, 2048
	a, err := llmcheck.Collect(ctx, m, req)
	if err != nil || a.Last.PromptTokens == 0 {
		t.Errorf("%s answered %+v, %v", name, a, err)
	}
	checkLoaded(ctx, t, u, name, req.Context)
	for range 2 { // sessions that need windows of their own
		if err := askWith(t, m, 4096); err != nil {
			t.Error(err)
		}
		checkLoaded(ctx, t, u, name, 4096)
		if err := askWith(t, m, 2048); err != nil {
			t.Error(err)
		}
	}
	checkLoaded(ctx, t, u, name, 4096)
	if other, err := ollama.New(ollama.Config{URL: u, Model: name}); err != nil {
		t.Error(err)
	} else if err := askWith(t, other, 8192); err != nil {
		t.Error(err)
	}
	if after, err := ollama.New(ollama.Config{URL: u, Model: name}); err != nil {
		t.Error(err)
	} else if now, err := after.Capabilities(ctx); err != nil || caps.ContextSet == 0 && now.ContextSet != 8192 {
		t.Errorf("loaded with 8192 tokens, a session begins with %d: %v", now.Window(), err)
	}
	req.Context = 4096
	req.Messages[0].Content = strings.Repeat("word ", 10000)
	if _, err := llmcheck.Collect(ctx, m, req); llm.KindOf(err) != llm.TooLong {
		t.Errorf("a prompt of 10000 words in a context of 4096: want TooLong, got %v", err)
	}
	missing, err := ollama.New(ollama.Config{URL: u, Model: "no-such-model-here:1b"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Capabilities(ctx); llm.KindOf(err) != llm.NotFound {
		t.Errorf("missing model: want NotFound, got %v", err)
	}
}

// checkLoaded asks the server what it loaded: with the context that the
// request named, not with its own default, and for as long as was asked.
func checkLoaded(ctx context.Context, t *testing.T, u *url.URL, name string, size int) {
	t.Helper()
	list, err := api.NewClient(u, http.DefaultClient).ListRunning(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Models {
		if strings.TrimSuffix(m.Name, ":latest") != strings.TrimSuffix(name, ":latest") {
			continue
		}
		if m.ContextLength != 0 && m.ContextLength != size { // servers before 0.9 do not tell
			t.Errorf("the server loaded %s with a context of %d tokens, want %d", name, m.ContextLength, size)
		}
		if left := time.Until(m.ExpiresAt); left < 50*time.Minute {
			t.Errorf("the server keeps %s for %s, want about an hour", name, left)
		}
		return
	}
	t.Errorf("the server does not list %s among what it runs", name)
}
