// Package shell holds the tools that run commands and read their output.
package shell

import "github.com/handrail-bot/handrail/agent/tools"

// Tools returns the tools of the family in the order in which they are offered. A tool
// without its prerequisites is nil.
func Tools(k *tools.Kit) []tools.Tool {
	if k.Shell == nil {
		return nil
	}
	r := runner{k, newStanding(k.Shelled), &jobs{}}
	return []tools.Tool{runTerminalCommand(r), readOutput(r)}
}

// Outputs returns the tools for outputs that are kept, without any that runs a command.
func Outputs(k *tools.Kit) []tools.Tool {
	if all := Tools(k); all != nil {
		return all[1:]
	}
	return nil
}
