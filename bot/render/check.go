package render

import (
	"fmt"
	"strings"
)

// CheckName is the name of the check run that shows a session on the commits
// of its branch.
const CheckName = "Handrail"

var conclusions = map[string]string{
	Done: "success", NoChanges: "neutral", Stopped: "cancelled", Failed: "failure", Crashed: "failure",
	AwaitingApproval: "action_required", AwaitingAnswer: "action_required", OutOfBudget: "action_required",
}

// Conclusion is GitHub's word for the state of a session that does not run.
func Conclusion(state string) string {
	if c, ok := conclusions[state]; ok {
		return c
	}
	return "neutral"
}

// CheckTitle is the one line that GitHub shows beside a check run.
func CheckTitle(v *View) string {
	t := v.State
	if added, removed := total(v); len(v.Files) > 0 {
		t += fmt.Sprintf(" · %s, %s", plural(len(v.Files), "file"), Counts(added, removed))
	}
	return t
}

// CheckSummary is the text of a check run that is completed.
func CheckSummary(v *View) string {
	var b strings.Builder
	if v.Outcome != nil {
		for _, text := range []string{v.Outcome.Reason, v.Outcome.Summary} {
			if text != "" {
				b.WriteString(limit(Clean(text), 20000) + "\n\n")
			}
		}
	}
	for _, a := range v.Open {
		fmt.Fprintf(&b, "Waiting for a person: `%s`\n\n", a.ID)
	}
	files(&b, v.Files)
	b.WriteString(next(v) + "\n")
	return limit(b.String(), MaxBody)
}

func total(v *View) (added, removed int) {
	for _, f := range v.Files {
		added, removed = added+f.Added, removed+f.Removed
	}
	return added, removed
}
