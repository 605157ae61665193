package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// maxLeftOut is the maximum number of unsaved paths that are named.
const maxLeftOut = 20

// nameLeftOut adds to a result the new workspace content that cannot be kept, so that the
// model does not rely on it.
func (r *callRunner) nameLeftOut(out *session.Result, list []session.LeftOut) {
	if len(list) == 0 && len(r.LeftOut) == 0 {
		return
	}
	if n := len(list) - maxLeftOut; n > 0 {
		list = append(
			list[:maxLeftOut:maxLeftOut],
			session.LeftOut{Path: ".", Why: fmt.Sprintf("%d more that cannot be kept", n)},
		)
	}
	var fresh []string
	for _, l := range list {
		if !slices.Contains(r.LeftOut, l) {
			fresh = append(fresh, leftOutText(l)+bringHint(l.Path))
		}
	}
	if list == nil {
		list = []session.LeftOut{} // not nil: it records that nothing is left out any more
	}
	out.LeftOut = list
	if len(fresh) > 0 { //control:left-out-named
		out.Content += "\n\nThis is in the workspace and is not kept; it will not reach the branch, and it is gone when the workspace closes:\n- " + strings.Join(fresh, "\n- ")
	}
}

// bringHint ends the account of work that only the repository of the workspace has; "" for
// other left out content.
func bringHint(ref string) string {
	if ref == "refs/stash" {
		return "; `git stash pop` brings it back, `git stash drop` drops it"
	}
	for begin, drop := range map[string]string{
		"refs/heads/": ", `git branch -D %s` drops it", "refs/tags/": ", `git tag -d %s` drops it", workspace.StrayCommit: "",
	} {
		name, ok := strings.CutPrefix(ref, begin)
		switch {
		case !ok:
		case strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") != "":
			return "; `git merge` brings it into the files"
		default: //control:stray-is-brought
			return "; `git merge " + name + "` brings it into the files" + strings.ReplaceAll(drop, "%s", name)
		}
	}
	return ""
}

// strayDoubt returns the reason that a completion is not accepted at once: work is only on
// another branch of the workspace, or in its stash.
func strayDoubt(list []session.LeftOut) string {
	var names []string
	for _, l := range list {
		if hint := bringHint(l.Path); hint != "" {
			names = append(names, leftOutText(l)+hint)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "You said that the task is complete, but this would be lost with the workspace:\n- " + strings.Join(names, "\n- ") + "\nBring what belongs to the work, and complete again."
}

func leftOutText(l session.LeftOut) string {
	if l.Path == "." {
		return l.Why
	}
	return untrusted.EscapeLine(l.Path) + ": " + l.Why
}
