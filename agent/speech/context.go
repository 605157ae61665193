package speech

import "fmt"

// contextCount is how a server counts prompts that grow.
type contextCount struct {
	bytes, tokens int // of the last prompt that was counted as it should be
	grown         int // bytes that came since and were not counted
}

// A prompt that grows by mostUncounted bytes, without a fortieth of them in tokens
// where four bytes make one, is cut. Some servers count only what they had not cached:
// their figures fall, or are too small for the bytes from the start.
const (
	mostUncounted = 4000
	perByte       = 40
	mostBytes     = 8 // of a token, on average
)

// sent takes in how long a prompt was and what the server counted.
func (c *contextCount) sent(bytes, tokens int) {
	grown := bytes - c.bytes
	switch {
	case bytes == 0 || tokens == 0:
	case grown < 0 || tokens-c.tokens > grown/perByte:
		*c = contextCount{bytes: bytes, tokens: tokens}
	case tokens >= c.tokens*3/4 && c.tokens*mostBytes > c.bytes:
		c.grown = grown
	}
}

// cut says why a session cannot go on whose prompts are cut, "" when they are not.
func (c *contextCount) cut() string {
	if c.grown < mostUncounted {
		return ""
	}
	return fmt.Sprintf("The model server cuts what it is sent: the conversation grew by %d bytes, and the server still counts about %d tokens. "+
		"The model no longer knows what was asked. If the server is Ollama, use its native API (`model.ollama`, without `model.base_url`), which sets the context itself, "+
		"or start it with `OLLAMA_CONTEXT_LENGTH=32768`; for another server raise its context length.", c.grown, c.tokens)
}
