package prompt

import (
	"slices"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/policy/untrusted/marks"
)

// Seal breaks the control marks of chat templates in messages, so that nothing in one
// ends it and begins another. A system prompt is ours and stays; [Builder.Build] breaks
// what it quotes. Where calls travel as text, those that the model wrote stay as well,
// and those that it is shown to copy. isTag knows the tags of tools and arguments.
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
