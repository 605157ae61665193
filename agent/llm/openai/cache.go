package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Cache is the field of requests by which a server that does not see it by itself is
// told what it can use again.
type Cache string

// The fields that servers know.
const (
	CacheKey     Cache = "prompt_cache_key" // OpenAI: requests with the same key go to the same machine
	CacheControl Cache = "cache_control"    // Claude behind OpenRouter or LiteLLM: parts up to which to keep
)

// conversation names the conversation that a request belongs to: all of them begin with
// the same words.
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

// markedPart is a text up to which a server keeps what it has computed.
type markedPart struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Cache struct {
		Type string `json:"type"`
	} `json:"cache_control"`
}

// markForCache marks the first text and the last one: the beginning of all sessions of
// a kind, and that of the next request.
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
