package wire

import "github.com/handrail-bot/handrail/agent/llm"

// Heard adds up what came of an answer, to see whether all came that its model
// wrote. Servers that read calls themselves leave one out without a word when
// they cannot read it or do not know its name; they count its tokens all the same.
type Heard struct {
	half  int // the most tokens that the text can be, in halves
	calls int
}

// Tokens that a model writes and no server passes on: the marks around thinking
// and the end of an answer, and those around a call.
const (
	unseen     = 8
	unseenCall = 40
)

// Take adds a part.
func (h *Heard) Take(p llm.Part) {
	h.text(p.Content)
	h.text(p.Thinking)
	for _, c := range p.Calls {
		h.text(c.Name)
		h.text(string(c.Arguments))
		h.calls++
	}
}

// text counts a letter or a space as half a token and any other byte as one: no
// tokenizer makes more of common text.
func (h *Heard) text(s string) {
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case c >= 'a' && c <= 'z', c == ' ':
			h.half++
		default:
			h.half += 2
		}
	}
}

// Dropped reports whether the tokens that a server counted are more than what came
// can be.
func (h *Heard) Dropped(tokens int) bool {
	return tokens > h.half/2+unseen+h.calls*unseenCall //control:dropped-call
}
