package tools

import (
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// taskWords introduces the text of a sub-task.
const taskWords = "This is a part of a larger task. Do only this part. Nothing but your last words comes back from it, so let them have all that was asked for, with the names of files and the lines.\n\n"

// TaskText returns the text of a sub-task.
func TaskText(task string) string { return taskWords + task }

// Report returns the result of an ended sub-task for the session. Its summary is
// fenced as untrusted, since it may quote untrusted text.
func Report(task session.Task, out session.Outcome) session.Result {
	var b strings.Builder
	title, _, _ := strings.Cut(strings.TrimPrefix(task.Text, taskWords), "\n")
	res := session.Result{
		OK: !out.Status.Failed() && out.Status != session.StatusOutOfBudget && out.Status != session.StatusStopped,
	}
	how := map[bool]string{true: "is done", false: "did not come to its end"}[res.OK]
	turns := phrase.Count(out.Turns, "turn")
	fmt.Fprintf(&b, "The sub-task %s, after %s.", how, turns)
	if !res.OK && out.Reason != "" {
		b.WriteString(" " + untrusted.EscapeLine(out.Reason))
	}
	if out.Status == session.StatusNoChanges && len(out.Files) == 0 {
		b.WriteString(" It changed no file.")
	}
	for i, f := range out.Files {
		if i == 0 {
			b.WriteString(" It changed")
		}
		fmt.Fprintf(&b, " %s (+%d −%d)", untrusted.EscapeLine(f.Path), f.Added, f.Removed)
	}
	if out.Summary != "" {
		b.WriteString("\n" + untrusted.Fence(task.Nonce, "words of the sub-task", strings.TrimSpace(out.Summary)))
	}
	res.Content, res.Title = b.String(), fmt.Sprintf("Sub-task, %s: %s", turns, Shorten(title, 60))
	return res
}
