package wire

import "github.com/handrail-bot/handrail/agent/llm"

// Received measures an answer, to detect parts that the server left out. Servers that parse
// calls silently drop one that they cannot read or do not know, but still count its
// tokens.
type Received struct {
	half  int // maximum number of tokens of the text, in halves
	calls int
}

// Maximum number of tokens that servers do not pass on: the marks around thinking and the
// end of an answer, and those around a call.
const (
	unseen     = 8
	unseenCall = 40
)

// Take adds a part.
func (h *Received) Take(p llm.Part) {
	h.text(p.Content)
	h.text(p.Thinking)
	for _, c := range p.Calls {
		h.text(c.Name)
		h.text(string(c.Arguments))
		h.calls++
	}
}

// text counts a letter or a space as half a token and any other byte as one, which is an
// upper bound for common text.
func (h *Received) text(s string) {
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case c >= 'a' && c <= 'z', c == ' ':
			h.half++
		default:
			h.half += 2
		}
	}
}

// Dropped reports whether the server counted more tokens than the received parts can
// have.
func (h *Received) Dropped(tokens int) bool {
	return tokens > h.half/2+unseen+h.calls*unseenCall //control:dropped-call
}
