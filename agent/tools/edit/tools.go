// Package edit holds the tools that change files, one source file each. edit.go has the
// shared steps: plan, show, write, count.
package edit

import "github.com/handrail-bot/handrail/agent/tools"

// Tools returns the tools of the family in the order in which they are offered. A tool
// without its prerequisites is nil.
func Tools(k *tools.Kit) []tools.Tool {
	return []tools.Tool{
		writeFile(k),
		applyDiff(k),
		editFile(k),
		insertContent(k),
		searchAndReplace(k),
		deleteFile(k),
		putFile(k),
	}
}
