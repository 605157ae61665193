// Package edit holds the tools that change files, one file each. edit.go has
// what they share: plan, show, write, count.
package edit

import "github.com/handrail-bot/handrail/agent/tools"

// Tools returns the tools of the family in the order in which they are
// offered. One whose means are missing is nil.
func Tools(k *tools.Kit) []tools.Tool {
	return []tools.Tool{writeFile(k), applyDiff(k), editFile(k), insertContent(k), searchAndReplace(k), deleteFile(k), putFile(k)}
}
