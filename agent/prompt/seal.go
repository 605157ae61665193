package prompt

import (
	"slices"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/policy/untrusted/marks"
)

// Seal breaks the control marks of chat templates in messages, so that no text can
// end its message and begin another. The system prompt is trusted and unchanged;
// [Builder.Build] breaks the marks in its quotations. If calls travel as text, the
// model's own calls and sample calls also stay. isTag recognizes the tags of tools
// and arguments.
func Seal(messages []llm.Message, text bool, isTag func(name string) bool) []llm.Message {
	out := slices.Clone(messages)
	own := marks.Break
	if text {
		own = func(s string) string { return marks.BreakAnswer(s, isTag) } //control:own-calls-stay
	}
	for i := range out {
		m := &out[i]
		switch m.Role {
		case llm.RoleSystem:
			continue
		case llm.RoleAssistant:
			m.Content, m.Thinking = own(m.Content), own(m.Thinking)
		default:
			words := marks.Break
			if m.Ours { //control:shown-call
				words = own
			}
			m.Content = words(m.Content)
		}
		m.ToolName = marks.Break(m.ToolName)
		m.Calls = slices.Clone(m.Calls)
		for j := range m.Calls {
			m.Calls[j].Name = marks.Break(m.Calls[j].Name)
			m.Calls[j].Arguments = marks.BreakJSON(m.Calls[j].Arguments)
		}
	}
	return out
}
