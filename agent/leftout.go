package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
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
		list = append(list[:maxLeftOut:maxLeftOut], session.LeftOut{Path: ".", Why: fmt.Sprintf("%d more that cannot be kept", n)})
	}
	var fresh []string
	for _, l := range list {
		if !slices.Contains(r.LeftOut, l) {
			fresh = append(fresh, leftOutText(l))
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

func leftOutText(l session.LeftOut) string {
	if l.Path == "." {
		return l.Why
	}
	return untrusted.EscapeLine(l.Path) + ": " + l.Why
}
