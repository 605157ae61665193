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

// goneWhy ends the reason of content that went with a workspace, as at each wait for an answer.
const goneWhy = "; it went with an earlier workspace"

// nameLeftOut adds to a result the new workspace content that cannot be kept, so that the
// model does not rely on it. Content that went with an earlier workspace stays in the list,
// unless it was made again.
func (r *callRunner) nameLeftOut(out *session.Result, list []session.LeftOut) {
	if !r.opened {
		r.opened = true
		for _, l := range r.LeftOut {
			l.Why = strings.TrimSuffix(l.Why, goneWhy) + goneWhy
			r.gone = append(r.gone, l)
		}
	}
	list = slices.Clip(list)
	for _, l := range r.gone {
		again := slices.ContainsFunc(list, func(now session.LeftOut) bool { return now.Path == l.Path }) ||
			slices.ContainsFunc(r.Files, func(f session.FileChange) bool { return f.Path == l.Path })
		if !again { //control:gone-is-named
			list = append(list, l)
		}
	}
	if len(list) == 0 && len(r.LeftOut) == 0 {
		return
	}
	if n := len(list) - maxLeftOut; n > 0 {
		list = append(
			list[:maxLeftOut:maxLeftOut],
			session.LeftOut{Path: ".", Why: fmt.Sprintf("%d more that cannot be kept", n)},
		)
	}
	var fresh, gone []string
	for _, l := range list {
		switch text := leftOutText(l); {
		case slices.Contains(r.LeftOut, l):
		case strings.HasSuffix(l.Why, goneWhy):
			gone = append(gone, text)
		default:
			fresh = append(fresh, text+bringHint(l.Path))
		}
	}
	if list == nil {
		list = []session.LeftOut{} // not nil: it records that nothing is left out any more
	}
	out.LeftOut = list
	if len(fresh) > 0 { //control:left-out-named
		out.Content += "\n\nThis is in the workspace and is not kept; it will not reach the branch, and it is gone when the workspace closes:\n- " + strings.Join(fresh, "\n- ")
	}
	if len(gone) > 0 {
		out.Content += "\n\nThis is not there any more:\n- " + strings.Join(gone, "\n- ")
	}
}

// bringHint ends the account of work that only the repository of the workspace has; "" for
// other left out content.
func bringHint(ref string) string {
	if ref == "refs/stash" {
		return "; `git stash pop` brings it back, `git stash drop` drops it"
	}
	name, drop := ref, ""
	switch {
	case strings.HasPrefix(ref, workspace.StrayCommit):
		name = ref[len(workspace.StrayCommit):]
	case strings.HasPrefix(ref, "refs/heads/"):
		name, drop = ref[len("refs/heads/"):], "branch -D"
	case strings.HasPrefix(ref, "refs/tags/"):
		name, drop = ref[len("refs/tags/"):], "tag -d"
	case strings.HasPrefix(ref, "refs/"):
		drop = "update-ref -d"
	default:
		return ""
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"
	if strings.Trim(name, plain) != "" { //control:stray-is-brought
		return "; `git merge` brings it into the files"
	}
	say := "; `git merge " + name + "` brings it into the files"
	if drop != "" {
		say += ", `git " + drop + " " + name + "` drops it"
	}
	return say
}

// strayDoubt returns the reason that a completion is not accepted at once: work is only on
// another branch of the workspace, or in its stash.
func strayDoubt(list []session.LeftOut) string {
	var names []string
	for _, l := range list {
		if hint := bringHint(l.Path); hint != "" && !strings.HasSuffix(l.Why, goneWhy) {
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
