package prompt

import (
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Worked returns a task and its answer in the files form. A small model that has seen one copies the old
// file less often. The file has another name than any file in view, and is never written.
func Worked() []llm.Message {
	return []llm.Message{
		{Role: llm.RoleUser, Content: strings.TrimSpace(part("worked_task"))},
		{Role: llm.RoleAssistant, Content: strings.TrimSpace(part("worked_answer"))},
	}
}
