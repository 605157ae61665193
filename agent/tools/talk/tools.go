// Package talk holds the tools by which a model speaks with users and with the engine,
// and maintains the to-do list, one source file each.
package talk

import "github.com/handrail-bot/handrail/agent/tools"

// Tools returns the tools of the family in the order in which they are offered. A tool
// without its prerequisites is nil.
func Tools(k *tools.Kit) []tools.Tool {
	return []tools.Tool{
		updateTodoList(k),
		attemptCompletion(k),
		askFollowupQuestion(k),
		switchMode(k),
		condense(k),
		fetchInstructions(k),
		newTask(k),
	}
}
