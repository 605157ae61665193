// Package shell holds the tools that run commands, and read what they printed.
package shell

import "github.com/handrail-bot/handrail/agent/tools"

// Tools returns the tools of the family in the order in which they are
// offered. One whose means are missing is nil.
func Tools(k *tools.Kit) []tools.Tool {
	if k.Shell == nil {
		return nil
	}
	r := runner{k, newStanding(k.Shelled), newKept(k), &jobs{}}
	return []tools.Tool{runTerminalCommand(r), readOutput(r)}
}
