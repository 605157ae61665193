// Package builtin holds the tools that the bot brings along, one source file each with its description
// for the model beside it. They come in families:
//
//	files    read_file.go; the edits, whose shared steps (plan, show, write, count) are in edit.go
//	search   list_files.go, find_files.go, search_workspace.go, codebase_search.go
//	code     language servers, and problems in files: code_tools.go
//	shell    run_terminal_command.go with its standing shell and background jobs, read_output.go
//	pages    page.go
//	talk     the to-do list, and the tools by which a model speaks with users and with the engine
//	report   findings of a reviewer: report.go
//	served   tools of MCP servers: served.go
package builtin

import (
	"slices"

	"github.com/handrail-bot/handrail/agent/tools"
)

// Tools returns the tools that cfg supports, in the order in which they are offered.
func Tools(cfg tools.Config) []tools.Tool {
	k := tools.NewKit(cfg)
	return supported(
		[]tools.Tool{readFile(k)},
		[]tools.Tool{
			writeFile(k),
			applyDiff(k),
			editFile(k),
			insertContent(k),
			searchAndReplace(k),
			deleteFile(k),
			putFile(k),
		},
		[]tools.Tool{listFiles(k), findFiles(k), searchWorkspace(k), codebaseSearch(k), listDefinitions(k)},
		codeTools(k),
		shellTools(k),
		others(k),
	)
}

// Beside returns the tools that cfg supports for an agent that reads, edits, searches and runs
// commands with tools of its own.
func Beside(cfg tools.Config) []tools.Tool {
	k := tools.NewKit(cfg)
	return supported(codeTools(k), outputTools(k), others(k))
}

func others(k *tools.Kit) []tools.Tool {
	return slices.Concat(
		pages(k),
		[]tools.Tool{
			updateTodoList(k),
			attemptCompletion(k),
			askFollowupQuestion(k),
			switchMode(k),
			condense(k),
			fetchInstructions(k),
			newTask(k),
		},
		[]tools.Tool{reportFinding(k)},
		servedTools(k),
	)
}

// shellTools returns the tools that run commands and read their output.
func shellTools(k *tools.Kit) []tools.Tool {
	if k.Shell == nil {
		return nil
	}
	r := runner{k, newStanding(k.Shelled), &jobs{}}
	return []tools.Tool{runTerminalCommand(r), readOutput(r)}
}

// outputTools returns the tools for outputs that are kept, without any that runs a command.
func outputTools(k *tools.Kit) []tools.Tool {
	if all := shellTools(k); all != nil {
		return all[1:]
	}
	return nil
}

// supported joins families without the tools whose prerequisites are missing, which are nil.
func supported(families ...[]tools.Tool) []tools.Tool {
	return slices.DeleteFunc(slices.Concat(families...), func(t tools.Tool) bool { return t == nil })
}
