package prompt

import (
	"slices"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// minKept is the minimum length in bytes of a text that a [Sealer] remembers.
const minKept = 512

// Sealer seals requests. It remembers the long texts of the last request, because most of
// them are in the next one too. The zero value is ready.
type Sealer struct {
	kept map[string]string // sealed texts by text
}

// Seal breaks the control marks of chat templates in messages, so that no text can
// end its message and begin another. The system prompt is trusted and unchanged;
// [Builder.Build] breaks the marks in its quotations. If calls travel as text, the
// model's own calls and sample calls also stay. isTag recognizes the tags of tools
// and arguments.
func (s *Sealer) Seal(messages []llm.Message, text bool, isTag func(name string) bool) []llm.Message {
	out := slices.Clone(messages)
	kept := map[string]string{}
	foreign := func(text string) string {
		if len(text) < minKept {
			return untrusted.BreakMarks(text)
		}
		sealed, ok := s.kept[text]
		if !ok {
			sealed = untrusted.BreakMarks(text)
		}
		kept[text] = sealed
		return sealed
	}
	defer func() { s.kept = kept }()
	own := untrusted.BreakMarks
	if text {
		own = func(s string) string { return untrusted.BreakAnswer(s, isTag) } //control:own-calls-stay
	}
	for i := range out {
		m := &out[i]
		switch m.Role {
		case llm.RoleSystem:
			continue
		case llm.RoleAssistant:
			m.Content, m.Thinking = own(m.Content), own(m.Thinking)
		default:
			words := foreign
			if m.Ours { //control:shown-call
				words = own
			}
			m.Content = words(m.Content)
		}
		m.ToolName = untrusted.BreakMarks(m.ToolName)
		m.Calls = slices.Clone(m.Calls)
		for j := range m.Calls {
			m.Calls[j].Name = untrusted.BreakMarks(m.Calls[j].Name)
			m.Calls[j].Arguments = untrusted.BreakMarksInJSON(m.Calls[j].Arguments)
		}
	}
	return out
}
