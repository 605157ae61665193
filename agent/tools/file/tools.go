// Package file holds the tools that read files, one source file each.
package file

import "github.com/handrail-bot/handrail/agent/tools"

// Tools returns the tools of the family in the order in which they are offered. A tool
// without its prerequisites is nil.
func Tools(k *tools.Kit) []tools.Tool { return []tools.Tool{readFile(k)} }
