package prompt

import (
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
)

// WorkedFile is the path of the file in [Worked]. It is no file of the project, and never written.
const WorkedFile = "price.py"

// Worked returns a task and its answer in the files form, to stand before the first request. A small model
// that has seen a file change copies the old one less often.
func Worked() []llm.Message {
	return []llm.Message{
		{Role: llm.RoleUser, Content: strings.TrimSpace(part("worked_task"))},
		{Role: llm.RoleAssistant, Content: strings.TrimSpace(part("worked_answer"))},
	}
}
