package openai_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/llmcheck"
	"github.com/handrail-bot/handrail/agent/llm/openai"
)

// A server is told what it can use again by the field that it knows, the same one in
// each request of a conversation, and is asked without the one that it refuses.
func TestPromptCache(t *testing.T) {
	first := []llm.Message{{Role: llm.RoleSystem, Content: "Be exact."}, {Role: llm.RoleUser, Content: "Fix it."}}
	second := append(first[:2:2], llm.Message{Role: llm.RoleAssistant, Calls: []llm.ToolCall{{ID: "1", Name: "ls", Arguments: json.RawMessage(`{}`)}}},
		llm.Message{Role: llm.RoleTool, ToolCallID: "1", Content: "a.txt"})
	other := []llm.Message{first[0], {Role: llm.RoleUser, Content: "Fix something else."}}
	ask := func(cache openai.Cache, refuse map[string]string, talks ...[]llm.Message) []map[string]any {
		t.Helper()
		_, seen, address := pickyAt(t, refuse)
		m := open(t, address, func(c *openai.Config) { c.Cache = cache })
		for _, talk := range talks {
			if a, err := llmcheck.Collect(t.Context(), m, llm.Request{Messages: talk}); err != nil || a.Content != "hi" {
				t.Fatalf("got %+v, %v", a, err)
			}
		}
		return *seen
	}
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}

	sent := ask(openai.CacheKey, nil, first, second, other)
	keys := [3]string{text(sent[0]["prompt_cache_key"]), text(sent[1]["prompt_cache_key"]), text(sent[2]["prompt_cache_key"])}
	if keys[0] != keys[1] || keys[0] == keys[2] || len(keys[0]) < 20 {
		t.Errorf("the keys are %q", keys)
	}

	sent = ask(openai.CacheControl, nil, first, second)
	for i, want := range []int{1, 3} { // the last message
		messages := sent[i]["messages"].([]any)
		for n, msg := range messages {
			marked := strings.Contains(text(msg), `"cache_control":{"type":"ephemeral"}`)
			if marked != (n == 0 || n == want) {
				t.Errorf("request %d, message %d: %s", i, n, text(msg))
			}
		}
	}

	for _, cache := range []openai.Cache{openai.CacheKey, openai.CacheControl} {
		sent := ask(cache, map[string]string{string(cache): "Unknown parameter: '" + string(cache) + "'."}, first, second)
		if len(sent) != 3 {
			t.Errorf("%s: asked %d times, want one refusal and two answers", cache, len(sent))
		}
		if none := ask("", nil, first, second); !reflect.DeepEqual(sent[1:], none) {
			t.Errorf("%s: after the refusal %s was sent, want %s", cache, text(sent[1:]), text(none))
		}
	}
}

// Ollama's own /v1 takes both fields, in the words in which they are sent.
func TestRecordedCacheFields(t *testing.T) {
	for cache, name := range map[openai.Cache]string{openai.CacheKey: "v1-chat-cache-key.txt", openai.CacheControl: "v1-chat-cache-control.txt"} {
		a, err := llmcheck.Collect(t.Context(), answering(t, "text/event-stream", recorded(t, name)), llmcheck.Ask("hi"))
		if err != nil || a.Content != "I have nothing scripted for this request." {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var was struct {
			Messages []struct {
				Role    llm.Role
				Content json.RawMessage
			}
			Key string `json:"prompt_cache_key"`
		}
		if err := json.Unmarshal(bytes.Split(b, []byte("\n"))[1], &was); err != nil {
			t.Fatal(err)
		}
		talk := []llm.Message{{Role: llm.RoleSystem, Content: "Be exact."}, {Role: llm.RoleUser, Content: "hi"}}
		_, seen, address := pickyAt(t, nil)
		m := open(t, address, func(c *openai.Config) { c.Cache = cache })
		if _, err := llmcheck.Collect(t.Context(), m, llm.Request{Messages: talk[2-len(was.Messages):]}); err != nil {
			t.Fatal(err)
		}
		sent := (*seen)[0]
		if key, _ := sent["prompt_cache_key"].(string); len(key) != len(was.Key) {
			t.Errorf("%s: the key is %q, was %q", name, key, was.Key)
		}
		for i, msg := range sent["messages"].([]any) {
			var content any
			if err := json.Unmarshal(was.Messages[i].Content, &content); err != nil {
				t.Fatal(err)
			}
			if now := msg.(map[string]any)["content"]; !reflect.DeepEqual(now, content) {
				t.Errorf("%s: message %d is %v, was %v", name, i, now, content)
			}
		}
	}
}
