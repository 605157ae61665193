package speech

import "fmt"

// contextCount tracks a server's token counts for a growing prompt.
type contextCount struct {
	bytes, tokens int // of the last prompt with a plausible count
	grown         int // bytes added since without an increase of the count
}

// A prompt counts as truncated if it grows by maxUncounted bytes and the token count
// by less than a fortieth of that; a typical token has four bytes. Some servers count
// only uncached tokens. Their counts fall, or are too small from the start.
const (
	maxUncounted  = 4000
	perByte       = 40
	maxTokenBytes = 8 // bytes per token, on average
)

// record records the size of a prompt and the server's token count.
func (c *contextCount) record(bytes, tokens int) {
	grown := bytes - c.bytes
	switch {
	case bytes == 0 || tokens == 0:
	case grown < 0 || tokens-c.tokens > grown/perByte:
		*c = contextCount{bytes: bytes, tokens: tokens}
	case tokens >= c.tokens*3/4 && c.tokens*maxTokenBytes > c.bytes:
		c.grown = grown
	}
}

// cut returns the reason to end a session whose prompts are truncated, or "".
func (c *contextCount) cut() string {
	if c.grown < maxUncounted {
		return ""
	}
	return fmt.Sprintf(
		"The model server cuts its input: the conversation grew by %d bytes, and the server still counts about %d tokens. "+
			"The model no longer knows the request. If the server is Ollama, use its native API (`model.ollama`, without `model.base_url`), which sets the context itself, "+
			"or start it with `OLLAMA_CONTEXT_LENGTH=32768`; for another server raise its context length.",
		c.grown,
		c.tokens,
	)
}
