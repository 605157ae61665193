package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Cache is the request field for prompt caching, for servers that do not detect common
// prefixes by themselves.
type Cache string

// The supported fields.
const (
	CacheKey     Cache = "prompt_cache_key" // OpenAI: requests with the same key go to the same machine
	CacheControl Cache = "cache_control"    // Claude behind OpenRouter or LiteLLM: marks the end of a cached prefix
)

// conversation returns an identifier of a conversation, derived from its first messages.
func conversation(messages []llm.Message) string {
	h := sha256.New()
	for _, msg := range messages {
		fmt.Fprintf(h, "%q %q\n", msg.Role, msg.Content)
		if msg.Role == llm.RoleUser {
			break
		}
	}
	return "handrail-" + hex.EncodeToString(h.Sum(nil)[:12])
}

// markedPart is a text that ends a cached prefix.
type markedPart struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Cache struct {
		Type string `json:"type"`
	} `json:"cache_control"`
}

// markForCache marks the first and the last text: the common prefix of similar sessions,
// and that of the next request.
func markForCache(messages []message) {
	mark := func(i int) bool {
		text, ok := messages[i].Content.(string)
		if !ok || text == "" {
			return false
		}
		part := markedPart{Type: "text", Text: text}
		part.Cache.Type = "ephemeral"
		messages[i].Content = []markedPart{part}
		return true
	}
	if len(messages) > 0 {
		mark(0)
	}
	for i := len(messages) - 1; i > 0; i-- {
		if mark(i) {
			break
		}
	}
}
