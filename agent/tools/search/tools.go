// Package search holds the tools that find files and text, one source file each.
package search

import "github.com/handrail-bot/handrail/agent/tools"

// Tools returns the tools of the family in the order in which they are offered. A tool
// without its prerequisites is nil.
func Tools(k *tools.Kit) []tools.Tool {
	return []tools.Tool{listFiles(k), findFiles(k), searchWorkspace(k), codebaseSearch(k), listDefinitions(k)}
}
