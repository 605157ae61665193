package openai

import (
	"encoding/json"
	"testing"
)

// TestCachedTokens: the last part has the tokens of the prompt that the server had cached.
func TestCachedTokens(t *testing.T) {
	for text, want := range map[string]int{
		`{"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 7}}}`: 7,
		`{"usage": {"prompt_tokens": 9}}`: 0,
	} {
		a := answer{}
		var c chunk
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		a.take(&c)
		if got := a.last(); got.CachedTokens != want || got.PromptTokens != 9 {
			t.Errorf("%s: %+v, want %d", text, got, want)
		}
	}
}
